"""What the headers of the sources of a mixture say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .protocols import Header

_OWN = ("keys", "tokenizer", "content")
"""What a source's tokens follow from beside its files: nothing is made of them, but a fingerprint
holds them."""


def merged_header(parts: Mapping[str, Header], weights: Sequence[float]) -> Header:
    """What the headers of all sources say together."""
    headers = list(parts.values())
    found: dict[str, Any] = {
        "fields": headers[0]["fields"],
        "sources": tuple(parts),
        "weights": tuple(weights),
        "paths": tuple(path for header in headers for path in header.get("paths", ())),
    }
    for key in ("tokens", "count"):
        if all(header.get(key) is not None for header in headers):
            found[key] = sum(header[key] for header in headers)
    vocabularies = [header.get("vocab") for header in headers]
    if all(v is not None for v in vocabularies):
        found["vocab"] = max(v for v in vocabularies if v is not None)
    if any(key in header for header in headers for key in _OWN):
        found["members"] = tuple(
            tuple((key, header[key]) for key in _OWN if key in header) for header in headers
        )
    return found
