"""Sides as processes that wait while another runs; blocks of steps in turn, 100 ms apart."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from .models import MODELS, ROOT, Spec

SAFE = ("-P",) if sys.version_info >= (3, 11) else ()

PAUSE = 0.1
EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception|Problem|Unsupported)\b.*")
KEPT = str(1 << 30)
HEAP = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_"), KEPT)
"""An allocator that keeps its heap: else PyTorch pays page faults for what it allocates anew in
each step, up to three times the work of a small layer. Both sides get it."""


LIMIT = 240.0
"""Seconds to the end of the first step, compilation in it: PyTorch unrolls loops."""


class Failed(Exception):
    """A side that gives no numbers, and why in a line."""


class Side:
    """One worker. `first`: seconds from its start to the end of its first step."""

    def __init__(self, name: str, side: str, spec: Spec) -> None:
        self.name = name
        start = time.perf_counter()
        path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        self.process = subprocess.Popen(
            [sys.executable, *SAFE, "-m", "bench.worker", side, json.dumps(spec._asdict())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env={**os.environ, **HEAP, "PYTHONPATH": path},
        )
        late = threading.Timer(LIMIT, self.process.kill)
        late.start()
        try:
            self._answer()
        finally:
            late.cancel()
        self.first = time.perf_counter() - start

    def ask(self, line: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.close()
            raise Failed(self._reason(code))
        return json.loads(line)

    def _reason(self, code: int) -> str:
        """The last exception that it wrote, or how it ended."""
        self._said.seek(0)
        found = [m for m in map(EXCEPTION.match, self._said) if m]
        if found:
            return found[-1][0].strip()
        return f"no first step within {LIMIT:g} s" if code == -9 else f"it ended with {code}"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def started(spec: Spec, against: list[str]) -> tuple[list[Side], dict[str, str]]:
    """Ours and PyTorch's in each mode that takes the model, for pictures with channels last too;
    why those that are missing are."""
    layouts = (False, True) if MODELS[spec.model].images else (False,)
    found, missing = [Side("sexpgpu", "sexpgpu", spec)], {}
    for mode in against:
        for last in layouts:
            name = f"{mode}-channels-last" if last else mode
            if mode not in MODELS[spec.model].modes:
                missing[name] = MODELS[spec.model].why
                continue
            theirs = spec._replace(mode=mode, channels_last=last)
            try:
                found.append(Side(name, "torch", theirs))
            except Failed as fault:
                missing[name] = str(fault)
    return found, missing


def interleave(sides: list[Side], blocks: int, steps: int) -> dict[str, list[list[float]]]:
    """Milliseconds of every step of every block; a block before the first warms up."""
    times: dict[str, list[list[float]]] = {s.name: [] for s in sides}
    for block in range(blocks + 1):
        for side in sides:
            time.sleep(PAUSE)
            took = side.ask(f"block {steps}")
            if block:
                times[side.name].append(took)
    return times
