"""A run in a store while it runs (`--store`): checkpoints as they are written, events and status.

Below URL/SLUG/ lie `manifest.json` and the run's texts; `checkpoints/` as `checkpoint.store` has
them; `events/FIRST-LAST.jsonl`, pieces of events.jsonl by their lines; `status/N.json`, of which
the last counts. Nothing is overwritten. What the store does not take stays in the run's folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..checkpoint.disk import tidy
from ..checkpoint.folder import Checkpoints, Saved, surplus
from ..checkpoint.leftovers import clear, unfinished
from ..checkpoint.store import Below, committed, discard, stored, upload
from ..diagnostics import Problem, problem
from ..experiment.protocols import Store
from . import documents, runs
from .clock import Clock
from .process import this_host
from .status import ended

EVERY = 10.0
"""Seconds between two looks at events and status."""


class Mirror:
    """`begin`, then `checkpoint` from the writer's thread; a thread of its own until `close`."""

    def __init__(self, store: Store, path: Path, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._store = Below(store, path.name)
        self._checkpoints = Below(store, f"{path.name}/checkpoints")
        self._path = path
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._offset, self._lines, self._beats = 0, 0, 0
        self._put_files: set[str] = set()
        self._trouble: Problem | None = None
        self._removed: set[str] = set()
        self._before: Mapping[str, Any] | None = None  # of whose process the end is not sure yet

    def begin(self) -> None:
        """Texts and the manifest, events so far, checkpoints that the store lacks.

        Raises E-STORE-DENIED, E-STORE-LOST.
        """
        names = {name for name, _ in self._store.list()}
        for at in ("", *(f"{runs.ATTEMPTS}/{n}/" for n in runs.attempts(self._path))):
            self._program(at, names)
        self._put_files = {name for name in names if name.startswith("artifacts/")}
        self._skip(max((_last(name) for name in names if name.startswith("events/")), default=0))
        self._beats = max((_number(n) for n in names if n.startswith("status/")), default=0)
        there = stored(self._checkpoints)
        for saved in Checkpoints(self._path / "checkpoints").whole():
            if saved.name not in there and ".attempt-" not in saved.name:
                upload(saved, self._checkpoints)
        self._before = newest_status(self._store)
        self._clear(beginning=True)
        self.flush()
        self._thread = threading.Thread(target=self._beat, name="mirror", daemon=True)
        self._thread.start()

    def _program(self, at: str, names: Collection[str]) -> None:
        """What an attempt ran: `at` is its place in the run's folder."""
        manifest = documents.read(self._path / f"{at}manifest.json", "manifest") or {}
        for name in (at + file["path"] for file in manifest.get("files", ())):
            if name not in names:
                self._store.put(name, str(self._path / name))
        if f"{at}manifest.json" not in names:
            data = (self._path / f"{at}manifest.json").read_bytes()
            self._store.put_last(f"{at}manifest.json", data)

    def text(self, name: str) -> None:
        """Put a file of the run's folder that is written once. Raises E-STORE-*."""
        if name not in {there for there, _ in self._store.list(name)}:
            self._store.put(name, str(self._path / name))

    def checkpoint(
        self,
        saved: Saved,
        removed: Sequence[str],
        keep: int | None = None,
        series: str | None = None,
    ) -> None:
        """Put one, then remove those that retention has removed, and of what only the store has all
        but the last `keep` and the best of `series`. Raises E-STORE-*."""
        self._removed.update(removed)  # until they are gone, however often the store is lost
        upload(saved, self._checkpoints)
        for name in sorted(self._removed | self._older(saved.step, keep, series)):
            discard(self._checkpoints, name)
            self._removed.discard(name)
        self._clear()

    def _older(self, step: int, keep: int | None, series: str | None) -> set[str]:
        """Of checkpoints up to a step: a run that goes on elsewhere has not all of them there."""
        if keep is None or len(stored(self._checkpoints)) <= keep:
            return set()
        found = [saved for saved in committed(self._checkpoints) if saved.step <= step]
        return {saved.name for saved in surplus(found, keep, series)}

    def _clear(self, beginning: bool = False) -> None:
        """Remove what earlier attempts left half put, once their process surely writes no more."""
        if self._before is None:
            return
        now = newest_status(self._store)
        if now is not None and (now["host"], now["pid"]) != (this_host(), os.getpid()):
            self._before = now
        if not ended(self._before, self._clock):
            return
        clear(self._checkpoints, int(self._before["attempt"]))
        if beginning:  # nothing of this process is on its way
            _tidy(self._store)
        self._before = None

    def flush(self) -> None:
        """Put what is new of events and status. Raises E-STORE-*."""
        with self._lock:
            self._artifacts()  # before the events that name them
            self._events()
            self._status()

    def trouble(self) -> Problem | None:
        """What the thread met since the last call."""
        found, self._trouble = self._trouble, None
        return found

    def close(self) -> Problem | None:
        """End the thread and put the end of the run; what kept that from being put."""
        self._stop.set()
        if self._thread is None:
            return None
        self._thread.join()
        try:
            self.flush()
        except Problem as refused:
            return refused
        return None

    def _beat(self) -> None:
        while not self._stop.wait(EVERY):
            try:
                self.flush()
            except Problem as refused:
                self._trouble = refused

    def _skip(self, lines: int) -> None:
        """Take so many lines of events.jsonl as put."""
        data = _bytes(self._path / "events.jsonl")
        for _ in range(lines):
            self._offset = data.find(b"\n", self._offset) + 1
        self._lines = lines

    def _artifacts(self) -> None:
        for path in sorted((self._path / "artifacts").rglob("[!.]*.*")):
            name = path.relative_to(self._path).as_posix()
            if name not in self._put_files:
                self._store.put(name, str(path))
                self._put_files.add(name)

    def _events(self) -> None:
        new = _bytes(self._path / "events.jsonl")[self._offset :]
        new = new[: new.rfind(b"\n") + 1]
        if new:
            last = self._lines + new.count(b"\n")
            self._put(f"events/{self._lines + 1:08}-{last:08}.jsonl", new)
            self._offset, self._lines = self._offset + len(new), last

    def _status(self) -> None:
        if now := _bytes(self._path / "status.json"):
            self._put(f"status/{self._beats + 1:08}.json", now)
            self._beats += 1
            if self._beats > 1:
                self._store.delete(f"status/{self._beats - 1:08}.json")

    def _put(self, name: str, data: bytes) -> None:
        handle, scratch = tempfile.mkstemp(prefix="sexpgpu-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            self._store.put(name, scratch)
        except OSError as refused:
            raise problem("E-STORE-LOST", f"{scratch}: {refused.strerror}") from refused
        finally:
            with contextlib.suppress(OSError):
                os.unlink(scratch)


def newest_status(store: Store) -> dict[str, Any] | None:
    """Of a run in a store, where one can be read. Raises E-STORE-*."""
    with tempfile.TemporaryDirectory(prefix="sexpgpu-") as scratch:
        file = Path(scratch) / "status.json"
        _last_status(store, file)
        try:
            return documents.read(file, "status")
        except Problem:  # of a later program: nothing is known of who wrote it
            return None


def _tidy(store: Store) -> None:
    """Puts beside the checkpoints that never ended, and states before the last."""
    for name, put in unfinished(store):
        if not name.startswith("checkpoints/"):
            store.abandon(name, put)  # type: ignore[attr-defined]
    for name, _ in store.list("status/")[:-1]:
        store.delete(name)


def bring(store: Store, run: str, folder: Path, checkpoint: str | int | None = None) -> Path:
    """A run's documents from a store to `folder`/SLUG; a checkpoint too if asked for: latest, best
    (all of them, of which a reader chooses) or a step.

    Raises E-USAGE-RUN where there is none, E-STORE-*, E-CHECKPOINT-CORRUPT.
    """
    from ..checkpoint.store import download, forget, whole

    below, path = Below(store, run), folder / run
    names = [name for name, _ in below.list()]
    if "manifest.json" not in names:
        raise problem("E-USAGE-RUN", f"the store has no run {run}", run=run)
    _texts(below, names, path)
    _joined(below, [n for n in names if n.startswith("events/")], path / "events.jsonl")
    _last_status(below, path / "status.json")
    if checkpoint is not None:
        there, kept = Below(store, f"{run}/checkpoints"), path / "checkpoints"
        kept.mkdir(exist_ok=True)
        tidy(kept)
        forget(there, kept)
        for name in _chosen(whole(there), checkpoint):
            if not (kept / name).exists():
                download(there, name, kept, kept / f".tmp-{name}-{os.getpid()}")
    return path


def _texts(store: Store, names: Sequence[str], path: Path) -> None:
    """The manifest and what it tells of, which is there already where the manifest is the same."""
    before = _bytes(path / "manifest.json")
    path.mkdir(parents=True, exist_ok=True)
    store.get("manifest.json", str(path / "manifest.json"))
    same = before == _bytes(path / "manifest.json")
    for name in names:
        growing = name.startswith(("checkpoints/", "events/", "status/"))
        if not growing and not (same and (path / name).exists()):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            store.get(name, str(path / name))


def _last_status(store: Store, path: Path) -> None:
    """The newest there is. The one that was listed may be gone when it is asked for: look again."""
    for again in (True, True, False):
        states = [name for name, _ in store.list("status/")]
        if not states:
            return
        try:
            store.get(states[-1], str(path))
            return
        except Problem as refused:
            if not again or refused.diagnostic.code != "E-STORE-LOST":
                raise


def _chosen(names: Sequence[str], which: str | int) -> Sequence[str]:
    """Of whole checkpoints, in order of their steps."""
    if which == "best":
        return names
    if which == "latest":
        return names[-1:]
    return [name for name in names if name == f"step-{which:08}"]


def brought_back(store: Store, experiment_id: str, root: Path, name: str | None) -> None:
    """Bring the run to go on with, of this experiment or name, where there is none here.

    Raises E-STORE-*, E-CHECKPOINT-CORRUPT.
    """
    if runs.resumable(root, experiment_id, name) is not None:
        return
    tidy(root)
    scratch = root / f".tmp-{experiment_id}-{os.getpid()}"
    try:
        slug = name or resumable(store, experiment_id, scratch)
        if slug is not None and not (root / slug).exists() and _has(store, slug):
            os.replace(bring(store, slug, scratch, "latest"), root / slug)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _has(store: Store, slug: str) -> bool:
    return any(name == f"{slug}/manifest.json" for name, _ in store.list(f"{slug}/"))


def resumable(store: Store, experiment_id: str, folder: Path) -> str | None:
    """The newest run in a store that was this experiment last and has a checkpoint: its slug."""
    names = [name for name, _ in store.list()]
    saved = {n.split("/")[0] for n in names if n.endswith("/checkpoint.json")}
    found = []
    for slug in sorted(n.split("/")[0] for n in names if n.count("/") == 1 and _is_manifest(n)):
        if slug not in saved:
            continue
        for name in (n for n in names if n.startswith(f"{slug}/") and _is_manifest(n)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            store.get(name, str(folder / name))
        run = runs.readable(folder / slug)
        if run is not None and run.manifest["experiment_id"] == experiment_id:
            found.append((str(run.manifest["created_at"]), slug))
    return max(found)[1] if found else None


def _is_manifest(name: str) -> bool:
    return name.endswith("/manifest.json")


def _joined(store: Store, pieces: Sequence[str], path: Path) -> None:
    """Pieces of events to one file; where two of them overlap, lines are there once."""
    lines: dict[int, bytes] = {}
    for name in sorted(pieces):
        with tempfile.NamedTemporaryFile(prefix="sexpgpu-") as scratch:
            store.get(name, scratch.name)
            data = Path(scratch.name).read_bytes()
        for at, line in enumerate(data.splitlines(keepends=True), _number(name)):
            lines[at] = line
    path.write_bytes(b"".join(lines[at] for at in sorted(lines)))


def _number(name: str) -> int:
    """FIRST of `events/FIRST-LAST.jsonl`, N of `status/N.json`."""
    return int(name.partition("/")[2].partition(".")[0].partition("-")[0])


def _last(name: str) -> int:
    return int(name.partition("-")[2].partition(".")[0])


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
