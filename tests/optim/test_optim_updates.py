"""Optimizers against their papers' formulas in f64, and schedules at their borders."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core.evaluator.modules import ModuleText
from sexpgpu_core.ir import scalars
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.spans import Source
from sexpgpu_core.staging.declare import declare
from sexpgpu_core.staging.trace import trace_optimizer, trace_stage
from sexpgpu_core.staging.traced import Update

np = pytest.importorskip("numpy")
TEXT = (Path(__file__).parents[2] / "sexpgpu_optim/sexpgpu_optim/lisp/optim.lisp").read_text(
    "utf-8"
)
MODULES = {"sexpgpu/optim": ModuleText("optim.lisp", TEXT)}
FILE = """(require "sexpgpu/optim")
(defloader data (source (none :examples 100)) (stage :train) (batch 4))
(defmodel net () (defparam w (5) :init 1) (sum w))
(defun objective () (net))
(defun optimizer () (groups (group :rest {form})))
(defrun :steps 100)
"""


def traced(form: str) -> tuple[Update, Any]:
    experiment, evaluator = declare(Source("t.lisp", FILE.format(form=form)), modules=MODULES)
    stage = trace_stage(experiment, evaluator, OPERATIONS, "data", "train", {}, 4)
    found = trace_optimizer(experiment, evaluator, OPERATIONS, stage)
    return found.updates["net/w"], found.groups[0]


def steps(form: str, count: int = 5) -> Any:
    """The parameter after some updates with gradients that are functions of the step."""
    update, _ = traced(form)
    state = {s.name: np.full(s.type.shape, s.init, "f4") for s in update.states}
    param = np.linspace(-1, 1, 5).astype("f4")
    for step in range(count):
        now = {"step": step, "updates": step}
        given = {name: scalars.evaluate(tree, now) for name, tree in update.scalars.items()}
        inputs = {**state, "param": param, "grad": gradient(step).astype("f4")}
        inputs.update({k: np.float32(v) for k, v in given.items()})
        result = run(update.body, inputs, OPERATIONS)
        param = result["param"]
        state = {name: result[name] for name in state}
    return param


def gradient(step: int) -> Any:
    return np.cos(np.arange(5) * 1.7 + step) + 0.3


def by_hand(rule: Callable[..., Any], count: int = 5) -> Any:
    param, state = np.linspace(-1, 1, 5), {"m": np.zeros(5), "v": np.zeros(5)}
    for step in range(count):
        param = rule(param, gradient(step), state, step + 1)
    return param


def sgd(p: Any, g: Any, s: Any, t: int) -> Any:
    return p - 0.1 * (g + 0.01 * p)


def momentum(p: Any, g: Any, s: Any, t: int) -> Any:
    s["m"] = 0.9 * s["m"] + g
    return p - 0.1 * s["m"]


def nesterov(p: Any, g: Any, s: Any, t: int) -> Any:
    s["m"] = 0.9 * s["m"] + g
    return p - 0.1 * (g + 0.9 * s["m"])


def adam(p: Any, g: Any, s: Any, t: int) -> Any:
    s["m"] = 0.9 * s["m"] + 0.1 * g
    s["v"] = 0.99 * s["v"] + 0.01 * g * g
    return p - 0.01 * (s["m"] / (1 - 0.9**t)) / (np.sqrt(s["v"] / (1 - 0.99**t)) + 1e-8)


def adamw(p: Any, g: Any, s: Any, t: int) -> Any:
    return adam(p * (1 - 0.01 * 0.1), g, s, t)


def nadam(p: Any, g: Any, s: Any, t: int) -> Any:
    s["m"] = 0.9 * s["m"] + 0.1 * g
    s["v"] = 0.999 * s["v"] + 0.001 * g * g
    ahead = 0.9 * s["m"] / (1 - 0.9 ** (t + 1)) + 0.1 * g / (1 - 0.9**t)
    return p - 0.01 * ahead / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-8)


def adamax(p: Any, g: Any, s: Any, t: int) -> Any:
    s["m"] = 0.9 * s["m"] + 0.1 * g
    s["v"] = np.maximum(0.999 * s["v"], np.abs(g) + 1e-8)
    return p - 0.01 / (1 - 0.9**t) * s["m"] / s["v"]


def adagrad(p: Any, g: Any, s: Any, t: int) -> Any:
    s["v"] = s["v"] + g * g
    return p - 0.01 * g / (np.sqrt(s["v"]) + 1e-10)


def rmsprop(p: Any, g: Any, s: Any, t: int) -> Any:
    s["v"] = 0.99 * s["v"] + 0.01 * g * g
    s["m"] = 0.9 * s["m"] + g / (np.sqrt(s["v"]) + 1e-8)
    return p - 0.01 * s["m"]


def lion(p: Any, g: Any, s: Any, t: int) -> Any:
    step = np.sign(0.9 * s["m"] + 0.1 * g)
    s["m"] = 0.99 * s["m"] + 0.01 * g
    return p * (1 - 1e-2 * 0.1) - 1e-2 * step


@pytest.mark.parametrize(
    ("form", "rule"),
    [
        ("(optim:sgd :lr 0.1 :weight-decay 0.01)", sgd),
        ("(optim:sgd :lr 0.1 :momentum 0.9)", momentum),
        ("(optim:sgd :lr 0.1 :momentum 0.9 :nesterov t)", nesterov),
        ("(optim:adam :lr 0.01 :beta2 0.99)", adam),
        ("(optim:adamw :lr 0.01 :beta2 0.99 :weight-decay 0.1)", adamw),
        ("(optim:nadam :lr 0.01)", nadam),
        ("(optim:adamax :lr 0.01)", adamax),
        ("(optim:adagrad :lr 0.01)", adagrad),
        ("(optim:rmsprop :lr 0.01 :momentum 0.9)", rmsprop),
        ("(optim:lion :lr 1e-2 :weight-decay 0.1)", lion),
    ],
)
def test_five_updates_are_the_papers(form: str, rule: Callable[..., Any]) -> None:
    assert np.allclose(steps(form), by_hand(rule), rtol=2e-5, atol=2e-6)


def test_sgd_without_momentum_has_no_state() -> None:
    assert traced("(optim:sgd)")[0].states == ()
    assert [s.name for s in traced("(optim:sgd :momentum 0.5)")[0].states] == ["m"]


def rate(form: str, step: int) -> float:
    group = traced(f"(optim:sgd :lr {form})")[1]
    return float(scalars.evaluate(group.lr, {"step": step}))


@pytest.mark.parametrize(
    ("form", "points"),
    [
        ("(optim:constant 2 :warmup 4)", {0: 0.5, 3: 2, 99: 2}),
        ("(optim:warmup-cosine 2 :warmup 10 :floor 0.2)", {0: 0.2, 9: 2, 10: 2, 99: 0.2}),
        ("(optim:warmup-linear 2 :warmup 10)", {0: 0.2, 9: 2, 10: 2, 99: 0}),
        ("(optim:warmup-stable-decay 2 :warmup 10 :decay 0.2)", {9: 2, 79: 2, 99: 0}),
        ("(optim:inverse-sqrt 2 :warmup 4)", {0: 0.5, 3: 2, 15: 1}),
        ("(optim:exponential 2 :rate 0.5 :every 10)", {0: 2, 10: 1, 20: 0.5}),
        ("(optim:exponential 2 :rate 0.5 :every 10 :staircase t)", {9: 2, 10: 1, 19: 1}),
        ("(optim:step-decay 2 '(10 20))", {9: 2, 10: 0.2, 20: 0.02}),
        ("(optim:polynomial 2)", {0: 2, 99: 0}),
        ("(optim:one-cycle 2)", {0: 0.08, 30: 2, 99: 0.08 / 1e4}),
        ("(optim:cosine-restarts 2 10)", {0: 2, 5: 1, 10: 2}),
        ("(optim:ramp 0 1 :start 10 :steps 20)", {0: 0, 10: 0, 20: 0.5, 60: 1}),
    ],
)
def test_schedules_at_their_borders(form: str, points: dict[int, float]) -> None:
    for step, value in points.items():
        assert rate(form, step) == pytest.approx(value, abs=1e-12), step


def test_the_module_offers_what_its_row_says() -> None:
    from sexpgpu_optim.plugin import EXPORTS

    provided = TEXT[TEXT.index("(provide") :].split(")")[0].split()[1:]
    assert list(EXPORTS) == provided


def test_warmup_cosine_is_smooth_between() -> None:
    middle = rate("(optim:warmup-cosine 2 :warmup 10)", 54)
    assert middle == pytest.approx(1 + math.cos(math.pi * 44 / 89))
