"""The runs below a root: which there are, and which one RUN means (contracts/verbs.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..checkpoint.folder import Checkpoints
from ..diagnostics import nearest, problem
from ..records import NamedTuple
from . import status


class Run(NamedTuple):
    """One run by its files. `status` is None before it is first written."""

    path: Path
    manifest: Mapping[str, Any]
    status: Mapping[str, Any] | None

    @property
    def state(self) -> str:
        """The file's state, or `lost` where its process is gone."""
        if self.status is None:
            return "lost"
        return "lost" if status.lost(self.status) else str(self.status["state"])


def read(path: Path) -> Run | None:
    """The run in a folder, or None where it is none."""
    try:
        manifest = json.loads((path / "manifest.json").read_bytes())
        return Run(path, manifest, status.read(path / "status.json"))
    except (OSError, ValueError):
        return None


def listing(root: Path) -> list[Run]:
    """All runs below the root, newest first."""
    if not root.is_dir():
        return []
    found = [run for path in root.iterdir() if (run := read(path)) is not None]
    return sorted(found, key=lambda run: (run.manifest["created_at"], run.path.name), reverse=True)


def find(root: Path, text: str) -> Run:
    """A path, `latest`, a slug or a unique prefix. Raises E-USAGE-RUN, E-USAGE-AMBIGUOUS."""
    if (run := read(Path(text))) is not None:
        return run
    runs = listing(root)
    if text == "latest" and runs:
        return runs[0]
    names = {run.path.name: run for run in runs}
    if text in names:
        return names[text]
    fits = [name for name in names if name.startswith(text)] if text else []
    if len(fits) == 1:
        return names[fits[0]]
    if fits:
        told = " ".join(fits[:5])
        raise problem("E-USAGE-AMBIGUOUS", f"{text} begins {len(fits)} runs: {told}", runs=fits)
    near = nearest(text, names)
    hint = f"Did you mean {near}?" if near else f"Runs: {' '.join(list(names)[:5]) or 'none'}."
    raise problem("E-USAGE-RUN", f"no run {text} below {root}", hint=hint, run=text)


def finished(root: Path, experiment_id: str) -> Run | None:
    """The newest run of this experiment that finished, among those named by its hash."""
    fits = root.glob(f"*-{experiment_id[:6]}*") if root.is_dir() else ()
    found = [run for path in fits if (run := read(path)) is not None and run.state == "finished"]
    same = [run for run in found if run.manifest["experiment_id"] == experiment_id]
    return max(same, key=lambda run: str(run.manifest["created_at"]), default=None)


def resumable(root: Path, experiment_id: str, name: str | None = None) -> Run | None:
    """The newest run of this experiment (or of that name) with a checkpoint (65 B10)."""
    for run in listing(root):
        named = run.path.name == name if name else run.manifest["experiment_id"] == experiment_id
        if named and Checkpoints(run.path / "checkpoints").entries():
            return run
    return None
