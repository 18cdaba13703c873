"""RUN and SAVE as the URL of a store: brought to a folder of this machine, where it is read."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from .checkpoint.disk import tidy
from .diagnostics import problem
from .records import NamedTuple
from .registered import store_of
from .registry import Registry
from .runtime import runs
from .runtime.mirror import bring


class Place(NamedTuple):
    """URL/SLUG[@STEP]: the store that a run is mirrored to, and what of it is meant."""

    store: str
    slug: str
    step: str | None


def place(text: str | None) -> Place | None:
    """What a text means, if it is the URL of a store, or the path of a run in one that is a folder.
    Raises E-USAGE-VALUE for a URL that has no run's name."""
    if text is None:
        return None
    path = text[7:] if text.startswith("file://") else text
    if "://" not in path:
        return _below(path)
    parent, _, name = text.rstrip("/").rpartition("/")
    if "://" not in parent or parent.endswith("://"):
        hint = "s3://BUCKET/PREFIX/SLUG, with @STEP for a checkpoint"
        raise problem("E-USAGE-VALUE", f"{text} names no run of a store", hint=hint)
    slug, at, step = name.partition("@")
    return Place(parent, slug, step if at else None)


def _below(path: str) -> Place | None:
    before, _, step = path.rpartition("@")
    for run, which in ((path, None), (before, step)):
        if run and runs.mirrored(run):
            parent, name = os.path.split(os.path.abspath(run))
            return Place(parent, name, which)
    return None


def brought(
    registry: Registry, at: Place, cache: Path, checkpoint: str | int | None = None
) -> runs.Run:
    """A run of a store by its documents as they are now, in the cache; with a checkpoint: latest,
    best or a step. Raises E-USAGE-RUN, E-STORE-*, E-CHECKPOINT-CORRUPT."""
    inside = hashlib.sha256(at.store.encode()).hexdigest()[:16]
    store = store_of(registry, at.store)
    run = runs.read(bring(store, at.slug, cache / "stores" / inside, checkpoint))
    assert run is not None, "a run that was brought has a manifest"
    return run


def here(registry: Registry, at: Place, root: Path) -> str:
    """RUN[@STEP] below the root to go on from: the store's run is brought there where it is not.

    Raises what `brought` does.
    """
    path = root / at.slug
    if not path.exists():
        which = runs.step(at.step or "latest")
        tidy(root)
        scratch = root / f".tmp-{at.slug}-{os.getpid()}"
        try:
            os.replace(bring(store_of(registry, at.store), at.slug, scratch, which), path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return str(path) + (f"@{at.step}" if at.step else "")
