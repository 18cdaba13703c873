"""Checkpoints are whole or not there, whatever fails while they are written."""

from __future__ import annotations

import contextlib
import json

import ml_dtypes
import numpy as np
import pytest
from failing_disk import Full, Killed
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from sexpgpu_core.checkpoint import tensors
from sexpgpu_core.checkpoint.disk import Disk
from sexpgpu_core.checkpoint.folder import Checkpoints
from sexpgpu_core.checkpoint.writer import Writer
from sexpgpu_core.diagnostics import Problem

ARRAYS = {
    "parameter:gpt/wte": np.arange(6, dtype=np.float32).reshape(2, 3),
    "optimizer:gpt/wte/m": np.full((2, 3), np.nan, np.float32),
    "state:gpt/bn/mean": np.ones(3, ml_dtypes.bfloat16),
    "persistent:guard": np.array(3, np.int32),
}


def document(step, **more):
    return {"version": 1, "step": step, "attempt": 1, "best": {}, **more}


def save(checkpoints, step, arrays=ARRAYS, **more):
    return checkpoints.save(step, list(arrays), arrays.__getitem__, document(step, **more))


def code(work):
    with pytest.raises(Problem) as raised:
        work()
    return raised.value.diagnostic


def test_what_was_saved_is_loaded_bit_for_bit(tmp_path):
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    save(checkpoints, 500)
    loaded = checkpoints.load(checkpoints.choose("latest"))
    assert loaded.document["step"] == 500
    assert set(loaded.arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert loaded.arrays[name].dtype == array.dtype
        assert loaded.arrays[name].tobytes() == array.tobytes()
        assert loaded.arrays[name].shape == array.shape


def test_the_files_are_safetensors_with_parameter_paths_as_names(tmp_path):
    saved = save(Checkpoints(tmp_path), 1)
    assert list(load_file(saved.path / "params.safetensors")) == ["gpt/wte"]
    assert list(load_file(saved.path / "optimizer.safetensors")) == ["gpt/wte/m"]
    assert len(json.loads((saved.path / "checkpoint.json").read_text())["files"]) == 3


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(
        st.text("abc/é", min_size=1, max_size=5),
        st.sampled_from(["float32", "int8", "bool", "uint64", "bfloat16"]),
        max_size=4,
    ),
    st.lists(st.integers(0, 3), max_size=3),
)
def test_tensor_files_give_back_what_they_were_given(tmp_path_factory, dtypes, shape):
    rng = np.random.default_rng(0)
    arrays = {
        name: rng.integers(0, 2, shape).astype(getattr(ml_dtypes, dtype, dtype))
        for name, dtype in dtypes.items()
    }
    path = tmp_path_factory.mktemp("t") / "x.safetensors"
    Disk().write(path, tensors.chunks(list(arrays), arrays.__getitem__))
    back = tensors.load(path)
    assert set(back) == set(arrays)
    assert all((back[n] == a).all() and back[n].dtype == a.dtype for n, a in arrays.items())


@pytest.mark.parametrize("at", range(6))
def test_a_full_disk_leaves_the_older_checkpoint_and_names_it(tmp_path, at):
    save(Checkpoints(tmp_path), 1)
    found = code(lambda: save(Checkpoints(tmp_path, Full(at)), 2))
    assert found.code == "E-CHECKPOINT-DISK"
    assert found.facts["older"] == "step-00000001"
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.choose("latest").step == 1
    assert [p.name for p in tmp_path.iterdir()] == ["step-00000001"]


@pytest.mark.parametrize("at", range(8))
def test_death_at_any_act_leaves_a_whole_checkpoint_and_a_sweep_removes_the_rest(tmp_path, at):
    save(Checkpoints(tmp_path), 1)
    changed = {**ARRAYS, "persistent:guard": np.array(4, np.int32)}
    for step in (1, 2):
        with contextlib.suppress(Killed):
            save(Checkpoints(tmp_path, Full(at, Killed())), step, changed)
        checkpoints = Checkpoints(tmp_path)
        checkpoints.load(checkpoints.choose("latest"))
        checkpoints.sweep()
        assert not list(tmp_path.glob(".*"))


def test_a_checkpoint_that_exists_and_is_equal_is_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 3)
    inode = (tmp_path / "step-00000003").stat().st_ino
    save(checkpoints, 3, attempt=2, time="later")
    assert (tmp_path / "step-00000003").stat().st_ino == inode
    assert len(list(tmp_path.iterdir())) == 1


def test_one_that_differs_becomes_an_earlier_attempt_and_both_are_whole(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 3)
    save(checkpoints, 3, {**ARRAYS, "persistent:guard": np.array(9, np.int32)}, attempt=2)
    names = [saved.name for saved in checkpoints.whole()]
    assert names == ["step-00000003.attempt-1", "step-00000003"]
    assert checkpoints.load(checkpoints.choose(3)).arrays["persistent:guard"] == 9


def test_pruning_keeps_the_last_and_the_best(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    for step in range(1, 6):
        best = {"val/loss": {"value": 1.0, "step": min(step, 2), "goal": "min"}}
        save(checkpoints, step, best=best)
    removed = checkpoints.prune(2, "val/loss")
    assert removed == ["step-00000001", "step-00000003"]
    assert [saved.step for saved in checkpoints.whole()] == [2, 4, 5]
    assert checkpoints.choose("best", "val/loss").step == 2
    assert checkpoints.prune(None) == []


@pytest.mark.parametrize(
    ("file", "harm"),
    [
        ("params.safetensors", lambda p: p.write_bytes(p.read_bytes()[:-1] + b"\x7f")),
        ("optimizer.safetensors", lambda p: p.write_bytes(p.read_bytes()[:-1])),
        ("state.safetensors", lambda p: p.unlink()),
        ("checkpoint.json", lambda p: p.write_text("{")),
        ("checkpoint.json", lambda p: p.write_text(p.read_text().replace(": 1,", ": 2,", 1))),
    ],
)
def test_a_damaged_checkpoint_names_the_file_and_the_one_before(tmp_path, file, harm):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 1)
    harm(save(checkpoints, 2).path / file)
    found = code(lambda: checkpoints.load(checkpoints.choose("latest")))
    assert found.code == "E-CHECKPOINT-CORRUPT"
    assert (found.facts["damaged"], found.facts["previous"]) == (file, "step-00000001")
    assert checkpoints.load(checkpoints.choose(1)).document["step"] == 1


def test_a_step_that_is_not_there_lists_those_that_are(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    assert code(lambda: checkpoints.choose("latest")).code == "E-CHECKPOINT-NONE"
    save(checkpoints, 7)
    assert "7" in code(lambda: checkpoints.choose(3)).hint


def test_the_writer_has_one_write_in_flight_and_gives_out_how_each_ended(tmp_path):
    writer, log = Writer(), []
    checkpoints = Checkpoints(tmp_path)
    for step in (1, 2):
        writer.start(
            step, lambda step=step: (save(checkpoints, step), [], None), lambda: log.append(1)
        )
    full = Checkpoints(tmp_path, Full(0))
    writer.start(3, lambda: (save(full, 3), [], None), lambda: log.append(1))
    writer.wait()
    ended = writer.collect()
    assert [(w.step, w.error and w.error.diagnostic.code) for w in ended] == [
        (1, None),
        (2, None),
        (3, "E-CHECKPOINT-DISK"),
    ]
    assert len(log) == 3
    assert writer.collect() == []
