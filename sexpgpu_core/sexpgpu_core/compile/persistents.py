"""What lives from step to step: names, types, and the value of each at step 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..diagnostics import problem
from ..ir.types import Type, numpy_dtype
from ..staging.init_program import InitProgram
from ..staging.initialize import initial_value
from ..staging.tensor import FileTensor
from ..staging.traced import Parameter, State, Traced, TracedOutput
from ..step.updates import averaged_states
from .stages import PassTrace, StageTrace
from .traces import Traces

if TYPE_CHECKING:
    import numpy as np

    from .loads import Loads


def files_of(traces: Traces) -> dict[str, FileTensor]:
    """Arrays of files that any program reads, by persistent name."""
    every: list[Traced | TracedOutput] = [s.traced for s in traces.stages.values()]
    for trace in traces.passes.values():
        every += [traced for _, traced, _ in trace.programs()]
    return {f"constant:{name}": file for t in every for name, file in t.files.items()}


def files_named(traces: Traces) -> dict[str, FileTensor]:
    """These, and those that only an `:init` reads: no device holds them."""
    found = {}
    for stage in traces.stages.values():
        inits = [p.init for p in stage.traced.parameters.values()]
        for init in (*inits, *(s.init for s in stage.traced.states.values())):
            if isinstance(init, InitProgram):
                found.update({f"constant:{name}": file for name, file in init.files.items()})
    return {**files_of(traces), **found}


def persistent_types(
    stages: Iterable[StageTrace],
    passes: Iterable[PassTrace] = (),
    files: Mapping[str, FileTensor] = {},
) -> dict[str, Type]:
    """Parameters, optimizer states, EMA, model states, states of rows and arrays of files: a union
    over stages, in that order. A pass has rows of its own."""
    parameters: dict[str, Type] = {}
    optimizer: dict[str, Type] = {}
    averages: dict[str, Type] = {}
    states: dict[str, Type] = {}
    for stage in stages:
        for path, parameter in stage.traced.parameters.items():
            parameters[f"parameter:{path}"] = parameter.type
        for path, update in stage.optimization.updates.items():
            optimizer.update({f"optimizer:{path}/{s.name}": s.type for s in update.states})
            if stage.optimization.ema is not None:
                averages[f"ema:{path}"] = stage.traced.parameters[path].type
        averaged = averaged_states(stage.traced, stage.optimization)
        for path, state in stage.traced.states.items():
            if not state.rows:
                states[f"state:{path}"] = state.type
            if f"state:{path}" in averaged and stage.optimization.ema is not None:
                averages[f"ema:{path}"] = state.type
        states.update(_rows(stage.traced, stage.microbatches))
    for evaluation in passes:
        if evaluation.whole is not None:
            states.update(_rows(evaluation.whole, 1))
    constants = {name: file.type for name, file in files.items()}
    return {**parameters, **optimizer, **averages, **states, **constants}


def check_groups(stages: Mapping[str, StageTrace]) -> None:
    """E-GROUP-STAGE where a parameter is kept otherwise, or has other optimizer states, in a stage
    than in another (R39): what one stage left, the next could not read."""
    first: dict[str, tuple[str, Any]] = {}
    for key, stage in stages.items():
        groups, updates = stage.optimization, stage.optimization.updates
        for path, parameter in stage.traced.parameters.items():
            states = [(s.name, s.type) for s in updates[path].states] if path in updates else None
            found = parameter.type, states
            where, before = first.setdefault(path, (key, found))
            if before[0] == found[0] and (None in (before[1], states) or before[1] == states):
                if before[1] is None:
                    first[path] = key, found
                continue
            index = groups.group_of.get(path)
            raise problem(
                "E-GROUP-STAGE",
                f"{path} has {_words(found)} in {key}, and {_words(before)} in {where}",
                hint="one optimizer for it in all stages; its rate may follow (ctx :stage)",
                path=path,
            ).locate(groups.groups[index].span if index is not None else parameter.span)


def _words(kept: tuple[Type, Any]) -> str:
    type, states = kept
    named = " ".join(name for name, _ in states or ()) or "none"
    return f"type {type} with the optimizer's states {named}"


def _rows(traced: Traced | TracedOutput, blocks: int) -> dict[str, Type]:
    """States of rows of one program: a row for each of the whole batch."""
    found = {}
    for state in traced.states.values():
        if state.rows:
            dtype, (rows, *rest) = state.type
            found[f"rows:{state.rows}"] = Type(dtype, (rows * blocks, *rest))
    return found


def initials(
    stages: Iterable[StageTrace],
    types: Mapping[str, Type],
    seed: int,
    loads: Loads | None = None,
    files: Mapping[str, FileTensor] = {},
) -> Callable[[str], np.ndarray]:
    """The value of a persistent name at step 0: loaded, or as it is declared; an EMA starts as its
    parameter. States of rows are 0 here: a program gives them their `:init` where an epoch or a
    pass begins."""
    every, loaded = list(stages), loads.pieces if loads else {}

    def initial(name: str) -> np.ndarray:
        if name in files:
            array: np.ndarray = files[name].load()
            return array
        kind, _, path = name.partition(":")
        if kind == "rows":
            return _zeros(types[name])
        piece = loaded.get(f"parameter:{path}" if kind == "ema" else name)
        if piece is not None:
            return piece.value()
        for stage in every:
            found = _initial(stage, kind, path, seed, lambda p: initial(f"parameter:{p}"))
            if found is not None:
                return found
        raise KeyError(name)

    return initial


def _initial(
    stage: StageTrace, kind: str, path: str, seed: int, others: Callable[[str], np.ndarray]
) -> np.ndarray | None:
    if kind in ("parameter", "ema"):
        parameter = stage.traced.parameters.get(path)
        if parameter is None and kind == "ema":
            return _initial(stage, "state", path, seed, others)
        if parameter is None:
            return None
        return declared(parameter, seed, others)
    if kind == "state":
        state = stage.traced.states.get(path)
        return None if state is None else declared(state, seed, others)
    return _optimizer(stage, path)


def declared(made: Parameter | State, seed: int, others: Callable[[str], np.ndarray]) -> np.ndarray:
    """What `:init` gives."""
    if isinstance(made.init, InitProgram):
        return made.init.value(made.type, others)
    return initial_value(made.init, made.type, made.path, seed)


def _zeros(type: Type) -> np.ndarray:
    import numpy as np

    return np.zeros(type.shape, numpy_dtype(type.dtype))


def _optimizer(stage: StageTrace, path: str) -> np.ndarray | None:
    import numpy as np

    owner, _, name = path.rpartition("/")
    update = stage.optimization.updates.get(owner)
    for state in update.states if update else ():
        if state.name == name:
            return np.full(state.type.shape, state.init, numpy_dtype(state.type.dtype))
    return None
