"""One side as a process: takes its steps on demand, so that sides are measured in turn.

`python -m bench.worker SIDE SPEC`, SPEC as JSON. It writes "ready" after the first step. A line
`curve` is answered with the losses from the first step on, `block N` with N times in milliseconds,
`memory` with the greatest resident size in MB.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .models import Spec

Step = Callable[[int], float]


def main() -> None:
    side, spec = sys.argv[1], Spec(**json.loads(sys.argv[2]))
    step = {"sexpgpu": _ours, "torch": _theirs}[side](spec)
    losses = [step(0)]
    answer("ready")
    for line in sys.stdin:
        word, *more = line.split()
        if word == "curve":
            losses += [step(at) for at in range(len(losses), spec.steps)]
            answer(losses)
        elif word == "block":
            answer([_timed(step, spec.steps + i) for i in range(int(more[0]))])
        else:
            answer(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def answer(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _timed(step: Step, at: int) -> float:
    start = time.perf_counter()
    step(at)
    return 1e3 * (time.perf_counter() - start)


def _ours(spec: Spec) -> Step:
    from .ours import Ours, batches

    ours = Ours(spec.file, spec.sets, spec.device, spec.threads)
    given = batches(Path(spec.folder))
    return lambda at: ours.step(at, given[at % len(given)])


def _theirs(spec: Spec) -> Step:
    import torch

    from .ours import batches
    from .theirs import Theirs, setup_of

    torch.set_num_threads(spec.threads)
    folder = Path(spec.folder)
    theirs = Theirs(
        spec.model, setup_of(folder), spec.mode,
        channels_last=spec.channels_last, device=spec.device,
    )  # fmt: skip
    given = [theirs.batch(fields) for fields in batches(folder)]
    return lambda at: theirs.step(at, given[at % len(given)])


if __name__ == "__main__":
    main()
