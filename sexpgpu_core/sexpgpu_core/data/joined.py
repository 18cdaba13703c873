"""`(jsonl PATH ... :tokens ((prompt :weight 0) (answer :weight 1)))`: texts joined to documents.

A line is a document: the texts of the keys, one after the other, whose tokens have their key's
weight. One scan writes them to the cache, a piece at a time; what it found needs no NumPy. Law: the
tokens of a document are those of its texts, and each has the weight of the text that it is of.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..diagnostics import Problem, problem
from ..experiment.protocols import Header, Options
from . import files, index
from .encoding import Characters, Encoding, is_chars, ranked, tabled
from .pieces import pieces
from .rows import FileRows, Rows, rows_of
from .scanning import Piece

if TYPE_CHECKING:
    import numpy as np

_CONVERTED = 1 << 22
"""Characters that become ranks together."""


def header(options: Options) -> Header:
    """Tokens, documents and vocabulary of the texts that `:tokens` names."""
    paths = tuple(files.paths_of(options["arguments"], options["base"]))
    return _told(_indexed(paths, options).facts, paths, options)


def _told(found: Mapping[str, Any], paths: Sequence[Path], options: Options) -> Header:
    return {
        "tokens": found["tokens"],
        "fields": {"tokens": ("i32", ()), "weights": ("f32", ())},
        **_vocabulary(found, options),
        "documents": found["documents"],
        "keys": tuple(options["tokens"]),
        "paths": paths,
    }


def _vocabulary(found: Mapping[str, Any], options: Options) -> dict[str, Any]:
    of = tabled(options)
    if of is not None:
        return {"vocab": of.vocabulary, "tokenizer": of.said}
    if not is_chars(options):
        return {"vocab": 256}
    return {"vocab": len(found["characters"]), "alphabet": found["characters"]}


def _indexed(paths: Sequence[Path], options: Options, needs: str = "") -> index.Index:
    names, of = [name for name, _ in options["tokens"]], tabled(options)
    return index.indexed(
        "joined",
        paths,
        (names, is_chars(options) if of is None else of.said),
        lambda reading: _scan(paths, options, reading),
        before=lambda: _before(options),
        needs=needs,
        doing="scanning" if of is None else "encoding",
    )


def _before(options: Options) -> Header:
    """What is known without a scan."""
    found: dict[str, Any] = {"tokens": None, "documents": None, "characters": ""}
    told = dict(_told(found, (), options))
    told.pop("alphabet", None)
    return {**told, "vocab": None} if is_chars(options) else told


# The scan -------------------------------------------------------------------------------------


def _scan(paths: Sequence[Path], options: Options, reading: index.Scan) -> dict[str, Any]:
    """Texts to the cache: their code units, then how many tokens each has."""
    names = [name for name, _ in options["tokens"]]
    chars, lengths, seen = is_chars(options), array("q"), set[str]()
    of = tabled(options)
    into = reading.filled("joined")
    join = _joins(chars, into, lengths, seen) if of is None else _encodes(of, into, lengths)
    for piece in pieces("jsonl", paths, options, reading.open):
        for row in range(len(piece.lines)):
            join([_text(piece, name, row) for name in names])
    into.write(memoryview(lengths))
    if not len(lengths):
        raise problem("E-DATA-SMALL", f"{paths[0].name} has no rows", file_read=paths[0].name)
    return {
        "tokens": sum(lengths),
        "documents": len(lengths) // len(names),
        "characters": "".join(sorted(seen)),
    }


def _joins(
    chars: bool, into: BinaryIO, lengths: array[int], seen: set[str]
) -> Callable[[Sequence[str]], None]:
    """Writes a document's code units. A lone surrogate, which no encoding has, becomes a question
    mark."""

    def join(texts: Sequence[str]) -> None:
        for text in texts:
            units = text.encode("utf-32-le" if chars else "utf-8", errors="replace")
            into.write(units)
            lengths.append(len(units) // (4 if chars else 1))
            if chars:
                seen.update(units.decode("utf-32-le"))

    return join


def _encodes(of: Any, into: BinaryIO, lengths: array[int]) -> Callable[[Sequence[str]], None]:
    """Writes a document's tokens; each text is encoded for itself."""
    from .tokenized import Writer

    writer = Writer(of, into)

    def join(texts: Sequence[str]) -> None:
        for text in texts:
            lengths.append(writer.text(text.encode("utf-8", errors="replace")))

    return join


def _text(piece: Piece, name: str, row: int) -> str:
    """The text of a key in one row. Raises E-FIELD, E-DATA-TYPE."""
    value = piece.columns[name][row] if name in piece.columns else None
    if isinstance(value, str):
        return value
    raise _no_text(piece, name, row, value)


def _no_text(piece: Piece, name: str, row: int, value: Any) -> Problem:
    from ..diagnostics import nearest

    there = [n for n, values in piece.columns.items() if isinstance(values[row], str)]
    near = nearest(name, there)
    known = "texts of that line: " + " ".join(there) if there else "that line has no text"
    return problem(
        "E-DATA-TYPE",
        f"{piece.path.name}:{piece.lines[row]}: {name} is "
        + ("not there" if value is None else f"{value!r:.40}, and no text"),
        hint=f"did you mean {near}?" if near else known,
        field=name,
        row=piece.lines[row],
    )


# What is read ---------------------------------------------------------------------------------


class JoinedTexts(Encoding):
    """Tokens of documents, read where the scan put them."""

    def __init__(self, options: Options) -> None:
        import numpy as np

        paths = tuple(files.paths_of(options["arguments"], options["base"]))
        found, given = _indexed(paths, options, "joined")
        count, where = found["tokens"], index.place("joined", given)
        chars, weights = is_chars(options), [weight for _, weight in options["tokens"]]
        of = tabled(options)
        unit = of.bytes if of is not None else 4 if chars else 1
        lengths = np.fromfile(where, np.int64, offset=count * unit)
        self._ends = np.cumsum(lengths)
        self._edges = np.r_[0, self._ends[len(weights) - 1 :: len(weights)]]
        self._weights = _Weights(self._ends, np.asarray(weights, np.float32))
        if chars:
            self.coder = Characters(found)
            points = _parts(FileRows(where, np.uint32, count))
            self._tokens = ranked(points, count, given, found["characters"])
        else:
            self._tokens = FileRows(where, f"<u{unit}", count)
            if of is not None:
                from .tokenized import coder_of

                self.coder = coder_of(of)

    def __len__(self) -> int:
        return len(self._tokens)

    def tokens(self) -> Any:
        return self._tokens

    def weights(self) -> Any:
        """The weight of each token (T)."""
        return self._weights

    def borders(self) -> Any:
        """Where each document begins, and the length (D + 1)."""
        return self._edges


class _Weights(Rows):
    """A weight a token, by the text that it is of: `ends` (D K) of texts, a weight a key (K)."""

    def __init__(self, ends: np.ndarray, of: np.ndarray) -> None:
        self._ends, self._of = ends, of
        self.dtype, self.shape = of.dtype, (int(ends[-1]),)

    def take(self, first: np.ndarray, out: np.ndarray) -> None:
        import numpy as np

        at = np.asarray(first)[:, None] + np.arange(out.shape[1])
        text = np.searchsorted(self._ends, at, side="right")
        out[...] = self._of[text % len(self._of)]


def _parts(points: Rows) -> Iterator[np.ndarray]:
    for start in range(0, len(points), _CONVERTED):
        yield rows_of(points, slice(start, min(start + _CONVERTED, len(points))))
