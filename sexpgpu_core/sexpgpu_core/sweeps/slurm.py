"""`--executor slurm`: a job of `sbatch` a point, whose state `squeue` and `sacct` say.

What the commands print is as their manual pages have it (https://slurm.schedmd.com/sbatch.html and
so on, 20.11 to 24.05): `sbatch --parsable` ID or ID;CLUSTER, its reasons on stderr with exit 1. The
script that `--wrap` makes becomes the point's command, so that a signal to the batch step
(`scancel --batch`, `--signal=B:...`) is one to it. `scancel --signal` reaches jobs that run;
`--state=PENDING` takes those that wait out of the queue. A job that is requeued keeps its ID.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..diagnostics import problem
from ..records import NamedTuple
from .executor import Ended
from .slurm_states import LIVE, UNKNOWN, Told, ended, of_sacct, of_scontrol, of_squeue

PROGRAMS = ("sbatch", "squeue", "scancel")
"""What has to be on the PATH; without `sacct` a job's exit is read in its run."""
FLAGS = {
    **{name: name for name in ("partition", "account", "time", "qos", "gres", "mem", "signal")},
    "cpus": "cpus-per-task",
}
"""Options that are flags of sbatch."""
ANSWER = 60.0
"""Seconds that a command may take."""
LATE = 60.0
"""Seconds until accounting has what a job came to."""
LOST = 600.0
"""Seconds without any answer after which the sweep ends; jobs go on."""


class Said(NamedTuple):
    """How a command of Slurm's ended; `exit` None: not in time."""

    exit: int | None
    out: str
    err: str


class SlurmExecutor:
    """Asks for all jobs at once, every `poll` seconds."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        for program in PROGRAMS:
            if shutil.which(program) is None:
                hint = "sweep on a login node of the cluster, with Slurm's commands on the PATH"
                raise problem("E-EXECUTOR-ABSENT", f"slurm: no {program} is here", hint=hint)
        self._over: dict[str, Ended] = {}
        self._gone: dict[str, float] = {}
        """Since when squeue has not known a job."""
        self._cancelled: set[str] = set()
        self._left: set[str] = set()
        """What scancel did not reach."""
        self._asked = -float("inf")
        self._heard = time.monotonic()

    def submit(self, command: Sequence[str], point: str, log: Path) -> str:
        log.write_bytes(b"")  # a job that is requeued appends
        words = [f"--job-name={_name(point, log)}", *self._flags(log), *self._more()]
        said = _said(["sbatch", "--parsable", *words, f"--wrap=exec {shlex.join(command)}"])
        job = said.out.strip().splitlines()[-1:]
        if said.exit != 0 or not job or not job[0].partition(";")[0].isdigit():
            told = said.err.strip() or said.out.strip() or f"sbatch ended with {said.exit}"
            hint = "options: --executor slurm:partition=...,time=...,account=..."
            raise problem("E-EXECUTOR-REFUSED", f"slurm: {told}", hint=hint, point=point)
        return job[0]

    def find(self, point: str, log: Path) -> str | None:
        """Raises E-EXECUTOR-LOST where squeue does not say it: another job may be one too many."""
        words = ("--noheader", "--format=%i|%T", f"--name={_name(point, log)}")
        said = _said(["squeue", *words])
        if said.exit != 0:
            hint = "the same command again, once Slurm answers"
            raise problem("E-EXECUTOR-LOST", f"slurm: {said.err.strip()}", hint=hint)
        return next(iter(of_squeue(said.out)), None)

    def ended(self, jobs: Collection[str]) -> dict[str, Ended]:
        now = time.monotonic()
        if now - self._asked >= self._options["poll"]:
            self._ask([job for job in jobs if job not in self._over])
            self._asked = time.monotonic()
        return {job: self._over[job] for job in jobs if job in self._over}

    def cancel(self, jobs: Collection[str]) -> None:
        self._cancelled.update(jobs)
        for cluster, ids in _clusters(jobs).items():
            waiting = _said(["scancel", *cluster, "--quiet", "--state=PENDING", *ids])
            running = _said(["scancel", *cluster, "--quiet", "--signal=TERM", "--batch", *ids])
            if waiting.exit != 0 or running.exit != 0:
                self._left.update(jobs)

    def _flags(self, log: Path) -> list[str]:
        """A % in a path of --output is written twice."""
        given = {FLAGS[k]: v for k, v in self._options.items() if k in FLAGS and v}
        output = str(log.resolve()).replace("%", "%%")
        flags = [f"--{name}={value}" for name, value in given.items()]
        return [f"--output={output}", "--open-mode=append", *flags]

    def _more(self) -> list[str]:
        try:
            return shlex.split(self._options["sbatch"])
        except ValueError as wrong:
            told = f"slurm: sbatch={self._options['sbatch']}: {wrong}"
            raise problem("E-USAGE-VALUE", told, hint="flags as a shell has them") from wrong

    def _ask(self, jobs: Sequence[str]) -> None:
        """What has become of jobs. Raises E-EXECUTOR-LOST."""
        left, self._left = self._left, set()
        if left := left & set(jobs):
            self.cancel(left)
        for cluster, names in _clusters(jobs).items():
            queue = _said(_asking("squeue", cluster, names, "--states=all", "--format=%i|%T"))
            if queue.exit != 0 and UNKNOWN not in queue.err:
                self._unheard(queue)
                continue
            self._heard = time.monotonic()
            told = of_squeue(queue.out)
            self._settle(cluster, names, {id: told.get(id, Told("")) for id in names})

    def _settle(
        self, cluster: Sequence[str], names: Mapping[str, str], queue: Mapping[str, Told]
    ) -> None:
        """Note how jobs ended that wait and run no more; sacct knows exits, and what squeue has
        forgotten."""
        asked = [id for id, told in queue.items() if told.state in ("", "FAILED")]
        flags = ("--parsable2", "--allocations", "--format=JobIDRaw,State,ExitCode")
        said = _said(_asking("sacct", cluster, asked, *flags)) if asked else Said(0, "", "")
        known = of_sacct(said.out) if said.exit == 0 else _shown(cluster, asked)
        for id in asked:
            told = known.get(id, Told(""))
            if told.exit is not None and told.state not in LIVE:
                queue = {**queue, id: told}
            elif said.exit == 0 and self._fresh(id):
                queue = {**queue, id: Told("RUNNING")}  # until accounting has it
        for id, told in queue.items():
            if told.state not in LIVE:
                self._over[names[id]] = ended(id, told, names[id] in self._cancelled)

    def _fresh(self, id: str) -> bool:
        """Whether accounting may not have it yet."""
        now = time.monotonic()
        return now - self._gone.setdefault(id, now) < LATE

    def _unheard(self, said: Said) -> None:
        silent = time.monotonic() - self._heard
        if silent > LOST:
            told = f"slurm: squeue has not answered for {silent:.0f} s: {said.err.strip()}"
            hint = "jobs go on; the same command finds them once Slurm answers"
            raise problem("E-EXECUTOR-LOST", told, hint=hint)


def _name(point: str, log: Path) -> str:
    """A name that only jobs of this point of this sweep have."""
    return f"sexpgpu-{point}-{hashlib.sha256(str(log.resolve()).encode()).hexdigest()[:8]}"


def _clusters(jobs: Iterable[str]) -> dict[tuple[str, ...], dict[str, str]]:
    """Jobs by their numbers, by the flags that say whose they are."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for job in jobs:
        id, _, cluster = job.partition(";")
        found.setdefault((f"--clusters={cluster}",) if cluster else (), {})[id] = job
    return found


def _asking(program: str, cluster: Sequence[str], ids: Iterable[str], *flags: str) -> list[str]:
    return [program, *cluster, "--noheader", *flags, f"--jobs={','.join(ids)}"]


def _shown(cluster: Sequence[str], ids: Iterable[str]) -> dict[str, Told]:
    """What the controller still knows of jobs, where there is no accounting."""
    found: dict[str, Told] = {}
    for id in ids:
        found.update(of_scontrol(_said(["scontrol", *cluster, "show", "job", "-o", id]).out))
    return found


def _said(words: Sequence[str]) -> Said:
    """A command of Slurm's, out of reach of the terminal's Ctrl-C."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return Said(None, "", f"{words[0]} took more than {ANSWER:g} s")
    except OSError as refused:
        return Said(127, "", f"{words[0]}: {refused.strerror}")
    return Said(done.returncode, done.stdout, done.stderr)
