"""Step time beside PyTorch: `python bench/step.py [--blocks 7] [--steps 20] [--threads 1 2]`.

Every side is a process of its own that takes steps on demand. Blocks are interleaved, 100 ms
apart, on the same machine and thread count; the ratio is the median of the blocks' ratios. With
`--neighbour` a busy process shares the machine, and our 2 threads are compared with our 1.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
BUSY = "while True: pass"


class Side:
    """One worker process: `ready`, then `block N` in and milliseconds out."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        environment = dict(os.environ, PYTHONPATH=str(HERE))
        self.process = subprocess.Popen(
            [sys.executable, "-P" if sys.version_info >= (3, 11) else "-B", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line.strip() != "ready":
            raise SystemExit(f"{name} did not start: {line}")

    def block(self, steps: int) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"block {steps}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def sides(threads: int, compiled: bool) -> list[Side]:
    """Ours, eager and, if wanted, `torch.compile`."""
    torch = str(HERE / "worker_torch.py")
    found = [
        Side("sexpgpu", [str(HERE / "worker_sexpgpu.py"), str(threads)]),
        Side("eager", [torch, "eager", str(threads)]),
    ]
    if compiled:
        found.append(Side("compile", [torch, "compile", str(threads)]))
    return found


def interleave(of: list[Side], blocks: int, steps: int) -> dict[str, list[float]]:
    """Milliseconds a step of every block, the sides in turn."""
    times: dict[str, list[float]] = {s.name: [] for s in of}
    for _ in range(blocks):
        for side in of:
            time.sleep(0.1)
            times[side.name].append(side.block(steps))
    return times


def compare(threads: int, options: argparse.Namespace) -> dict[str, object]:
    workers = sides(threads, not options.eager_only)
    try:
        times = interleave(workers, options.blocks, options.steps)
    finally:
        for side in workers:
            side.close()
    ours = times.pop("sexpgpu")
    best = [min(row) for row in zip(*times.values())]
    ratios = [a / b for a, b in zip(ours, best)]
    return {
        "threads": threads,
        "sexpgpu_ms": statistics.median(ours),
        **{f"{name}_ms": statistics.median(t) for name, t in times.items()},
        "ratio": statistics.median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
    }


def with_neighbour(options: argparse.Namespace) -> dict[str, object]:
    """Our step with 1 and 2 threads while another process keeps one core busy."""
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    workers = [Side(f"{n} threads", [str(HERE / "worker_sexpgpu.py"), str(n)]) for n in (1, 2)]
    try:
        times = interleave(workers, options.blocks, options.steps)
    finally:
        busy.kill()
        for side in workers:
            side.close()
    one, two = times["1 threads"], times["2 threads"]
    return {
        "neighbour": True,
        "one_ms": statistics.median(one),
        "two_ms": statistics.median(two),
        "two_over_one": statistics.median(b / a for a, b in zip(one, two)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--eager-only", action="store_true")
    parser.add_argument("--neighbour", action="store_true")
    options = parser.parse_args()
    print(
        json.dumps(
            {
                "machine": platform.processor() or platform.machine(),
                "cores": os.cpu_count(),
                "python": platform.python_version(),
            }
        )
    )
    for threads in options.threads:
        print(json.dumps(compare(threads, options)))
    if options.neighbour:
        print(json.dumps(with_neighbour(options)))


if __name__ == "__main__":
    main()
