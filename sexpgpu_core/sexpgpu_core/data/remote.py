"""Objects at s3:// as files of the cache, one an ETag: found by asking the server, fetched once.

What was found is remembered, so that a check asks nobody (`files.unasked`). A file's time is that
of its object, so that what was made of it stays known when it is fetched again.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..buckets import Told, connected, copy
from ..caches import cache_folder, write_whole
from ..diagnostics import problem
from ..records import NamedTuple
from .files import REACH

DAY = 24 * 3600.0
"""Seconds for which an object that was asked for stays, whatever the budget: a run may read it."""


class Object(NamedTuple):
    """`changed`: seconds since 1970."""

    key: str
    size: int
    etag: str
    changed: float


def files_of(url: str) -> list[Path]:
    """Local files of the objects that a URL or a glob of one names, in order.

    Raises E-DATA-MISSING, E-DATA-EXTRA without boto3, E-STORE-DENIED, E-STORE-LOST; W-DATA-UNREAD
    where nobody is asked and the cache does not have it.
    """
    bucket, _, key = url.removeprefix("s3://").partition("/")
    listing = cache_folder() / "objects" / f"{_digest(url)}.json"
    if not REACH.asks:
        return [_kept(url, bucket, item) for item in _remembered(url, listing)]
    client = connected(url, "E-DATA-EXTRA")
    with Told(url):
        found = _listed(client, bucket, key)
        if not found:
            raise problem("E-DATA-MISSING", f"no object matches {url}", path=url)
        fetched = [_fetched(client, bucket, item) for item in found]
    with contextlib.suppress(OSError):
        write_whole(listing, json.dumps(found).encode())
    _trim(set(fetched))
    return fetched


def _remembered(url: str, listing: Path) -> list[Object]:
    try:
        return [Object(*row) for row in json.loads(listing.read_bytes())]
    except (OSError, ValueError, TypeError):
        raise _unread(url) from None


def _kept(url: str, bucket: str, item: Object) -> Path:
    path = _place(bucket, item)
    if not path.is_file():
        raise _unread(url)
    return path


def _unread(url: str) -> Exception:
    return problem(
        "W-DATA-UNREAD",
        f"{url} was not read: a check asks no server",
        hint="check --data reads it, and what it finds is remembered",
        url=url,
    )


def _listed(client: Any, bucket: str, key: str) -> list[Object]:
    """Objects by key: one, or those that a glob matches."""
    start = min((at for at in map(key.find, "*?[") if at >= 0), default=-1)
    prefix = key if start < 0 else key[:start]
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    found = [
        Object(o["Key"], int(o["Size"]), o["ETag"].strip('"'), o["LastModified"].timestamp())
        for page in pages
        for o in page.get("Contents", ())
    ]
    wanted = (o for o in found if (o.key == key if start < 0 else fnmatchcase(o.key, key)))
    return sorted(wanted)


def _place(bucket: str, item: Object) -> Path:
    """Where an object lies: a folder of its own, under its own name."""
    said = _digest(f"{bucket}\0{item.key}\0{item.etag}\0{item.size}")
    return cache_folder() / "objects" / said / Path(item.key).name


def _fetched(client: Any, bucket: str, item: Object) -> Path:
    path = _place(bucket, item)
    if not (path.is_file() and path.stat().st_size == item.size):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with open(beside, "wb") as into:
                copy(client, bucket, item.key, into)
            if beside.stat().st_size != item.size:
                told = f"s3://{bucket}/{item.key} changed while it was fetched"
                raise problem("E-DATA-LOST", told, hint="run again", path=item.key)
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    os.utime(path, (time.time(), item.changed))
    return path


def _trim(used: set[Path]) -> None:
    """Remove what was not asked for longest until the rest is within the budget."""
    found = []
    for path in (cache_folder() / "objects").glob("*/*"):
        with contextlib.suppress(OSError):
            state = path.stat()
            found.append((state.st_atime, state.st_size, path))
    total = sum(size for _, size, _ in found)
    for asked, size, path in sorted(found):
        if total <= REACH.cache_gb << 30:
            return
        if path not in used and asked < time.time() - DAY:
            with contextlib.suppress(OSError):
                path.unlink()
                path.parent.rmdir()
                total -= size


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:32]


def declared_header(shape: str, options: Any, fields: Sequence[Any]) -> dict[str, Any] | None:
    """What a source that was not read is by its declaration; None where that does not say.

    `shape`: table or stream. Columns are those of `fields`, which must say their dtypes.
    """
    if shape == "stream":
        types = {
            "tokens": ("i32", ()),
            **({"weights": ("f32", ())} if options.get("tokens") else {}),
        }
        return {"tokens": None, "fields": types, "vocab": options.get("vocab")}
    columns: dict[str, Any] = {}
    for _, column, dtype, more in fields:
        kind = "text" if more.get("hash") is not None else str(dtype or "").lstrip(":").lower()
        if not kind or not isinstance(column, str):
            return None
        columns[column.lstrip(":")] = (kind, ())
    return {"count": None, "fields": columns} if columns else None
