"""`:init` as a tensor (R15): traced on its own, with other parameters' initial values in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from staging_case import body, declared, faults, only, traced, warnings, whole

from sexpgpu_core.compile.persistents import initials


class Stage:
    def __init__(self, found: Any) -> None:
        self.traced = found


def values(form: str, seed: int = 0, kind: str = "parameter") -> Any:
    """Initial values by path of a model with these parameters and states."""
    found = traced(body(form))
    initial = initials([Stage(found)], {}, seed)  # type: ignore[list-item]
    return lambda path: initial(f"{kind}:{path}")


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


def stated(init: str, more: str = "", shape: str = "(64)") -> str:
    """A model that adds up what it sees to a state that begins so."""
    return (
        f"(defparam w (64)) (defstate seen {shape} :init {init} {more})"
        " (setf seen (+ seen 1)) (* x (+ w (cast (sum seen) :f32)))"
    )


@pytest.mark.parametrize(
    ("init", "more", "begins"),
    [
        ("(iota 64)", "", np.arange(64, dtype="f4")),
        ("(iota 64)", ":dtype :i32", np.arange(64, dtype="i4")),
        ("(* 2 (ones '(64)))", "", np.full(64, 2, "f4")),
        ("(tensor (loop for i below 64 collect (* i i)))", "", np.arange(64, dtype="f4") ** 2),
        ("(* 0.5 (+ 1 (initial w)))", "", np.full(64, 0.5, "f4")),
    ],
)
def test_a_state_begins_as_a_tensor(init: str, more: str, begins: Any) -> None:
    found = values(stated(init, more), kind="state")("net/seen")
    np.testing.assert_array_equal(found, begins)
    assert found.dtype == begins.dtype


def test_random_numbers_of_a_state_are_its_own() -> None:
    init = "(random-normal '(64))"
    of = values(stated(init), kind="state")
    np.testing.assert_array_equal(of("net/seen"), values(stated(init), kind="state")("net/seen"))
    assert 0.5 < of("net/seen").std() < 1.5


@pytest.mark.parametrize(
    ("form", "code", "place"),
    [
        (stated("(zeros '(3))"), "E-SHAPE-ARGUMENT", "(zeros '(3))"),
        (stated("(ones '(64))", ":dtype :i32"), "E-DTYPE-MIX", "(ones '(64))"),
        (stated("(zeros '(64))", ":per :row"), "E-OPTION-VALUE", "(zeros '(64))"),
        (stated("(tref x 0)"), "E-OPTION-VALUE", "(tref x 0)"),
    ],
)
def test_mistakes_of_a_states_init_are_told_there(form: str, code: str, place: str) -> None:
    found = only(body(form))
    assert found.code == code
    assert found.span is not None
    assert found.span.text == place
    assert found.hint


def test_a_state_that_is_met_again_begins_in_the_same_way() -> None:
    def twice(first: str, second: str) -> str:
        one = '(with-scope "s" (defstate n (64) :init {}) (setf n (+ n 1)) n)'
        return whole(
            objective="(defun objective (&key image label) (nn:cross-entropy (net (+ image "
            f"{one.format(first)} {one.format(second)})) label))\n"
        )

    assert faults(twice("(iota 64)", "(iota 64)")) == []
    (found,) = faults(twice("(iota 64)", "0"))
    assert found.code == "E-PARAM-DUPLICATE"


def test_a_cycle_is_told_with_its_paths() -> None:
    def made(scope: str, init: str) -> str:
        return f'(with-scope "{scope}" (defparam w (64) :init {init}) w)'

    ring = whole(
        objective="(defun objective (&key image label) (let* ("
        f"(a {made('a', '1')}) (b {made('b', '(* 2 (initial a))')})"
        f" (c {made('c', '(- (initial b))')}) (d {made('a', '(initial c)')}))"
        " (nn:cross-entropy (net (* image b c d)) label)))\n"
    )
    (found,) = faults(ring)
    assert found.code == "E-INIT-CYCLE"
    assert found.message.endswith("a/w from c/w from b/w from a/w")
    assert found.span is not None
    assert found.span.text == "(defparam w (64) :init (initial c))"
    assert found.hint == "give one of them a value of its own: a/w has 1"
