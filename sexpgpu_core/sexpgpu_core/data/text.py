"""Text to a stream of tokens: bytes, the distinct characters of the whole text in order, or what a
tokenizer that is installed makes of it (tokenized)."""

from __future__ import annotations

import hashlib
import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..caches import remembered
from ..experiment.protocols import Header, Options
from . import files
from .encoding import Bytes, Characters, Encoding, is_chars, rank_type, ranked, ranks, tabled

if TYPE_CHECKING:
    from .tokenized import Chosen

_SKIPPED = frozenset(
    ("site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__", "_bundled")
)

_KEPT = 1 << 26
"""Tokens above which they are read by position and not kept in memory."""

_PART = 1 << 20
"""Bytes of a file that become text together."""


def files_header(options: Options) -> Header:
    """Tokens and vocabulary of `(text-files PATH ... [:tokenizer :chars])`."""
    of = tabled(options)
    if of is not None:
        return _tabled_header(of, _written(options), options)
    return _header(_written(options), options)


def stdlib_header(options: Options) -> Header:
    """Tokens and vocabulary of `(python-stdlib [:limit bytes])`, remembered for an installation.

    Nothing is read again while the interpreter and its folder are the same; `content` is the hash
    of what was read, `bytes` and `files` its size.
    """
    of = tabled(options)
    if of is not None:
        return _tabled_header(of, _stdlib(options), options)
    root = os.path.dirname(os.__file__)
    limit, chars = options.get("limit"), is_chars(options)
    stamp = (sys.version, root, os.stat(root).st_mtime_ns, limit, chars and "alphabet")

    def scan() -> dict[str, Any]:
        paths = _stdlib(options)
        data = _read(paths, limit)
        text = _decode(data) if chars else ""
        return {
            "tokens": len(text) if chars else len(data),
            "vocab": len(set(text)) if chars else 256,
            **({"alphabet": "".join(sorted(set(text)))} if chars else {}),
            "content": hashlib.sha256(data).hexdigest(),
            "bytes": len(data),
            "files": len(paths),
        }

    found = remembered("scans", stamp, scan)
    return {"fields": {"tokens": ("i32", ())}, **found}


def _written(options: Options) -> tuple[Path, ...]:
    return tuple(files.paths_of(options["arguments"], options["base"]))


def _stdlib(options: Options) -> tuple[Path, ...]:
    """Modules in order of path; with a limit only as many as it takes."""
    root = os.path.dirname(os.__file__)
    limit, total, chosen = options.get("limit"), 0, []
    for path, size in _modules(root):
        if limit is not None and total >= limit:
            break
        chosen.append(Path(path))
        total += size
    return tuple(chosen)


def _modules(folder: str) -> Iterator[tuple[str, int]]:
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        if entry.is_dir() and entry.name not in _SKIPPED:
            yield from _modules(entry.path)
        elif entry.name.endswith(".py") and entry.is_file():
            yield entry.path, entry.stat().st_size


def _header(paths: tuple[Path, ...], options: Options) -> Header:
    fields = {"tokens": ("i32", ())}
    if is_chars(options):
        (lengths, characters), _ = _indexed(paths)
        said = {"vocab": len(characters), "alphabet": characters}
        return {"tokens": sum(lengths), "fields": fields, **said, "paths": paths}
    length = sum(path.stat().st_size for path in paths)
    return {"tokens": length, "fields": fields, "vocab": 256, "paths": paths}


def _tabled_header(of: Chosen, paths: tuple[Path, ...], options: Options) -> Header:
    from . import tokenized

    return {**tokenized.header(of, paths, options.get("limit")), "paths": paths}


def _indexed(paths: tuple[Path, ...]) -> Any:
    """The index (data.index) of a text's characters."""
    from . import index

    return index.indexed(
        "characters",
        paths,
        None,
        lambda reading: _characters(_parts(paths, None, reading.open)),
        before=lambda: {"tokens": None, "fields": {"tokens": ("i32", ())}, "vocab": None},
    )


def _characters(parts: Iterable[tuple[int, str]]) -> tuple[list[int], str]:
    """Numbers of characters of each file, and the distinct ones in order."""
    lengths, seen = [0], set[str]()
    for number, part in parts:
        lengths += [0] * (number + 1 - len(lengths))
        lengths[number] += len(part)
        seen.update(part)
    return lengths, "".join(sorted(seen))


def _parts(
    paths: tuple[Path, ...], limit: int | None, opened: Any = None
) -> Iterator[tuple[int, str]]:
    """The text, a part at a time, each with the number of its file; with a limit in one piece."""
    if limit is not None:
        yield 0, _decode(_read(paths, limit))
        return
    for number, path in enumerate(paths):
        decoder = getincrementaldecoder("utf-8")(errors="replace")
        with open(path, "rb") if opened is None else opened(path) as file:
            while data := file.read(_PART):
                yield number, decoder.decode(data)
        yield number, decoder.decode(b"", final=True)


def _read(paths: tuple[Path, ...], limit: int | None) -> bytes:
    data = b"".join(path.read_bytes() for path in paths)
    return data if limit is None else data[:limit]


def _decode(data: bytes) -> str:
    # a limit may cut a character, and a text may hold stray bytes: U+FFFD then stands for them
    return data.decode("utf-8", errors="replace")


class FileText(Encoding):
    """Tokens of `text-files`; u8, u16 or u32 in memory, i32 in batches."""

    def __init__(self, options: Options) -> None:
        self._load(_written(options), None, options)

    def _load(self, paths: tuple[Path, ...], limit: int | None, options: Options) -> None:
        import numpy as np

        of = tabled(options)
        if of is not None:
            self._load_tabled(of, paths, limit)
            return
        if not is_chars(options):
            self.coder = Bytes()
            from .rows import FileRows, Joined

            sizes = [path.stat().st_size for path in paths]
            self._edges = [0, *accumulate(sizes)]
            self._tokens: Any = (
                Joined([FileRows(path, np.uint8, size) for path, size in zip(paths, sizes)])
                if limit is None and sum(sizes) > _KEPT
                else np.frombuffer(_read(paths, limit), np.uint8)
            )
            return
        (lengths, self.characters), given = self._scanned(paths, limit)
        self.coder = Characters({"characters": self.characters})
        self._edges = [0, *accumulate(lengths)]
        points = (
            np.frombuffer(part.encode("utf-32-le"), np.uint32) for _, part in _parts(paths, limit)
        )
        if self._edges[-1] > _KEPT:
            self._tokens = ranked(points, self._edges[-1], given, self.characters)
        else:
            none = np.empty(0, rank_type(self.characters))
            self._tokens = np.concatenate([none, *(ranks(p, self.characters) for p in points)])

    def _load_tabled(self, of: Chosen, paths: tuple[Path, ...], limit: int | None) -> None:
        from . import tokenized

        self._tokens, lengths = tokenized.rows(of, paths, limit)
        self._edges, self.coder = [0, *accumulate(lengths)], tokenized.coder_of(of)

    def _scanned(self, paths: tuple[Path, ...], limit: int | None) -> Any:
        """Lengths and characters, and what they follow from."""
        return _indexed(paths)

    def __len__(self) -> int:
        return len(self._tokens)

    def tokens(self) -> Any:
        return self._tokens

    def borders(self) -> list[int]:
        """Where each file begins, and the length: with `:documents t` a file is a document."""
        edges = [edge for edge in self._edges if edge < len(self)]
        return [*edges, len(self)]


class StdlibText(FileText):
    """Tokens of `python-stdlib`, remembered by the paths and times of an installation."""

    def __init__(self, options: Options) -> None:
        self._load(_stdlib(options), options.get("limit"), options)

    def _scanned(self, paths: tuple[Path, ...], limit: int | None) -> Any:
        from . import index

        given = (index.stamp(paths), limit)
        found = index.facts("characters", given, lambda: _characters(_parts(paths, limit)))
        return found, given
