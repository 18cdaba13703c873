"""Groups, selectors, and what an optimizer's update is as a graph."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from staging_case import only, optimized, traced, whole

from sexpgpu_core.diagnostics import Problems
from sexpgpu_core.staging.selectors import glob_pattern
from sexpgpu_core.staging.trace import unreached

TWO = "(defmodel net (x) (nn:linear (nn:linear x 64) 10))\n"


def groups(text: str) -> str:
    return f"(defun optimizer () {text})\n"


def test_the_first_group_that_matches_wins() -> None:
    _, found = optimized(
        whole(
            model=TWO,
            optimizer=groups(
                '(groups (group (select :path "net/linear/*") (optim:sgd)) (group'
                " (select :rank 2) (optim:adamw))"
                " (group :rest :frozen))"
            ),
        )
    )
    assert [g.paths for g in found.groups] == [
        ("net/linear/w", "net/linear/b"), ("net/linear-2/w",), ("net/linear-2/b",),
    ]  # fmt: skip
    assert [g.name for g in found.groups] == ["sgd", "adamw", "frozen"] or [
        g.frozen for g in found.groups
    ] == [False, False, True]
    assert "net/linear-2/b" not in found.updates


@pytest.mark.parametrize(
    ("spec", "picked"),
    [
        (":rank (<= 1)", 2),
        (":rank 2", 2),
        (":size (> 640)", 1),
        (":dtype :f32", 4),
        (':path "**/b"', 2),
        (':path "net/{linear,other}/*"', 2),
        (':not (:path "**/b")', 2),
        (':or ((:rank 1) (:path "net/linear-2/**"))', 3),
        (':and ((:rank 1) (:path "net/linear-2/**"))', 1),
        (":where (lambda (p) (equal (getf p :shape) '(10)))", 1),
        (":stage :train", 4),
    ],
)
def test_selectors_pick(spec: str, picked: int) -> None:
    rest = "" if picked == 4 else "(group :rest (optim:sgd))"
    text = whole(
        model=TWO, optimizer=groups(f"(groups (group (select {spec}) (optim:adam)) {rest})")
    )
    assert len(optimized(text)[1].groups[0].paths) == picked


@given(st.lists(st.sampled_from(["a", "b", "layer-2", "h"]), min_size=1, max_size=5))
def test_two_stars_match_every_path(parts: list[str]) -> None:
    path = "/".join(parts)
    assert glob_pattern("**").match(path)
    assert glob_pattern(path).match(path)
    assert bool(glob_pattern("*").match(path)) == (len(parts) == 1)
    assert glob_pattern("**/" + parts[-1]).match(path)


def test_parameters_of_one_shape_share_an_update() -> None:
    model = "(defmodel net (x) (nn:linear (nn:linear (nn:linear x 64) 64) 10))\n"
    updates = optimized(whole(model=model))[1].updates
    assert updates["net/linear/w"] is updates["net/linear-2/w"]
    assert updates["net/linear/w"] is not updates["net/linear-3/w"]


def test_a_body_that_asks_for_the_path_is_traced_for_each() -> None:
    definition = """(defoptimizer by-path (&key (lr 1))
  (optimizer-update (param grad)
    (if (search "linear-2" (param-path param)) param (- param (* lr grad)))))
"""
    model = "(defmodel net (x) (nn:linear (nn:linear (nn:linear x 64) 64) 10))\n"
    text = whole(model=model, optimizer=definition + groups("(groups (group :rest (by-path)))"))
    updates = optimized(text)[1].updates
    assert updates["net/linear/w"] is not updates["net/linear-2/w"]


def test_options_of_groups_are_numbers_or_step_scalars() -> None:
    text = whole(
        optimizer=groups(
            "(groups :clip-norm 1.0 :ema (min 0.99 (/ (ctx :step) 10)) (group :rest (optim:sgd)))"
        )
    )
    found = optimized(text)[1]
    assert found.clip_norm == 1.0
    assert found.ema[0] == "min"
    assert any("min" in name for name in found.scalars)


def test_a_schedule_is_one_step_scalar_of_the_body() -> None:
    text = whole(
        optimizer=groups(
            "(groups (group :rest (optim:sgd :lr (optim:warmup-cosine 1.0 :warmup 10))))"
        )
    )
    found = optimized(text)[1]
    (name,) = found.updates["net/linear/w"].scalars
    assert "cos" in name
    assert dict(found.groups[0].facts)["lr"] == name


def test_states_begin_as_numbers_and_are_results_of_the_body() -> None:
    update = optimized(whole())[1].updates["net/linear/w"]
    assert [(s.name, s.init) for s in update.states] == [("m", 0.0), ("v", 0.0)]
    assert list(update.body.results) == ["param", "m", "v"]
    assert update.inputs == ("param", "grad", "m", "v")


def test_a_state_may_have_a_shape_of_its_own() -> None:
    definition = """(defoptimizer rows (&key (lr 1))
  (defstate total ((dim param 0)) :init 1)
  (optimizer-update (param grad)
    (setf total (+ total (sum (square (reshape grad (list (dim param 0) -1))) :axis 1)))
    (- param (* lr grad))))
"""
    text = whole(optimizer=definition + groups("(groups (group :rest (rows)))"))
    (state,) = optimized(text)[1].updates["net/linear/w"].states
    assert (state.type.shape, state.init) == ((64,), 1.0)


@pytest.mark.parametrize(
    ("optimizer", "code"),
    [
        ("(defoptimizer odd (&key lr) (- 1))\n" + groups("(groups)"), "E-OPTIMIZER-UPDATE"),
        (
            "(defoptimizer odd (&key (lr 1)) (optimizer-update (param grad) (sum param)))\n"
            + groups("(groups (group :rest (odd)))"),
            "E-OPTIMIZER-UPDATE",
        ),
        (groups("(optim:sgd)"), "E-CONTRACT"),
        (groups('(groups (group :rest (optim:sgd :lr "fast")))'), "E-SCHEDULE"),
        (groups("(groups (group :rest (optim:sgd :lr (/ 1 (ctx :step)))))"), "E-SCHEDULE"),
        (
            "(defschedule odd () nil)\n" + groups("(groups (group :rest (optim:sgd :lr (odd))))"),
            "E-SCHEDULE",
        ),
        (groups("(groups :clip-nrm 1 (group :rest (optim:sgd)))"), "E-OPTION"),
        (groups("(groups (group :rest (optim:sgd :momentun 0.9)))"), "E-CALL-KEYWORD"),
        (groups("(groups (group (select :pth 1) (optim:sgd)))"), "E-OPTION"),
    ],
)
def test_what_is_wrong_with_an_optimizer_is_told(optimizer: str, code: str) -> None:
    found = only(whole(optimizer=optimizer))
    assert found.code == code
    assert found.span is not None


def test_a_parameter_that_no_gradient_reaches_is_told_where_it_is_made() -> None:
    text = whole(model="(defmodel net (x) (defparam spare (3)) (nn:linear x 10))\n")
    found = traced(text)
    with pytest.raises(Problems) as caught:
        unreached(found)(["net/spare"])
    (row,) = caught.value.diagnostics
    assert row.code == "E-PARAM-UNREACHED"
    assert row.span is not None
    assert row.span.text.startswith("(defparam spare")


def test_a_group_need_not_say_the_only_loss() -> None:
    objective = "(defun objective (&key image) (losses :a (mean (net image))))\n"
    _, found = optimized(whole(objective=objective))
    assert [g.loss for g in found.groups] == ["a"]


def test_losses_need_a_group_each() -> None:
    objective = (
        "(defun objective (&key image) (losses :a (mean (net image)) :b (mean (net image))))\n"
    )
    assert only(whole(objective=objective)).code == "E-GROUP-LOSS"
    text = whole(
        objective=objective, optimizer=groups("(groups (group :rest (optim:sgd) :loss :a))")
    )
    assert only(text).code == "E-LOSS-UNUSED"
