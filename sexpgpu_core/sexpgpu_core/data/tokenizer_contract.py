"""What a tokenizer promises, tried on a few texts: `plugins --verify` tells what it breaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

TEXTS = ("", "a", "The quick brown fox.\n\n  12 345", "é 漢字 🦊", "\x00\r\n\t", "ab" * 500)
"""Texts, as UTF-8, that are encoded whole and by parts."""


def broken(row: Any, coder: Any, texts: Sequence[str] = TEXTS) -> Iterator[str]:
    """Promises of experiment.protocols.Tokenizer that do not hold, one of a kind. `row`:
    entries.TokenizerEntry with a vocabulary."""
    told: set[str] = set()
    for text in texts:
        for kind, why in _of(row, coder, text.encode()):
            if kind not in told:
                told.add(kind)
                yield why


def _of(row: Any, coder: Any, data: bytes) -> Iterator[tuple[str, str]]:
    shown = f"of {data[:20]!r}"
    ids = [int(token) for token in coder.encode(data)]
    wrong = [token for token in ids if not 0 <= token < row.vocabulary]
    if wrong:
        yield "range", f"the id {wrong[0]} {shown} is not below its vocabulary, {row.vocabulary}"
    if ids != [int(token) for token in coder.encode(data)]:
        yield "pure", f"encode {shown} gives other ids the second time"
    back = coder.decode(ids)
    if not isinstance(back, bytes):
        yield "bytes", f"decode {shown} gives {type(back).__name__}, not bytes"
    elif row.exact and back != data:
        yield "exact", f"its row says exact, and decode(encode(x)) {shown} is {back[:20]!r}"
    if hasattr(coder, "encode_parts"):
        for size in (1, 3):
            parts = (data[at : at + size] for at in range(0, len(data), size))
            got = [int(token) for part in coder.encode_parts(parts) for token in part]
            if got != ids:
                yield "parts", f"encode_parts by {size} bytes {shown} is not encode of the whole"
