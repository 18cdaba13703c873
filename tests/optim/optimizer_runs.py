"""Optimizers of texts run for some steps on small problems, and the values of schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sexpgpu_core.evaluator.modules import ModuleText
from sexpgpu_core.ir import scalars
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.spans import Source
from sexpgpu_core.staging.declare import declare
from sexpgpu_core.staging.trace import trace_optimizer, trace_stage
from sexpgpu_core.staging.traced import Optimization, Update
from sexpgpu_optim.plugin import sexpgpu_modules

FOLDER = Path(__file__).parents[2] / "sexpgpu_optim" / "sexpgpu_optim"
MODULES = {
    row.name: ModuleText(f"{row.name}.lisp", (FOLDER / row.path).read_text("utf-8"))
    for row in sexpgpu_modules()
}
FILE = """(require "sexpgpu/optim")
(defloader data (source (none :examples 100)) (stage :train) (batch 4))
{defined}
(defmodel net ()
  (defparam w (4 3) :init 1 :dtype {dtype}) (defparam b (3) :init 1 :dtype {dtype})
  (+ (sum w) (sum b)))
(defun objective () (net))
(defun optimizer () (groups {groups}))
(defrun :steps 100)
"""


def optimized(groups: str, dtype: str = "f32", defined: str = "") -> Optimization:
    """The optimizer of a net with a matrix `w` and a vector `b`."""
    text = FILE.format(groups=groups, dtype=f":{dtype}", defined=defined)
    experiment, evaluator = declare(Source("t.lisp", text), modules=MODULES)
    stage = trace_stage(experiment, evaluator, OPERATIONS, "data", "train", {}, 4)
    return trace_optimizer(experiment, evaluator, OPERATIONS, stage)


def update_of(form: str, path: str = "w", defined: str = "") -> Update:
    return optimized(f"(group :rest {form})", defined=defined).updates[f"net/{path}"]


def rate(form: str, step: int) -> float:
    """A schedule's value at a step of 100."""
    group = optimized(f"(group :rest (optim:sgd :lr {form}))").groups[0]
    return float(scalars.evaluate(group.lr, {"step": step}))


class Problem(NamedTuple):
    """Where the parameters start, and their gradients at a step."""

    start: Mapping[str, Any]
    gradient: Callable[[Mapping[str, Any], int], Mapping[str, Any]]


def _regression() -> Problem:
    """Softmax regression on rows that are other ones at each step."""
    random = np.random.default_rng(5)
    x, labels = random.normal(size=(100, 8, 4)), random.integers(0, 3, (100, 8))

    def gradient(p: Mapping[str, Any], step: int) -> Mapping[str, Any]:
        logits = x[step] @ p["w"] + p["b"]
        share = np.exp(logits - logits.max(-1, keepdims=True))
        share /= share.sum(-1, keepdims=True)
        share[np.arange(8), labels[step]] -= 1
        return {"w": x[step].T @ share / 8, "b": share.mean(0)}

    return Problem({"w": random.normal(size=(4, 3)), "b": np.array([0.5, -0.5, 1.0])}, gradient)


def _valley() -> Problem:
    """A curved valley (Rosenbrock's) in each column of w, whose walls b tilts."""

    def gradient(p: Mapping[str, Any], step: int) -> Mapping[str, Any]:
        w, b = p["w"], p["b"]
        off = w[1:] - w[:-1] ** 2
        found = np.zeros_like(w)
        found[1:] += 2 * off
        found[:-1] += -4 * w[:-1] * off - 0.2 * (1 - w[:-1])
        tilt = w.sum(0) - b
        return {"w": found + 0.1 * tilt, "b": -0.1 * tilt + 0.05 * b**3}

    return Problem(
        {"w": np.linspace(-1.2, 1.1, 12).reshape(4, 3), "b": np.array([1.0, -2.0, 0.5])}, gradient
    )


PROBLEMS = {"regression": _regression(), "valley": _valley()}


NUMPY = {"f32": np.float32, "f64": np.float64}


def ours(
    form: str, problem: Problem, count: int = 100, dtype: str = "f64", defined: str = ""
) -> dict[str, Any]:
    """Parameters after steps of an optimizer's own graph."""
    updates = optimized(f"(group :rest {form})", dtype, defined).updates
    kind = NUMPY[dtype]
    param = {name: value.astype(kind) for name, value in problem.start.items()}
    state = {name: _states(updates[f"net/{name}"]) for name in param}
    for step in range(count):
        gradient = problem.gradient(param, step)
        for name in param:
            update, old = updates[f"net/{name}"], state[name]
            given = {**old, "param": param[name], "grad": gradient[name].astype(kind)}
            now = {"step": step, "updates": step}
            for text, tree in update.scalars.items():
                given[text] = kind(scalars.evaluate(tree, now))
            found = run(update.body, given, OPERATIONS)
            param = {**param, name: found["param"]}
            state[name] = {n: found[n] for n in old}
    return param


def _states(update: Update) -> dict[str, Any]:
    return {s.name: np.full(s.type.shape, s.init, NUMPY[s.type.dtype]) for s in update.states}


Rule = Callable[[Any, Any, dict[str, Any], int], Any]
"""(parameter, gradient, states, t) -> the parameter: a paper's formula. States begin as 0."""


class States(dict[str, Any]):
    """What a formula keeps: 0 until it is set."""

    def __missing__(self, name: str) -> Any:
        return 0.0


def by_hand(rule: Rule, problem: Problem, count: int = 100) -> dict[str, Any]:
    """Parameters after steps of a formula in f64."""
    param = dict(problem.start)
    state: dict[str, States] = {name: States() for name in param}
    for step in range(count):
        gradient = problem.gradient(param, step)
        param = {n: rule(p, gradient[n], state[n], step + 1) for n, p in param.items()}
    return param


def difference(found: Mapping[str, Any], wanted: Mapping[str, Any], problem: Problem) -> float:
    """The greatest difference, relative to the longest way that an element went."""
    way = max(np.abs(wanted[n] - problem.start[n]).max() for n in wanted)
    return float(max(np.abs(found[n] - wanted[n]).max() for n in wanted) / way)
