"""`:init` as a tensor (R15): traced on its own, with other parameters' initial values in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from staging_case import body, declared, only, traced, warnings

from sexpgpu_core.compile.persistents import initials


class Stage:
    def __init__(self, found: Any) -> None:
        self.traced = found


def values(form: str, seed: int = 0) -> Any:
    """Initial values by path of a model with these parameters."""
    found = traced(body(form))
    initial = initials([Stage(found)], {}, seed)  # type: ignore[list-item]
    return lambda path: initial(f"parameter:{path}")


TWO = """(defparam a (64 4))
  (defparam w (4 64) :init {})
  (matmul (matmul x a) w)"""


def test_a_form_of_tensors_is_an_initial_value() -> None:
    form = "(defparam b (6) :init (concat (zeros '(2)) (ones '(3)) (full '(1) 0.5))) (* x (sum b))"
    assert values(form)("net/b").tolist() == [0, 0, 1, 1, 1, 0.5]


def test_another_parameters_initial_value_is_asked_for() -> None:
    of = values(TWO.format("(transpose (initial a))"))
    np.testing.assert_array_equal(of("net/w"), of("net/a").T)


def test_random_numbers_are_drawn_in_the_domain_of_initial_values() -> None:
    text = TWO.format("(* 0.02 (random-normal '(4 64)))")
    found = traced(body(text))
    program = found.parameters["net/w"].init
    (drawn,) = [n for n in program.graph.nodes if n.operation == "random-normal"]
    assert (drawn.get("domain"), drawn.get("site")) == ("init", "net/w/random-normal#1")
    one, two = values(text)("net/w"), values(text)("net/w")
    np.testing.assert_array_equal(one, two)
    assert 0.01 < one.std() < 0.03


def test_an_initial_value_moves_no_other_random_numbers() -> None:
    plain = traced(body("(dropout (* x (progn (defparam w (64) :init 1) w)) 0.5)"))
    drawn = "(defparam w (64) :init (random-normal '(64))) (dropout (* x w) 0.5)"
    assert set(traced(body(drawn)).sites) >= set(plain.sites)


def test_a_first_axis_as_long_as_the_batch_is_no_batch() -> None:
    form = "(defparam w (8 64) :init (random-uniform '(8 64))) (* x w)"
    assert values(form)("net/w").shape == (8, 64)


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ("(defparam w (64) :init (tref x 0)) (* x w)", "E-OPTION-VALUE"),
        ("(defparam w (64) :init (zeros '(3))) (* x w)", "E-SHAPE-ARGUMENT"),
        ("(defparam w (64)) (* x (initial w))", "E-STAGE-OUTSIDE"),
        ("(defparam w (64) :init (initial x)) (* x w)", "E-TYPE"),
        ("(defparam w (64) :init (nn:linear x 64)) (* x w)", "E-STAGE-OUTSIDE"),
    ],
)
def test_mistakes_are_named_at_the_init(form: str, code: str) -> None:
    found = only(body(form))
    assert found.code == code
    assert found.span is not None


def test_numbers_and_initializers_are_as_they_were() -> None:
    _, evaluator = declared(body("(defparam w (64) :init (normal 0.02)) (* x w)"))
    assert warnings(evaluator) == []
    assert str(traced(body("(defparam w (64) :init 2) (* x w)")).parameters["net/w"].init) == "2"
