"""What killed uploads left goes; what a manifest names, or another may be putting, stays."""

from __future__ import annotations

import numpy as np
import pytest

from sexpgpu_core.checkpoint import leftovers
from sexpgpu_core.checkpoint import store as stores
from sexpgpu_core.checkpoint.folder import Checkpoints
from sexpgpu_core.diagnostics import Problem


def saved(folder, step, attempt, value=0.0):
    arrays = {"parameter:w": np.full(4, value, np.float32), "parameter:f": np.ones(3, np.float32)}
    document = {"version": 1, "step": step, "attempt": attempt, "best": {}}
    kept = Checkpoints(folder)
    return kept.save(step, list(arrays), arrays.__getitem__, document, fixed=["parameter:f"])


class Killed(BaseException):
    pass


class Mortal(stores.LocalStore):
    """The process dies at its n-th put."""

    lives = 10**6

    def _put(self, name, pieces):
        self.lives -= 1
        if not self.lives:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).with_name(f".{name.rpartition('/')[2]}-77").write_bytes(b"half")
            raise Killed
        super()._put(name, pieces)


def files(store):
    return sorted(p.relative_to(store.folder).as_posix() for p in store.folder.rglob("*.*-*") if
                  p.is_file()) + [name for name, _ in store.list()]  # fmt: skip


@pytest.mark.parametrize("at", range(1, 5))
def test_an_upload_that_is_killed_at_any_put_leaves_nothing_in_the_end(tmp_path, at):
    store = Mortal(str(tmp_path / "store"))
    stores.upload(saved(tmp_path / "a", 5, 1), store)
    whole = files(store)
    store.lives = at
    with pytest.raises(Killed):
        stores.upload(saved(tmp_path / "b", 9, 2, 1.0), store)
    assert leftovers.clear(store, 1).objects == ()  # the second attempt may be on its way
    assert files(store) != whole or at == 1
    leftovers.clear(store, 2)
    assert files(store) == whole
    assert stores.whole(store) == ["step-00000005"]


def test_what_another_attempt_put_beside_a_whole_checkpoint_goes(tmp_path):
    store = Mortal(str(tmp_path / "store"))
    stores.upload(saved(tmp_path / "a", 5, 2), store)
    whole = files(store)
    store.put("step-00000005/1/params.safetensors", __file__)
    store.put("step-00000005/3/params.safetensors", __file__)
    found = leftovers.left(store, 2)
    assert [name for name, _ in found.objects] == ["step-00000005/1/params.safetensors"]
    assert found.bytes > 0
    leftovers.clear(store, 3)
    assert files(store) == whole


def test_frozen_values_go_when_no_manifest_names_them_and_not_before(tmp_path):
    store = Mortal(str(tmp_path / "store"))
    stores.upload(saved(tmp_path / "a", 5, 1), store)
    store.put("frozen/0123/frozen.safetensors", __file__)
    (found,) = leftovers.clear(store, 1).objects
    assert found[0] == "frozen/0123/frozen.safetensors"
    assert [name for name, _ in store.list("frozen/")]


def test_where_a_manifest_cannot_be_read_nothing_is_removed(tmp_path):
    class Away(stores.LocalStore):
        def get(self, name, file):
            raise Problem(stores.problem("E-STORE-LOST", name).diagnostic)

    stores.upload(saved(tmp_path / "a", 5, 1), stores.LocalStore(str(tmp_path / "store")))
    store = Away(str(tmp_path / "store"))
    store.put("frozen/0123/frozen.safetensors", __file__)
    before = store.list()
    with pytest.raises(Problem, match="E-STORE-LOST"):
        leftovers.clear(store, 1)
    assert store.list() == before


def test_a_store_that_cannot_tell_of_puts_has_none():
    class Plain:
        pass

    assert leftovers.unfinished(stores.Below(Plain(), "x")) == []
