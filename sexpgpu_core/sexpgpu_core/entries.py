"""What hooks return: immutable rows of names and texts. Behaviour is a reference, imported late.

Law: a row is made of str, int, float, bool, None and tuples of them (and of `Option` rows), so
row -> JSON -> row is the identity. So `check` reads a cache of all rows and imports no plug-in.
Make rows by keyword: fields may be added and moved.
"""

from __future__ import annotations

from .records import NamedTuple

API = 1
"""Raised when a hook or row changes so that an old plug-in breaks; new optional fields do not."""

Ref = str
"""`package.module:attribute`; what it must be is said at each field."""


class Option(NamedTuple):
    """One keyword of a source, sink, store or engine, checked before anything of it is imported."""

    name: str  # :workers -> "workers"
    type: str  # a Lisp type, as in defknob: "(integer 1)", "string", "(member :a :b)"
    default: str | None = None  # Lisp text; None: required
    doc: str = ""


class DeviceEntry(NamedTuple):
    """A device. `kind`: interpreter cpu gpu other."""

    name: str  # unique over all distributions: "toy"
    kind: str
    doc: str  # one line
    load: Ref  # Callable[[Mapping options], device.Device]: opens nothing
    probe: (
        Ref  # Callable[[], Mapping]: {"present": bool, "detail": text}; under 50 ms, never raises
    )
    dtypes: tuple[str, ...]  # what it computes in
    operations: tuple[str, ...] = (
        "*",
    )  # globs of what it takes; E-DEVICE-OPERATION is found by these
    needs: tuple[str, ...] = ()  # what to install when it is missing: "sexpgpu[cuda]"
    targets: tuple[str, ...] = ()  # what `compile --for` makes code for: "sm_90"
    compile: Ref = ""  # Callable[[compile.Compiled, target], Iterable[device.Code]]
    report: Ref = ""  # Callable[[compile.Compiled, model], Mapping]: keys of explain.json
    checks: Ref = (
        ""  # Callable[[], Iterable[Mapping]]: more checks of doctor, by doctor.json's keys
    )


class OperationEntry(NamedTuple):
    """A tensor operation."""

    name: str  # "toy/softsign": the prefix is the distribution's
    signature: str  # a lambda list: "(x &key (scale 1.0))"
    doc: str
    differentiable: bool
    load: Ref  # ir.operation.Operation; imports no numpy
    reference: (
        Ref  # Callable over NumPy arrays: the meaning; imported by `reference` and tests only
    )


class ModuleEntry(NamedTuple):
    """A Lisp module."""

    name: str  # (require "toy")
    package: str  # import package that holds the file
    path: str  # "lisp/toy.lisp" below that package
    exports: tuple[
        str, ...
    ] = ()  # to name the module that has a word; held to (provide ...) by a test


class SourceEntry(NamedTuple):
    """A loader source. `shape`: table stream."""

    kind: str  # (source (toy-ramp ...))
    shape: str
    doc: str
    options: tuple[Option, ...]
    header: Ref  # Callable[[Options], experiment.protocols.Header]; no numpy
    load: Ref  # Callable[[Options], experiment.protocols.Reader or StreamReader]
    needs: tuple[str, ...] = ()
    remote: bool = False  # True: header only on `check --data` and at run
    most: int | None = None  # arguments before the options, at most; None: any number
    least: int = 0
    argument: str = "(or string list)"  # the Lisp type of each


class TokenizerEntry(NamedTuple):
    """A tokenizer for text sources, (source (text-files ... :tokenizer NAME)) or, with files of its
    own, :tokenizer (NAME "FILE"). `load` and `header` are given {"paths": its files, "base": the
    folder of the run file}."""

    name: str
    vocabulary: int | None  # ids are below it; None: `header` reads it from the files
    load: Ref  # Callable[[TokenizerOptions], experiment.protocols.Tokenizer]
    needs: tuple[str, ...] = ()
    header: Ref = ""  # Callable[[TokenizerOptions], int], the vocabulary; no numpy
    files: int = 0  # how many stand behind the name
    exact: bool = False  # decode(encode(x)) == x of any UTF-8 text; plugins --verify tries it
    doc: str = ""


class StoreEntry(NamedTuple):
    """A checkpoint store, by URL scheme."""

    scheme: str  # "s3" of s3://bucket/prefix
    doc: str
    load: Ref  # Callable[[str], experiment.protocols.Store], from the URL
    needs: tuple[str, ...] = ()


class DiagnosticEntry(NamedTuple):
    """A number of a run, selected by glob. `on` says of what, and what `load` is given after the
    builder: parameter, gradient, scope (a model's output), optimizer (a state), logits, attention
    (a value each; numbers of parameters and gradients are also made of groups and of all), update
    (all updates, all parameters); run: a function of runtime.job.HostFacts alone. The value is
    reduced by `reduce`, one of (diagnostic ...)'s."""

    name: str  # "toy/rank"
    on: str
    reduce: str
    unit: str
    doc: str
    load: Ref  # Callable[[ir.Builder, ir.Value], ir.Value]; or as above


class CodeEntry(NamedTuple):
    """An error or warning code. `phase`: one of diagnostics.PHASES."""

    code: str  # "E-TOY-RAMP": the second word is the distribution's
    phase: str
    title: str
    meaning: str
    fix: str
    edit: bool
    wrong: str  # a file's text that shows it, and one that does not
    right: str
    facts: tuple[str, ...] = ()


class SinkEntry(NamedTuple):
    """A receiver of events."""

    name: str  # --sink toy-lines:path=x
    doc: str
    options: tuple[Option, ...]
    load: Ref  # Callable[[Mapping options], Sink]: event(dict), close()
    needs: tuple[str, ...] = ()


class EngineEntry(NamedTuple):
    """An executor, a collective or a job file: three hooks, one row."""

    name: str
    doc: str
    load: Ref  # of an executor: Callable[[Mapping options], sweeps.executor.Executor]
    options: tuple[Option, ...] = ()  # of an executor `cpus` is what a point has as --threads
    needs: tuple[str, ...] = ()
    remote: bool = False  # on other machines: the cores and devices of this one say nothing


class VerbEntry(NamedTuple):
    """A verb of the program. `group`: write run observe ship machine learn."""

    name: str
    group: str
    summary: str  # the line in --help: shown without importing the verb
    load: Ref  # click.Command
    documents: tuple[str, ...] = ()  # names of its --json documents
    exits: tuple[int, ...] = ()  # what a failure may end it with; none: what its code asks for


class DocEntry(NamedTuple):
    """A page of documentation, in Markdown."""

    topic: str
    title: str
    package: str
    path: str


class TemplateEntry(NamedTuple):
    """A run file that `new --from NAME` starts from."""

    name: str
    doc: str
    package: str
    path: str
