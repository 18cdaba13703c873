"""A declared loader to batches. `batch(stage, number)` is a pure function; facts need no NumPy."""

from __future__ import annotations

from _thread import allocate_lock  # threading costs check 3 ms
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagnostics import (
    Change,
    Diagnostic,
    Edit,
    Problem,
    diagnostic,
    nearest,
    problem,
)
from ..experiment.declarations import LoaderDeclaration, SourceDeclaration, StageDeclaration
from ..experiment.protocols import Header
from ..ir.types import Type
from ..records import NamedTuple
from ..spans import Span
from ..staging.source_options import complete
from . import kinds
from .files import fingerprint
from .stage import Stage

if TYPE_CHECKING:
    import numpy as np

    from .mixture import MixtureStage


class Ahead(NamedTuple):
    """Batches that are made before a step asks for them, and the threads that make them."""

    depth: int = 2
    threads: int = 1


class Loader:
    """One `defloader`: its stages' facts at check, their batches in a run.

    `base`: the folder of the run file. `sources`: rows of kinds (data.kinds.SourceKind or a
    plug-in's SourceEntry); core's by default. `host`: calls the functions of `map`
    (staging.host_calls.HostCalls). `ahead`: how a run fetches batches; no number depends on it.
    `tokenizers`: rows of tokenizers by name (data.kinds.TokenizerKind); core's by default.
    """

    def __init__(
        self,
        declaration: LoaderDeclaration,
        base: str | Path,
        seed: int = 0,
        sources: Iterable[Any] = kinds.SOURCES,
        host: Any = None,
        ahead: Ahead = Ahead(),  # noqa: B008 - immutable
        tokenizers: Any = None,
    ) -> None:
        self.declaration = declaration
        self.ahead = ahead
        self.name = declaration.name
        self.seed = seed
        self._base, self._host = str(base), host
        self._kinds = kinds.by_name(sources)
        core = tokenizers is None
        self._tokenizers = kinds.tokenizer_table(kinds.TOKENIZERS) if core else tokenizers
        self._headers: dict[int, Header] = {}
        self._readers: dict[int, Any] = {}
        self._prints: dict[int, str] = {}
        self._stages: dict[str, Stage | MixtureStage] = {}
        self._lock = allocate_lock()
        self.unread: list[Diagnostic] = []  # W-DATA-UNREAD

    # -- facts, without NumPy

    def header(self, stage: str | None = None) -> Header:
        """What the source's header says. Raises Problem, placed at the source's form."""
        return self._header(self._source(stage))

    def fields(self, stage: str) -> dict[str, Type]:
        """Type of one example of each field: no batch axis (with `(whole)` there is none)."""
        found: dict[str, Type] = self._located(lambda: self._stage(stage).fields(), stage)
        return found

    def examples(self, stage: str) -> int | None:
        """N of the stage; None where `(none)` does not bound it."""
        return self._stage(stage).examples

    def rows(self, stage: str) -> int:
        """B, the rows of a batch. Raises E-OPTION where neither loader nor stage says `batch`."""
        here = self._stage(stage)
        found: int = self._located(lambda: here.rows, stage)
        return found

    def batches(self, stage: str) -> int | None:
        """Batches of an epoch in training, floor(N/B). Raises E-DATA-SMALL where it is 0."""
        return self._stage(stage).batches()

    def evaluation_rows(self, stage: str, limit: int | None = None) -> tuple[int, int]:
        """Batches of B rows in a pass, and rows of its last short batch (0: none).

        `limit` is the pass's `:batches`.
        """
        n = self.examples(stage)
        if n is None:
            return limit or 1, 0
        whole, rest = divmod(n, self.rows(stage))
        if limit is not None and whole >= limit:
            return limit, 0
        return whole, rest

    @property
    def vocab(self) -> int | None:
        """Size of the vocabulary of a stream, if its header knows it."""
        return self.header().get("vocab")

    def check(self, training: Sequence[str] = ()) -> list[Diagnostic]:
        """Warnings about overlapping stages, W-STAGE-OVERLAP where both train.

        `training`: the stages that train: E-DATA-SMALL where one has no batch. Raises Problem
        as the facts do.
        """
        found = []
        for stage in training:
            self._located(lambda s=stage: self._stage(s).batches(), stage)
        names = list(self.declaration.stages)
        for i, one in enumerate(names):
            for two in names[i + 1 :]:
                shared: int | str = self._stage(one).shared(self._stage(two))
                mask = self.declaration.stages[one].mask
                if self.declaration.whole and mask and mask == self.declaration.stages[two].mask:
                    shared = f"what the mask ({mask[0]} {mask[1]}) marks"
                if shared:
                    both = one in training and two in training
                    found.append(self._overlap(one, two, shared, both))
        uncounted = (told for name in names if (told := self._uncounted(name)) is not None)
        return [*self.unread, *islice(uncounted, 1), *found]

    def unscanned(self, stage: str) -> Diagnostic | None:
        """W-DATA-UNREAD, where this is a check and has not read how many examples there are."""
        return self.unread[0] if self.unread else self._uncounted(stage)

    def _uncounted(self, stage: str) -> Diagnostic | None:
        """Of a large source whose documents or groups a check has not counted."""
        paths = self._stage(stage).uncounted
        if not paths:
            return None
        from .index import unscanned

        what = "where its documents and groups end"
        return unscanned(paths, what)._replace(span=self._source(stage).span)

    def _overlap(self, one: str, two: str, shared: int | str, both: bool) -> Diagnostic:
        told = shared if isinstance(shared, str) else f"{shared:,} examples or tokens"
        return diagnostic(
            "W-STAGE-OVERLAP" if both else "W-SPLIT-OVERLAP",
            f"stages :{one} and :{two} share {told}",
            span=self.declaration.stages[two].span or self.declaration.span,
            stages=(one, two),
            shared=shared,
        )

    # -- data

    def batch(
        self, stage: str, number: int, names: Iterable[str] | None = None
    ) -> dict[str, np.ndarray]:
        """The stage's batch `number` (0 based, over all epochs) in training order: fields (B ...).

        `names`: the fields wanted, all by default. Raises E-DATA-SMALL, E-DATA-FORMAT, ...
        """
        made: dict[str, np.ndarray] = self._located(
            lambda: self._stage(stage).batch(number, names), stage
        )
        return made

    def epoch(self, stage: str, number: int) -> tuple[int, float]:
        """Epochs begun and ended before batch `number`, and the share of this one's batches."""
        per = self.batches(stage)
        if per is None:
            return 0, 0.0
        epoch, inside = divmod(number, per)
        return epoch, inside / per

    def epochs(self, stage: str, number: int) -> dict[str, float]:
        """Epochs of each source of a mixture before batch `number`; of other loaders nothing."""
        here = self._stage(stage)
        epochs = getattr(here, "epochs", None)
        return {} if epochs is None else dict(epochs(number))

    def everything(self, stage: str, rows: int, step: int = 1) -> Iterator[dict[str, np.ndarray]]:
        """Every example of a stage once, or every `step`-th, in the order of the source, `rows`
        together."""
        here, chosen = self._stage(stage), range(0, self.examples(stage) or 0, step)
        for first in range(0, len(chosen), rows):
            yield self._located(partial(here.some, chosen[first : first + rows]), stage)

    def shared(self, one: str, two: str) -> int:
        """Positions of one source that two stages both read."""
        return self._stage(one).shared(self._stage(two))

    def evaluation(
        self, stage: str, limit: int | None = None, names: Iterable[str] | None = None
    ) -> Iterator[dict[str, np.ndarray]]:
        """Every example of a stage once, in its own order (sequential by default).

        The last batch may have fewer rows; nothing is padded. `limit`: batches at most.
        """
        whole, rest = self.evaluation_rows(stage, limit)
        chosen = None if names is None else tuple(names)
        here = self._stage(stage)
        for number in range(whole + (rest > 0)):
            yield self._located(partial(here.evaluation, number, chosen), stage)

    def reader(self, stage: str | None = None) -> Any:
        """The source's Reader or StreamReader, loaded once; safe from several threads. Of a mixture
        that of its first source."""
        source = self._source(stage)
        return self._reader(source if source.kind != "mixture" else source.arguments[0][2])

    def _reader(self, source: SourceDeclaration) -> Any:
        with self._lock:
            if id(source) not in self._readers:
                row = self._row(source)
                options = self._options(row, source)
                if any(":f64" in field[2:3] for field in self.declaration.fields):
                    options["wide"] = True
                self._readers[id(source)] = kinds.resolve(row.load)(options)
            return self._readers[id(source)]

    def fingerprint(self, stage: str | None = None) -> str:
        """SHA-256 over the source's kind, what its header says and its files' contents."""
        source = self._source(stage)
        if id(source) not in self._prints:
            header = dict(self.header(stage))
            paths = header.pop("paths", ())
            for key in ("options", "alphabet"):  # an alphabet follows from the contents
                header.pop(key, None)
            said = f"{source.kind} {sorted(header.items())!r}"
            self._prints[id(source)] = fingerprint(said, paths)
        return self._prints[id(source)]

    def identity(self) -> dict[str, Any]:
        """An entry of the manifest's `data`: source, fingerprint of contents, examples, files."""
        source, header = self.declaration.source, self.header()
        paths = header.get("paths", ())
        count = header.get("count") or header.get("tokens")
        mixed = source.kind == "mixture"
        told = " ".join(str(a[0] if mixed else a) for a in source.arguments)
        return {
            "loader": self.name,
            "source": told or source.kind,
            "fingerprint": self.fingerprint(),
            **({"examples": count} if count is not None else {}),
            "bytes": header.get("bytes", sum(path.stat().st_size for path in paths)),
            "files": header.get("files", len(paths)),
            **({"tokenizer": list(header["tokenizer"])} if "tokenizer" in header else {}),
        }

    # -- inside

    def _stage(self, name: str) -> Stage | MixtureStage:
        name = name.lstrip(":").lower()
        if name not in self.declaration.stages:
            near = nearest(name, self.declaration.stages)
            known = " ".join(f":{stage}" for stage in self.declaration.stages)
            hint = f"Did you mean :{near}?" if near else f"It has {known}."
            raise problem("E-LOADER-STAGE", f"{self.name} has no stage :{name}", hint=hint)
        if name not in self._stages:
            made = self._located(lambda: self._new_stage(name), name)
            self._stages[name] = made
        return self._stages[name]

    def _new_stage(self, name: str) -> Stage | MixtureStage:
        source, stage = self._source(name), self.declaration.stages[name]
        if source.kind != "mixture":
            return self._of(source, stage)
        from .mixture import MixtureStage

        parts = {n: (weight, self._of(of, stage, n)) for n, weight, of in source.arguments}
        return MixtureStage(self.name, stage, parts, self.seed)

    def _of(self, source: SourceDeclaration, stage: StageDeclaration, named: str = "") -> Stage:
        header, read = self._header(source), partial(self._reader, source)
        return Stage(self.declaration, stage, header, self.seed, read, self._host, named)

    def _source(self, stage: str | None) -> SourceDeclaration:
        own = self.declaration.stages.get(stage.lstrip(":").lower()) if stage else None
        return (own.source if own else None) or self.declaration.source

    def _row(self, source: SourceDeclaration) -> Any:
        row = self._kinds.get(source.kind)
        if row is None:
            near = nearest(source.kind, self._kinds)
            hint = f"Did you mean {near}?" if near else None
            message = f"no distribution offers the source kind {source.kind}"
            raise problem("E-SOURCE-UNKNOWN", message, hint=hint, span=source.span)
        return row

    def _options(self, row: Any, source: SourceDeclaration) -> Any:
        given = source.arguments, source.options, self._base, self._host
        return complete(row, *given, self._tokenizers)

    def _header(self, source: SourceDeclaration) -> Header:
        if id(source) not in self._headers:
            self._headers[id(source)] = self._made_header(source)
        return self._headers[id(source)]

    def _made_header(self, source: SourceDeclaration) -> Header:
        if source.kind == "mixture":
            from ..experiment.headers import merged_header

            parts = {name: self._header(of) for name, _, of in source.arguments}
            weights = [weight for _, weight, _ in source.arguments]
            merged: Header = self._placed(lambda: merged_header(parts, weights), source)
            return merged
        row = self._row(source)
        try:
            read = self._placed(
                lambda: kinds.resolve(row.header)(self._options(row, source)), source
            )
            made: Header = {**read, "options": repr(sorted(source.options.items()))}
        except Problem as raised:
            if raised.diagnostic.code != "W-DATA-UNREAD":
                raise
            return self._declared(row, source, raised)
        return made

    def _declared(self, row: Any, source: SourceDeclaration, unread: Problem) -> Header:
        """What a source that was not read is by its declaration. Raises E-DATA-MISSING."""
        from .remote import declared_header

        self.unread.append(unread.diagnostic)
        options = self._options(row, source)
        shape = "stream" if options.get("tokens") else row.shape  # of jsonl
        found = getattr(unread, "header", None) or declared_header(
            shape, options, self.declaration.fields
        )
        if found is None:
            raise problem(
                "E-DATA-MISSING",
                f"{unread.diagnostic.message}, and (fields ...) does not say all dtypes",
                hint='check --data reads it; or (fields (x "x" :f32) ...) says what it holds',
                span=source.span,
            )
        return found

    def _located(self, work: Any, stage: str) -> Any:
        def placed() -> Any:
            try:
                return work()
            except Problem as raised:
                raise raised.locate(self.declaration.place(stage, raised.clause)) from None

        return self._placed(placed, self._source(stage))

    def _placed(self, work: Any, source: SourceDeclaration) -> Any:
        """Run; a Problem gets the source's span, and a missing path an edit to the nearest one."""
        try:
            return work()
        except Problem as raised:
            raised.locate(source.span or self.declaration.span)
            _offer_nearest(raised)
            raise


def _offer_nearest(raised: Problem) -> None:
    found = raised.diagnostic
    near, path = found.facts.get("nearest"), found.facts.get("path")
    if found.code != "E-DATA-MISSING" or not near or found.span is None or found.edit is not None:
        return
    at = found.span.text.find(f'"{path}"')
    if at < 0:
        return
    start = found.span.start + at
    here = Span(found.span.source, start, start + len(str(path)) + 2)
    edit = Edit(f'read "{near}"', (Change(here, f'"{near}"'),))
    raised.diagnostic = found._replace(span=here, edit=edit)
