"""`curriculum`, asked before a step: the stage of the next one, or the end (45.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from ..diagnostics import Problem, nearest, problem
from ..evaluator.builtins.listing import proper
from ..evaluator.classes import Instance
from ..evaluator.definitions import core_symbol
from ..evaluator.evaluator import Evaluator
from ..evaluator.hash_tables import HashTable
from ..evaluator.random_state import RandomState
from ..evaluator.structures import Structure
from ..evaluator.values import NIL, Array, Cons, Function, String, Symbol, Value, first_value
from ..experiment.declarations import Experiment
from .context import Context
from .faults import describe


def ask(experiment: Experiment, evaluator: Evaluator, context: Context) -> tuple[str, str] | None:
    """(loader, stage) or None. Without a curriculum the first loader's stage :train."""
    if experiment.curriculum is None:
        return default_stage(experiment)
    at = evaluator.host
    at.context = context
    try:
        value = first_value(evaluator.call(experiment.curriculum))
    except Problem as fault:
        raise fault.locate(experiment.curriculum.span) from None
    finally:
        at.context = None
    return None if value is NIL else stage_of(experiment, value, experiment.curriculum)


class Curriculum:
    """The curriculum of a file, asked step by step: LOADER:STAGE or None.

    `bound`: the run's steps as `defrun` says them, so that `(ctx :progress)` means the same before
    it is known where the run ends; `until`: of a counter instead."""

    def __init__(
        self,
        experiment: Experiment,
        evaluator: Evaluator,
        bound: int | None,
        counters: frozenset[str],
        stages: frozenset[str],
    ) -> None:
        self.experiment, self.evaluator = experiment, evaluator
        self.bound, self.counters, self.stages = bound, counters, stages
        self._kept = [*_kept(evaluator)]

    def __call__(self, values: Mapping[str, Any], metrics: Callable[[str, str], Any]) -> str | None:
        before = [read() for _, read in self._kept]
        inside = [contents(value) for value in before]
        context = Context("C", self._known(values), self.counters, metrics)
        found = ask(self.experiment, self.evaluator, context)
        for (name, read), value, parts in zip(self._kept, before, inside):
            assigned = read() is not value
            if assigned or (parts and contents(value) != parts):
                does = "assigns" if assigned else "changes what is in"
                raise problem(
                    "E-CURRICULUM-STATE",
                    f"curriculum {does} {name}, which outlives the call",
                    hint="a resumed run would not know it: ask (ctx :step), (ctx :metric m :best), "
                    ":since-best or :count",
                    name=name,
                ).locate(self.experiment.curriculum.span)
        key = None if found is None else ":".join(found)
        if key is not None and key not in self.stages:
            raise problem(
                "E-CURRICULUM",
                f"curriculum returns :{key.partition(':')[2]}, which a pass reads and no step",
                hint="stages that train: " + " ".join(sorted(self.stages)),
            ).locate(self.experiment.curriculum.span)
        return key

    def _known(self, values: Mapping[str, Any]) -> dict[str, Any]:
        run = self.experiment.run
        known = {**values, "seed": run.seed}
        if self.bound is not None:
            return {**known, "steps": self.bound, "progress": values["step"] / self.bound}
        assert run.until is not None
        name, goal = run.until
        return {**known, "progress": min(1.0, values.get(name, 0) / goal)}


def _kept(evaluator: Evaluator) -> Iterator[tuple[str, Callable[[], Value]]]:
    """What outlives a call, by what a message calls it: variables and properties of the file's
    symbols, variables that its functions close over, the state of random numbers."""
    for symbol in evaluator.module.symbols.values():
        if symbol.keyword:
            continue
        name = symbol.name.lower()
        yield name, partial(getattr, symbol, "value")
        yield f"the properties of {name}", partial(getattr, symbol, "plist")
        cell = evaluator.cells.get(symbol)
        if cell is not None and cell.function is not None and _boxes(cell.function):
            yield f"a variable around {name}", partial(getattr, cell, "function")
    yield "the state of random numbers", partial(getattr, core_symbol("*RANDOM-STATE*"), "value")


def _boxes(function: Function) -> list[list[Value]]:
    """Variables that a function closes over and something assigns: each a box of its own."""
    cells = getattr(function.call, "__closure__", None) or ()
    found = [c.cell_contents for c in cells if c.cell_contents.__class__ is tuple]
    return [part for parts in found for part in parts if part.__class__ is list]


def contents(value: Value) -> list[Any]:
    """What a list, array, table or structure holds, at any depth; nothing of another value. Two of
    one value are equal where nothing inside was changed between them."""
    found: list[Any] = []
    seen: set[int] = set()
    stack = [value]
    while stack:
        part = stack.pop()
        inner = _inner(part)
        found.append(part)
        if inner is not None and id(part) not in seen:
            seen.add(id(part))
            stack += inner
    return found if seen else []


def _inner(value: Value) -> list[Value] | None:
    if value.__class__ is Cons:
        return [value.car, value.cdr]
    if isinstance(value, Array):
        return [value.fill, *value.data]
    if isinstance(value, HashTable):
        return [part for pair in value.entries.values() for part in pair]
    if value.__class__ is Function:
        return [part for box in _boxes(value) for part in box]
    if isinstance(value, Instance):
        return list(value.slots.values())
    if isinstance(value, RandomState):
        return [value.seed]
    return list(value.values) if isinstance(value, Structure) else None


def source_text(experiment: Experiment) -> str:
    """The definitions of a file without comments and layout, for the hash of what trains (45.22):
    what `curriculum` calls is among them."""
    from ..evaluator.printer import Settings, print_text

    defined = [f for f in _forms(experiment) if f.__class__ is Cons and _defines(f.car)]
    return "\n".join(print_text(form, Settings()) for form in defined)


def series_read(experiment: Experiment) -> list[tuple[str, Any]]:
    """The series that `(ctx :metric "...")` names in a file, and where."""
    found: list[tuple[str, Any]] = []
    stack: list[Value] = list(_forms(experiment))
    while stack:
        form = stack.pop()
        if form.__class__ is not Cons:
            continue
        stack += [form.car, form.cdr]
        name = _series_of(form)
        if name is not None:
            found.append((name, form.span))
    return found


def _series_of(form: Cons) -> str | None:
    parts: list[Value] = []
    while form.__class__ is Cons and len(parts) < 3:
        parts.append(form.car)
        form = form.cdr
    names = [p.name for p in parts[:2] if p.__class__ is Symbol]
    if names == ["CTX", "METRIC"] and len(parts) == 3 and isinstance(parts[2], String):
        return parts[2].text()
    return None


def _forms(experiment: Experiment) -> Iterator[Value]:
    from ..reader import Reader
    from ..spans import Source
    from .scan import Names

    return Reader(Source(experiment.path, experiment.text), Names()).forms()


DEFINING = ("DEFUN", "DEFMACRO", "DEFPARAMETER", "DEFVAR", "DEFCONSTANT", "DEFKNOB")


def _defines(head: Value) -> bool:
    return head.__class__ is Symbol and head.name in DEFINING


def default_stage(experiment: Experiment) -> tuple[str, str]:
    """The stage :train of the loader that has one."""
    for name, loader in experiment.loaders.items():
        if "train" in loader.stages:
            return name, "train"
    raise problem(
        "E-LOADER-STAGE", "no loader has a stage :train", hint="(stage :train :split (0 0.9))"
    )


def stage_of(experiment: Experiment, value: Value, function: Function) -> tuple[str, str]:
    """`:train` or a list of a loader and a stage, `(text :train)`; E-CURRICULUM."""
    names: list[Value] = proper("curriculum", value) if value.__class__ is Cons else [value]
    words = [n.name.lower() for n in names if n.__class__ is Symbol]
    loaders = experiment.loaders
    named = len(words) == len(names) == 2
    if named and words[0] not in loaders:
        near = nearest(words[0], loaders)
        raise problem(
            "E-CURRICULUM",
            f"curriculum returns {describe(value)}, and no loader is named {words[0]}",
            hint=f"did you mean {near}?" if near else "loaders: " + " ".join(loaders),
            written=words[0],
            nearest=near,
        ).locate(function.span)
    if len(words) == len(names) == 1:
        found = [(n, words[0]) for n, loader in loaders.items() if words[0] in loader.stages]
        if found:
            return found[0]
    elif len(words) == len(names) == 2 and words[1] in _stages(loaders, words[0]):
        return words[0], words[1]
    known = [s for loader in loaders.values() for s in loader.stages]
    near = nearest(words[-1], known) if words else None
    raise problem(
        "E-CURRICULUM",
        f"curriculum returns {describe(value)}, which is no declared stage",
        hint=f"did you mean :{near}?" if near else "stages: " + " ".join(f":{s}" for s in known),
        written=f":{words[-1]}" if words else None,
    ).locate(function.span)


def _stages(loaders: Mapping[str, Any], name: str) -> Iterable[str]:
    return loaders[name].stages if name in loaders else ()
