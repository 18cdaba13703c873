"""What the headers of the sources of a mixture say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..diagnostics import problem
from .protocols import Header

_OWN = ("keys", "tokenizer", "content")
"""What a source's tokens follow from beside its files: nothing is made of them, but a fingerprint
holds them."""


def merged_header(parts: Mapping[str, Header], weights: Sequence[float]) -> Header:
    """What the headers of all sources say together. Raises E-DATA-FORMAT where two say that they
    have other tokenizers: one id would be two tokens."""
    _alike(parts)
    headers = list(parts.values())
    found: dict[str, Any] = {
        "fields": headers[0]["fields"],
        "sources": tuple(parts),
        "weights": tuple(weights),
        "paths": tuple(path for header in headers for path in header.get("paths", ())),
    }
    for header in headers:
        if "unread" in header:  # W-DATA-UNREAD of one that a check has not read
            found.setdefault("unread", header["unread"])
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


def _alike(parts: Mapping[str, Header]) -> None:
    known = [(name, header["tokenizer"]) for name, header in parts.items() if "tokenizer" in header]
    for name, own in known[1:]:
        if own != known[0][1]:
            first, second = known[0][1][0], own[0]
            told = f"sources {known[0][0]} and {name} of a mixture have other tokenizers"
            hint = f":{first} and :{second}: one for all, also of one file and version"
            raise problem("E-DATA-FORMAT", told, hint=hint)
    letters = [(name, header["alphabet"]) for name, header in parts.items() if "alphabet" in header]
    for name, own in letters[1:]:
        if own != letters[0][1]:
            odd = sorted({*own} ^ {*letters[0][1]})[0]
            raise problem(
                "E-DATA-FORMAT",
                f"sources {letters[0][0]} and {name} of a mixture have other characters, so that "
                f"one number is two of them; only one has {odd!r}",
                hint=':tokenizer :bytes, or one of a file, as (:hf "tokenizer.json")',
            )
