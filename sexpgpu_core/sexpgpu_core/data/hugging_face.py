"""`:tokenizer (:hf "tokenizer.json")`: a tokenizer as the library tokenizers saves it.

Texts are encoded as they are: nothing is added around them (no template of special tokens), cut off
or filled. `vocabulary` reads the file alone, so that a check imports no library. Where a rule says
where a text may be cut (token_borders), large ones are encoded in pieces.
"""

from __future__ import annotations

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..diagnostics import Problem, problem

_PIECE = 1 << 14
"""Characters of a piece at least: the next place where the text may be cut ends it."""

_LONGEST = 1 << 26
"""Characters without such a place that are encoded together at most."""


def vocabulary(options: Mapping[str, Any]) -> int:
    """One above the greatest id of a tokenizer.json, its added tokens among them. Raises
    E-DATA-FORMAT."""
    (path,) = options["paths"]
    try:
        said = json.loads(path.read_bytes())
        known = said["model"]["vocab"]
        ids = list(known.values()) if isinstance(known, dict) else list(range(len(known)))
        ids += [token["id"] for token in said.get("added_tokens", ())]
        return 1 + max(map(int, ids))
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise _malformed(path, f"{type(wrong).__name__}: {wrong}") from wrong


def _malformed(path: Path, why: str) -> Problem:
    told = f"{path.name} is no tokenizer.json of the library tokenizers: {why}"
    hint = "Tokenizer.save(path) of that library writes one"
    return problem("E-DATA-FORMAT", told, hint=hint, file_read=path.name)


def opened(options: Mapping[str, Any]) -> HuggingFace:
    """The tokenizer of a file. Raises ImportError without the library, E-DATA-FORMAT."""
    from tokenizers import Tokenizer

    from .token_borders import rule_of

    (path,) = options["paths"]
    try:
        read = Tokenizer.from_file(str(path))
    except Exception as wrong:  # the library raises Exception itself
        raise _malformed(path, str(wrong)) from wrong
    read.no_truncation()
    read.no_padding()
    rule = rule_of(json.loads(path.read_bytes()))
    return HuggingFace(read) if rule is None else InPieces(read, rule)


class HuggingFace:
    """A tokenizer of the library, which encodes a text whole."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode(self, data: bytes) -> Sequence[int]:
        """Ids of a text in UTF-8; bytes that are none stand as U+FFFD."""
        text = data.decode("utf-8", errors="replace")
        ids: Sequence[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> bytes:
        """Text of ids in UTF-8, special tokens by their names."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=False)
        return text.encode("utf-8")


class InPieces(HuggingFace):
    """One with a rule for where texts may be cut. Law: `encode_parts` gives the ids of `encode`."""

    def __init__(self, tokenizer: Any, rule: re.Pattern[str]) -> None:
        super().__init__(tokenizer)
        self._rule = rule

    def encode_parts(self, parts: Iterator[bytes]) -> Iterator[Sequence[int]]:
        """Ids of a text in UTF-8 whose parts are cut anywhere. Raises E-DATA-FORMAT of one that
        has too long a stretch without a place to be cut at."""
        decoder, rest = getincrementaldecoder("utf-8")(errors="replace"), ""
        for data in parts:
            *pieces, rest = self._cut(rest + decoder.decode(data), len(rest))
            if len(rest) > _LONGEST:
                raise _uncut(rest)
            yield from self._ids(pieces)
        yield from self._ids([rest + decoder.decode(b"", final=True)])

    def _cut(self, text: str, seen: int) -> Iterator[str]:
        """Pieces, the last one not ended. `seen`: characters that were looked at before."""
        at = 0
        while found := self._rule.search(text, max(at + _PIECE, seen)):
            yield text[at : found.start()]
            at = found.start()
        yield text[at:]

    def _ids(self, pieces: list[str]) -> Iterator[Sequence[int]]:
        for found in self._tokenizer.encode_batch_fast(pieces, add_special_tokens=False):
            yield found.ids


def _uncut(text: str) -> Problem:
    told = f"a text of {len(text):,} characters has no place where its tokens surely end"
    hint = "such a place is a space after a word; cut the file into files"
    return problem("E-DATA-FORMAT", f"{told}: {text[:40]!r} ...", hint=hint)
