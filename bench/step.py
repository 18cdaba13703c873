"""Step time beside PyTorch: `python bench/step.py [--blocks 7] [--steps 20] [--threads 1 2]`.

Every side is a process of its own that takes steps on demand. Blocks are interleaved, 100 ms
apart, on the same machine and thread count; the ratio is the median of the blocks' ratios. With
`--neighbour` a busy process shares the machine, and our 2 threads are compared with our 1.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import corpus
import report

HERE = Path(__file__).parent
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
"""Keeps a core busy, and ends with whoever started it."""
PAUSE = 0.1


class Side:
    """One worker process: `ready`, then `block N` in and milliseconds out."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        line = self._answer()
        if line != "ready":
            self.close()
            raise SystemExit(f"{name} did not start: {line}")

    def block(self, steps: int) -> float:
        """Milliseconds: the median of so many steps."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"block {steps}\n")
        self.process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def ours(text: Path, threads: int, name: str = "sexpgpu") -> Side:
    chars = HERE.parent / "examples" / "chars.lisp"
    command = [str(HERE / "worker_sexpgpu.py"), str(threads), str(chars), f'text="{text}"']
    return Side(name, command)


def sides(text: Path, threads: int, compiled: bool) -> list[Side]:
    """Ours, eager and, if wanted, `torch.compile`."""
    found = [ours(text, threads)]
    for mode in ("eager", "compile") if compiled else ("eager",):
        found.append(Side(mode, [str(HERE / "worker_torch.py"), mode, str(threads)]))
    return found


def interleave(of: list[Side], blocks: int, steps: int) -> dict[str, list[float]]:
    """Milliseconds a step of every block, the sides in turn; the first block warms up."""
    times: dict[str, list[float]] = {s.name: [] for s in of}
    try:
        for block in range(blocks + 1):
            for side in of:
                time.sleep(PAUSE)
                took = side.block(steps)
                if block:
                    times[side.name].append(took)
    finally:
        for side in of:
            side.close()
    return times


def compare(text: Path, threads: int, options: argparse.Namespace) -> dict[str, Any]:
    """Medians, and our time over the better of the others, block by block."""
    workers = sides(text, threads, not options.eager_only)
    times = interleave(workers, options.blocks, options.steps)
    mine = times.pop("sexpgpu")
    # The better side over all blocks: taking the least of each block would favour luck.
    better = min(times, key=lambda name: statistics.median(times[name]))
    ratios = [a / b for a, b in zip(mine, times[better])]
    return {
        "threads": threads,
        "sexpgpu_ms": statistics.median(mine),
        **{f"{name}_ms": statistics.median(t) for name, t in times.items()},
        "ratio": statistics.median(ratios),
        "least": min(ratios),
        "greatest": max(ratios),
        "blocks": {"sexpgpu": mine, **times},
    }


def with_neighbour(text: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Our step with 1 and 2 threads while another process keeps one core busy."""
    workers = [ours(text, n, f"{n} threads") for n in (1, 2)]
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        times = interleave(workers, options.blocks, options.steps)
    finally:
        busy.kill()
        busy.wait()
    one, two = times["1 threads"], times["2 threads"]
    return {
        "neighbour": True,
        "one_ms": statistics.median(one),
        "two_ms": statistics.median(two),
        "two_over_one": statistics.median(b / a for a, b in zip(one, two)),
        "blocks": times,
    }


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--eager-only", action="store_true")
    parser.add_argument("--neighbour", action="store_true")
    options = parser.parse_args()
    report.tell(report.machine())
    beside: list[dict[str, Any]] = []
    busy: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        text = corpus.write(Path(folder))
        for threads in options.threads:
            beside.append(compare(text, threads, options))
            report.tell(beside[-1])
        if options.neighbour:
            busy.append(with_neighbour(text, options))
            report.tell(busy[-1])
    report.finish("step", (beside, busy), options.save)


if __name__ == "__main__":
    main()
