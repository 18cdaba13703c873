"""The frozen declarations of a run file. NamedTuples: they lie on the path of `check`.

Fields whose type is Any hold what the comment says; names are lower-case text throughout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..diagnostics import problem
from ..records import NamedTuple
from ..spans import Span

PRECISIONS = ("f32", "bf16", "f16", "f64")
"""What `:precision` may be."""
EMPTY = "data/empty"
"""The run's own counter, of weighted means of losses that weighed nothing (45.4)."""


class Knob(NamedTuple):
    """One thing that may vary. `value`: the chosen Lisp value; texts are canonical Lisp."""

    name: str  # module:name for a module's
    default: str
    text: str  # of the value chosen
    value: Any
    type: str | None
    choices: tuple[str, ...]
    doc: str
    span: Span | None


class Variant(NamedTuple):
    name: str
    doc: str
    base: str | None  # :from
    knobs: tuple[tuple[str, Any], ...]  # knob, form
    span: Span | None


class Sweep(NamedTuple):
    name: str
    doc: str
    options: Mapping[str, Any]  # grid zip random n where seeds over variant rank, as forms
    span: Span | None


class SourceDeclaration(NamedTuple):
    """(source (KIND argument... :option value...)): evaluated, Lisp strings as str, keywords as
    ":name", lists as tuples."""

    kind: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    span: Span | None


class Windows(NamedTuple):
    """`(windows n ...)` over a stream. `documents`: True, a token or the text that ends one.
    `short`: pad, drop or ("keep-if", tokens)."""

    size: int
    stride: int
    documents: Any = None
    pack: bool = False
    pad: int = 0
    short: Any = None
    shift: bool = False


class StageDeclaration(NamedTuple):
    """`order`: shuffled sequential streams random, or None (shuffled where it trains)."""

    name: str
    split: tuple[tuple[float, float], ...]
    order: str | None
    batch: int | None
    windows: Windows | None
    source: SourceDeclaration | None
    steps: int | None
    microbatches: int | None
    precision: str | None
    mask: tuple[str, Any] | None
    maps: tuple[tuple[str, Any], ...]  # field, Lisp function; instead of the loader's
    split_by: Any
    span: Span | None


class LoaderDeclaration(NamedTuple):
    name: str
    doc: str
    source: SourceDeclaration
    fields: tuple[Any, ...]
    windows: Windows | None
    whole: bool
    split_by: Any
    stages: Mapping[str, StageDeclaration]
    batch: int | None
    maps: tuple[tuple[str, Any], ...]  # field, Lisp function
    counters: Mapping[str, Any]  # name -> form; evaluated once a stage by staging
    span: Span | None
    places: Mapping[tuple[str, ...], Span] = {}  # (stage or "", clause, what of it) -> its words

    def place(self, stage: str, clause: tuple[str, ...]) -> Span | None:
        """Where a clause stands, or what of it; a stage's own first."""
        asked = [(s, *clause[:n]) for n in range(len(clause), 0, -1) for s in (stage, "")]
        return next((self.places[key] for key in asked if key in (self.places or ())), None)


class PassDeclaration(NamedTuple):
    """`at`: steps and "end". `weights`: live, ema, or ("best", series). `save`: None, True (an
    .npz), or ("png", columns; None: as wide as high)."""

    name: str
    doc: str
    loader: str | None
    stage: str | None
    output: str | None
    every: int | None
    at: tuple[int | str, ...]
    batches: int | None
    weights: Any
    save: Any
    span: Span | None


class TargetDeclaration(NamedTuple):
    series: str
    goal: str  # below above
    bound: float
    stop: bool
    span: Span | None


class LoadDeclaration(NamedTuple):
    """Weights to begin with: of the file or files `source`, or of the run of that name, whose
    checkpoint `at` is a step, latest or best. `into`, `start`: prefixes of our names and theirs;
    `renames`: (theirs, ours); globs of their names, of ours, of theirs."""

    source: str
    at: str | None
    weights: str
    into: str
    start: str
    renames: tuple[tuple[str, str], ...]
    ignore: tuple[str, ...]
    missing: tuple[str, ...]
    transpose: tuple[str, ...]
    cast: bool
    span: Span | None


class DiagnosticDeclaration(NamedTuple):
    """`on`: parameter (of `selector`, a staging Selector; None: all), step or scope (a glob).
    `given`: keywords that `body`, a Lisp function, asks for."""

    name: str
    doc: str
    on: str
    selector: Any
    scope: str | None
    reduce: str
    given: tuple[str, ...]
    body: Any
    span: Span | None


class DiagnosticsChoice(NamedTuple):
    """Which numbers are sampled, and at which steps. A glob that begins with `!` takes away."""

    every: int = 100
    select: tuple[str, ...] = ()

    def joined(self, globs: Iterable[str]) -> DiagnosticsChoice:
        """With more globs after its own. E-SERIES where the first takes away."""
        found = self._replace(select=(*self.select, *globs))
        if found.select[:1] and found.select[0].startswith("!"):
            raise problem(
                "E-SERIES",
                f'"{found.select[0]}" stands first and takes away what nothing chose',
                hint=f'first what to sample: "**" "{found.select[0]}"',
                series=found.select[0],
            )
        return found


class CheckpointDeclaration(NamedTuple):
    every: int | None = None
    at: tuple[int | str, ...] = ()
    keep: int | None = None
    best: tuple[str, str] | None = None  # series, min | max
    staging: bool = True
    frozen: str | None = None


class RunDeclaration(NamedTuple):
    """`finite_guard`: "halt", "off" or ("skip", n)."""

    steps: int | None
    epochs: int | None
    until: tuple[str, int] | None
    seed: int
    precision: str
    microbatches: int
    deterministic: bool
    device: str | None
    checkpoint: CheckpointDeclaration
    diagnostics: DiagnosticsChoice
    log_every: int
    deadline: float | None
    finite_guard: Any
    span: Span | None

    @property
    def full(self) -> str:
        """What f32 of the file is computed and kept in."""
        return "f64" if self.precision == "f64" else "f32"


class ModuleRead(NamedTuple):
    """A required file as it was read."""

    name: str
    path: str
    text: str
    sha256: str


class Experiment(NamedTuple):
    """Everything a run file says. Contract functions are Lisp functions (evaluator Function) or
    None; they are traced by staging, never called elsewhere (curriculum: by the loop)."""

    path: str
    text: str
    sha256: str
    knobs: Mapping[str, Knob]
    variants: Mapping[str, Variant]
    sweeps: Mapping[str, Sweep]
    loaders: Mapping[str, LoaderDeclaration]
    models: Mapping[str, Any]
    prepare: Any
    objective: Any
    evaluate: Any
    passes: Mapping[str, PassDeclaration]
    targets: tuple[TargetDeclaration, ...]
    optimizer: Any
    curriculum: Any
    outputs: Mapping[str, Any]
    run: RunDeclaration
    modules: tuple[ModuleRead, ...]
    diagnostics: Mapping[str, DiagnosticDeclaration]
    loads: tuple[LoadDeclaration, ...]
    selection: Mapping[str, str]  # what flags chose: variant point steps seed knob:NAME set:NAME

    def given(self) -> dict[str, str]:
        """Knobs that a point or --set gave, with what they are, as Lisp text."""
        named = [key.partition(":") for key in self.selection if ":" in key]
        return {name: self.knobs[name].text for _, _, name in named}

    def chosen(self) -> dict[str, Any]:
        """What was chosen, and every knob's value after choosing, as Lisp text: the document's
        `selection`."""
        at = "set:"
        chosen = self.selection
        return {
            "variant": chosen.get("variant"),
            "point": chosen.get("point"),
            "set": {k.removeprefix(at): v for k, v in chosen.items() if k.startswith(at)},
            "values": {name: knob.text for name, knob in self.knobs.items()},
        }
