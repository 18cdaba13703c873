"""Values that no step writes are written once; every checkpoint is whole by itself all the same."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil

import numpy as np
import pytest
from failing_disk import Full, Killed

from sexpgpu_core.checkpoint import store as stores
from sexpgpu_core.checkpoint.disk import Disk
from sexpgpu_core.checkpoint.folder import Checkpoints
from sexpgpu_core.checkpoint.shared import FILE, held
from sexpgpu_core.diagnostics import Problem

FROZEN = "parameter:base/w"
FIXED = {FROZEN: np.arange(4096, dtype=np.float32)}
ARRAYS = {"parameter:lora/a": np.ones(3, np.float32), "persistent:guard": np.array(3, np.int32)}


def save(checkpoints, step, fixed=FIXED):
    """As a run does: what an earlier checkpoint holds is not read."""
    given = {**ARRAYS, **({} if checkpoints.holds_fixed() else fixed)}
    document = {"version": 1, "step": step, "attempt": 1, "best": {}}
    names = [*ARRAYS, *fixed]
    return checkpoints.save(step, names, given.__getitem__, document, fixed=fixed)


def numbers(folder):
    return {p.parent.name: p.stat().st_ino for p in folder.glob(f"step-*/{FILE}")}


def sound(checkpoints, saved, fixed=FIXED):
    loaded = checkpoints.load(saved)
    assert set(loaded.arrays) == {*ARRAYS, *fixed}
    return np.array_equal(loaded.arrays[FROZEN], fixed[FROZEN])


def test_one_file_has_a_name_in_each_checkpoint_of_every_attempt(tmp_path):
    first = Checkpoints(tmp_path)
    save(first, 1)
    save(first, 2)
    save(Checkpoints(tmp_path), 3)  # another process, which looks for the same content
    assert len(numbers(tmp_path)) == 3
    assert len(set(numbers(tmp_path).values())) == 1
    whole = first.whole()
    assert all(sound(first, saved) for saved in whole)
    assert held(whole) < sum(saved.bytes for saved in whole) / 2


def test_it_stays_as_long_as_a_checkpoint_names_it(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    for step in (1, 2, 3):
        save(checkpoints, step)
    assert checkpoints.prune(1) == ["step-00000001", "step-00000002"]
    save(checkpoints, 4)
    assert all(sound(checkpoints, saved) for saved in checkpoints.whole())
    shutil.copytree(tmp_path / "step-00000004", tmp_path / "elsewhere/step-00000004")
    alone = Checkpoints(tmp_path / "elsewhere")
    assert sound(alone, alone.choose("latest"))


def test_other_values_are_another_file(tmp_path):
    save(Checkpoints(tmp_path), 1)
    other = {FROZEN: FIXED[FROZEN] + 1}
    checkpoints = Checkpoints(tmp_path)
    saved = save(checkpoints, 2, other)
    assert len(set(numbers(tmp_path).values())) == 2
    assert sound(checkpoints, saved, other)
    assert sound(checkpoints, checkpoints.choose(1))


@pytest.mark.parametrize("harm", ["missing", "changed"])
def test_what_is_missing_or_changed_is_told_and_given_no_second_name(tmp_path, harm):
    saved = save(Checkpoints(tmp_path), 1)
    file = saved.path / FILE
    data = file.read_bytes()
    if harm == "missing":
        file.unlink()
    else:
        file.write_bytes(data[:-1] + b"\x01")
    checkpoints = Checkpoints(tmp_path)
    with pytest.raises(Problem, match="E-CHECKPOINT-CORRUPT"):
        checkpoints.verify(checkpoints.entries()[0])
    assert sound(checkpoints, save(checkpoints, 2))


def test_a_file_that_goes_away_while_the_run_lives_is_written_anew(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    shutil.rmtree(save(checkpoints, 1).path)
    assert sound(checkpoints, save(checkpoints, 2))


class NoLinks(Disk):
    def link(self, old, new):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def test_a_disk_without_second_names_holds_copies(tmp_path):
    for checkpoints in (Checkpoints(tmp_path, NoLinks()), Checkpoints(tmp_path, NoLinks())):
        for _ in range(2):
            save(checkpoints, len(checkpoints.whole()) + 1)
    assert len(set(numbers(tmp_path).values())) == 4
    assert all(sound(checkpoints, saved) for saved in checkpoints.whole())


@pytest.mark.parametrize("at", range(30))
def test_death_at_any_act_leaves_whole_checkpoints(tmp_path, at):
    with contextlib.suppress(Killed):
        dying = Checkpoints(tmp_path, Full(at, Killed()))
        for step in (1, 2, 3):
            save(dying, step)
            dying.prune(1)
    after = Checkpoints(tmp_path)
    after.sweep()
    assert all(sound(after, saved) for saved in after.entries())
    assert sound(after, save(after, 9))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_store_takes_it_once_and_gives_it_up_with_the_last_that_names_it(tmp_path):
    store = stores.LocalStore(str(tmp_path / "store"))
    here = Checkpoints(tmp_path / "here")
    for step in (1, 2):
        stores.upload(save(here, step), store)
    assert len(store.list("frozen/")) == 1
    (tmp_path / "there").mkdir()
    for name in stores.whole(store):
        stores.download(store, name, tmp_path / "there", tmp_path / f"scratch-{name}")
    there = Checkpoints(tmp_path / "there")
    assert len(set(numbers(tmp_path / "there").values())) == 1
    assert [sound(there, saved) for saved in there.whole()] == [True, True]
    other = {FROZEN: FIXED[FROZEN] + 1}
    stores.upload(save(Checkpoints(tmp_path / "here"), 3, other), store)
    stores.discard(store, "step-00000001")
    assert len(store.list("frozen/")) == 2
    stores.discard(store, "step-00000002")
    assert len(store.list("frozen/")) == 1
    stores.download(store, "step-00000003", tmp_path / "there", tmp_path / "scratch")
    assert sound(there, there.choose(3), other)
