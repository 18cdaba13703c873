"""What a stage cuts its source into: rows of a table, windows of a stream, windows of documents.

A cut knows how many examples there are from headers and remembered scans, and reads them by place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..experiment.declarations import LoaderDeclaration, StageDeclaration, Windows
from ..experiment.protocols import Header
from ..ir.types import Type
from . import order, split, windows

if TYPE_CHECKING:
    import numpy as np

    from . import documents

Arrays = dict[str, "np.ndarray"]


class Source:
    """What a cut reads: `header`, and `reader`, which is called when the first example is."""

    __slots__ = ("header", "name", "reader")

    def __init__(self, name: str, header: Header, reader: Callable[[], Any]) -> None:
        self.name, self.header, self.reader = name, header, reader


def make_cut(source: Source, loader: LoaderDeclaration, stage: StageDeclaration) -> Any:
    """The cut of a stage. Raises Problem where its clauses do not fit the source."""
    cut, by = stage.windows or loader.windows, stage.split_by or loader.split_by
    method, argument = method_of(by or source.header.get("split-by"))
    stream = "tokens" in source.header and not loader.whole
    if stream and cut is None:
        raise problem(
            "E-OPTION",
            f"the stream of {loader.name} needs (windows n)",
            hint="(windows 65) cuts it into rows of 65 tokens",
            clause="windows",
        )
    if not stream and cut is not None:
        raise problem(
            "E-OPTION",
            f"{loader.name} is a table: (windows ...) cuts a stream",
            hint="leave (windows ...) out",
            clause="windows",
        ).of("windows")
    if stream and loader.fields:
        raise problem(
            "E-OPTION",
            f"(fields ...) names columns of a table; {loader.name} is a stream of tokens",
            clause="fields",
        ).of("fields")
    if loader.whole or not source.header["fields"]:
        return Whole(source, loader, stage)
    if cut is None:
        if (stage.order or "").lstrip(":") == "streams" and method != "position":
            raise problem(
                "E-OPTION-VALUE",
                f":order :streams goes on with the rows as they lie, which :{method} does not keep",
                hint="(split-by :position), or another order",
                option="order",
            ).of("order")
        return Table(source, loader, stage, method, argument)
    if stage.mask:
        raise problem(
            "E-OPTION",
            ":mask marks examples of a table; a stream has none",
            hint="leave :mask out",
            option=":mask",
        ).of("mask")
    if not windows.documented(cut):
        if method != "position":
            raise problem(
                "E-OPTION-VALUE",
                f"(split-by :{method}) cuts a table or documents; a stream is cut by position",
                hint="(windows ... :documents t) says that it has documents",
            ).of("split-by")
        return Stream(source, stage, cut)
    _end_within(cut, source.header.get("vocab"))
    if method not in ("position", "hash"):
        told = f"documents are split by :position or :hash, not {method}"
        raise problem("E-OPTION-VALUE", told).of("split-by")
    return Documents(source, stage, cut, argument or 0 if method == "hash" else None)


def _end_within(cut: Windows, vocab: int | None) -> None:
    """E-DATA-TOKEN where the token that ends a document is none of the vocabulary."""
    end = cut.documents
    if vocab is None or end is True or not isinstance(end, int) or 0 <= end < vocab:
        return
    raise problem(
        "E-DATA-TOKEN",
        f":documents {end}: the vocabulary has the tokens 0 to {vocab - 1:,}",
        hint="say one of them, or its text, as :documents (string #\\Newline)",
        option="documents",
        value=end,
        size=vocab,
    ).of("windows", "documents")


def _within(tokens: np.ndarray, header: Header) -> None:
    """E-DATA-TOKEN where files hold a token that the vocabulary, which they do not say, has not."""
    vocab = header.get("vocab")
    if vocab is None or not tokens.size or 0 <= int(tokens.min()) <= int(tokens.max()) < vocab:
        return
    wrong = int(tokens.max()) if int(tokens.max()) >= vocab else int(tokens.min())
    raise problem(
        "E-DATA-TOKEN",
        f"the files hold the token {wrong:,}, and the vocabulary has 0 to {vocab - 1:,}",
        hint=f":vocab {wrong + 1}, or the :dtype that the files were written with",
        value=wrong,
        size=vocab,
    )


def method_of(written: Any) -> tuple[str, Any]:
    """`(split-by ...)` to its name and its seed or field."""
    if not written:
        return "position", None
    parts = written if isinstance(written, (tuple, list)) else (written,)
    head = parts[0]
    if isinstance(head, (tuple, list)):
        return method_of(head)
    rest = [p for p in parts[1:] if str(p).lower() != ":seed"]
    return str(head).lstrip(":").lower(), (rest[0] if rest else None)


class Whole:
    """All of the arrays as one example, or the fieldless source whose data is drawn."""

    windows: Windows | None = None
    ranges: split.Ranges = ()

    def __init__(self, source: Source, loader: LoaderDeclaration, stage: StageDeclaration) -> None:
        if stage.maps or loader.maps:
            raise problem(
                "E-OPTION",
                "(map ...) is of examples: (whole) data has none",
                hint="what tensors can do belongs into prepare",
                clause="map",
            ).of("map", *dict(stage.maps or loader.maps))
        self._source, self._mask = source, stage.mask
        from . import columns

        self._columns = columns.Columns(loader.fields, source.header, loader.whole)
        self.examples: int | None = 1 if loader.whole else source.header.get("count")

    def fields(self) -> dict[str, Type]:
        found = self._columns.types()
        return {**found, **self._columns.mask(self._mask)}

    def read(self, places: Any, names: Iterable[str] | None) -> Arrays:
        found = self._columns.masked(self._mask, names, self._read)
        if self._mask is not None and "mask" in found and not found["mask"].any():
            raise problem(
                "E-DATA-SMALL",
                f":mask ({' '.join(map(str, self._mask))}) marks none of {found['mask'].size} rows",
            ).of("mask")
        return found

    def _read(self, wanted: list[str]) -> Arrays:
        return self._columns.read(self._source.reader, None, wanted)


class Table:
    """Rows of a table; `ranges` are positions in the order that `(split-by ...)` gives them."""

    windows: Windows | None = None

    def __init__(
        self,
        source: Source,
        loader: LoaderDeclaration,
        stage: StageDeclaration,
        method: str,
        argument: Any,
    ) -> None:
        self._source, self._mask, self._method = source, stage.mask, (method, argument)
        from . import columns

        self._columns = columns.Columns(loader.fields, source.header, False)
        self._ranked: Callable[[np.ndarray], np.ndarray] | None = None
        self.unread = False
        if method in ("stratify", "group"):
            self._known(f"(split-by (:{method} {argument}))", argument)
        self.ranges = self._ranges(stage.split)
        counted = source.header["count"] is not None and not self.unread
        self.examples: int | None = split.size(self.ranges) if counted else None

    def _known(self, what: str, field: str) -> None:
        if self._columns.known(what, field, "split-by").shape:
            told = f"{what}: it has axes, and is no class"
            hint = "a field with one number an example"
            raise problem("E-FIELD", told, hint=hint, field=field).of("split-by")

    def _ranges(self, pairs: split.Pairs) -> split.Ranges:
        count = self._source.header["count"]
        if count is None and "arrays" in self._source.header:
            raise problem(
                "E-DATA-FORMAT", "the arrays have unlike numbers of examples; such data is (whole)"
            )
        found = split.ranges(count or 0, pairs)
        if self._method[0] != "group" or count is None:
            return found
        from . import index

        paths, given = self._source.header.get("paths", ()), index.source_stamp(self._source.header)
        said = None if given is None else (given, self._method, found, self._columns.said())
        kept = index.facts("groups", said, lambda: split.at_borders(found, self._borders()), paths)
        self.unread = kept is None
        return tuple((low, high) for low, high in kept or ())

    def _borders(self) -> np.ndarray:
        return split.group_borders(self._labels())

    def fields(self) -> dict[str, Type]:
        found = self._columns.types()
        return {**found, **self._columns.mask(self._mask)}

    def texts(self) -> dict[str, str]:
        return self._columns.texts()

    def read_texts(self, name: str, places: np.ndarray) -> list[str]:
        """A field of texts, which only `map` takes."""
        found: list[str] = self._source.reader().texts(self.texts()[name], places)
        return found

    def places(self, at: np.ndarray, shift: int) -> np.ndarray:
        place = split.locate(self.ranges, at)
        ranked = self._ranks()
        return place if ranked is None else ranked(place)

    def anywhere(self, keys: tuple[int, ...], positions: np.ndarray) -> np.ndarray:
        return self.places(order.draw(self.examples or 0, keys, positions), 0)

    def _ranks(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """How positions of the split map to examples: None by position (R6)."""
        method, argument = self._method
        if method == "position":
            return None
        if self._ranked is None:
            if method == "hash":
                self._ranked = split.by_hash(self._source.header["count"], argument or 0)
            elif method == "group":
                self._ranked = split.by_group(self._labels())
            else:
                self._ranked = split.by_class(self._labels())
        return self._ranked

    def _labels(self) -> np.ndarray:
        field = self._method[1]
        read = self._columns.read(self._source.reader, slice(None), [field])
        return read[field]

    def read(self, places: Any, names: Iterable[str] | None) -> Arrays:
        return self._columns.masked(
            self._mask,
            names,
            lambda wanted: self._columns.read(self._source.reader, places, wanted),
        )


class Stream:
    """Windows of a stream; places are offsets of their first tokens."""

    def __init__(self, source: Source, stage: StageDeclaration, cut: Windows) -> None:
        self._source, self.windows = source, cut
        unread = source.header["tokens"] is None
        self.ranges = split.ranges(source.header["tokens"] or 0, stage.split)
        self.examples = None if unread else windows.total(self.ranges, cut)
        if self.examples == 0:
            raise _short(stage.name, split.size(self.ranges), cut)

    def fields(self) -> dict[str, Type]:
        found: dict[str, tuple[str, tuple[int, ...]]] = self._source.header["fields"]
        return {n: Type(dtype, (self.windows.size, *shape)) for n, (dtype, shape) in found.items()}

    def texts(self) -> dict[str, str]:
        return {}

    def places(self, at: np.ndarray, shift: int) -> np.ndarray:
        return windows.starts(self.ranges, self.windows, at, shift)

    def anywhere(self, keys: tuple[int, ...], positions: np.ndarray) -> np.ndarray:
        return windows.anywhere(self.ranges, self.windows, keys, positions)

    def read(self, places: np.ndarray, names: Iterable[str] | None) -> Arrays:
        import numpy as np

        from . import rows

        reader, size = self._source.reader(), self.windows.size
        wanted = [n for n in self.fields() if names is None or n in names]
        found = {}
        if "tokens" in wanted:
            found["tokens"] = rows.runs_of(reader.tokens(), places, size).astype(np.int32)
            _within(found["tokens"], self._source.header)
        if "weights" in wanted:
            found["weights"] = rows.runs_of(reader.weights(), places, size)
        return found


class Documents:
    """Windows within documents; places are their numbers. `seed`: of a split by hash. `unread`: a
    check has left the documents of a large source uncounted."""

    unread = False

    def __init__(
        self, source: Source, stage: StageDeclaration, cut: Windows, seed: int | None
    ) -> None:
        from . import documents, index

        self._source, self.windows, self._seed = source, cut, seed
        kind = (stage.order or "").lstrip(":")
        wrong = documents.refuse(cut, kind)
        if wrong is not None:
            raise wrong.of("order" if kind == "random" else "windows", "shift")
        self._streams = kind == "streams"
        self.ranges = split.ranges(source.header["tokens"] or 0, stage.split)
        self._cut: documents.Cut | None = None
        self.examples: int | None = None
        if source.header["tokens"] is not None:
            paths, given = source.header.get("paths", ()), index.source_stamp(source.header)
            said = None if given is None else (given, tuple(cut), self.ranges, seed)
            self.examples = index.facts("documents", said, lambda: self._made().count, paths)
            self.unread = self.examples is None
        if self.examples == 0:
            raise self._none(stage.name)

    def _none(self, stage: str) -> Problem:
        """E-DATA-SMALL of a stage that no window is of."""
        tokens, made = split.size(self.ranges), self._made()
        if made.documents:
            why = f"has {made.documents:,} documents, all shorter than :short lets windows be"
        else:
            why = f"has no document: none begins in its {tokens:,} tokens"
        return problem("E-DATA-SMALL", f"stage :{stage} {why}", tokens=tokens)

    def _made(self) -> documents.Cut:
        if self._cut is None:
            from . import documents, index

            reader, cut = self._source.reader(), self.windows
            given = index.source_stamp(self._source.header)
            said = None if given is None else (given, repr(cut.documents))
            edges = index.arrays(
                "borders", said, lambda: {"edges": documents.borders(reader, cut.documents)}
            )["edges"]
            starts, lengths = documents.chosen(edges, self.ranges, self._seed)
            self._cut = documents.Cut(starts, lengths, cut)
        return self._cut

    def fields(self) -> dict[str, Type]:
        dtype, _ = self._source.header["fields"]["tokens"]
        from . import documents

        return documents.fields(self.windows, dtype, self._streams)

    def texts(self) -> dict[str, str]:
        return {}

    def places(self, at: np.ndarray, shift: int) -> np.ndarray:
        return at

    def read(self, places: np.ndarray, names: Iterable[str] | None) -> Arrays:
        import numpy as np

        made = self._made().read(self._source.reader(), places, np.int32)
        tokens = made["tokens"]
        _within(tokens[tokens != self.windows.pad], self._source.header)
        return {name: made[name] for name in self.fields() if names is None or name in names}


def _short(stage: str, tokens: int, cut: Windows) -> Problem:
    return problem(
        "E-DATA-SMALL",
        f"stage :{stage} has {tokens} tokens, fewer than a window of {cut.size}",
        tokens=tokens,
        window=cut.size,
    )
