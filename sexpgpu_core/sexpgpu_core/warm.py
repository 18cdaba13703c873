"""`python -m sexpgpu_core.warm RUN GLOB...`: compiles the observers of a live run's new selection.

Its kernels are then in the cache that the run's own process takes them from. Exit 1: what is wrong
is on stdout, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import api
from .diagnostics import Problem, Problems
from .diagnostics.render_json import diagnostic_json
from .runtime import runs
from .training import observers

NICER = 10


def main(run: str, globs: Sequence[str]) -> int:
    """Load the run's own file, compile its observers, open them once."""
    os.nice(NICER)
    try:
        found = runs.find(Path(run).parent, run)
        own = api.as_it_was(found, None, None)
        device = api.device(found.manifest["device"]["name"], own.registry)
        compiled = api.compile(own, device)
        for sampled in observers(own, device, compiled, api.operations)(globs).values():
            if sampled.unit is not None:
                device.open((sampled.unit,), compiled.job.persistent, threads=1).close()
    except (Problem, Problems) as error:
        wrong = error.diagnostic if isinstance(error, Problem) else error.diagnostics[0]
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.write(json.dumps(diagnostic_json(wrong)) + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
