"""The program as a user starts it, the files of the tests, and what a run leaves behind."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sexpgpu_cli.main import run

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = Path(__file__).parents[3] / "shared" / "data"
SCHEMAS = files("sexpgpu_core").joinpath("schemas")
PROGRAM = (sys.executable, "-m", "sexpgpu_cli")

TEXT = "the quick brown fox jumps over the lazy dog; " * 40


def network(
    *,
    run: str = ":steps 20 :seed 1",
    model: str = "(nn:layers (one-hot x 27 :dtype :f32) (list width 27) :dropout 0.1)",
    head: str = "",
    loss: str = "(nn:cross-entropy (network inputs) targets)",
    rate: str = "1e-2",
    optimizer: str = "optim:adamw",
    passes: str = "(defeval val :loader (letters :val) :every 10)",
) -> str:
    """A run file of a small network that guesses the next of the letters in letters.txt."""
    return f"""(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defknob width 32 "Units." :type (integer 1))
(defvariant small "Less." :width 8)
{head}
(defloader letters
  (source (text-files "letters.txt" :tokenizer :bytes))
  (windows 9)
  (stage :train :split (0 0.8) :order :random)
  (stage :val :split (0.8 1) :batch 8)
  (batch 8))

(defun letter (tokens)
  (cast (max (min (- (cast tokens :f32) 96.0) 26.0) 0.0) :i32))

(defun prepare (&key tokens)
  (let ((all (letter tokens)))
    (batch :inputs (slice all :axis 1 :end -1) :targets (slice all :axis 1 :start 1))))

(defmodel network (x) {model})

(defun objective (&key inputs targets)
  (metric "loss" {loss}))

{passes}

(defun optimizer ()
  (groups (group :rest ({optimizer} :lr {rate}))))

(defrun {run})
"""


class Done(NamedTuple):
    """How a call of the program ended."""

    exit: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.out)
        return read

    @property
    def diagnostics(self) -> list[dict[str, Any]]:
        """All of a `check` or `error` document."""
        told = self.document
        of_files = [d for file in told.get("files", ()) for d in file["diagnostics"]]
        return [*told.get("diagnostics", ()), *of_files]


class Folder:
    """A user's working directory, with a kernel cache of the tests' own."""

    def __init__(self, path: Path, cache: Path) -> None:
        self.path, self.cache = path, cache

    def write(self, name: str, text: str | bytes) -> Path:
        target = self.path / name
        target.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return target

    def environment(self, **more: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("SEXPGPU_")}
        return {**kept, "SEXPGPU_CACHE": str(self.cache), "COLUMNS": "100", **more}

    def __call__(self, *argv: str, stdin: str | None = None, **more: str) -> Done:
        """Run the program in a process of its own."""
        done = subprocess.run(
            (*PROGRAM, *argv),
            cwd=self.path,
            env=self.environment(**more),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def quick(self, *argv: str) -> Done:
        """The same without a process of its own, for what compiles and does not train."""
        out, err = io.StringIO(), io.StringIO()
        before, kept, given = Path.cwd(), dict(os.environ), self.environment()
        os.environ.clear()
        os.environ.update(given)
        os.chdir(self.path)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = run(list(argv))
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(kept)
        return Done(code, out.getvalue(), err.getvalue())

    def start(self, *argv: str, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        return subprocess.Popen(
            (*PROGRAM, *argv),
            cwd=self.path,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def made(self, name: str) -> Path:
        return self.path / "runs" / name


def events(run: Path) -> list[dict[str, Any]]:
    """Whole lines of a run's events; none while there is no file."""
    path = run / "events.jsonl"
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines if line]


def surviving(run: Path) -> list[dict[str, Any]]:
    """Events as a reader sees them: a resume at step k drops what came later before it."""
    kept: list[dict[str, Any]] = []
    for event in events(run):
        if event["event"] == "resume":
            kept = [e for e in kept if e["step"] <= event["step"]]
        kept.append(event)
    return kept


def series(run: Path, kind: str) -> dict[tuple[int, str], dict[str, Any]]:
    """Metrics of the events of a kind, by step and pass."""
    found = [e for e in surviving(run) if e["event"] == kind]
    return {(e["step"], e.get("pass", "")): e["metrics"] for e in found}


def status(run: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((run / "status.json").read_text(encoding="utf-8"))
    return read


def saved(run: Path, step: int | None = None) -> dict[str, bytes]:
    """The arrays' files of a checkpoint, the last one's where no step is said."""
    folders = sorted((run / "checkpoints").glob("step-*"))
    folder = folders[-1] if step is None else run / "checkpoints" / f"step-{step:08}"
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.safetensors"))}


def wait(until: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.002)


def closed(part: Any) -> Any:
    """A schema without its permission for keys of tomorrow."""
    if isinstance(part, list):
        return [closed(item) for item in part]
    if not isinstance(part, Mapping):
        return part
    made = {key: closed(value) for key, value in part.items()}
    opens = "x-part" in part or "allOf" in part or "properties" not in part
    if not opens and part.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


@cache
def validator(name: str) -> Any:
    jsonschema = pytest.importorskip("jsonschema", reason="documents are held to their schemas")
    read = json.loads(SCHEMAS.joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(closed(read))


def validate(document: Mapping[str, Any], name: str | None = None) -> None:
    """Hold a document to the closed schema of its kind."""
    validator(name or document["document"]).validate(document)


def held(done: Done, code: int) -> None:
    """No traceback, and the exit said."""
    assert "Traceback" not in done.out + done.err
    assert "E-INTERNAL" not in done.out + done.err
    assert done.exit == code, done.out + done.err
