"""A trained model in use: a file, a checkpoint's values, and the programs of its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .checkpoint import export
from .checkpoint.folder import Saved
from .checkpoint.tensors import dtype_of
from .compile.output_programs import CompiledOutput, compile_output
from .compile.outputs import Serving
from .compile.replay import Replay
from .diagnostics import nearest, problem
from .ir.types import Type, numpy_dtype
from .records import NamedTuple
from .runtime.fault import Cause, Explain, Fault
from .runtime.prediction import Chunk, Prediction, fitted, run_output
from .staging.initialize import initial_value
from .staging.traced import TracedOutput

if TYPE_CHECKING:
    import numpy as np

    from .device import Device, Session
    from .ir import Operations

MIXED = -1
KEPT = "state:output/"
"""What an output keeps from launch to launch is named so."""
OPEN = 8
"""Sessions that are kept; the oldest is closed for another."""


class Opened(NamedTuple):
    """Programs of one output on a device."""

    compiled: CompiledOutput
    session: Session


class Key(NamedTuple):
    """What a program was made for. `length`: of the sequences of an autoregressive output."""

    output: str
    rows: int
    rest: int
    length: int | None


class Model:
    """A file with the values of a checkpoint. `weights`: live or ema.

    A program is compiled when it is first asked for, and kept; `close` lets the device go.
    """

    def __init__(
        self,
        loaded: Any,
        operations: Operations,
        device: Device,
        saved: Saved,
        weights: str = "live",
        threads: int | None = None,
    ) -> None:
        self.experiment, self.operations = loaded.experiment, operations
        self.loaders = loaded.loaders
        self.device, self.saved = device, saved
        self.serving = Serving(loaded.experiment, loaded.evaluator, operations, loaded.loaders)
        self.values = export.values(saved, weights)
        averages = (name.partition("ema:") for name in self.values)
        self.serving.averaged = frozenset(path for before, _, path in averages if not before) - {""}
        self._threads = threads or 0
        self._opened: dict[Key, Opened] = {}

    def predict(self, output: str, /, **arrays: Any) -> dict[str, np.ndarray]:
        """Arrays by the output's fields to arrays by name (the output's own, if it returns one).

        Any number of rows in front. Raises E-OUTPUT, E-USAGE-VALUE, and what tracing does.
        """
        return self.prediction(output, arrays).outputs

    def prediction(self, output: str, arrays: Mapping[str, Any]) -> Prediction:
        """As `predict`, with the metrics that the output names."""
        name = output.lower()
        length = self._length(name, arrays)
        size = self.serving.rows(name)
        traced = self.serving.trace(name, size, length=length)
        self._named(traced, arrays)
        own = {n: self._own(traced, n, arrays.get(n)) for n in traced.own}
        arrays = {**self.begun(traced, arrays), **arrays}
        rows = self._rows(traced, arrays)
        if MIXED in traced.axes.values() or traced.rows is None:
            size = rows
        key = Key(name, min(size, rows), rows % size if rows > size else 0, length)
        opened = self._opened.get(key) or self.open(key, self._traces(key))
        types = {n: t for n, t in traced.given().items() if n not in traced.own}
        fields = {n: fitted(n, arrays[n], t, traced.rows and rows) for n, t in types.items()}
        chunks = _chunks(opened.compiled, fields, own, rows)
        return run_output(opened.session, chunks, traced.axes, self.explain(opened))

    def open(
        self, key: Key, traces: Mapping[str, TracedOutput], kept: Mapping[str, Type] | None = None
    ) -> Opened:
        """Compile, and give the device the checkpoint's values; what is `kept` begins at 0."""
        import numpy as np

        compiled = compile_output(self.serving, key.output, traces, self.device, kept)
        self._same_values(compiled)
        if len(self._opened) >= OPEN:
            self._opened.pop(next(iter(self._opened))).session.close()
        session = self.device.open(compiled.units, compiled.persistent, threads=self._threads)
        opened = self._opened[key] = Opened(compiled, session)
        for name in compiled.persistent.types:
            if name in self.values:
                session.write(name, self.values[name])
        for name, type in (kept or {}).items():
            session.write(name, np.zeros(type.shape, numpy_dtype(type.dtype)))
        for trace in traces.values():
            for name, file in trace.files.items():
                session.write(f"constant:{name}", file.load())
        return opened

    def encode(self, text: str) -> list[int]:
        """Tokens of a text, by the source that was trained on. Raises E-OUTPUT, E-USAGE-VALUE."""
        return encoded(*self._trains(), text)

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of tokens. Raises E-OUTPUT where the source has no tokenizer."""
        loader, stage = self._trains()
        text: str = _of_text(loader, stage, "decode")(tokens)
        return text

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Let every session go."""
        for opened in self._opened.values():
            opened.session.close()
        self._opened = {}

    # -- inside

    def _trains(self) -> tuple[Any, str]:
        """The loader and the stage that the experiment trains from."""
        loader, stage = self.serving.tracing.training_stages()[0]
        return self.loaders[loader], stage

    def _traces(self, key: Key) -> dict[str, TracedOutput]:
        sizes = {"": key.rows, "/rest": key.rest}
        return {
            f"output/{key.output}{kind}": self.serving.trace(key.output, n, length=key.length)
            for kind, n in sizes.items()
            if n or not kind
        }

    def _length(self, name: str, arrays: Mapping[str, Any]) -> int | None:
        """Of the sequences that an autoregressive output is given."""
        import numpy as np

        output = self.serving.output(name)
        if not output.autoregressive:
            return None
        (field,) = list(output.fields) or [""]
        shape = np.shape(arrays.get(field, ()))
        return int(shape[1]) if len(shape) == 2 and output.fields[field] is None else None

    def _named(self, traced: TracedOutput, arrays: Mapping[str, Any]) -> None:
        """E-OUTPUT where an array is missing, or is of no field."""
        drawn = {n for n in traced.own if self._random(traced.name, n) is not None}
        known = {**traced.fields, **traced.own, **traced.fed}
        begun = drawn | set(traced.fed)
        missing = [n for n in known if n not in arrays and n not in begun]
        other = [n for n in arrays if n not in known]
        if not missing and not other:
            return
        wants = ", ".join(f"{n} {self._asked(traced, n)}" for n in known) or "nothing"
        near = nearest(other[0], known) if other else None
        if other and other[0] in self.serving.output(traced.name).fields:
            wants += f"; of what it reads prepare makes {other[0]}"
        what = f"wants {missing[0]}" if missing else f"reads no {other[0]}"
        raise problem(
            "E-OUTPUT",
            f"output {traced.name} {what}",
            hint=f"did you mean {near}?" if near else f"it reads {wants}",
            fields=list(known),
            nearest=near,
        )

    def _asked(self, traced: TracedOutput, name: str) -> str:
        """The type of a field as it is fed: any number of rows of the loader's."""
        if name in traced.own:
            return str(traced.own[name])
        dtype, shape = traced.fed[name].type if name in traced.fed else traced.fields[name]
        return f"{dtype} ({' '.join(['rows', *map(str, shape[1:])])})"

    def _random(self, name: str, field: str) -> Any:
        declared = self.serving.output(name).fields[field]
        return declared.random if declared is not None else None

    def _own(self, traced: TracedOutput, name: str, given: Any) -> np.ndarray:
        """A field with a type of its own: what was given, or drawn by the seed and its name."""
        type = traced.own[name]
        if given is not None:
            return fitted(name, given, type, None)
        site, seed = f"output/{traced.name}/{name}", self.experiment.run.seed
        return initial_value(self._random(traced.name, name), type, site, seed)

    def begun(self, traced: TracedOutput, arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """States of rows at their `:init`, as many as there are rows in `arrays`."""
        import numpy as np

        given = [np.shape(arrays[n]) for n in traced.fields if n in arrays]
        first = next((shape for shape in given if shape), ())
        found = {}
        for name, state in traced.fed.items():
            dtype, shape = state.type
            rows = (first or shape)[0]
            found[name] = np.full((rows, *shape[1:]), state.init.numbers[0], numpy_dtype(dtype))
        return found

    def _rows(self, traced: TracedOutput, arrays: Mapping[str, Any]) -> int:
        """How many rows are given; E-OUTPUT where fields disagree or there are none."""
        import numpy as np

        if traced.rows is None:
            return 1
        names = [*traced.fields, *traced.fed]
        counts = {n: np.shape(arrays[n])[0] for n in names if np.ndim(arrays[n])}
        if len(set(counts.values())) != 1 or 0 in counts.values():
            told = ", ".join(f"{n} {c}" for n, c in counts.items()) or "none"
            what = f"rows of output {traced.name}: {told}"
            hint = f"leave {names[-1]} out: it begins anew" if traced.fed else None
            raise problem("E-OUTPUT", what, hint=hint, rows=counts)
        return int(next(iter(counts.values())))

    def _same_values(self, compiled: CompiledOutput) -> None:
        """E-RESUME-PARAM where the checkpoint lacks a value, or has it in another shape."""
        for name, wanted in compiled.persistent.types.items():
            if name.partition(":")[0] not in ("parameter", "state", "ema") or name.startswith(KEPT):
                continue
            array = self.values.get(name)
            found = None if array is None else Type(dtype_of(array), tuple(array.shape))
            if found == wanted:
                continue
            full = self.experiment.run.full
            if array is not None and found == Type("bf16", wanted.shape) and wanted.dtype == full:
                self.values[name] = array.astype(numpy_dtype(full))  # a frozen group's :dtype
                continue
            what = "has none" if found is None else f"has {found}"
            raise problem(
                "E-RESUME-PARAM",
                f"the file's {name} is {wanted}, {self.saved.name} {what}",
                hint="The file as it was trained, or the knobs that it was trained with.",
                parameter=name,
            )

    def explain(self, opened: Opened) -> Explain:
        """Finds what made a launch fault."""

        def explain(fault: Fault) -> Cause | None:
            return Replay(opened.compiled.units, opened.session, self.operations)(fault)

        return explain


def encoded(loader: Any, stage: str, text: str) -> list[int]:
    """Tokens of a text by the source of a loader's stage. Raises E-OUTPUT, E-USAGE-VALUE."""
    tokens: list[int] = _of_text(loader, stage, "encode")(text)
    return tokens


def _of_text(loader: Any, stage: str, does: str) -> Any:
    """What a tokenizer does: encode or decode."""
    found = getattr(loader.reader(stage), does, None)
    if found is None:
        raise problem(
            "E-OUTPUT",
            f"the source of {loader.name} has no tokenizer for a text",
            hint="text-files and python-stdlib have; from Python a prompt may be tokens",
        )
    return found


def _chunks(
    compiled: CompiledOutput,
    fields: Mapping[str, np.ndarray],
    own: Mapping[str, np.ndarray],
    rows: int,
) -> Iterator[Chunk]:
    """Whole chunks first; the rest has a program of its own."""
    whole = compiled.programs[f"output/{compiled.name}"]
    rest = compiled.programs.get(f"output/{compiled.name}/rest")
    traced = compiled.traces[whole.program]
    if traced.rows is None:
        yield Chunk(whole, 0, {**fields, **own})
        return
    for start in range(0, rows, whole.rows):
        facts = whole if rest is None or rows - start >= whole.rows else rest
        taken = {n: a[start : start + facts.rows] for n, a in fields.items()}
        yield Chunk(facts, start, {**taken, **own})
