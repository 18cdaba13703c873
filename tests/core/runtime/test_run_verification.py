"""A resume is proved, and whatever a saver leaves out is found (80-trust, item 1)."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from pathlib import Path

import fake_device as fake
import numpy as np
import pytest

from sexpgpu_core.checkpoint import folder as checkpoint_folder
from sexpgpu_core.checkpoint.folder import Checkpoints
from sexpgpu_core.checkpoint.shared import FILE as FROZEN
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.experiment.declarations import CheckpointDeclaration
from sexpgpu_core.runtime import manifest
from sexpgpu_core.runtime.signals import Signals
from sexpgpu_core.runtime.verification import verify

EVERY = CheckpointDeclaration(every=5, best=("val/loss", "min"))


def a_job(folder, **given):
    targets = [
        fake.a_target("val/loss", "below", 1000.0),
        fake.a_target("val/loss", "below", -1.0),
    ]
    return fake.a_job(folder, **{"checkpoint": EVERY, "targets": targets, "log_every": 2, **given})


def proved(tmp_path, path, job, name="scratch", key="1", **given):
    return verify(
        path,
        job,
        fake.FakeSession,
        loaders=fake.loaders_in(tmp_path),
        machine=fake.machine_of(key),
        scratch=tmp_path / name,
        **given,
    )


def messages(done):
    return [d.message for d in done.found]


def test_a_sound_run_is_replayed_to_its_last_checkpoint(tmp_path):
    job = a_job(tmp_path)
    path = fake.start(tmp_path, job)[0].folder
    done = proved(tmp_path, path, job)
    assert (messages(done), done.span) == ([], (15, 20))
    assert [saved.step for saved in done.saved] == [5, 10, 15, 20]
    assert all(done.sound(saved.name) for saved in done.saved)
    assert proved(tmp_path, path, job, "b", steps=7).span == (10, 17)
    with pytest.raises(Problem, match="E-CHECKPOINT-NONE"):
        proved(tmp_path, path, job, "c", steps=16)


def test_a_run_with_one_checkpoint_is_replayed_from_its_beginning(tmp_path):
    job = a_job(tmp_path, checkpoint=CheckpointDeclaration())
    path = fake.start(tmp_path, job)[0].folder
    assert proved(tmp_path, path, job).span == (0, 20)


def test_runs_that_were_stopped_and_resumed_are_sound(tmp_path):
    signals = Signals()
    job = a_job(tmp_path)
    at = {12: lambda: signals.request("SIGTERM")}
    path = fake.start(tmp_path, job, fake.FakeSession(at), signals=signals)[0].folder
    done = proved(tmp_path, path, job, "a")
    assert (messages(done), done.span) == ([], (10, 13))
    fake.resume(tmp_path, job)
    done = proved(tmp_path, path, job, "b")
    assert (messages(done), done.span) == ([], (15, 20))
    fake.resume(tmp_path, job, which=10)
    assert messages(proved(tmp_path, path, job, "c")) == []


def test_skipped_steps_are_replayed(tmp_path):
    job = a_job(tmp_path, guard=("skip", 3))
    session = fake.FakeSession({17: "nan"}, skip=True)
    path = fake.start(tmp_path, job, session)[0].folder
    done = verify(
        path,
        job,
        lambda: fake.FakeSession({17: "nan"}, skip=True),
        loaders=fake.loaders_in(tmp_path),
        machine=fake.machine_of(),
        scratch=tmp_path / "scratch",
    )
    assert (messages(done), done.span) == ([], (15, 20))


def test_a_device_that_gives_other_bits_is_found(tmp_path):
    job = a_job(tmp_path)
    path = fake.start(tmp_path, job)[0].folder

    class Other(fake.FakeSession):
        def step(self, batch, scalars, error, metrics):
            doubled = {name: 2 * value for name, value in scalars.items()}
            return super().step(batch, doubled, error, metrics)

    done = verify(
        path,
        job,
        Other,
        loaders=fake.loaders_in(tmp_path),
        machine=fake.machine_of(),
        scratch=tmp_path / "scratch",
    )
    assert any("parameter:w: " in text and "elements differ" in text for text in messages(done))
    assert {d.code for d in done.found} == {"E-CHECKPOINT-VERIFY"}


def test_on_a_machine_of_other_numerics_nothing_is_proved(tmp_path):
    job = a_job(tmp_path)
    path = fake.start(tmp_path, job)[0].folder
    done = proved(tmp_path, path, job, key="2")
    assert ([d.code for d in done.found], done.span) == (["W-RESUME-NUMERICS"], None)


def test_a_damaged_file_is_found_in_whichever_checkpoint_it_lies(tmp_path):
    job = a_job(tmp_path)
    path = fake.start(tmp_path, job)[0].folder
    file = path / "checkpoints" / "step-00000005" / "optimizer.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(bytes(data))
    done = proved(tmp_path, path, job)
    assert [d.code for d in done.found] == ["E-CHECKPOINT-CORRUPT"]
    assert not done.sound("step-00000005")
    assert done.sound("step-00000010")


# -- whatever the saver leaves out


NAMES = ["parameter:w", "optimizer:w/m", "persistent:step", "parameter:base"]


@pytest.mark.parametrize("name", NAMES)
def test_a_tensor_that_the_saver_leaves_out_is_found(tmp_path, monkeypatch, name):
    whole = Checkpoints.save

    def without(self, step, names, *rest, fixed, **given):
        kept, fixed = [n for n in names if n != name], [n for n in fixed if n != name]
        return whole(self, step, kept, *rest, fixed=fixed, **given)

    monkeypatch.setattr(Checkpoints, "save", without)
    job = a_job(tmp_path, frozen=name == "parameter:base")
    path = fake.start(tmp_path, job)[0].folder
    told = messages(proved(tmp_path, path, job))
    assert f"step-00000020: tensor {name} is missing" in told


@pytest.mark.parametrize("name", NAMES)
def test_a_tensor_that_the_saver_writes_wrong_is_found(tmp_path, monkeypatch, name):
    whole = Checkpoints.save

    def stale(self, step, names, read, *rest, **given):
        zero = lambda asked: np.zeros_like(read(asked)) if asked == name else read(asked)
        return whole(self, step, names, zero, *rest, **given)

    job = a_job(tmp_path, frozen=name == "parameter:base")
    monkeypatch.setattr(Checkpoints, "save", stale)
    path = fake.start(tmp_path, job)[0].folder
    assert messages(proved(tmp_path, path, job))


def changed(data):
    """As many bytes, of which the last is another."""
    return data[:-1] + bytes([data[-1] ^ 1])


def in_place(file):
    file.write_bytes(changed(file.read_bytes()))  # the same inode


def replaced(file):
    data = changed(file.read_bytes())
    file.unlink()
    file.write_bytes(data)


HARMS = {"a byte": in_place, "replaced": replaced, "gone": lambda file: file.unlink()}
"""A byte of the file itself is of all that share it; what is done to a name is of its own."""


@pytest.mark.parametrize("steps", [None, 7])
@pytest.mark.parametrize("at", [5, 20])
@pytest.mark.parametrize("harm", HARMS)
def test_harm_to_frozen_values_is_found_in_every_checkpoint_that_has_them(
    tmp_path, harm, at, steps
):
    job = a_job(tmp_path, frozen=True)
    path = fake.start(tmp_path, job)[0].folder
    assert messages(proved(tmp_path, path, job, "before", steps=steps)) == []
    HARMS[harm](path / "checkpoints" / f"step-{at:08}" / FROZEN)
    done = proved(tmp_path, path, job, steps=steps)
    told = {d.facts["checkpoint"] for d in done.found}
    assert {d.code for d in done.found} == {"E-CHECKPOINT-CORRUPT"}
    assert {d.facts["damaged"] for d in done.found} == {FROZEN}
    alone = {f"step-{at:08}"}
    assert told == ({saved.name for saved in done.saved} if harm == "a byte" else alone)


def fields(document, at=()):
    """Paths of all keys of a document, those of objects in lists too."""
    found = []
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        if isinstance(document, dict):
            found.append((*at, key))
        if isinstance(value, (dict, list)):
            found += fields(value, (*at, key))
    return found


def short(folder, frozen):
    """Of four steps and two checkpoints."""
    folder.mkdir()
    passes = [fake.a_pass(every=2)]
    every = EVERY._replace(every=2)
    return a_job(folder, steps=4, checkpoint=every, passes=passes, frozen=frozen)


def a_document(folder, frozen):
    path = fake.start(folder, short(folder, frozen))[0].folder
    return json.loads((path / "checkpoints/step-00000004/checkpoint.json").read_text())


def without(document, path):
    made = copy.deepcopy(document)
    inside = made
    for key in path[:-1]:
        if isinstance(inside, dict) and key not in inside:
            return made  # an earlier checkpoint that has nothing there
        inside = inside[key]
    if isinstance(inside, dict):
        inside.pop(path[-1], None)
    return made


@pytest.fixture
def memory():
    """A folder that no disk is behind, where there is such a place: 80 runs write a lot."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


@pytest.mark.parametrize("frozen", [False, True])
def test_every_field_that_the_saver_leaves_out_is_found(memory, monkeypatch, frozen):
    monkeypatch.setattr(manifest, "git", lambda folder: None)  # a process each
    document = a_document(memory / "whole", frozen)
    fill, every = Checkpoints._fill, fields(document)
    assert len(every) > 70
    assert [file["path"] for file in document["files"]].count(FROZEN) == frozen
    for number, path in enumerate(every):

        def lacking(self, scratch, *given, path=path):
            whole = fill(self, scratch, *given)
            written = without(whole, path)
            if path != ("sha256",):
                written["sha256"] = checkpoint_folder._own_digest(written)
            (scratch / "checkpoint.json").write_text(json.dumps(written))
            return whole

        folder = memory / str(number)
        monkeypatch.setattr(Checkpoints, "_fill", lacking)
        job = short(folder, frozen)
        run = fake.start(folder, job)[0].folder
        assert proved(folder, run, job).found, "/".join(map(str, path))
