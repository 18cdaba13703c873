"""PTX on disk, by what it was made from."""

from __future__ import annotations

from sexpgpu_core.object_cache import ContentCache


class PtxCache(ContentCache):
    kind = "cuda"
