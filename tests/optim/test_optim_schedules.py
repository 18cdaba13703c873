"""Schedules at their borders and, at every step, against formulas of their own."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from optimizer_runs import FOLDER, optimized, rate

from sexpgpu_core.ir import scalars
from sexpgpu_optim.plugin import EXPORTS


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
        ("(optim:piecewise '((10 1) (20 3) (60 0)))", {0: 1, 10: 1, 15: 2, 20: 3, 40: 1.5, 99: 0}),
        ("(optim:polynomial 2)", {0: 2, 99: 0}),
        ("(optim:one-cycle 2)", {0: 0.08, 29: 2, 99: 0.08 / 1e4}),
        ("(optim:cosine-restarts 2 10)", {0: 2, 5: 1, 10: 2}),
        ("(optim:ramp 0 1 :start 10 :steps 20)", {0: 0, 10: 0, 20: 0.5, 60: 1}),
    ],
)
def test_schedules_at_their_borders(form: str, points: dict[int, float]) -> None:
    for step, value in points.items():
        assert rate(form, step) == pytest.approx(value, abs=1e-12), step


def cosine(top: float, low: float, share: float) -> float:
    return low + (top - low) * (1 + math.cos(math.pi * share)) / 2


FORMULAS: dict[str, Callable[[int], float]] = {
    "(optim:constant 2 :warmup 4)": lambda t: 2 * min(1, (t + 1) / 4),
    "(optim:warmup-cosine 2 :warmup 10 :floor 0.2)": lambda t: (
        2 * (t + 1) / 10 if t < 10 else cosine(2, 0.2, (t - 10) / 89)
    ),
    "(optim:warmup-linear 2 :warmup 10)": lambda t: (
        2 * (t + 1) / 10 if t < 10 else 2 * (1 - (t - 10) / 89)
    ),
    "(optim:warmup-stable-decay 2 :decay 0.2 :shape :sqrt)": lambda t: (
        2 if t < 80 else 2 * (1 - math.sqrt((t - 80) / 19))
    ),
    "(optim:warmup-stable-decay 2 :decay 0.2 :shape :cosine)": lambda t: (
        2 if t < 80 else cosine(2, 0, (t - 80) / 19)
    ),
    "(optim:inverse-sqrt 2 :warmup 9)": lambda t: 2 * min((t + 1) / 9, math.sqrt(9 / (t + 1))),
    "(optim:exponential 2 :rate 0.5 :every 10)": lambda t: 2 * 0.5 ** (t / 10),
    "(optim:step-decay 2 '(10 20) :factor 0.5)": lambda t: 2 * 0.5 ** ((t >= 10) + (t >= 20)),
    "(optim:piecewise '((10 1) (20 3) (60 0)))": lambda t: float(
        np.interp(t, [10, 20, 60], [1, 3, 0])
    ),
    "(optim:polynomial 2 :power 3 :floor 0.5)": lambda t: 0.5 + 1.5 * (1 - t / 99) ** 3,
    "(optim:one-cycle 2 :divide 20 :final 100)": lambda t: (
        cosine(0.1, 2, t / 29) if t < 29 else cosine(2, 1e-3, (t - 29) / 70)
    ),
    "(optim:cosine-restarts 2 30 :factor 0.5 :floor 0.1)": lambda t: cosine(
        2 * 0.5 ** (t // 30), 0.1, t % 30 / 30
    ),
    "(optim:ramp 0.5 1 :start 10 :steps 20)": lambda t: float(np.interp(t, [10, 30], [0.5, 1])),
    "(optim:join (list 1 (lambda () (optim:warmup-linear 2 :steps 40)) 0.5) '(20 60))": lambda t: (
        1 if t < 20 else 2 * (1 - (t - 20) / 39) if t < 60 else 0.5
    ),
    "(optim:join (list (optim:ramp 0 1) (optim:ramp 0 1)) '(50))": lambda t: t / 100,
}


@pytest.mark.parametrize("form", FORMULAS)
def test_a_schedule_is_its_formula_at_every_step(form: str) -> None:
    tree = optimized(f"(group :rest (optim:sgd :lr {form}))").groups[0].lr
    found = [float(scalars.evaluate(tree, {"step": step})) for step in range(100)]
    np.testing.assert_allclose(found, [FORMULAS[form](t) for t in range(100)], atol=1e-12)


def test_every_schedule_is_held_to_a_formula() -> None:
    schedules = EXPORTS[EXPORTS.index("constant") :]
    assert {form.split()[0] for form in FORMULAS} == {f"(optim:{name}" for name in schedules}


def test_the_module_offers_what_its_row_says() -> None:
    text = (FOLDER / "lisp/optim.lisp").read_text("utf-8")
    assert list(EXPORTS) == text[text.index("(provide") :].split(")")[0].split()[1:]
