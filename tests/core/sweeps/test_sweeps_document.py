"""A sweep's folder as others read it: whether somebody is at it, and how its runs are now."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.runtime.clock import stamp
from sexpgpu_core.runtime.lock import Lock
from sexpgpu_core.runtime.process import process_identity, this_host
from sexpgpu_core.sweeps.document import read


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def run(root: Path, name: str, value: float, by: str = "a" * 12) -> None:
    """A run that has finished."""
    folder = root / name
    folder.mkdir(parents=True)
    manifest = {
        **{"version": 1, "created_at": stamp(0), "experiment_id": "0" * 12, "ir_sha256": "0"},
        **{
            "file": "x.lisp",
            "selection": {"set": {}, "values": {}},
            "seed": 1,
            "evaluation_ids": {"val": by},
        },
        "steps": 5,
    }
    status = {
        **{"version": 1, "state": "finished", "step": 5, "pid": 1, "host": "h", "attempt": 1},
        **{"heartbeat": stamp(0), "elapsed": 1.0, "best": {}, "targets": [], "exit": 0},
        "metrics": {"val/loss": {"value": value, "step": 5}},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "status.json").write_text(json.dumps(status))


def sweep(root: Path, runs: list[str | None], heartbeat: float | None = None) -> Path:
    """The folder of a sweep that says it runs, each point of it with a run of a name or none."""
    folder = root / "sweep-x-s-000000"
    folder.mkdir(parents=True, exist_ok=True)
    points = [
        {
            **{"point": f"w{n}", "values": {"width": str(n)}, "seed": 1, "value": None},
            **{"state": "pending" if name is None else "running", "run": name},
        }
        for n, name in enumerate(runs)
    ]
    now = stamp(time.time() if heartbeat is None else heartbeat)
    said = {
        **{"version": 1, "document": "sweep", "name": "s", "file": "x.lisp", "state": "running"},
        **{"started_at": now, "heartbeat": now, "executor": "local", "counts": {}, "table": []},
        **{"rank": {"metric": "val/loss", "goal": "min"}, "points": points},
    }
    (folder / "sweep.json").write_text(json.dumps(said))
    return folder


def held(folder: Path, **told: Any) -> None:
    (folder / "run.lock").write_text(json.dumps(told))


def test_a_sweep_whose_process_is_gone_is_not_alive_and_ranks_what_has_ended(
    tmp_path: Path, gone: int
) -> None:
    run(tmp_path, "x-0", 2.0)
    run(tmp_path, "x-1", 1.0)
    folder = sweep(tmp_path, ["x-0", "x-1", None])
    held(folder, host=this_host(), pid=gone, started="")
    said = read(folder)
    assert (said["state"], said["alive"]) == ("stopped", False)
    assert said["counts"] == {"finished": 2, "pending": 1}
    assert [point["value"] for point in said["points"]] == [2.0, 1.0, None]
    assert [(row["place"], row["values"]) for row in said["table"]] == [
        (1, {"width": "1"}),
        (2, {"width": "0"}),
    ]
    assert said["evaluation_id"] == "a" * 12


def test_a_process_of_the_same_number_that_began_later_is_another(tmp_path: Path) -> None:
    folder = sweep(tmp_path, [None])
    own = {"host": this_host(), "pid": os.getpid(), "started": ""}
    held(folder, **own, **process_identity(os.getpid()))
    assert read(folder)["state"] == "running"
    if process_identity(os.getpid()):
        held(folder, **own, pid_started_at=stamp(0))
        assert read(folder)["alive"] is False


@pytest.mark.parametrize("named", [True, False])
def test_one_of_another_host_lives_as_long_as_its_heart_beats(tmp_path: Path, named: bool) -> None:
    folder = sweep(tmp_path, [None])
    if named:
        held(folder, host="elsewhere", pid=1, started="")
    assert read(folder)["state"] == "running"
    sweep(tmp_path, [None], time.time() - 61)
    said = read(folder)
    assert (said["state"], said["alive"]) == ("stopped", False)


def test_a_lock_says_which_process_has_it(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "run.lock", "then")
    told = json.loads((tmp_path / "run.lock").read_text())
    assert told == {
        **{"host": this_host(), "pid": os.getpid(), "started": "then"},
        **process_identity(os.getpid()),
    }
    with pytest.raises(Problem) as refused:
        Lock(tmp_path / "run.lock", "now")
    assert set(refused.value.diagnostic.facts) >= {"host", "pid", "started"}
    lock.release()


def test_a_document_that_is_none_is_told(tmp_path: Path) -> None:
    folder = sweep(tmp_path, [None])
    for text in ("{", "[]", '{"state": "running"}', '{"state": "stopped", "points": 3}'):
        (folder / "sweep.json").write_text(text)
        with pytest.raises(Problem, match="E-USAGE-BROKEN"):
            read(folder)
