"""`:tokenizer (:hf "tokenizer.json")`: a tokenizer as the library tokenizers saves it.

Texts are encoded as they are: nothing is added around them (no template of special tokens), cut off
or filled. `vocabulary` reads the file alone, so that a check imports no library.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..diagnostics import Problem, problem


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


class HuggingFace:
    """A tokenizer of a file. Raises ImportError without the library, E-DATA-FORMAT."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        from tokenizers import Tokenizer

        (path,) = options["paths"]
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as wrong:  # the library raises Exception itself
            raise _malformed(path, str(wrong)) from wrong
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, data: bytes) -> Sequence[int]:
        """Ids of a text in UTF-8; bytes that are none stand as U+FFFD."""
        text = data.decode("utf-8", errors="replace")
        ids: Sequence[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> bytes:
        """Text of ids in UTF-8, special tokens by their names."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=False)
        return text.encode("utf-8")
