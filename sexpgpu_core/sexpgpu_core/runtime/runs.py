"""The runs below a root: which there are, and which one RUN or SAVE means (contracts/verbs.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, Problem, nearest, problem
from ..records import NamedTuple
from . import documents, ranking, status
from .lock import holder
from .process import living, this_host

if TYPE_CHECKING:
    from ..checkpoint.folder import Saved


ATTEMPTS = "attempts"
"""Of a run's folder: `attempts/N/` has what attempt N ran, where that is another program than the
one before, as the run's folder has what the first one ran."""


class Run(NamedTuple):
    """One run by its files. `status` is None before it is first written, or where `fault` says
    what is wrong with it. `manifest`: of the last program that it ran, which lies in `program`."""

    path: Path
    manifest: Mapping[str, Any]
    status: Mapping[str, Any] | None
    fault: Diagnostic | None = None
    program: Path = Path()

    def of(self, attempt: int) -> Run:
        """With the program that an attempt ran. Raises E-USAGE-BROKEN."""
        return _programmed(self, [n for n in attempts(self.path) if n <= attempt])

    def was(self, experiment_id: str) -> Run | None:
        """With the last program of an experiment; None where it never was that one. Raises
        E-USAGE-BROKEN."""
        known = attempts(self.path)
        every = (_programmed(self, known[:end]) for end in range(len(known), -1, -1))
        return next((run for run in every if run.manifest["experiment_id"] == experiment_id), None)

    @property
    def manifests(self) -> list[Mapping[str, Any]]:
        """Of all programs that it ran, in order. Raises E-USAGE-BROKEN."""
        known = attempts(self.path)
        return [_programmed(self, known[:end]).manifest for end in range(len(known) + 1)]

    @property
    def history(self) -> str | None:
        """The experiments that it was, and from which step on; None of a run that was one. Raises
        E-USAGE-BROKEN."""
        (_, first), *later = self._way()
        told = [first, *(f"{name} from step {step}" for step, name in later)]
        return ", then ".join(told) if later else None

    def _way(self) -> list[tuple[int, str]]:
        """Experiments from step to step, along the checkpoints that it went on from."""
        resumed, own = self.manifest.get("resumed"), str(self.manifest["experiment_id"])
        if resumed is None:
            return [(0, own)]
        before = self.of(min(resumed["from_attempt"], resumed["attempt"] - 1))._way()
        way = [part for part in before if part[0] < resumed["step"]] or before[:1]
        return way if way[-1][1] == own else [*way, (resumed["step"], own)]

    @property
    def state(self) -> str:
        """The file's state, or `lost` where its process is gone."""
        if self.status is None:
            return "compiling" if _beginning(self.path) else "lost"
        return "lost" if status.lost(self.status) else str(self.status["state"])

    @property
    def test_reads(self) -> int:
        """How often a pass over a :test stage was taken, by a run that has ended."""
        return int(((self.status or {}).get("summary") or {}).get("test_reads", 0))

    @property
    def live(self) -> bool:
        """Whether a process goes on with it."""
        return self.state not in status.FINAL and self.state != "lost"

    def sound(self) -> Run:
        """Itself. Raises E-USAGE-BROKEN where a document of it cannot be read."""
        if self.fault is not None:
            raise Problem(self.fault)
        return self

    def now(self) -> Run:
        """Its status as it is now. Raises E-USAGE-BROKEN."""
        return self._replace(status=status.read(self.path / "status.json"))


def _beginning(path: Path) -> bool:
    """Whether a process of this machine holds the run's lock."""
    told = holder(path / "run.lock")
    return told is not None and told.get("host") == this_host() and living(int(told["pid"]), told)


def read(path: Path) -> Run | None:
    """The run in a folder, or None where it is none. Raises E-USAGE-BROKEN for its manifest."""
    manifest = documents.read(path / "manifest.json", "manifest")
    if manifest is None:
        return None
    run = Run(path, manifest, None, None, path)
    if known := attempts(path):
        run = _programmed(run, known)
    try:
        told = status.read(path / "status.json")
    except Problem as broken:
        return run._replace(fault=broken.diagnostic)
    # its process locks a run before it writes the manifest: without both this is a part of a run
    fault = None
    if told is None and holder(path / "run.lock") is None:
        missing = documents.broken(path / "status.json", "there is none, nor a run.lock", "missing")
        fault = missing.diagnostic
    return run._replace(status=told, fault=fault)


def attempts(path: Path) -> list[int]:
    """Those after the first that ran another program than the one before, in order."""
    found = [at.name for at in folders(path / ATTEMPTS) if (at / "manifest.json").exists()]
    return sorted(int(name) for name in found if name.isdecimal())


def _programmed(run: Run, known: list[int]) -> Run:
    """With the last program of these attempts, the first one's where there are none."""
    program = run.path / ATTEMPTS / str(known[-1]) if known else run.path
    manifest = documents.read(program / "manifest.json", "manifest")
    return run._replace(manifest=manifest or run.manifest, program=program)


def _numbered(slug: str, name: str) -> bool:
    """Whether a slug is `NAME-2`, `NAME-3`, ..., which a name that is taken becomes."""
    start, _, number = slug.rpartition("-")
    return start == name and number.isdecimal()


def listing(root: Path, told: Callable[[Diagnostic], object] = lambda fault: None) -> list[Run]:
    """All runs below the root, newest first; `told` what cannot be read."""
    found = [run for path in folders(root) if (run := _listed(path, told)) is not None]
    return sorted(found, key=lambda run: (run.manifest["created_at"], run.path.name), reverse=True)


def _listed(path: Path, told: Callable[[Diagnostic], object]) -> Run | None:
    try:
        run = read(path)
    except Problem as broken:
        told(broken.diagnostic)
        return None
    if run is not None and run.fault is not None:
        told(run.fault)
    return run


def mirrored(text: str) -> bool:
    """Whether a path is a run's folder of a store, which has many states and no status.json."""
    try:
        there = os.path.isdir(os.path.join(text, "status"))
        return there and os.path.isfile(os.path.join(text, "manifest.json"))
    except ValueError:  # a zero in it
        return False


def readable(path: Path) -> Run | None:
    """The run in a folder; None where it is none or cannot be read."""
    return _listed(path, lambda fault: None)


def folders(root: Path) -> list[Path]:
    """What lies below a root; nothing where there is none, or it cannot be read."""
    try:
        return [Path(entry.path) for entry in os.scandir(root) if entry.is_dir()]
    except OSError:
        return []


def find(root: Path, text: str) -> Run:
    """RUN: a path, a URL, `latest`, `best`, `best:METRIC`, a slug or a unique prefix of one.

    Raises E-USAGE-RUN, E-USAGE-AMBIGUOUS, E-USAGE-BROKEN, E-STORE-UNKNOWN.
    """
    if "://" in text:
        return _stored(text)
    if (run := _at(Path(text))) is not None:
        return run
    word, _, metric = text.partition(":")
    if word == "best":
        return _best(root, text, metric)
    if text == "latest":
        found = listing(root)
        return found[0] if found else _none(root, text, [])
    return _named(root, text)


def _at(path: Path) -> Run | None:
    try:
        return read(path) if path.is_dir() else None
    except (OSError, ValueError):  # too long for a name, or a zero in it
        return None


def _stored(url: str) -> Run:
    scheme, _, path = url.partition("://")
    if scheme == "file" and (run := _at(Path(path))) is not None:
        return run
    if scheme == "file":
        raise problem("E-USAGE-RUN", f"{path} is no run's folder", run=url)
    told = f"nothing that is installed reads runs below {scheme}://"
    raise problem("E-STORE-UNKNOWN", told, hint="Copy its folder and give the path.", scheme=scheme)


def _best(root: Path, text: str, metric: str) -> Run:
    if text == "best:":
        raise problem("E-USAGE-VALUE", "best: names no number", hint="best, or best:val/loss")
    found = [run for run in listing(root) if run.status is not None]
    chosen = ranking.best(found, metric or None)
    if chosen is not None or not metric or not found:
        return chosen if chosen is not None else _none(root, text, found)
    known = sorted({name for run in found for name in (run.status or {}).get("metrics", {})})
    near = nearest(metric, known)
    hint = f"did you mean best:{near}?" if near else f"known: {' '.join(known[:8]) or 'none'}"
    raise problem("E-USAGE-RUN", f"no run below {root} has {metric}", hint=hint, nearest=near)


def _named(root: Path, text: str) -> Run:
    if (run := _at(root / text)) is not None:
        return run
    fits = [path for path in folders(root) if path.name.startswith(text) and _claims(path)]
    if not fits:
        return _none(root, text, listing(root))
    if len(fits) == 1 and (run := read(fits[0])) is not None:
        return run
    told = sorted(path.name for path in fits)
    raise problem(
        "E-USAGE-AMBIGUOUS",
        f"{text} begins {len(told)} runs: {' '.join(told[:5])}{' ...' if told[5:] else ''}",
        runs=told[:20],
    )


def _claims(path: Path) -> bool:
    """Whether a folder says that it is a run, readable or not."""
    return os.path.lexists(path / "manifest.json")


def _none(root: Path, text: str, found: list[Run]) -> Run:
    names = [run.path.name for run in found]
    near = nearest(text, names)
    hint = f"Did you mean {near}?" if near else f"Runs: {' '.join(names[:5]) or 'none'}."
    before, at, _ = text.rpartition("@")
    if at and before in (*names, "latest", "best"):
        hint = f"{text} is a checkpoint; here a run is meant: {before}"
    elif text.endswith(".lisp") and os.path.isfile(text):
        hint = _of_that_file(text, found)
    raise problem("E-USAGE-RUN", f"no run {text} below {root}", hint=hint, run=text, nearest=near)


def _of_that_file(text: str, found: list[Run]) -> str:
    made = [run.path.name for run in found if _began_from(run, Path(text))]
    if not made:
        return f"{text} is a file that has no run; sexpgpu run {text} makes one"
    return f"{text} is a file; its newest run is {made[0]}"


def _began_from(run: Run, file: Path) -> bool:
    told = os.path.join(run.manifest.get("cwd") or ".", run.manifest["file"])
    return bool(os.path.abspath(told) == os.path.abspath(file))


def save(root: Path, text: str) -> tuple[Run, Saved]:
    """SAVE: RUN[@STEP], where STEP is a number, latest (so without one) or best; the run with the
    program that wrote it.

    Raises what `find` does, E-USAGE-VALUE, E-CHECKPOINT-NONE, E-CHECKPOINT-CORRUPT.
    """
    from ..checkpoint.folder import Checkpoints

    name, at, which = text.rpartition("@")
    run = find(root, name if at else text)
    rank = run.manifest.get("rank") or {}
    wanted = step(which) if at else "latest"
    saved = Checkpoints(run.path / "checkpoints").choose(wanted, rank.get("metric"))
    return run.of(int(saved.document.get("attempt", 1))), saved


def step(text: str) -> str | int:
    """STEP: a number, latest or best. Raises E-USAGE-VALUE."""
    if text in ("latest", "best"):
        return text
    if text.isascii() and text.isdigit():
        return int(text)
    raise problem("E-USAGE-VALUE", f"a step is a number, latest or best, not {text}")


def finished(root: Path, experiment_id: str) -> Run | None:
    """The newest run of this experiment that finished, among those named by its hash or changed."""
    short = f"-{experiment_id[:6]}"
    named = [path for path in folders(root) if short in path.name or (path / ATTEMPTS).exists()]
    found = [run for path in named if (run := _listed(path, lambda fault: None)) is not None]
    same = [
        run
        for run in found
        if run.manifest["experiment_id"] == experiment_id and run.state == "finished"
    ]
    return max(same, key=lambda run: str(run.manifest["created_at"]), default=None)


def of_file(root: Path, file: Path) -> Run:
    """The newest run of a file with a checkpoint. Raises E-USAGE-RUN."""
    from ..checkpoint.folder import Checkpoints

    for run in listing(root):
        if _began_from(run, file) and Checkpoints(run.path / "checkpoints").whole():
            return run.sound()
    raise problem(
        "E-USAGE-RUN",
        f"no run of {file} below {root} has a checkpoint",
        hint=f"sexpgpu run {file} makes one; --from RUN takes another file's.",
        run=str(file),
    )


def resumable(root: Path, experiment_id: str, name: str | None = None) -> Run | None:
    """The newest run of this experiment (or of that name) with a checkpoint (65 B10). Where there
    is none, the newest that was it before it went on as another.

    NAME-2 counts as NAME's where it is of this experiment: one that was killed before its first
    checkpoint leaves the name taken.
    """
    from ..checkpoint.folder import Checkpoints

    earlier = None
    for run in listing(root):
        same = run.manifest["experiment_id"] == experiment_id
        again = name is not None and same and _numbered(run.path.name, name)
        named = again or run.path.name == name if name else same
        if named and Checkpoints(run.path / "checkpoints").entries():
            return run
        changed = earlier is None and not name and run.program != run.path
        if changed and run.was(experiment_id) is not None:
            earlier = run
    return earlier
