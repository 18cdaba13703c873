"""What the forms of a run file have declared so far. A name that is declared twice is E-TWICE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..diagnostics import Diagnostic, Problem, Related, problem
from ..evaluator.values import Symbol, Value
from ..spans import Span

HashFiles = Callable[[str, Iterable[Any]], str]
"""What is said of files, and their paths, to a hash of both and of their contents."""
Statistic = Callable[..., Any]
"""A loader's declaration, a stage, a field, a kind and its options to what a FileTensor is made of:
type, name, load and facts (data.statistics)."""


FILES = ("loader", "pass", "output")
"""Kinds of what series and files of a run are named after."""


class Collector:
    """Filled in the order of evaluation; read when the file is at its end.

    `chosen` maps a knob to the Lisp text given from outside; `variant_forms` a knob to the form
    that the chosen variant gives it.
    """

    def __init__(self, sources: Mapping[str, Any], chosen: Mapping[str, str]) -> None:
        self.sources = sources
        self.chosen = dict(chosen)
        self.variant_forms: dict[str, Value] = {}
        self.main = ""  # name of the file's own module
        self.base = ""  # folder that relative paths start from
        self.tokenizers: Mapping[str, Any] = {}  # rows by name
        self.hash_files: HashFiles | None = None
        self.statistic: Statistic | None = None
        self.encodings: Callable[[Any], Any] | None = None
        self.knobs: dict[str, Any] = {}
        self.variants: dict[str, Any] = {}
        self.sweeps: dict[str, Any] = {}
        self.knob_types: dict[str, tuple[Value, list[Value]]] = {}  # type, choices
        self.knob_symbols: dict[str, Symbol] = {}
        self.variant_values: dict[str, dict[str, Any]] = {}  # variant -> knob -> slot
        self.loaders: dict[str, Any] = {}
        self.loader_symbols: dict[str, Symbol] = {}
        self.models: dict[str, Any] = {}
        self.passes: dict[str, Any] = {}
        self.targets: list[Any] = []
        self.outputs: dict[str, Any] = {}
        self.diagnostics: dict[str, Any] = {}
        self.loads: list[Any] = []
        self.statistics: list[tuple[str, str, Span | None]] = []  # stages that stage-stat reads
        self.run: Any = None
        self.lambda_lists: dict[str, Value] = {}  # of contract functions, as forms
        self.spans: dict[tuple[str, str], Span | None] = {}
        self._encodings: dict[int, Any] = {}

    def claim(self, kind: str, name: str, span: Span | None) -> None:
        """Note where a name is declared; E-TWICE if it was before."""
        if kind in FILES and ("/" in name or name.startswith(".")):
            raise problem(
                "E-FORM-SHAPE",
                f"{kind} {name}: the name is part of series and of files, so it has no /",
                hint=f"{kind} {name.replace('/', '-').strip('.-') or 'val'}",
                written=name,
            ).locate(span)
        key = (kind, name)
        if key in self.spans:
            first = self.spans[key]
            if first is not None and first == span:
                raise problem(
                    "E-TWICE",
                    f"{kind} {name} is declared again each time this is evaluated",
                    hint="declare it outside of the function or loop around it, once",
                    name=name,
                ).locate(span)
            related = (Related("first here", first),) if first is not None else ()
            raise problem(
                "E-TWICE", f"{kind} {name} is declared twice", related=related, name=name
            ).locate(span)
        self.spans[key] = span

    @property
    def counters(self) -> frozenset[str]:
        """Names of the counters of all loaders."""
        return frozenset(c for loader in self.loaders.values() for c in loader.counters)

    def header(self, loader: str) -> dict[str, Any]:
        """What the header of a loader's source says, and its shapes; made without NumPy."""
        return dict(self.read(self.loaders[loader].source, "header"))

    def encoding(self, source: Any) -> Any:
        """What `encode`s a text as a source does, made once: by its tokenizer alone, or by its
        text where the tokens are those of the text."""
        if id(source) not in self._encodings:
            try:
                made = self.tokenizer(source.options.get("tokenizer"))
            except Problem as wrong:
                raise wrong.locate(source.span) from None
            self._encodings[id(source)] = made or self.read(source, "load")
        return self._encodings[id(source)]

    def tokenizer(self, written: Any) -> Any:
        """What encodes by a tokenizer alone; None where there is no such thing."""
        return None if self.encodings is None or written is None else self.encodings(written)

    def read(self, source: Any, which: str) -> Any:
        """What a row's `header` or `load` makes of a source."""
        from importlib import import_module

        if source.kind == "mixture":
            from ..experiment.headers import merged_header

            parts = {name: self.read(of, "header") for name, _, of in source.arguments}
            return merged_header(parts, [weight for _, weight, _ in source.arguments])
        row, host = self.sources[source.kind], None
        module, _, attribute = getattr(row, which).partition(":")
        if source.kind == "synthetic":  # its examples are made by a function of the file
            from ..evaluator import machine
            from .host_calls import HostCalls

            host = HostCalls(machine.current())
        options = self._options(row, source, host)
        try:
            return getattr(import_module(module), attribute)(options)
        except Problem as unread:
            if unread.diagnostic.code != "W-DATA-UNREAD":
                raise
            known = getattr(unread, "header", None) if which == "header" else None
            if known is None:
                raise asked(unread.diagnostic) from None
            return {**known, "unread": unread.diagnostic}

    def _options(self, row: Any, source: Any, host: Any) -> dict[str, Any]:
        """What a source is given; a mistake in it stands at the source."""
        from .source_options import complete

        try:
            given = source.arguments, source.options, self.base, host
            return complete(row, *given, self.tokenizers)
        except Problem as wrong:
            raise wrong.locate(source.span) from None


def asked(unread: Diagnostic) -> Problem:
    """E-DATA-MISSING of what a file asks of data that a check has not read."""
    return problem(
        "E-DATA-MISSING",
        f"{unread.message}, and the file asks what it says",
        hint="check --data reads it, as a run does, and what it finds is remembered",
    )
