"""The jobs of points in flight. Their names are kept, so that a sweep that was killed finds those
that go on instead of running a point twice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..diagnostics import Problem
from .executor import Ended, Executor

FILE = "jobs.jsonl"
"""A line a job: executor, point, job; null before it has one. Of a point the last line counts."""


class Flight:
    """Points in flight, by their numbers. `full`: the engine takes no more until one has ended."""

    def __init__(self, executor: Executor, name: str, folder: Path) -> None:
        self._executor, self._name, self._folder = executor, name, folder
        self._jobs: dict[int, str] = {}
        self._refused: set[int] = set()
        self.full = False

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def numbers(self) -> list[int]:
        """Of the points that have a job."""
        return list(self._jobs)

    def submit(self, number: int, point: str, command: Sequence[str]) -> bool:
        """Whether its job was taken; not where the engine is full of ours. Raises
        E-EXECUTOR-REFUSED where it takes none at all, OSError of the folder."""
        log = self._log(point)
        job = self._executor.find(point, log) if number in self._refused else None
        self._keep(point, None)
        try:
            job = job or self._executor.submit(command, point, log)
        except Problem as refused:
            if refused.diagnostic.code != "E-EXECUTOR-REFUSED" or not self._jobs:
                raise
            self._refused.add(number)
            self.full = True
            return False
        self._jobs[number] = job
        self._keep(point, job)
        return True

    def take_up(self, wanted: Mapping[str, int]) -> list[int]:
        """Of points by name those whose jobs go on, whoever began them; they are in flight now."""
        told = kept(self._folder, self._name)
        jobs = {}
        for point, number in wanted.items():
            job = told.get(point) or (self._found(point) if point in told else None)
            if job is not None:
                jobs[job] = number
        ended = self._executor.ended(list(jobs)) if jobs else {}
        live = {number: job for job, number in jobs.items() if job not in ended}
        self._jobs.update(live)
        return sorted(live)

    def _found(self, point: str) -> str | None:
        """The job of a point whose sweep was killed before it had its name; it is kept now."""
        job = self._executor.find(point, self._log(point))
        if job is not None:
            self._keep(point, job)
        return job

    def _log(self, point: str) -> Path:
        return self._folder / "logs" / f"{point}.txt"

    def ended(self) -> dict[int, Ended]:
        """Those that have ended since the last call; they are no longer in flight."""
        if not self._jobs:
            return {}
        told = self._executor.ended(list(self._jobs.values()))
        found = {number: told[job] for number, job in self._jobs.items() if job in told}
        for number in found:
            del self._jobs[number]
        self.full = self.full and not found
        return found

    def cancel(self) -> None:
        """Ask all to save and end."""
        if self._jobs:
            self._executor.cancel(list(self._jobs.values()))

    def _keep(self, point: str, job: str | None) -> None:
        line = json.dumps({"executor": self._name, "point": point, "job": job})
        with open(self._folder / FILE, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def cancel_left(executor: Executor, name: str, folder: Path) -> None:
    """Cancel the jobs that a sweep's process which is gone has left to its engine."""
    jobs = [job for job in kept(folder, name).values() if job is not None]
    ended = executor.ended(jobs) if jobs else {}
    if left := [job for job in jobs if job not in ended]:
        executor.cancel(left)


def kept(folder: Path, executor: str) -> dict[str, str | None]:
    """The last job of each point that an executor was given; a line cut short is passed over."""
    try:
        lines = (folder / FILE).read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return {}
    found = {}
    for line in lines:
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if told["executor"] == executor:
            found[told["point"]] = told["job"]
    return found
