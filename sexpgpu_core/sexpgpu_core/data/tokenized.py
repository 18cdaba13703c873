"""Texts to tokens of a tokenizer that is installed: encoded once, kept in the cache as u16 or u32.

A text (a file, a module, the text of a key) is encoded whole, so that no token depends on how it is
read; where a tokenizer has `encode_parts`, by parts with the same ids. They are kept by the content
of the files and by the tokenizer. Law: the tokens of a text are what `encode` gives of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from ..diagnostics import Problem, problem
from ..experiment.protocols import Header, Options
from ..records import NamedTuple
from ..staging.source_options import tokenizer_of
from . import files, index
from .encoding import Encoding

WHOLE = 1 << 26
"""Bytes of a text at most of a tokenizer that has no `encode_parts`."""

_PART = 1 << 20
"""Bytes above which a text goes through `encode_parts`, and that this is given at a time."""


class Chosen(NamedTuple):
    """A tokenizer as a source names it. `said`: name, distribution and hashes of its files, which
    its tokens follow from; `options`: what it is made of."""

    row: Any
    said: tuple[Any, ...]
    options: dict[str, Any]
    vocabulary: int

    @property
    def bytes(self) -> int:
        """Bytes of a token in the cache."""
        return 2 if self.vocabulary <= 1 << 16 else 4


def chosen(options: Options) -> Chosen | None:
    """What encoding.tabled gives of a name that is written otherwise than core's own two.
    Raises E-DATA-MISSING of its files, E-DATA-FORMAT, E-PLUGIN-BROKEN."""
    row, named = tokenizer_of(options["tokenizer"], options["tokenizers"])
    if row.name in ("bytes", "chars"):
        return None
    base = options["base"]
    paths = tuple(path for name in named for path in files.paths_of(name, base))
    said = (row.name, row.of, *map(files.content_hash, paths))
    given = {"paths": paths, "base": base}
    vocabulary = row.vocabulary
    if vocabulary is None:
        vocabulary = index.facts("vocabulary", said, lambda: _read(row, given))
    return Chosen(row, said, given, vocabulary)


def alone(options: Options) -> Encoding | None:
    """What encodes a text by a tokenizer without any text of its own; None of `:chars`, whose
    tokens are those of a text."""
    of = chosen(options)
    if of is None:
        return None
    made = Encoding()
    made.coder = coder_of(of)
    return made


def _read(row: Any, given: Options) -> int:
    """The vocabulary that a tokenizer's files say."""
    return int(_called(row, lambda: _loaded(row, row.header)(given)))


def coder_of(of: Chosen) -> Any:
    """The tokenizer itself. Raises E-DATA-EXTRA, E-PLUGIN-BROKEN."""
    return _called(of.row, lambda: _loaded(of.row, of.row.load)(of.options))


def _loaded(row: Any, reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def _called(row: Any, work: Any) -> Any:
    """What a tokenizer does; what is no diagnostic becomes one."""
    try:
        return work()
    except Problem:
        raise
    except ImportError as missing:
        if row.needs:
            what = " ".join(row.needs)
            told = f"tokenizer :{row.name} needs {what}: {missing}"
            raise problem("E-DATA-EXTRA", told, hint=f"pip install '{what}'") from missing
        raise problem("E-PLUGIN-BROKEN", f"tokenizer :{row.name}: {missing}") from missing
    except Exception as broken:
        told = f"tokenizer :{row.name} of {row.of}: {type(broken).__name__}: {broken}"
        raise problem("E-PLUGIN-BROKEN", told) from broken


class Writer:
    """Encodes texts into a file, one after the other."""

    def __init__(self, of: Chosen, into: BinaryIO) -> None:
        self._of, self._into, self._coder = of, into, coder_of(of)

    def text(self, data: bytes) -> int:
        """Writes the tokens of a text; how many they are."""
        if len(data) > _PART and hasattr(self._coder, "encode_parts"):
            return self._parts(data[at : at + _PART] for at in range(0, len(data), _PART))
        return self._write(_called(self._of.row, lambda: self._coder.encode(data)))

    def file(self, file: BinaryIO, name: str, size: int) -> int:
        """Writes the tokens of so many bytes of a file. Raises E-DATA-FORMAT of one that is too
        large for a tokenizer that has no `encode_parts`."""
        if size <= _PART:
            return self.text(file.read(size))
        if hasattr(self._coder, "encode_parts"):
            parts = (min(_PART, size - at) for at in range(0, size, _PART))
            return self._parts(map(file.read, parts))
        if size <= WHOLE:
            return self.text(file.read(size))
        raise problem(
            "E-DATA-FORMAT",
            f"{name} has {size:,} bytes, and tokenizer :{self._of.row.name} encodes a text whole, "
            f"of {WHOLE:,} bytes at most",
            hint="cut it into files, or say its texts as (jsonl ... :tokens ...)",
            file_read=name,
        )

    def _parts(self, parts: Iterator[bytes]) -> int:
        ids = iter(self._coder.encode_parts(parts))
        total, end = 0, object()
        while True:
            part = _called(self._of.row, lambda: next(ids, end))
            if part is end:
                return total
            total += self._write(part)

    def _write(self, ids: Any) -> int:
        import numpy as np

        found, name = np.asarray(ids), self._of.row.name
        if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
            told = f"tokenizer :{name} gives no list of integers for a text"
            raise problem("E-PLUGIN-BROKEN", told)
        if found.size and not 0 <= int(found.min()) <= int(found.max()) < self._of.vocabulary:
            wrong = int(found.max()) if int(found.min()) >= 0 else int(found.min())
            raise problem(
                "E-DATA-TOKEN",
                f"tokenizer :{name} gave the id {wrong:,}, and its vocabulary is "
                f"{self._of.vocabulary:,}",
                hint="its row or its file says another vocabulary than it has",
            )
        self._into.write(found.astype(f"<u{self._of.bytes}").tobytes())
        return len(found)


def _indexed(of: Chosen, paths: Sequence[Path], limit: int | None) -> index.Index:
    """Tokens of each file; they are written to the cache where they are not there yet. `limit`:
    bytes of all files together."""

    def scan(reading: index.Scan) -> list[int]:
        writer, found = Writer(of, reading.filled("tokens")), []
        for path, size in _cut(paths, limit):
            with reading.open(path) as file:
                found.append(writer.file(file, path.name, size))
        return found

    return index.indexed(
        "tokens",
        paths,
        (of.said, limit),
        scan,
        before=lambda: _said(of, None),
        needs="tokens",
        doing="encoding",
    )


def _cut(paths: Iterable[Path], limit: int | None) -> Iterator[tuple[Path, int]]:
    """Files, each with how many of its bytes are wanted."""
    left = limit
    for path in paths:
        size = path.stat().st_size
        yield path, size if left is None else min(left, size)
        if left is not None:
            left = max(0, left - size)


def _said(of: Chosen, tokens: int | None) -> Header:
    return {
        "tokens": tokens,
        "fields": {"tokens": ("i32", ())},
        "vocab": of.vocabulary,
        "tokenizer": of.said,
    }


def header(of: Chosen, paths: Sequence[Path], limit: int | None = None) -> Header:
    """What a source of texts says of itself with a tokenizer. Raises index.Unscanned."""
    return _said(of, sum(_indexed(of, paths, limit).facts))


def rows(of: Chosen, paths: Sequence[Path], limit: int | None = None) -> tuple[Any, list[int]]:
    """The tokens, read by position, and how many each file has."""
    from .rows import FileRows

    found, given = _indexed(of, paths, limit)
    return FileRows(index.place("tokens", given), f"<u{of.bytes}", sum(found)), found
