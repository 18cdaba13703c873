"""Jobs in flight: what an engine takes, refuses, keeps and forgets."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from sexpgpu_core.diagnostics import Problem, problem
from sexpgpu_core.sweeps.executor import Ended, LocalExecutor
from sexpgpu_core.sweeps.flight import FILE, Flight, kept


class Engine:
    """Takes so many; `over` is what it says of jobs that have ended."""

    def __init__(self, room: int) -> None:
        self.room, self.taken = room, 0
        self.over: dict[str, Ended] = {}
        self.cancelled: list[str] = []
        self.unnamed: dict[str, str] = {}

    def submit(self, command: Sequence[str], point: str, log: Path) -> str:
        if self.taken - len(self.over) >= self.room:
            raise problem("E-EXECUTOR-REFUSED", "no more of yours")
        self.taken += 1
        return str(self.taken)

    def find(self, point: str, log: Path) -> str | None:
        return self.unnamed.get(point)

    def ended(self, jobs: Collection[str]) -> dict[str, Ended]:
        return {job: self.over[job] for job in jobs if job in self.over}

    def cancel(self, jobs: Collection[str]) -> None:
        self.cancelled += jobs


def test_an_engine_that_is_full_of_ours_is_asked_again_once_one_has_ended(tmp_path: Path) -> None:
    engine = Engine(1)
    flight = Flight(engine, "toy", tmp_path)
    assert flight.submit(0, "a", ["true"])
    assert not flight.submit(1, "b", ["true"])
    assert flight.full
    assert flight.ended() == {}
    assert flight.full
    engine.over["1"] = Ended(0)
    assert flight.ended() == {0: Ended(0)}
    assert not flight.full
    assert flight.submit(1, "b", ["true"])
    assert flight.numbers == [1]


def test_an_engine_that_takes_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="E-EXECUTOR-REFUSED"):
        Flight(Engine(0), "toy", tmp_path).submit(0, "a", ["true"])


def test_another_process_takes_up_the_last_job_of_each_point_that_goes_on(tmp_path: Path) -> None:
    engine = Engine(9)
    flight = Flight(engine, "toy", tmp_path)
    for number, point in enumerate(("a", "b", "a")):
        assert flight.submit(number, point, ["true"])
    with open(tmp_path / FILE, "a") as file:
        file.write('{"executor": "other", "point": "c", "job": "9"}\n{"execu')
    assert kept(tmp_path, "toy") == {"a": "3", "b": "2"}
    engine.over["2"] = Ended(None)
    later = Flight(engine, "toy", tmp_path)
    assert later.take_up({"a": 0, "b": 1, "c": 2}) == [0]
    later.cancel()
    assert engine.cancelled == ["3"]
    assert Flight(engine, "toy", tmp_path / "new").take_up({"a": 0}) == []


def test_a_job_whose_name_never_came_back_is_sought_and_not_doubled(tmp_path: Path) -> None:
    engine = Engine(1)
    flight = Flight(engine, "toy", tmp_path)
    assert flight.submit(0, "a", ["true"])
    assert not flight.submit(1, "b", ["true"])
    engine.unnamed["b"] = "7"
    later = Flight(engine, "toy", tmp_path)
    assert later.take_up({"a": 0, "b": 1}) == [0, 1]
    assert kept(tmp_path, "toy") == {"a": "1", "b": "7"}
    assert flight.submit(1, "b", ["true"])  # asked again, it is there already
    assert engine.taken == 1


def test_a_process_of_this_machine_is_a_job_with_its_exit_and_its_log(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    flight = Flight(LocalExecutor({}), "local", tmp_path)
    codes = ("print(7); raise SystemExit(5)", "import time; time.sleep(60)")
    for number, code in enumerate(codes):
        assert flight.submit(number, f"p{number}", [sys.executable, "-c", code])
    found: dict[int, Ended] = {}
    while not found:
        found = flight.ended()
        time.sleep(0.01)
    assert found == {0: Ended(5)}
    assert (tmp_path / "logs" / "p0.txt").read_text() == "7\n"
    flight.cancel()
    while not (found := flight.ended()):
        time.sleep(0.01)
    assert found == {1: Ended(75)}  # before it listened
    with pytest.raises(Problem, match="E-EXECUTOR-REFUSED: local: /no"):
        flight.submit(2, "p2", ["/no/such/program"])
