"""`curriculum`, asked before a step: the stage of the next one, or the end (45.7)."""

from __future__ import annotations

from ..diagnostics import nearest, problem
from ..evaluator.builtins.listing import proper
from ..evaluator.evaluator import Evaluator
from ..evaluator.values import NIL, Cons, Function, Symbol, Value, first_value
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
    finally:
        at.context = None
    return None if value is NIL else stage_of(experiment, value, experiment.curriculum)


def default_stage(experiment: Experiment) -> tuple[str, str]:
    """The stage :train of the loader that has one."""
    for name, loader in experiment.loaders.items():
        if "train" in loader.stages:
            return name, "train"
    raise problem(
        "E-LOADER-STAGE", "no loader has a stage :train", hint="(stage :train :split (0 0.9))"
    )


def stage_of(experiment: Experiment, value: Value, function: Function) -> tuple[str, str]:
    """`:train` or `(text :train)`; E-CURRICULUM."""
    names: list[Value] = proper("curriculum", value) if value.__class__ is Cons else [value]
    words = [n.name.lower() for n in names if n.__class__ is Symbol]
    loaders = experiment.loaders
    if len(words) == 1:
        found = [(n, words[0]) for n, loader in loaders.items() if words[0] in loader.stages]
        if found:
            return found[0]
    elif len(words) == 2 and words[0] in loaders and words[1] in loaders[words[0]].stages:
        return words[0], words[1]
    known = [s for loader in loaders.values() for s in loader.stages]
    near = nearest(words[-1], known) if words else None
    raise problem(
        "E-CURRICULUM",
        f"curriculum returns {describe(value)}, which is no declared stage",
        hint=f"did you mean :{near}?" if near else "stages: " + " ".join(f":{s}" for s in known),
    ).locate(function.span)
