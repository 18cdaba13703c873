"""Optimizers and schedules beside torch.optim's: 100 steps on two problems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from optimizer_runs import PROBLEMS, Problem, difference, optimized, ours, rate
from torch import optim
from torch.optim import lr_scheduler

from sexpgpu_core.ir import scalars

Make = Callable[[list[torch.Tensor]], optim.Optimizer]

OPTIMIZERS: dict[str, Make] = {
    "(optim:sgd :lr 0.01 :weight-decay 0.01)": lambda p: optim.SGD(p, 0.01, weight_decay=0.01),
    "(optim:sgd :lr 0.01 :momentum 0.9 :dampening 0.3)": lambda p: optim.SGD(
        p, 0.01, momentum=0.9, dampening=0.3
    ),
    "(optim:sgd :lr 0.01 :momentum 0.9 :nesterov t)": lambda p: optim.SGD(
        p, 0.01, momentum=0.9, nesterov=True
    ),
    "(optim:adam :lr 0.01 :weight-decay 0.1)": lambda p: optim.Adam(p, 0.01, weight_decay=0.1),
    "(optim:adam :lr 0.01 :amsgrad t)": lambda p: optim.Adam(p, 0.01, amsgrad=True),
    "(optim:adamw :lr 0.01 :weight-decay 0.1)": lambda p: optim.AdamW(p, 0.01, weight_decay=0.1),
    "(optim:nadam :lr 0.01 :momentum-decay 4e-3 :weight-decay 0.1)": lambda p: optim.NAdam(
        p, 0.01, weight_decay=0.1
    ),
    "(optim:radam :lr 0.01 :weight-decay 0.1)": lambda p: optim.RAdam(p, 0.01, weight_decay=0.1),
    "(optim:adamax :lr 0.01 :weight-decay 0.1)": lambda p: optim.Adamax(p, 0.01, weight_decay=0.1),
    "(optim:adagrad :lr 0.1 :initial 0.1)": lambda p: optim.Adagrad(
        p, 0.1, initial_accumulator_value=0.1
    ),
    "(optim:rmsprop :lr 1e-3 :momentum 0.9 :centered t)": lambda p: optim.RMSprop(
        p, 1e-3, momentum=0.9, centered=True
    ),
    "(optim:adafactor :weight-decay 0.1)": lambda p: optim.Adafactor(p, weight_decay=0.1),
}


def theirs(make: Make, problem: Problem, count: int = 100) -> dict[str, Any]:
    """Parameters after steps of torch.optim in f64."""
    param = {n: torch.tensor(v, dtype=torch.float64) for n, v in problem.start.items()}
    optimizer = make(list(param.values()))
    for step in range(count):
        found = problem.gradient({n: p.numpy() for n, p in param.items()}, step)
        for name, p in param.items():
            p.grad = torch.tensor(found[name])
        optimizer.step()
    return {n: p.numpy() for n, p in param.items()}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("form", OPTIMIZERS)
def test_100_updates_are_those_of_torch(form: str, problem: str, worst: Any) -> None:
    on = PROBLEMS[problem]
    wanted = theirs(OPTIMIZERS[form], on)
    error = max(difference(ours(form, on, dtype=d), wanted, on) for d in ("f64", "f32"))
    worst("optimizers, 100 steps", error)
    assert error < 1e-5


SCHEDULES: dict[str, Callable[[optim.Optimizer], Any]] = {
    "(optim:warmup-cosine 2 :floor 0.2)": lambda o: lr_scheduler.CosineAnnealingLR(o, 99, 0.2),
    "(optim:warmup-linear 2)": lambda o: lr_scheduler.LinearLR(o, 1, 0, 99),
    "(optim:exponential 2 :rate 0.97 :every 1)": lambda o: lr_scheduler.ExponentialLR(o, 0.97),
    "(optim:exponential 2 :rate 0.5 :every 10 :staircase t)": lambda o: lr_scheduler.StepLR(
        o, 10, 0.5
    ),
    "(optim:step-decay 2 '(10 20))": lambda o: lr_scheduler.MultiStepLR(o, [10, 20]),
    "(optim:polynomial 2)": lambda o: lr_scheduler.PolynomialLR(o, 99, 2),
    "(optim:one-cycle 2)": lambda o: lr_scheduler.OneCycleLR(o, 2, total_steps=100),
    "(optim:cosine-restarts 2 30 :floor 0.1)": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(
        o, 30, eta_min=0.1
    ),
    "(optim:join (list 2 (lambda () (optim:exponential 2 :rate 0.9 :every 1))) '(40))": lambda o: (
        lr_scheduler.SequentialLR(
            o,
            [lr_scheduler.ConstantLR(o, 1, 0), lr_scheduler.ExponentialLR(o, 0.9)],
            milestones=[40],
        )
    ),
}


@pytest.mark.filterwarnings("ignore:.*epoch parameter in `scheduler.step:UserWarning")
@pytest.mark.parametrize("form", SCHEDULES)
def test_a_schedule_is_that_of_torch_at_every_step(form: str) -> None:
    optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], 2.0)
    schedule = SCHEDULES[form](optimizer)
    wanted = []
    for _ in range(100):
        wanted.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        schedule.step()
    tree = optimized(f"(group :rest (optim:sgd :lr {form}))").groups[0].lr
    found = [float(scalars.evaluate(tree, {"step": step})) for step in range(100)]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-9)
    assert rate(form, 0) == found[0]
