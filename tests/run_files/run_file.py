"""Files of this folder as the tests run them, and what a run leaves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from sexpgpu_core import api

HERE = Path(__file__).parent


def train(file: str, root: Path, **options: Any) -> Path:
    """Run a file to its end; its folder."""
    done = api.run(HERE / f"{file}.lisp", runs_root=root, **options)
    assert done.exit == 0, done.error
    return done.folder


def arrays(folder: Path, step: int | None = None) -> dict[str, Any]:
    """Every array of a checkpoint, the last where no step is said: FILE:NAME, of parameters in
    either of their files params:NAME."""
    points = sorted((folder / "checkpoints").glob("step-*"))
    point = points[-1] if step is None else folder / "checkpoints" / f"step-{step:08}"
    found = {}
    for path in sorted(point.glob("*.safetensors")):
        stem = "params" if path.stem == "frozen" else path.stem
        found.update({f"{stem}:{name}": a for name, a in load_file(path).items()})
    return found


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    """Events of a kind in order, as a reader sees them: a resume at step k drops what came later
    before it."""
    kept: list[dict[str, Any]] = []
    for line in (folder / "events.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["event"] == "resume":
            kept = [e for e in kept if e["step"] <= event["step"]]
        kept.append(event)
    return [e for e in kept if e["event"] == kind]


class Cutting:
    """Progress of a run that cuts a file short once the run has saved at step 20."""

    def __init__(self, path: Path) -> None:
        self.path, self.whole, self.was = path, path.read_bytes(), os.stat(path)

    def began(self, folder: Path) -> None:
        pass

    def warnings(self, found: list[Any]) -> None:
        pass

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] == "checkpoint" and event["step"] >= 20:
            os.truncate(self.path, 100)

    def mend(self) -> None:
        self.path.write_bytes(self.whole)
        os.utime(self.path, ns=(self.was.st_atime_ns, self.was.st_mtime_ns))
