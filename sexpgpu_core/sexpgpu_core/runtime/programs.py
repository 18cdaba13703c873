"""What an attempt runs, written down: file, modules, manifest and graphs.

The first attempt's lie in the run's folder; those of attempt N in `attempts/N/`, laid out alike,
where it runs another program than the one before it. Neither is ever written again. `runs` reads
them.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..diagnostics import problem
from . import events, runs
from .folder import put
from .job import Job

Document = Callable[[list[dict[str, Any]], list[dict[str, Any]]], dict[str, Any]]
"""A manifest of its `files` and `modules`."""

SAME = ("experiment_id", "evaluation_ids", "ir_sha256", "selection", "files", "modules")
"""Keys of a manifest by which two attempts run one program."""


def write(job: Job, at: Path, document: Document) -> dict[str, Any]:
    """Into a folder; the manifest last, once all is there that it tells of."""
    found = texts(job)
    for inside, data in found.items():
        (at / inside).parent.mkdir(parents=True, exist_ok=True)
        put(at / inside, data)
    graphs = "\n".join(f";;; {name}\n{graph}" for name, graph in job.graphs.items())
    (at / "graph.ir").write_text(graphs, encoding="utf-8")
    whole = document(*listed(job, found))
    put(at / "manifest.json", (json.dumps(events.numbers(whole), indent=1) + "\n").encode())
    return whole


def write_again(job: Job, path: Path, attempt: int, document: Document, changed: bool) -> None:
    """For a later attempt, if it is another program than the one before, or `changed`: than what
    wrote its checkpoint. Raises E-RUN-WRITE.

    What a process left that was killed before it began that attempt goes first.
    """
    folder = path / runs.ATTEMPTS
    try:
        for number in (n for n in runs.attempts(path) if n >= attempt):
            shutil.rmtree(folder / str(number))
        run, now = runs.read(path), document(*listed(job, texts(job)))
        same = run is not None and all(run.manifest.get(key) == now.get(key) for key in SAME)
        if same and not changed:
            return
        shutil.rmtree(folder / str(attempt), ignore_errors=True)
        (folder / str(attempt)).mkdir(parents=True)
        write(job, folder / str(attempt), document)
    except OSError as refused:
        raise problem("E-RUN-WRITE", f"{folder}: {refused.strerror or refused}") from refused


def texts(job: Job) -> dict[str, bytes]:
    """run.lisp and modules/, byte for byte as they were read."""
    found = {"run.lisp": _original(Path(job.experiment.path), job.experiment.text)}
    for module in job.experiment.modules:
        found[_inside(module.name)] = _original(Path(module.path), module.text)
    return found


def _inside(module: str) -> str:
    inside = f"modules/{module.lstrip('/.').replace('..', '_')}"
    return inside if inside.endswith(".lisp") else f"{inside}.lisp"


def listed(
    job: Job, found: Mapping[str, bytes]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """As a manifest has them: files, and which of them is which module."""
    files = [
        {"path": inside, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        for inside, data in found.items()
    ]
    hashes = {file["path"]: file["sha256"] for file in files}
    named = [(module.name, _inside(module.name)) for module in job.experiment.modules]
    return files, [{"module": m, "path": at, "sha256": hashes[at]} for m, at in named]


def _original(path: Path, text: str) -> bytes:
    """The bytes that a text was read from, if they are still there; else the text's own."""
    try:
        data = path.read_bytes()
        read = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig").read()
    except (OSError, UnicodeDecodeError):
        return text.encode()
    return data if read == text else text.encode()
