"""What a writer that ended left in a store and never committed: found by what no manifest names.

Objects of an upload that was killed before its manifest, of a checkpoint that gave way to another,
and what a store holds of puts that never ended. Only the writer's end makes them left over: the
caller says up to which attempt all writers have ended.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Any

from ..experiment.protocols import Store
from ..records import NamedTuple
from .shared import STORED
from .store import MANIFEST, manifest_of, object_of, stored


class Left(NamedTuple):
    """Objects by name and size, and puts that never ended by name and the store's word for each."""

    objects: tuple[tuple[str, int], ...]
    puts: tuple[tuple[str, str], ...]

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.objects)


def left(store: Store, attempt: int) -> Left:
    """What lies below a run's `checkpoints/` of attempts up to `attempt`, which have all ended.

    Raises E-STORE-*.
    """
    there = dict(store.list())
    unnamed = [name for name in sorted(_unnamed(store, list(there))) if _ended(name, attempt)]
    begun = unfinished(store)
    puts = [put for put in begun if _ended(put[0], attempt) or put[0].endswith(f"/{MANIFEST}")]
    return Left(tuple((name, there[name]) for name in unnamed), tuple(puts))


def clear(store: Store, attempt: int) -> Left:
    """Remove it; what it was. Raises E-STORE-*."""
    found = left(store, attempt)
    for name, word in found.puts:
        store.abandon(name, word)  # type: ignore[attr-defined]
    for name, _ in found.objects:
        store.delete(name)
    return found


def unfinished(store: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Puts below a prefix that have begun and not ended, of a store that can tell."""
    listed = getattr(store, "unfinished", None)
    return list(listed(prefix)) if listed is not None else []


def _unnamed(store: Store, there: Collection[str]) -> set[str]:
    """Those that no manifest names. A manifest is read where its step has objects of several
    attempts, and for what is shared, newest first until all are named."""
    found = set(there)
    for name in sorted(stored(store), reverse=True):
        own = {put for put in there if put.startswith(f"{name}/")}
        several = len({put.split("/")[1] for put in own}) > 2  # its manifest is one
        if several or any(put.startswith(f"{STORED}/") for put in found):
            files = manifest_of(store, name)["files"]
            found -= {object_of(name, str(file["path"])) for file in files}
        if not several:
            found -= own
    return found


def _ended(name: str, attempt: int) -> bool:
    """Whether an attempt that has ended put it: `step-STEP/ATTEMPT/FILE`, or what is shared."""
    parts = PurePosixPath(name).parts
    if len(parts) != 3:
        return False
    data = parts[0].startswith("step-") and parts[1].isdecimal() and int(parts[1]) <= attempt
    return data or parts[0] == STORED
