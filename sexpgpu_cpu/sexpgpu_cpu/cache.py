"""Objects of the CPU device on disk, by content."""

from __future__ import annotations

from sexpgpu_core.object_cache import MAGIC, ContentCache


class ObjectCache(ContentCache):
    kind = "cpu"


__all__ = ["MAGIC", "ObjectCache"]
