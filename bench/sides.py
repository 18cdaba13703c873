"""Sides as processes that wait while another runs; blocks of steps in turn, 100 ms apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from .models import MODELS, ROOT, Spec

PAUSE = 0.1
KEPT = str(1 << 30)
HEAP = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_"), KEPT)
"""An allocator that keeps its heap: else PyTorch pays page faults for what it allocates anew in
each step, up to three times the work of a small layer. Both sides get it."""


class Side:
    """One worker. `first`: seconds from its start to the end of its first step."""

    def __init__(self, name: str, side: str, spec: Spec) -> None:
        self.name = name
        start = time.perf_counter()
        path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "bench.worker", side, json.dumps(spec._asdict())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **HEAP, "PYTHONPATH": path},
        )
        try:
            ready = self._answer()
        except ValueError as fault:
            self.close()
            raise SystemExit(f"{name} of {spec.model} did not start") from fault
        assert ready == "ready", ready
        self.first = time.perf_counter() - start

    def ask(self, line: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def started(spec: Spec, against: list[str]) -> list[Side]:
    """Ours and PyTorch's in each mode that takes the model, for pictures with channels last too."""
    found = [Side("sexpgpu", "sexpgpu", spec)]
    layouts = (False, True) if MODELS[spec.model].images else (False,)
    for mode in [m for m in against if m in MODELS[spec.model].modes]:
        for last in layouts:
            name = f"{mode}-channels-last" if last else mode
            theirs = spec._replace(mode=mode, channels_last=last)
            found.append(Side(name, "torch", theirs))
    return found


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
