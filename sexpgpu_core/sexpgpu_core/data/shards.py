"""Token shards: files of u16 or u32 tokens, raw or with the 256 words that llm.c puts in front."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from ..diagnostics import problem
from ..experiment.protocols import Header, Options
from ..records import NamedTuple
from . import files

_HEAD = 256 * 4
_LLM_C = {(20240520, 1): ":u16", (20240801, 7): ":u32"}
"""Magic number and version of a header -> the dtype of what follows it."""
_BYTES = {":u16": 2, ":u32": 4}


class Shard(NamedTuple):
    path: Path
    dtype: str
    offset: int
    tokens: int


def header(options: Options) -> Header:
    """Tokens of `(token-shards PATH ... [:dtype :u16] [:vocab n])`; `vocab` where it is said."""
    found = shards(options)
    return {
        "tokens": sum(shard.tokens for shard in found),
        "fields": {"tokens": ("i32", ())},
        "vocab": options.get("vocab"),
        "paths": tuple(shard.path for shard in found),
    }


def shards(options: Options) -> list[Shard]:
    """The files in order. Raises E-DATA-FORMAT where a size does not fit."""
    wanted = str(options.get("dtype") or ":u16")
    paths = files.paths_of(options["arguments"], options["base"])
    return [_shard(path, wanted) for path in paths]


def _shard(path: Path, wanted: str) -> Shard:
    size = path.stat().st_size
    with open(path, "rb") as file:
        head = file.read(12)
    if len(head) == 12 and size >= _HEAD:
        magic, version, count = struct.unpack("<3i", head)
        dtype = _LLM_C.get((magic, version))
        if dtype is not None:
            if size != _HEAD + count * _BYTES[dtype]:
                told = f"its header says {count:,} tokens of {dtype}, its size {size:,} bytes"
                raise _malformed(path, told)
            return Shard(path, dtype, _HEAD, count)
    if size % _BYTES[wanted]:
        raise _malformed(path, f"{size:,} bytes are no whole number of {wanted} tokens")
    return Shard(path, wanted, 0, size // _BYTES[wanted])


def _malformed(path: Path, why: str) -> Exception:
    return problem("E-DATA-FORMAT", f"{path.name} is no token shard: {why}", file_read=path.name)


class TokenShards:
    """One row of tokens that stays in its files."""

    def __init__(self, options: Options) -> None:
        from .rows import FileRows, Joined

        self._vocab = options.get("vocab")
        self._rows = Joined(
            [
                FileRows(s.path, "<" + s.dtype[1:2] + str(_BYTES[s.dtype]), s.tokens, (), s.offset)
                for s in shards(options)
            ]
        )

    def __len__(self) -> int:
        return len(self._rows)

    def tokens(self) -> Any:
        return self._rows
