"""Stores: checkpoints below a URL, put file by file and committed by their manifest (45.18).

Data objects lie under `step-STEP/ATTEMPT/`, each put once; `step-STEP/checkpoint.json` is put last.
What checkpoints share lies under `frozen/SHA256/` while one of them names it.
A reader believes manifests only. `LocalStore` is the store of a folder; others come by the hook.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..diagnostics import Problem, problem
from ..experiment.protocols import Store
from .disk import Disk, digest
from .folder import IN_STORE, Saved
from .shared import FILE, STORED

MANIFEST = "checkpoint.json"


class LocalStore:
    """Files below a folder: `file:///...` or a path. Raises E-STORE-DENIED."""

    def __init__(self, url: str, disk: Disk | None = None) -> None:
        self.folder = Path(url.removeprefix("file://"))
        self._disk = disk or Disk()

    def put(self, name: str, file: str) -> None:
        with open(file, "rb") as source:
            self._put(name, iter(lambda: source.read(1 << 22), b""))

    def put_last(self, name: str, data: bytes) -> None:
        self._put(name, [data])

    def _put(self, name: str, pieces: Any) -> None:
        path = self.folder / name
        scratch = path.with_name(f".{path.name}-{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._disk.write(scratch, pieces)
            self._disk.rename(scratch, path)
            self._disk.sync(path.parent)
        except OSError as refused:
            with contextlib.suppress(OSError):
                scratch.unlink()
            raise problem("E-STORE-DENIED", f"{path}: {refused.strerror}") from refused

    def get(self, name: str, file: str) -> None:
        try:
            shutil.copyfile(self.folder / name, file)
        except OSError as refused:
            raise problem("E-STORE-LOST", f"{self.folder / name}: {refused.strerror}") from refused

    def list(self, prefix: str = "") -> list[tuple[str, int]]:
        """Names below a prefix with their sizes, sorted; what is being put is not there yet."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        names = [(path.relative_to(self.folder).as_posix(), path.stat().st_size) for path in files]
        return sorted(n for n in names if n[0].startswith(prefix) and "/." not in f"/{n[0]}")

    def delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def unfinished(self, prefix: str = "") -> Sequence[tuple[str, str]]:
        """Puts that have begun and not ended: what each is to be, and its file."""
        found = []
        for path in self.folder.rglob(".*-*"):
            name, _, process = path.name[1:].rpartition("-")
            if process.isdecimal() and path.is_file():
                file = path.relative_to(self.folder)
                found.append((file.with_name(name).as_posix(), file.as_posix()))
        return sorted(put for put in found if put[0].startswith(prefix))

    def abandon(self, name: str, put: str) -> None:
        self.delete(put)


class Below:
    """The part of a store whose names begin with PREFIX/."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store, self._prefix = store, f"{prefix}/"

    def put(self, name: str, file: str) -> None:
        self._store.put(self._prefix + name, file)

    def put_last(self, name: str, data: bytes) -> None:
        self._store.put_last(self._prefix + name, data)

    def get(self, name: str, file: str) -> None:
        self._store.get(self._prefix + name, file)

    def list(self, prefix: str = "") -> list[tuple[str, int]]:
        found = self._store.list(self._prefix + prefix)
        return [(name.removeprefix(self._prefix), size) for name, size in found]

    def delete(self, name: str) -> None:
        self._store.delete(self._prefix + name)

    def unfinished(self, prefix: str = "") -> Sequence[tuple[str, str]]:
        """Of a store that can tell; none of another."""
        if not hasattr(self._store, "unfinished"):
            return []
        found = self._store.unfinished(self._prefix + prefix)
        return [(name.removeprefix(self._prefix), put) for name, put in found]

    def abandon(self, name: str, put: str) -> None:
        if hasattr(self._store, "abandon"):
            self._store.abandon(self._prefix + name, put)


def probe(store: Store) -> Problem | None:
    """Put an object, find it, remove it: what is in the way of that, or None."""
    name = f"sexpgpu-probe-{os.getpid()}-{time.time_ns()}"
    try:
        with tempfile.NamedTemporaryFile(prefix="sexpgpu-") as file:
            file.write(name.encode())
            file.flush()
            store.put(name, file.name)
        there = dict(store.list(name))
        store.delete(name)
    except Problem as refused:
        return refused
    if there.get(name) != len(name):
        return problem("E-STORE-LOST", f"{name} was put and is not listed")
    return None


def upload(saved: Saved, store: Store) -> None:
    """Put a checkpoint: its files once each, then the manifest that names them.

    One that the store has is left if its files are equal, else it gives way to the new one.
    """
    before = manifest_of(store, saved.name) if saved.name in stored(store, saved.name) else None
    if before is not None and _hashes(before) == _hashes(saved.document):
        return
    files = [_stored_as(saved, file) for file in saved.document["files"]]
    objects = {object_of(saved.name, file["path"]): file for file in files}
    shared = {name for name in objects if name.startswith(f"{STORED}/")}
    _put(saved, store, {n: f for n, f in objects.items() if n not in shared})
    _put(saved, store, _missing(store, objects))  # what is shared, and what went meanwhile
    said = json.dumps({**saved.document, "files": files}, allow_nan=False)
    if before is not None:
        store.delete(f"{saved.name}/{MANIFEST}")
    store.put_last(f"{saved.name}/{MANIFEST}", said.encode())
    if before is not None:
        _give_way(store, saved.name, before, files)


def _stored_as(saved: Saved, file: Mapping[str, Any]) -> dict[str, Any]:
    """A file's entry in the manifest of a store."""
    where = str(saved.document["attempt"])
    if file["path"] == FILE:
        where = f"{STORED}/{file['sha256']}"
    return {**file, "path": f"{where}/{file['path']}"}


def _put(saved: Saved, store: Store, objects: Mapping[str, Mapping[str, Any]]) -> None:
    for name, file in objects.items():
        store.put(name, str(saved.path / Path(file["path"]).name))


def _missing(store: Store, objects: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Those that are not there with their sizes."""
    there = {
        found for part in {n.rpartition("/")[0] for n in objects} for found in store.list(part)
    }
    return {name: file for name, file in objects.items() if (name, file["bytes"]) not in there}


def _give_way(store: Store, name: str, before: Mapping[str, Any], files: Sequence[Any]) -> None:
    """Remove what only the manifest named that another has replaced."""
    named = {file["path"] for file in files}
    for file in before["files"]:
        if file["path"] not in named and not file["path"].startswith(f"{STORED}/"):
            store.delete(object_of(name, file["path"]))


def object_of(name: str, path: str) -> str:
    """The object that a checkpoint's manifest calls `path`."""
    return path if path.startswith(f"{STORED}/") else f"{name}/{path}"


def discard(store: Store, name: str) -> None:
    """Remove a checkpoint, its manifest first: no reader believes what is left. What it shared goes
    when no other names it."""
    names = [found for found, _ in store.list(f"{name}/")]
    for found in sorted(names, key=lambda n: not n.endswith(f"/{MANIFEST}")):
        store.delete(found)
    unnamed = {found for found, _ in store.list(f"{STORED}/")}
    for other in sorted(stored(store), reverse=True):  # the newest names most
        if not unnamed:
            return
        unnamed -= {str(file["path"]) for file in manifest_of(store, other)["files"]}
    for found in sorted(unnamed):
        store.delete(found)


def stored(store: Store, prefix: str = "step-") -> set[str]:
    """Names of the checkpoints that were committed."""
    names = [name for name, _ in store.list(prefix) if name.endswith(f"/{MANIFEST}")]
    return {name.partition("/")[0] for name in names}


def committed(store: Store) -> list[Saved]:
    """The checkpoints that were committed, as their manifests say; oldest first."""
    found = []
    for name in whole(store):
        told = manifest_of(store, name)
        fault = (MANIFEST, IN_STORE)
        found.append(Saved(name, int(told["step"]), Path(name), told, fault))
    return found


def forget(store: Store, folder: Path) -> None:
    """Remove what was brought to a folder and the store has no more, or has otherwise."""
    there = stored(store)
    for path in folder.glob("step-*"):
        same = path.name in there and _told(path) == _hashes(manifest_of(store, path.name))
        if not same:
            shutil.rmtree(path, ignore_errors=True)


def _told(path: Path) -> dict[str, str] | None:
    try:
        return _hashes(json.loads((path / MANIFEST).read_bytes()))
    except (OSError, ValueError, KeyError):
        return None


def manifest_of(store: Store, name: str) -> Mapping[str, Any]:
    """A committed checkpoint's. Raises E-STORE-*."""
    with tempfile.NamedTemporaryFile(prefix="sexpgpu-") as file:
        store.get(f"{name}/{MANIFEST}", file.name)
        with open(file.name, encoding="utf-8") as read:
            return dict(json.load(read))


def _hashes(document: Mapping[str, Any]) -> dict[str, str]:
    return {Path(f["path"]).name: f["sha256"] for f in document["files"]}


def whole(store: Store) -> list[str]:
    """Names of the checkpoints that were committed, oldest first."""
    return sorted(stored(store))


def download(store: Store, name: str, folder: Path, scratch: Path) -> Path:
    """Bring one committed checkpoint below `folder`, its hashes compared. Returns its path.

    `scratch` is a folder beside; the checkpoint appears by one rename.
    """
    scratch.mkdir(parents=True)
    manifest = scratch / MANIFEST
    store.get(f"{name}/{MANIFEST}", str(manifest))
    document = dict(json.loads(manifest.read_bytes()))
    files = [_fetch(store, name, file, scratch, folder) for file in document["files"]]
    Disk().write(manifest, [json.dumps({**document, "files": files}, indent=1).encode()])
    os.replace(scratch, folder / name)
    return folder / name


def _fetch(
    store: Store, name: str, file: Mapping[str, Any], scratch: Path, folder: Path
) -> dict[str, Any]:
    path = scratch / Path(file["path"]).name
    if not _beside(folder, file, path):
        store.get(object_of(name, file["path"]), str(path))
    if digest(path) != file["sha256"]:
        raise problem("E-CHECKPOINT-CORRUPT", f"{name}/{file['path']} differs from its hash")
    return {**file, "path": path.name}


def _beside(folder: Path, file: Mapping[str, Any], path: Path) -> bool:
    """Whether a checkpoint that was brought before shares the file, which has a name more now."""
    for other in folder.glob(f"step-*/{FILE}") if path.name == FILE else ():
        with contextlib.suppress(OSError):
            if digest(other) == file["sha256"]:
                os.link(other, path)
                return True
    return False
