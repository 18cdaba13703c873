"""A checkpoint goes to a store and comes back; without its manifest it is not there."""

from __future__ import annotations

import numpy as np
import pytest

from sexpgpu_core.checkpoint import store as stores
from sexpgpu_core.checkpoint.folder import Checkpoints
from sexpgpu_core.diagnostics import Problem

ARRAYS = {"parameter:w": np.arange(4, dtype=np.float32)}


def saved_in(folder):
    document = {"version": 1, "step": 5, "attempt": 1, "best": {}}
    return Checkpoints(folder).save(5, list(ARRAYS), ARRAYS.__getitem__, document)


def test_what_was_uploaded_comes_back_equal(tmp_path):
    store = stores.LocalStore(f"file://{tmp_path / 'store'}")
    stores.upload(saved_in(tmp_path / "here"), store)
    assert stores.whole(store) == ["step-00000005"]
    (tmp_path / "there").mkdir()
    stores.download(store, "step-00000005", tmp_path / "there", tmp_path / "scratch")
    back = Checkpoints(tmp_path / "there")
    assert (back.load(back.choose("latest")).arrays["parameter:w"] == ARRAYS["parameter:w"]).all()


def test_an_upload_that_is_cut_off_before_its_manifest_is_not_listed(tmp_path):
    class Cut(stores.LocalStore):
        def put_last(self, name, data):
            raise KeyboardInterrupt

    store = Cut(str(tmp_path / "store"))
    with pytest.raises(KeyboardInterrupt):
        stores.upload(saved_in(tmp_path / "here"), store)
    assert stores.whole(store) == []
    assert store.list()


def test_an_object_that_differs_from_its_hash_is_refused(tmp_path):
    store = stores.LocalStore(str(tmp_path / "store"))
    stores.upload(saved_in(tmp_path / "here"), store)
    file = tmp_path / "store" / "step-00000005" / "1" / "params.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\x01")
    with pytest.raises(Problem, match="E-CHECKPOINT-CORRUPT"):
        stores.download(store, "step-00000005", tmp_path, tmp_path / "scratch")


def test_a_store_that_refuses_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    store = stores.LocalStore(str(tmp_path / "file"))
    with pytest.raises(Problem, match="E-STORE-DENIED"):
        store.put_last("a/b", b"")
    with pytest.raises(Problem, match="E-STORE-LOST"):
        store.get("a/b", str(tmp_path / "x"))


def test_an_object_that_went_while_the_rest_was_put_is_put_again(tmp_path):
    class Robbed(stores.LocalStore):
        robbed = False

        def put(self, name, file):
            super().put(name, file)
            if not self.robbed:
                self.robbed = True
                self.delete(name)

    store = Robbed(str(tmp_path / "store"))
    stores.upload(saved_in(tmp_path / "here"), store)
    (tmp_path / "there").mkdir()
    stores.download(store, "step-00000005", tmp_path / "there", tmp_path / "scratch")


def test_objects_of_a_checkpoint_that_gave_way_go_with_its_manifest(tmp_path):
    store = stores.LocalStore(str(tmp_path / "store"))
    stores.upload(saved_in(tmp_path / "here"), store)
    changed = {"parameter:w": ARRAYS["parameter:w"] + 1}
    document = {"version": 1, "step": 5, "attempt": 2, "best": {}}
    other = Checkpoints(tmp_path / "other")
    stores.upload(other.save(5, list(changed), changed.__getitem__, document), store)
    assert {name.split("/")[1] for name, _ in store.list()} == {"2", "checkpoint.json"}
