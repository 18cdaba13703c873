"""Compiled code on disk, by content. get and put are atomic; a damaged entry is a miss.

An entry: magic, SHA-256 of the rest, the rest. Written to a temporary name and renamed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from .caches import cache_folder

MAGIC = b"SEXPGPU1"


class ContentCache:
    """`kind`: the folder of its own. `hits`, `misses`: counts since it was made. A folder that
    cannot be written is no error."""

    kind = ""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = (folder or cache_folder()) / self.kind
        self.hits = 0
        self.misses = 0

    def get(self, key: str) -> bytes | None:
        """The bytes put under a key, or None."""
        try:
            data = self._path(key).read_bytes()
        except OSError:
            data = b""
        body = data[40:]
        if data[:8] == MAGIC and data[8:40] == hashlib.sha256(body).digest():
            self.hits += 1
            return body
        self.misses += 1
        return None

    def put(self, key: str, body: bytes) -> None:
        """Replaces what was there, whole or not at all."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        except OSError:
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + hashlib.sha256(body).digest() + body)
            os.replace(name, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / key
