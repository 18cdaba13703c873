"""Values that no step writes are written once; every checkpoint is whole by itself all the same."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from failing_disk import Full, Killed, NoLinks
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.checkpoint import shared
from sexpgpu_core.checkpoint import store as stores
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


def test_a_file_that_was_written_into_while_the_run_lives_is_given_no_second_name(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    file = save(checkpoints, 1).path / FILE
    data = file.read_bytes()
    with open(file, "r+b") as into:  # as many bytes as before
        into.write(data[:-1] + b"\x01")
    os.utime(file, ns=(1, 1))
    assert not checkpoints.holds_fixed()
    assert sound(checkpoints, save(checkpoints, 2))
    with pytest.raises(Problem, match="E-CHECKPOINT-CORRUPT"):
        checkpoints.load(checkpoints.choose(1))


def test_who_has_a_damaged_file_is_sent_to_none_that_shares_it(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    saves = [save(checkpoints, step) for step in (1, 2, 3)]
    saves[0].path.joinpath(FILE).write_bytes(bytes(saves[0].document["files"][0]["bytes"]))
    told = refused(checkpoints, saves[2]).diagnostic
    assert told.facts["previous"] is None
    assert "share this file" in told.hint
    assert sound(checkpoints, save(Checkpoints(tmp_path), 4))
    saves[2].path.joinpath(FILE).unlink()  # a name: the bytes are there by the others
    assert refused(checkpoints, checkpoints.entries()[2]).diagnostic.facts["previous"] == (
        "step-00000002"
    )


def refused(checkpoints, saved):
    with pytest.raises(Problem, match="E-CHECKPOINT-CORRUPT") as raised:
        checkpoints.verify(saved)
    return raised.value


def test_an_older_file_that_cannot_be_read_costs_no_checkpoint(tmp_path, monkeypatch):
    save(Checkpoints(tmp_path), 1)

    def broken(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    checkpoints = Checkpoints(tmp_path)
    monkeypatch.setattr(shared, "digest", broken)
    saved = save(checkpoints, 2)
    assert sound(checkpoints, saved)
    assert len(set(numbers(tmp_path).values())) == 2


@pytest.mark.parametrize("more", range(6))
@pytest.mark.parametrize("code", [errno.EPERM, errno.EXDEV, errno.EMLINK, errno.ENOTSUP])
def test_a_disk_that_gives_no_second_names_or_stops_to_holds_copies(tmp_path, code, more):
    for _ in range(2):
        checkpoints = Checkpoints(tmp_path, NoLinks(code, more))
        for _ in range(3):
            save(checkpoints, len(checkpoints.whole()) + 1)
    files = set(numbers(tmp_path).values())
    assert len(files) == (6, 5, 3)[more] if more < 3 else len(files) == 1
    assert len(numbers(tmp_path)) == 6
    assert all(sound(checkpoints, saved) for saved in checkpoints.whole())
    assert held(checkpoints.whole()) >= len(files) * 4 * 4096
    assert not list(tmp_path.rglob(".*"))


def test_a_file_that_can_have_no_more_names_is_copied_once_and_the_copy_shared(tmp_path):
    checkpoints = Checkpoints(tmp_path, NoLinks(errno.EMLINK, names=3))
    for step in range(9):
        save(checkpoints, step)
    assert all(sound(checkpoints, saved) for saved in checkpoints.whole())
    assert len(set(numbers(tmp_path).values())) == 3


def test_a_copy_of_a_file_that_was_changed_meanwhile_is_refused(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path, NoLinks(errno.EMLINK, names=3))
    for step in (1, 2, 3):
        saved = save(checkpoints, step)
    data = (saved.path / FILE).read_bytes()
    monkeypatch.setattr(shared.Written, "stands", lambda self: True)
    (saved.path / FILE).write_bytes(data[:-1] + b"\x01")
    with pytest.raises(Problem, match="E-CHECKPOINT-DISK"):
        save(checkpoints, 4)
    assert sound(checkpoints, save(checkpoints, 5))


@pytest.mark.parametrize("at", range(24))
def test_a_full_disk_at_any_act_leaves_what_was_whole_and_the_next_is_whole(tmp_path, at):
    disk = Full(at)
    checkpoints, kept = Checkpoints(tmp_path, disk), []
    for step in (1, 2, 3):
        with contextlib.suppress(Problem):
            kept.append(save(checkpoints, step).name)
        assert {saved.name for saved in checkpoints.whole()} >= set(kept)
        assert all(sound(checkpoints, saved) for saved in checkpoints.whole())
    assert not list(tmp_path.rglob(".*"))
    disk.left = 1000  # there is room again
    assert sound(checkpoints, save(checkpoints, 4))


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
    stores.discard(store, "step-00000003")
    assert store.list() == []


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("save"), st.sampled_from([FIXED, {FROZEN: FIXED[FROZEN] + 1}])),
        st.tuples(st.just("remove"), st.integers(0, 9)),
        st.tuples(st.just("again"), st.none()),
    ),
    max_size=12,
)


def inodes(folder):
    return {path.stat().st_ino for path in folder.rglob(FILE)}


@settings(max_examples=60, deadline=None)
@given(ACTS, st.randoms(use_true_random=False))
def test_what_is_named_stays_and_goes_with_the_last_name_whatever_the_order(acts, order):
    with tempfile.TemporaryDirectory() as place:
        folder, store = Path(place, "here"), stores.LocalStore(str(Path(place, "store")))
        checkpoints, values = Checkpoints(folder), {}

        def remove(name):
            stores.discard(store, name)
            shutil.rmtree(folder / name)
            del values[name]

        for step, (act, given) in enumerate(acts):
            if act == "save":  # other values only come with another process
                same = not checkpoints.holds_fixed() or given is list(values.values())[-1]
                checkpoints = checkpoints if same else Checkpoints(folder)
                saved = save(checkpoints, step, given)
                values[saved.name] = given
                stores.upload(saved, store)
            elif act == "remove" and values:
                remove(sorted(values)[given % len(values)])
            elif act == "again":
                checkpoints = Checkpoints(folder)
            kinds = {int(v[FROZEN][0]) for v in values.values()}
            assert len(store.list("frozen/")) == len(kinds)
            assert len(inodes(folder)) <= len(values)
        for name, given in values.items():
            assert sound(checkpoints, checkpoints.choose(int(name[5:])), given)
        back = Path(place, "back")
        back.mkdir()
        for name in stores.whole(store):
            stores.download(store, name, back, back / ".tmp")
            assert sound(Checkpoints(back), Checkpoints(back).choose(int(name[5:])), values[name])
        for name in order.sample(sorted(values), len(values)):
            remove(name)
        assert store.list() == []
        assert not inodes(folder)
