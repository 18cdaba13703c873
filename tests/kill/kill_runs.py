"""Kills runs with SIGKILL at random moments, a few hundred times, and resumes them each time.

Of two files, one of which trains small maps beside weights that are loaded and frozen. After each
kill every checkpoint must be whole, with all hashes, and its frozen values one file; each time
that a run comes to its end it must be bit for bit what the run that nobody killed came to.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sexpgpu_core.checkpoint import tensors
from sexpgpu_core.checkpoint.folder import Checkpoints
from sexpgpu_core.checkpoint.shared import FILE as FROZEN
from sexpgpu_core.diagnostics import Problem

FORMS = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d
  (source (digits))
  (stage :train :split (0 0.8))
  (stage :val :split (0.8 1))
  (batch 32))
{models}
(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))
(defeval val :loader (d :val) :every 20)
(defun optimizer () (groups :clip-norm 1.0 {groups}))
(defrun :steps {steps} :seed 3 :log-every 5
        :checkpoint (:every {every} :keep 2 :best ("val/loss" :min))
        :diagnostics (:every 10 :select ("grad/norm" {select})))
"""
"""What both files have in common."""

PLAIN = {
    "models": "(defmodel net (x) (nn:layers x (list {width} {width} 10) :dropout 0.1))",
    "groups": ":ema 0.99 (group :rest (optim:adamw :lr 1e-3))",
    "select": '"act/std/net"',
}
ADAPTED = {
    "models": """(defmodel adapted (x out)
  (defparam w ((dim x -1) out))
  (defparam down ((dim x -1) 4) :init (normal 0.1))
  (defparam up (4 out) :init 0)
  (+ (matmul x w) (matmul (matmul x down) up)))
(defmodel net (x)
  (adapted (relu (adapted (/ x 16.0) {wide} :name "in")) 10 :name "out"))
(load-params "base.safetensors" :into "net" :missing ("**/down" "**/up"))""",
    "groups": '(group (select :path "**/w") :frozen) (group :rest (optim:adamw :lr 1e-3))',
    "select": "",
}
"""Its frozen values are 38 kB for each of `width`: 4.8 MB, which take a while to be written."""

WRITING = (".tmp-*", ".trash-*")
"""Folders that are there while a checkpoint is written and while one is removed."""

SHARING = f".tmp-*/{FROZEN}"
"""A file that is there from when frozen values are begun to be written, or are given a name."""


class Wrong(AssertionError):
    """A promise that a kill broke."""


class Size(NamedTuple):
    """Of the run: its steps, the width of its layers, steps between checkpoints; and the mean of
    the seconds after which it is killed."""

    steps: int = 120
    width: int = 128
    every: int = 10
    mean: float = 1.5

    @property
    def wide(self) -> int:
        """The width of a layer whose weights are frozen."""
        return self.width * 128


def text(parts: Mapping[str, str], size: Size) -> str:
    """A run file of the forms that both have and of its own parts."""
    sizes = {**size._asdict(), "wide": size.wide}
    return FORMS.format(**{name: part.format(**sizes) for name, part in parts.items()}, **sizes)


class Killer:
    """One file, the run of it that nobody kills, and one that is killed again and again."""

    def __init__(self, folder: Path, parts: Mapping[str, str], size: Size, seed: int) -> None:
        self.folder, self.size = folder, size
        self.random = random.Random(seed)
        self.phases: collections.Counter[str] = collections.Counter()
        self.kills = self.ends = 0
        self.aims = (*WRITING, SHARING) if parts is ADAPTED else WRITING
        folder.mkdir(exist_ok=True)
        (folder / "x.lisp").write_text(text(parts, size), encoding="utf-8")
        if parts is ADAPTED:
            _base(folder / "base.safetensors", size.wide)
        began = time.monotonic()
        if code := self._start("whole").wait():
            raise Wrong(f"the run that nobody killed ended with {code}")
        self.seconds = time.monotonic() - began
        self.wanted = outcome(folder / "runs" / "whole")

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "sexpgpu_cli", "run", "x.lisp", "--name", name, "-q"]
        return subprocess.Popen(
            [*command, "--resume", "auto"],
            cwd=self.folder,
            env={**os.environ, "SEXPGPU_CACHE": str(self.folder / "cache")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def strike(self) -> bool:
        """Start or resume the run and kill it at a random moment; whether it was still alive."""
        process = self._start("it")
        self._wait(process, self.random.random() < 0.5)
        phase = _phase(self.run)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        if code not in (0, -signal.SIGKILL):
            raise Wrong(f"it ended by itself with {code}")
        if code:
            self.kills += 1
            self.phases[phase] += 1
        self.look(self.run)
        return code != 0

    @property
    def run(self) -> Path:
        """The folder of now: a name whose run died before its first checkpoint stays taken."""
        found = sorted((self.folder / "runs").glob("it*"), key=lambda p: (len(p.name), p.name))
        return found[-1] if found else self.folder / "runs" / "it"

    def _wait(self, process: subprocess.Popen[bytes], aimed: bool) -> None:
        """Some seconds; aimed kills then wait until a checkpoint is being written or removed."""
        end = time.monotonic() + self.random.expovariate(1 / self.size.mean)
        while process.poll() is None and time.monotonic() < end:
            time.sleep(min(0.005, max(0.0, end - time.monotonic())))
        late = time.monotonic() + 5
        chosen = self.random.choice(self.aims)
        while aimed and process.poll() is None and time.monotonic() < late:
            if any(self.run.glob(f"checkpoints/{chosen}")):
                time.sleep(self.random.random() * 0.01)
                return
            time.sleep(0.0002)

    def look(self, run: Path) -> None:
        """Every checkpoint is whole with all hashes, the newest can be read, and what is frozen
        lies there once."""
        checkpoints = Checkpoints(run / "checkpoints")
        for saved in checkpoints.entries():
            try:
                checkpoints.verify(saved)
            except Problem as damaged:
                raise Wrong(f"{saved.name} is damaged: {damaged}") from damaged
        if checkpoints.entries():
            checkpoints.load(checkpoints.choose("latest"))
        frozen = {path.stat().st_ino for path in run.glob(f"checkpoints/step-*/{FROZEN}")}
        if len(frozen) > 1:
            raise Wrong(f"frozen values lie there {len(frozen)} times")

    def finish(self) -> None:
        """Let the run come to its end, compare, and begin anew."""
        if code := self._start("it").wait():
            raise Wrong(f"a resume ended with {code}")
        self.compare()

    def compare(self) -> None:
        found = outcome(self.run)
        for key, value in self.wanted.items():
            if found[key] != value:
                raise Wrong(f"{key} is not what it was without a kill")
        self.ends += 1
        for run in (self.folder / "runs").glob("it*"):
            shutil.rmtree(run)


def _phase(run: Path) -> str:
    """Where a kill lands, as far as can be seen from outside."""
    names = [path.name for path in run.glob("checkpoints/.*")]
    shared = _names(next(run.glob(f"checkpoints/{SHARING}"), None))
    if shared and not any(run.glob("checkpoints/.tmp-*/checkpoint.json")):
        return "frozen values, written" if shared == 1 else "frozen values, named"
    if any(name.startswith(".trash") for name in names):
        return "retention"
    if any(name.startswith(".tmp") for name in names):
        return "checkpoint"
    try:
        return str(json.loads((run / "status.json").read_bytes())["state"])
    except (OSError, ValueError):
        return "before its status"


def _names(path: Path | None) -> int:
    """How many names a file has."""
    try:
        return path.stat().st_nlink if path is not None else 0
    except OSError:
        return 0


def _base(path: Path, wide: int) -> None:
    """The weights that the second file loads."""
    draw = np.random.default_rng(7)
    shapes = {"in/w": (64, wide), "out/w": (wide, 10)}
    arrays = {n: draw.normal(0, 0.1, s).astype(np.float32) for n, s in shapes.items()}
    path.write_bytes(b"".join(tensors.chunks(list(arrays), arrays.__getitem__)))


def outcome(run: Path) -> dict[str, Any]:
    """All that two runs must have in common: bytes of the last checkpoint, numbers by step."""
    saved = Checkpoints(run / "checkpoints").choose("latest")
    files = {f["path"]: f["sha256"] for f in saved.document["files"]}
    return {"files": files, "best": saved.document["best"], "numbers": dict(_numbers(run))}


def _numbers(run: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """By kind, step and name; a resume drops what earlier attempts wrote past it."""
    kept: list[dict[str, Any]] = []
    for line in (run / "events.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue  # a kill cut it short
        if event["event"] == "resume":
            kept = [e for e in kept if e["step"] <= event["step"]]
        kept.append(event)
    for e in kept:
        if e["event"] in ("step", "eval", "diagnostic"):
            found = e["metrics"] if "metrics" in e else e["values"]
            yield f"{e['event']} {e['step']} {e.get('pass', '')}", found


def kill(folder: Path, kills: int, size: Size, seed: int, told: Any = None) -> list[Killer]:
    """So many kills of runs of the two files, each of which has at least a third. Raises Wrong."""
    files = {"plain": PLAIN, "adapted": ADAPTED}
    killers = [Killer(folder / n, p, size, seed + i) for i, (n, p) in enumerate(files.items())]
    chance = random.Random(seed)
    while (done := sum(killer.kills for killer in killers)) < kills:
        behind = [killer for killer in killers if 3 * killer.kills < done]
        killer = chance.choice(behind or killers)
        if not killer.strike():
            killer.compare()
        if told is not None:
            told(killers)
    for killer in killers:
        killer.finish()
    return killers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--steps", type=int, default=Size().steps)
    parser.add_argument("--width", type=int, default=Size().width)
    parser.add_argument("--every", type=int, default=Size().every)
    parser.add_argument("--mean", type=float, default=Size().mean, help="seconds before a kill")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    asked = parser.parse_args()
    size = Size(asked.steps, asked.width, asked.every, asked.mean)

    def told(killers: list[Killer]) -> None:
        counts = (f"{killer.kills} kills, {killer.ends} ends" for killer in killers)
        sys.stderr.write("\r" + "; ".join(counts))

    with tempfile.TemporaryDirectory() as folder:
        killers = kill(Path(folder), asked.kills, size, asked.seed, told)
    sys.stdout.write(f"\nseed {asked.seed}\n")
    for killer in killers:
        where = ", ".join(f"{n} in {phase}" for phase, n in killer.phases.most_common())
        sys.stdout.write(
            f"{killer.folder.name}: a run of {killer.seconds:.0f} s, killed {killer.kills} times"
            f" ({where}); it came to its end {killer.ends} times, each with the same bits\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
