"""Algorithms that a device's libraries picked stay with a run, its resumes and its forks, and are
part of the numerics key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fake_device as fake
import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.runtime import begin, run, runs
from sexpgpu_core.runtime.comparison import changes
from sexpgpu_core.runtime.tuning import FILE, inherited, keep, take


class Picks:
    """A device's: a pick a program, made when it is opened unless a run says which."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def document(self) -> str:
        return json.dumps(self.kept) if self.kept else ""

    def take(self, document: str) -> None:
        self.kept = dict(json.loads(document)) if document else {}

    def given(self, programs: Any) -> str:
        mine = {k: v for k, v in sorted(self.kept.items()) if k in programs}
        return json.dumps(mine) if mine else ""


class Device:
    def __init__(self, **would_pick: str) -> None:
        self.picks = Picks()
        self._would_pick = {name.replace("_", "/"): pick for name, pick in would_pick.items()}

    def open(self) -> None:
        self.picks.kept = {**self._would_pick, **self.picks.kept}


def trained(folder: Path, device: Device, steps: int = 5) -> Any:
    """A new run of the fake job with a device's picks."""
    job, loaders = fake.a_job(folder, steps), fake.loaders_in(folder)
    began = begin.begin(
        job, root=folder / "runs", machine=fake.machine_of(), loaders=loaders, command=["x"]
    )
    return on(device, job, began, None, loaders)


def resumed(folder: Path, device: Device, steps: int) -> Any:
    job, loaders = fake.a_job(folder, steps), fake.loaders_in(folder)
    found = runs.find(folder / "runs", "latest")
    again, checkpoint = begin.reopen(found.path, job, machine=fake.machine_of())
    return on(device, job, again, checkpoint, loaders)


def on(device: Device, job: Any, folder: Any, checkpoint: Any, loaders: Any) -> Any:
    take(device, folder.path)
    device.open()
    keep(device, folder, job.trained, checkpoint)
    return run.run(job, fake.FakeSession(), folder, loaders=loaders, resume=checkpoint)


def key_of(summary: Any) -> str | None:
    document = json.loads((summary.folder / "manifest.json").read_text())
    found: str | None = document["numerics"].get("tuning")
    return found


def warned(summary: Any) -> list[str]:
    lines = (summary.folder / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    found = [e["diagnostic"] for e in events if e["event"] == "warning"]
    return [d["message"] for d in found if d["code"] == "W-RESUME-NUMERICS"]


def test_what_was_picked_first_is_taken_again_by_who_goes_on(tmp_path: Path) -> None:
    first = trained(tmp_path, Device(step_train="1"))
    later = Device(step_train="2")
    again = resumed(tmp_path, later, 8)
    assert later.picks.kept == {"step/train": "1"}
    assert json.loads((again.folder / FILE).read_text()) == {"step/train": "1"}
    assert (again.folder, warned(again)) == (first.folder, [])


def test_runs_with_other_picks_are_told_apart(tmp_path: Path) -> None:
    one, same, other = (trained(tmp_path, Device(step_train=p)) for p in ("1", "1", "2"))
    keys = [key_of(s) for s in (one, same, other)]
    assert keys[0] is not None
    assert keys[0] == keys[1] != keys[2]
    a, b, c = (runs.find(tmp_path / "runs", s.folder.name) for s in (one, same, other))
    assert not [x for x in changes(a, b) if x.area == "numerics"]
    (change,) = [x for x in changes(a, c) if x.area == "numerics"]
    assert (change.path, change.a, change.b) == ("tuning", keys[0], keys[2])


def test_a_resume_without_the_record_says_that_bits_may_differ(tmp_path: Path) -> None:
    first = trained(tmp_path, Device(step_train="1"))
    (first.folder / FILE).unlink()
    again = resumed(tmp_path, Device(step_train="2"), 8)
    (told,) = warned(again)
    assert told.startswith(f"tuning was {key_of(first)}, is ")
    last = sorted((again.folder / "checkpoints").glob("step-*"))[-1]
    saved = json.loads((last / "checkpoint.json").read_text())["numerics"]["tuning"]
    assert told.endswith(saved)


def test_what_does_not_train_is_not_in_the_key(tmp_path: Path) -> None:
    first = trained(tmp_path, Device(step_train="1"))
    again = resumed(tmp_path, Device(step_train="1", eval_val="7"), 8)
    assert json.loads((again.folder / FILE).read_text())["eval/val"] == "7"
    assert warned(again) == []
    plain = trained(tmp_path, Device(eval_val="7"))
    assert key_of(first) is not None
    assert key_of(plain) is None


def test_a_fork_begins_with_its_parents_picks(tmp_path: Path) -> None:
    parent, child = tmp_path / "parent", tmp_path / "child"
    parent.mkdir()
    child.mkdir()
    (parent / FILE).write_text('{"step/train": "7"}')
    inherited(parent, child)
    later = Device(step_train="2")
    take(later, child)
    later.open()
    assert later.picks.kept == {"step/train": "7"}
    inherited(tmp_path / "nothing", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_device_without_a_choice_leaves_no_file(tmp_path: Path) -> None:
    summary = trained(tmp_path, Device())
    assert key_of(summary) is None
    assert not (summary.folder / FILE).exists()


def test_a_damaged_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{")
    with pytest.raises(Problem) as raised:
        take(Device(), tmp_path)
    assert raised.value.diagnostic.code == "E-RUN-TUNING"
    assert "delete it" in str(raised.value.diagnostic.hint)
