"""`python -m sexpgpu_core.prove RUN CHECKPOINT STEP NICER`: replays a live run from a
checkpoint's folder.

Says on stdout, as JSON, what was not the same up to STEP: `{"found": [...]}`; nothing where it
could not be tried. Takes one thread, at a priority that is lower by NICER.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

from . import api
from .checkpoint.folder import Checkpoints
from .diagnostics import Problem, Problems
from .diagnostics.render_json import diagnostic_json
from .proving import prove
from .runtime import runs


def main(run: str, checkpoint: str, until: int, nicer: int) -> int:
    """Load the run's own file, replay, tell."""
    os.nice(nicer)
    folder = Path(run, checkpoint)
    try:
        found = runs.find(Path(run).parent, run)
        (saved,) = [s for s in Checkpoints(folder.parent).whole() if s.name == folder.name]
        own = api.as_it_was(found, None, None)
        device = api.device(found.manifest["device"]["name"], own.registry)
        wrong = prove(found, own, device, api.compile, saved, until)
    except (Problem, Problems, ValueError):
        return 1
    told = [{"facts": {}, **diagnostic_json(d)} for d in wrong]
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps({"found": told}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
