"""What lives from step to step: names, types, and the value of each at step 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..ir.types import Type, numpy_dtype
from ..staging.init_program import InitProgram
from ..staging.initialize import initial_value
from .stages import StageTrace

if TYPE_CHECKING:
    import numpy as np

    from .loads import Loads


def persistent_types(stages: Iterable[StageTrace]) -> dict[str, Type]:
    """Parameters, optimizer states, EMA and model states: a union over stages, in that order."""
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
        for path, state in stage.traced.states.items():
            states[f"state:{path}"] = state.type
    return {**parameters, **optimizer, **averages, **states}


def initials(
    stages: Iterable[StageTrace], seed: int, loads: Loads | None = None
) -> Callable[[str], np.ndarray]:
    """The value of a persistent name at step 0: loaded, or as it is declared; an EMA starts as its
    parameter."""
    every, loaded = list(stages), loads.pieces if loads else {}

    def initial(name: str) -> np.ndarray:
        kind, _, path = name.partition(":")
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
        if parameter is None:
            return None
        if isinstance(parameter.init, InitProgram):
            return parameter.init.value(parameter.type, others)
        return initial_value(parameter.init, parameter.type, path, seed)
    if kind == "state":
        state = stage.traced.states.get(path)
        return state and initial_value(state.init, state.type, path, seed)
    return _optimizer(stage, path)


def _optimizer(stage: StageTrace, path: str) -> np.ndarray | None:
    import numpy as np

    owner, _, name = path.rpartition("/")
    update = stage.optimization.updates.get(owner)
    for state in update.states if update else ():
        if state.name == name:
            return np.full(state.type.shape, state.init, numpy_dtype(state.type.dtype))
    return None
