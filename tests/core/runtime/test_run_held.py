"""Numbers of steps that follow each other fast are written together, and nothing else changes."""

from __future__ import annotations

import fake_device as fake
import pytest

from sexpgpu_core.checkpoint.disk import Disk
from sexpgpu_core.experiment.declarations import CheckpointDeclaration
from sexpgpu_core.runtime import events, reporting
from sexpgpu_core.runtime.events import EventLog

CLOCKED = ("time", "elapsed", "throughput", "duration_s", "stall_s", "summary", "run")


def said(folder):
    """Events without what clocks say."""
    return [
        {key: value for key, value in event.items() if key not in CLOCKED}
        for event in events.read(folder / "events.jsonl")
    ]


def job_of(folder, **given):
    every = CheckpointDeclaration(every=8)
    return fake.a_job(folder, 40, log_every=1, checkpoint=every, **given)


def test_holding_back_changes_no_line_but_its_clocks(tmp_path, monkeypatch):
    # a pass every 5 steps and a checkpoint every 8: both fall within what is held
    told = []
    for name, seconds in (("at once", 0.0), ("late", 1e9)):
        monkeypatch.setattr(reporting, "HELD", seconds)
        (tmp_path / name).mkdir()
        done, _ = fake.start(tmp_path / name, job_of(tmp_path / name))
        told.append(said(done.folder))
    now, late = told
    # a write of a checkpoint is told whenever it has ended
    kinds = {"open", "checkpoint"}
    strip = [[{**e, "seq": 0} for e in t if e["event"] not in kinds] for t in told]
    assert strip[0] == strip[1]
    assert [e["seq"] for e in late] == list(range(len(late))) == [e["seq"] for e in now]
    assert sum(e["event"] == "step" for e in late) == 40


def test_lines_are_written_together(tmp_path, monkeypatch):
    monkeypatch.setattr(reporting, "HELD", 1e9)
    counts = []
    write = EventLog.write_all
    monkeypatch.setattr(
        EventLog, "write_all", lambda log, e: (counts.append(len(e)), write(log, e))[1]
    )
    fake.start(tmp_path, job_of(tmp_path, passes=[]))
    assert 8 in counts


def test_a_checkpoint_has_its_events_on_the_disk_before_it_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(reporting, "HELD", 1e9)
    seen = {}

    class Watched(Disk):
        def make(self, path):
            super().make(path)
            step = int(path.name.split("-")[2])
            seen[step] = [e["step"] for e in said(path.parents[1]) if e["event"] == "step"]

    fake.start(tmp_path, job_of(tmp_path, passes=[]), disk=Watched())
    assert {step: steps[-1] >= step for step, steps in seen.items()} == dict.fromkeys(
        (8, 16, 24, 32, 40), True
    )


@pytest.mark.parametrize(
    "given",
    [
        {"targets": [fake.a_target("train/loss", "below", -1.0)]},
        {"checkpoint": CheckpointDeclaration(best=("train/loss", "min"))},
    ],
)
def test_numbers_that_decide_something_are_not_held(tmp_path, monkeypatch, given):
    monkeypatch.setattr(reporting, "HELD", 1e9)
    counts = []
    write = EventLog.write_all
    monkeypatch.setattr(
        EventLog, "write_all", lambda log, e: (counts.append(len(e)), write(log, e))[1]
    )
    fake.start(tmp_path, fake.a_job(tmp_path, log_every=1, passes=[], **given))
    assert set(counts) == {1}


def test_a_pass_that_was_quick_is_told_with_the_steps_around_it(tmp_path, monkeypatch):
    monkeypatch.setattr(reporting, "HELD", 1e9)
    written = []
    write = EventLog.write_all
    monkeypatch.setattr(
        EventLog,
        "write_all",
        lambda log, e: (written.append([said.event for said in e]), write(log, e))[1],
    )
    fake.start(tmp_path, fake.a_job(tmp_path, 40, log_every=1))
    together = max(written, key=len)
    assert {"step", "eval"} <= set(together)
    # how long the first pass takes is not known: what came before it is written
    assert written[[("eval" in row) for row in written].index(True) - 1][-1] == "step"
