"""Optimizers against their papers' formulas in f64: 100 steps on two problems."""

from __future__ import annotations

import formulas as f
import numpy as np
import pytest
from optimizer_runs import PROBLEMS, Rule, by_hand, difference, optimized, ours, update_of

FORMS: dict[str, Rule] = {
    "(optim:sgd :lr 0.01 :weight-decay 0.01)": f.sgd,
    "(optim:sgd :lr 0.01 :momentum 0.9 :dampening 0.3)": f.momentum,
    "(optim:sgd :lr 0.01 :momentum 0.9 :nesterov t)": f.nesterov,
    "(optim:lion :lr 1e-2 :weight-decay 0.1)": f.lion,
    "(optim:lars :weight-decay 0.01 :trust 0.1)": f.lars,
    "(optim:adam :lr 0.01 :beta2 0.99)": f.adam,
    "(optim:adam :lr 0.01 :amsgrad t)": f.amsgrad,
    "(optim:adamw :lr 0.01 :beta2 0.99 :weight-decay 0.1)": f.adamw,
    "(optim:nadam :lr 0.01)": f.nadam,
    "(optim:nadam :lr 0.01 :momentum-decay 4e-3)": f.nadam_warmed,
    "(optim:radam :lr 0.01)": f.radam,
    "(optim:adamax :lr 0.01)": f.adamax,
    "(optim:adagrad :lr 0.1 :initial 0.1)": f.adagrad,
    "(optim:rmsprop :lr 1e-3 :momentum 0.9)": f.rmsprop,
    "(optim:rmsprop :centered t)": f.rmsprop_centered,
    "(optim:lamb :lr 0.01)": f.lamb,
    "(optim:schedule-free-adamw :lr (optim:constant 0.01 :warmup 10) :weight-decay 0.1)": (
        f.schedule_free
    ),
    "(optim:adafactor)": f.adafactor,
    "(optim:muon :rest (optim:adam :lr 0.01 :beta2 0.99))": f.muon,
    "(optim:shampoo :lr 0.01)": f.shampoo,
    "(optim:soap :lr 0.01)": f.soap,
    "(optim:lookahead (optim:adam :lr 0.01 :beta2 0.99))": f.lookahead,
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("form", FORMS)
def test_100_updates_are_the_papers(form: str, problem: str) -> None:
    on = PROBLEMS[problem]
    wanted = by_hand(FORMS[form], on)
    assert difference(ours(form, on), wanted, on) < 1e-9
    assert difference(ours(form, on, dtype="f32"), wanted, on) < 1e-5


BODIES = {
    "(optim:centralize grad)": (f.centered, 0.01),
    "(optim:clip-adaptive param grad 0.1)": (f.adaptive, 0.1),
}


@pytest.mark.parametrize("form", BODIES)
def test_what_a_body_does_to_a_gradient_is_the_papers(form: str) -> None:
    rule, lr = BODIES[form]
    defined = f"(defoptimizer mine () (optimizer-update (param grad) (- param (* {lr} {form}))))"
    for on in PROBLEMS.values():
        found = ours("(mine)", on, defined=defined)
        assert difference(found, by_hand(rule, on), on) < 1e-9


def names(form: str, path: str = "w") -> list[str]:
    return [s.name for s in update_of(form, path).states]


def test_an_optimizer_keeps_no_state_that_it_does_not_read() -> None:
    assert names("(optim:sgd)") == []
    assert names("(optim:sgd :momentum 0.5)") == ["m"]
    assert names("(optim:adam)") == ["m", "v"]
    assert names("(optim:adam :amsgrad t)") == ["m", "v", "v-max"]
    assert names("(optim:rmsprop)") == ["v"]
    assert names("(optim:muon)") == ["m"]
    assert names("(optim:muon)", "b") == ["m", "v"]
    assert names("(optim:lookahead (optim:sgd :momentum 0.5))") == ["slow", "m"]
    assert names("(optim:shampoo :limit 3)") == ["m", "right"]


def test_squares_of_a_matrix_are_kept_as_a_row_and_a_column() -> None:
    states = update_of("(optim:adafactor)").states
    assert [(s.name, s.type.shape) for s in states] == [("row", (4, 1)), ("column", (1, 3))]


def test_noise_falls_with_the_steps_and_is_each_parameters_own() -> None:
    on = PROBLEMS["valley"]
    still = on._replace(gradient=lambda p, step: {n: 0 * v for n, v in p.items()})
    first = ours("(optim:noisy (optim:sgd :lr 1) :eta 0.04)", still, 1)
    moved = np.concatenate([(first[n] - on.start[n]).ravel() for n in first])
    assert len(set(moved)) == 15
    assert 0.1 < moved.std() < 0.3
    faded = ours("(optim:noisy (optim:sgd :lr 1) :eta 0.04 :gamma 400)", still, 3)
    assert difference(faded, first, on) < 1e-6


def test_a_wrapper_has_the_rate_of_what_it_wraps() -> None:
    group = optimized("(group :rest (optim:lookahead (optim:adam :lr 0.25)))").groups[0]
    assert (group.name, group.lr) == ("lookahead", 0.25)


def test_rates_fall_block_by_block_from_the_last() -> None:
    form = """(optim:layer-decay (lambda (lr) (optim:sgd :lr lr)) 1.0 0
                                 :decay 0.5 :first '("**/w"))"""
    groups = optimized(form).groups
    assert [(g.paths, g.lr) for g in groups] == [(("net/w",), 0.5), (("net/b",), 1.0)]


@pytest.mark.parametrize("form", FORMS)
def test_a_parameter_without_a_gradient_stays_finite(form: str) -> None:
    on = PROBLEMS["regression"]
    still = on._replace(gradient=lambda p, step: {n: 0 * v for n, v in p.items()})
    found = ours(form, still, 3, dtype="f32")
    assert all(np.isfinite(v).all() for v in found.values())
