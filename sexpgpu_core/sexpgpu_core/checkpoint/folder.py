"""The checkpoints of one run. A folder without a leading dot is whole: it came by one rename.

Order of a write (45.18): files, each synced; checkpoint.json, synced; the folder; what the caller
must have durable before (its events); rename; the folder above. Nothing whole is ever overwritten.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..records import NamedTuple
from . import tensors
from .disk import Disk, digest
from .shared import FILE, Shared, one_file

if TYPE_CHECKING:
    import numpy as np

VERSION = 1
_FILES = {"parameter": "params.safetensors", "optimizer": "optimizer.safetensors"}
_KINDS = {FILE: "parameter", **{name: kind for kind, name in _FILES.items()}}
_REST = "state.safetensors"
_BATCH = "batch.safetensors"
IN_STORE = "it is in a store, whose files lie otherwise"
_UNLIKE = "its hash is not the one recorded"
_FLEETING = frozenset({"time", "elapsed", "attempt", "device", "versions", "files", "sha256"})


class Saved(NamedTuple):
    """One folder, by reading it. `fault` names the file that does not agree, and how."""

    name: str
    step: int
    path: Path
    document: Mapping[str, Any]
    fault: tuple[str, str] | None = None

    @property
    def stored(self) -> bool:
        """Whether it is as a store has it."""
        return self.fault is not None and self.fault[1] == IN_STORE

    @property
    def bytes(self) -> int:
        return sum(int(file["bytes"]) for file in self.document.get("files", ()))


class Checkpoint(NamedTuple):
    """A checkpoint in memory: arrays by persistent name ("parameter:gpt/wte")."""

    saved: Saved
    document: Mapping[str, Any]
    arrays: dict[str, np.ndarray]


class Checkpoints:
    """`folder`: the run's `checkpoints/`. One process writes; any may read."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.folder = folder
        self._disk = disk or Disk()
        self._shared = Shared(self._disk)

    # -- writing

    def holds_fixed(self) -> bool:
        """Whether `save` reads none of the `fixed` values: an earlier checkpoint has them."""
        return self._shared.holds()

    def save(
        self,
        step: int,
        names: Sequence[str],
        read: Callable[[str], np.ndarray],
        document: Mapping[str, Any],
        *,
        before_rename: Callable[[], None] = lambda: None,
        prefix: str = "step",
        batch: Mapping[str, np.ndarray] | None = None,
        fixed: Collection[str] = (),
    ) -> Saved:
        """Write one, durable when it returns. `document` lacks only files and tensors. `fixed`: of
        `names`, parameters that no step writes.

        Raises E-CHECKPOINT-DISK; then nothing is left, and every older one is whole.
        """
        name = f"{prefix}-{step:08d}"
        scratch = self.folder / f".tmp-{name}-{os.getpid()}"
        try:
            self._disk.remove(scratch)
            self._disk.make(scratch)
            whole = self._fill(scratch, names, read, document, batch, fixed)
            self._disk.sync(scratch)
            before_rename()
            self._place(scratch, self.folder / name, whole)
            self._disk.sync(self.folder)
        except OSError as refused:
            self._disk.remove(scratch)
            raise self._not_written(step, refused) from refused
        saved = Saved(name, step, self.folder / name, whole)
        self._shared.placed(saved)
        return saved

    def _fill(
        self,
        scratch: Path,
        names: Sequence[str],
        read: Callable[[str], np.ndarray],
        document: Mapping[str, Any],
        batch: Mapping[str, np.ndarray] | None,
        fixed: Collection[str],
    ) -> dict[str, Any]:
        files = []
        if fixed:
            files.append((FILE, *self._refer(scratch / FILE, fixed, read)))
        for file, inside in _by_file([n for n in names if n not in fixed]).items():
            pieces = tensors.chunks(list(inside), _reading(inside, read))
            files.append((file, *self._disk.write(scratch / file, pieces)))
        if batch is not None:
            pieces = tensors.chunks(list(batch), batch.__getitem__)
            files.append((_BATCH, *self._disk.write(scratch / _BATCH, pieces)))
        whole = {
            **document,
            "files": [{"path": f, "sha256": sha, "bytes": size} for f, sha, size in files],
            "tensors": len(names),
        }
        whole["sha256"] = _own_digest(whole)
        text = json.dumps(whole, indent=1, allow_nan=False) + "\n"
        self._disk.write(scratch / "checkpoint.json", [text.encode()])
        return whole

    def _refer(
        self, path: Path, fixed: Collection[str], read: Callable[[str], np.ndarray]
    ) -> tuple[str, int]:
        inside = {name.partition(":")[2]: name for name in fixed}
        reading = _reading(inside, read)
        return self._shared.put(path, lambda: tensors.chunks(list(inside), reading), self.whole)

    def _place(self, scratch: Path, final: Path, document: Mapping[str, Any]) -> None:
        """Rename. One of that name is equal, or stays listed as an earlier attempt."""
        if final.exists():
            old = _read(final)
            if old.fault is None and _same(old.document, document):
                self._disk.remove(scratch)
                return
            self._disk.rename(final, _unused(final, old.document.get("attempt", 1)))
        self._disk.rename(scratch, final)

    def _not_written(self, step: int, refused: OSError) -> Problem:
        older = self.whole()
        last = older[-1].name if older else None
        return problem(
            "E-CHECKPOINT-DISK",
            f"the checkpoint of step {step} was not written: {refused.strerror or refused}",
            hint=f"Free space in {self.folder}. "
            + (f"{last} is whole." if last else "There is no earlier one."),
            step=step,
            errno=refused.errno,
            older=last,
        )

    def prune(self, keep: int | None, best: str | None = None) -> list[str]:
        """Remove all but the last `keep` (None: all stay) and the best of series `best`.

        Renamed out of sight first, so a kill leaves none half removed. Returns the names removed.
        """
        removed = self.surplus(keep, best)
        try:
            for saved in removed:
                trash = self.folder / f".trash-{saved.name}-{os.getpid()}"
                self._disk.rename(saved.path, trash)
                self._disk.remove(trash)
        except OSError as refused:
            raise self._not_written(removed[-1].step, refused) from refused
        return [saved.name for saved in removed]

    def surplus(self, keep: int | None, best: str | None = None) -> list[Saved]:
        """What `prune` of the same arguments removes."""
        return surplus(self.whole(), keep, best)

    def sweep(self) -> None:
        """Delete what a killed process left half made or half removed. The caller has the lock."""
        for pattern in (".tmp-*", ".trash-*"):
            for path in self.folder.glob(pattern):
                self._disk.remove(path)

    # -- reading

    def entries(self) -> list[Saved]:
        """Every step's checkpoint, damaged ones too, by step; earlier attempts come first."""
        if not self.folder.is_dir():
            return []
        found = [
            _read(path)
            for path in self.folder.iterdir()
            if path.name.startswith("step-") and (path / "checkpoint.json").is_file()
        ]
        return sorted(found, key=lambda saved: (saved.step, ".attempt-" not in saved.name))

    def whole(self) -> list[Saved]:
        """Those whose checkpoint.json agrees with their files' sizes."""
        return [saved for saved in self.entries() if saved.fault is None]

    def choose(self, which: str | int, series: str | None = None) -> Saved:
        """`latest`, `best` (of `series`) or a step. Raises E-CHECKPOINT-NONE or -CORRUPT."""
        found = self.entries()
        fits: Saved | None = None
        if which == "best":
            fits = best_of([saved for saved in found if saved.fault is None], series)
        else:
            steps = found if which == "latest" else [s for s in found if s.step == int(which)]
            fits = steps[-1] if steps else None
        if fits is None:
            raise self.none(which)
        if fits.fault is not None:
            raise self._corrupt(fits, *fits.fault)
        return fits

    def none(self, which: str | int) -> Problem:
        """E-CHECKPOINT-NONE with those that are there."""
        steps = " ".join(str(saved.step) for saved in self.whole())
        return problem(
            "E-CHECKPOINT-NONE",
            f"no checkpoint {which} in {self.folder}",
            hint=f"There are {steps}." if steps else "There is none; --resume auto begins anew.",
            wanted=str(which),
        )

    def _corrupt(self, saved: Saved, file: str, why: str) -> Problem:
        earlier = [other for other in self.whole() if other.step < saved.step]
        before = [other for other in earlier if not one_file(saved.path / file, other.path / file)]
        if why == IN_STORE:
            told = f"{saved.path} is no checkpoint of a run's folder: {why}"
            hint = "run FILE --store URL --name SLUG --resume auto brings the run here"
            raise problem("E-CHECKPOINT-NONE", told, hint=hint)
        if before:
            hint = f"--resume {before[-1].step} takes the one before."
        elif earlier:
            hint = "Those before share this file: what was copied elsewhere mends all, by its hash."
        else:
            hint = "There is none before."
        return problem(
            "E-CHECKPOINT-CORRUPT",
            f"{saved.name}/{file} is damaged: {why}",
            hint=hint,
            damaged=file,
            checkpoint=saved.name,
            previous=before[-1].name if before else None,
        )

    def verify(self, saved: Saved) -> None:
        """Compare the hash of every file. Raises E-CHECKPOINT-CORRUPT."""
        if saved.fault is not None:
            raise self._corrupt(saved, *saved.fault)
        for file in saved.document["files"]:
            if digest(saved.path / file["path"]) != file["sha256"]:
                raise self._corrupt(saved, file["path"], _UNLIKE)

    def load(self, saved: Saved) -> Checkpoint:
        """Verified and read into memory. Raises E-CHECKPOINT-CORRUPT."""
        self.verify(saved)
        arrays: dict[str, np.ndarray] = {}
        for file in saved.document["files"]:
            if file["path"] != _BATCH:
                read = tensors.load(saved.path / file["path"])
                arrays.update({file_of(file["path"], k): v for k, v in read.items()})
        return Checkpoint(saved, saved.document, arrays)


def surplus(found: Sequence[Saved], keep: int | None, best: str | None = None) -> list[Saved]:
    """All but the last `keep` (None: none) and the best of series `best`."""
    if keep is None:
        return []
    kept = {saved.name for saved in found if ".attempt-" not in saved.name}
    last = sorted(kept)[-max(1, keep) :]
    chosen = best_of(found, best) if best else None
    stay = {*last, *([chosen.name] if chosen else [])}
    return [saved for saved in found if saved.name not in stay]


def best_of(found: Sequence[Saved], series: str | None) -> Saved | None:
    """The one that holds the best value of a series: recorded as best at its own step."""
    fits = []
    for saved in found:
        best = saved.document.get("best", {})
        for name in [series] if series else list(best):
            if name in best and best[name]["step"] == saved.step:
                fits.append(saved)
    return fits[-1] if fits else None


def _reading(
    inside: Mapping[str, str], read: Callable[[str], np.ndarray]
) -> Callable[[str], np.ndarray]:
    """Arrays by their names inside a file."""
    return lambda key: read(inside[key])


def _by_file(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """File -> {name inside: persistent name}; kinds with a file of their own drop their prefix."""
    files: dict[str, dict[str, str]] = {file: {} for file in (*_FILES.values(), _REST)}
    for name in names:
        kind, _, path = name.partition(":")
        if kind in _FILES:
            files[_FILES[kind]][path] = name
        else:
            files[_REST][name] = name
    return files


def file_of(file: str, name: str) -> str:
    """The persistent name of what a file calls `name`: the inverse of `_by_file`."""
    kind = _KINDS.get(file)
    return f"{kind}:{name}" if kind else name


def _read(path: Path) -> Saved:
    step = int("".join(c for c in path.name[5:13] if c.isdigit()) or 0)
    try:
        document = json.loads((path / "checkpoint.json").read_bytes())
        listed = [(str(f["path"]), int(f["bytes"]), str(f["sha256"])) for f in document["files"]]
        files = [(name, size) for name, size, _ in listed]
        step = int(document["step"])
    except (OSError, ValueError, KeyError, TypeError):
        return Saved(path.name, step, path, {}, ("checkpoint.json", "it does not parse"))
    if document.get("version", 0) > VERSION:
        newer = f"version {document['version']} is newer than this program's {VERSION}"
        return Saved(path.name, step, path, document, ("checkpoint.json", newer))
    if any("/" in name for name, _ in files):
        return Saved(path.name, step, path, document, ("checkpoint.json", IN_STORE))
    if document.get("sha256") != _own_digest(document):
        return Saved(path.name, step, path, document, ("checkpoint.json", _UNLIKE))
    return Saved(path.name, step, path, document, _fault(path, files))


def _own_digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of a document without its key of that name, in hex: a flipped digit is found."""
    rest = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, indent=1, allow_nan=False).encode()).hexdigest()


def _fault(path: Path, files: Sequence[tuple[str, int]]) -> tuple[str, str] | None:
    for name, size in files:
        file = path / name
        if not file.is_file():
            return name, "it is missing"
        there = file.stat().st_size
        if there != size:
            return name, f"it has {there} bytes where {size} were written"
    return None


def _same(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Equal files, and the same said of them but for when and where they were made."""
    hashes = [{f["path"]: f["sha256"] for f in d["files"]} for d in (old, new)]
    rest = [{k: v for k, v in d.items() if k not in _FLEETING} for d in (old, new)]
    return hashes[0] == hashes[1] and _timeless(rest[0]) == _timeless(rest[1])


def _timeless(value: Any) -> Any:
    """Without the seconds that targets carry."""
    if isinstance(value, Mapping):
        return {k: _timeless(v) for k, v in value.items() if k != "elapsed"}
    if isinstance(value, list):
        return [_timeless(item) for item in value]
    return value


def _unused(final: Path, attempt: int) -> Path:
    number = attempt
    while (name := final.with_name(f"{final.name}.attempt-{number}")).exists():
        number += 1
    return name
