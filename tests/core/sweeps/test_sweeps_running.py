"""One go at a sweep: how often sweep.json is written, and a disk that takes nothing."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.experiment.declarations import Sweep
from sexpgpu_core.runtime import documents
from sexpgpu_core.runtime.signals import Signals
from sexpgpu_core.sweeps import Point, Points, running
from sexpgpu_core.sweeps.executor import Ended
from sexpgpu_core.sweeps.running import Sweeping
from sexpgpu_core.sweeps.works import Plan


class Engine:
    """Ends every job at once, in failure."""

    def __init__(self) -> None:
        self.commands: list[Sequence[str]] = []
        self.cancelled: list[str] = []

    def submit(self, command: Sequence[str], point: str, log: Path) -> str:
        self.commands.append(command)
        return point

    def find(self, point: str, log: Path) -> str | None:
        return None

    def ended(self, jobs: Sequence[str]) -> dict[str, Ended]:
        return {job: Ended(3) for job in jobs}

    def cancel(self, jobs: Sequence[str]) -> None:
        self.cancelled += jobs


def sweeping(root: Path, engine: Engine, count: int = 5, text: str | None = "(file)") -> Sweeping:
    points = [Point(f"w{n}", {"width": str(n)}, 1) for n in range(count)]
    plan = Plan(
        "x.lisp",
        Points(Sweep("s", "", {}, None), None, points),
        "0" * 12,
        lambda point: (f"{int(point.values['width']):012}", None),
        lambda point: ["run", point.name],
        text=text,
    )
    return Sweeping(plan, root, lambda: engine, Signals())


def refusing(number: int) -> Callable[..., None]:
    def replace(path: Path, document: dict[str, Any], sync: bool = False) -> None:
        raise OSError(number, os.strerror(number))

    return replace


def test_points_are_begun_with_the_text_that_the_file_had(tmp_path: Path) -> None:
    engine = Engine()
    made = sweeping(tmp_path, engine, 2)
    said = made.run()
    assert said["counts"] == {"failed": 2}
    kept = made.path / "file.lisp"
    assert kept.read_text() == "(file)"
    assert engine.commands == [["run", f"w{n}", f"--text={kept}"] for n in range(2)]


def test_a_document_that_takes_long_is_written_seldom_and_whole_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, written = sweeping(tmp_path, Engine(), 5), []
    whole = made.write

    def slow(state: str) -> dict[str, Any]:
        said = whole(state)
        written.append(state)
        made._cost = 60.0
        return said

    monkeypatch.setattr(made, "write", slow)
    assert made.run()["counts"] == {"failed": 5}
    assert written == ["running", "finished"]


def test_points_in_flight_are_heard_while_many_others_wait_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "LOOK", 0.02)
    made, settled = sweeping(tmp_path, Engine(), 12), []
    slow = made.plan.identify

    def one(point: Point) -> tuple[str | None, str | None]:
        time.sleep(0.01)
        return "0" * 12, slow(point)[1]

    made.plan = made.plan._replace(identify=one, jobs=2)
    looked = made._settle

    def settle(told: Callable[[Any], None]) -> list[int]:
        settled.append(sum(work.identity is not None for work in made.works))
        return looked(told)

    monkeypatch.setattr(made, "_settle", settle)
    assert made.run()["counts"] == {"failed": 12}
    assert settled[0] < 12


def test_a_full_disk_in_the_middle_is_waited_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine()
    made = sweeping(tmp_path, engine, 3)
    made.begin()
    made._cost = 0.0  # however slow the disk is, the next turn tries again
    replace, left = documents.replace, [errno.ENOSPC] * 2

    def full(path: Path, document: dict[str, Any], sync: bool = False) -> None:
        if left:
            refusing(left.pop())(path, document)
        replace(path, document, sync)

    monkeypatch.setattr(made, "begin", lambda: made.path)
    monkeypatch.setattr(documents, "replace", full)
    assert made.run()["counts"] == {"failed": 3}
    assert not left


def test_a_disk_that_stays_full_is_told_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sweeping(tmp_path, Engine(), 2)
    made.begin()
    monkeypatch.setattr(made, "begin", lambda: made.path)
    monkeypatch.setattr(documents, "replace", refusing(errno.ENOSPC))
    with pytest.raises(Problem, match="E-RUN-WRITE"):
        made.run()


def test_a_document_that_cannot_be_written_leaves_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="full"):
        documents.replace(tmp_path / "a.json", {})
    assert not list(tmp_path.iterdir())


def test_a_point_whose_run_is_of_another_experiment_says_so(tmp_path: Path) -> None:
    class Fine(Engine):
        def ended(self, jobs: Sequence[str]) -> dict[str, Ended]:
            return {job: Ended(0) for job in jobs}

    (point,) = sweeping(tmp_path, Fine(), 1).run()["points"]
    assert (point["state"], point["error"]) == ("failed", "E-RESUME-CHANGED")


def test_points_that_are_left_out_keep_the_failures_that_no_run_tells_of(tmp_path: Path) -> None:
    class Fails(Engine):
        def ended(self, jobs: Sequence[str]) -> dict[str, Ended]:
            return {job: Ended(4) for job in jobs}

    first = sweeping(tmp_path, Fails(), 3)
    assert [p["state"] for p in first.run()["points"]] == ["failed"] * 3
    name = first.works[0].name
    again = sweeping(tmp_path, Fails(), 3)
    again.plan = again.plan._replace(only=lambda point: point == name)
    points = again.run()["points"]
    assert [(p["state"], p["exit"]) for p in points] == [("failed", 4)] * 3
    assert again.exit == 3
    (again.path / "sweep.json").write_text("{")
    broken = sweeping(tmp_path, Fails(), 3)
    broken.plan = again.plan
    assert [p["state"] for p in broken.run()["points"]] == ["failed", "pending", "pending"]
