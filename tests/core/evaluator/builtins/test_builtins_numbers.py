"""Arithmetic is exact on rationals, double on floats, an error where there is no real result."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_core.evaluator import words
from sexpgpu_core.evaluator.definitions import BUILTINS
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.evaluator.float_text import float_text
from sexpgpu_core.evaluator.integer_text import integer_text
from sexpgpu_core.evaluator.numeric import ratio
from sexpgpu_core.evaluator.printer import print_text
from sexpgpu_core.evaluator.values import NIL, Ratio, Staged, T

Evaluate = Callable[[str], str]
assert words

rationals = st.fractions(max_denominator=50, min_value=-100, max_value=100)
doubles = st.floats(allow_nan=False, allow_infinity=False)


def lisp_number(x: Fraction) -> object:
    return ratio(x.numerator, x.denominator)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(/ 7 2)", "7/2"),
        ("(+ 1/2 1/2)", "1"),
        ("(- 5)", "-5"),
        ("(/ 2)", "1/2"),
        ("(* 1/2 4.0)", "2.0"),
        ("(floor -7 2)", "-4; 1"),
        ("(ceiling 7 2)", "4; -1"),
        ("(truncate -7.5)", "-7; -0.5"),
        ("(round 5/2)", "2; 1/2"),
        ("(round -7/2)", "-4; 1/2"),
        ("(ffloor 7 2)", "3.0; 1"),
        ("(ffloor -0.0 2)", "-0.0; -0.0"),
        ("(ftruncate -1/2)", "0.0; -1/2"),
        ("(mod -7 3)", "2"),
        ("(rem -7 3)", "-1"),
        ("(mod 5.5 -2)", "-0.5"),
        ("(= 1 1.0 2/2)", "t"),
        ("(/= 1 2 1)", "nil"),
        ("(max 1 2.5 3/2)", "2.5"),
        ("(expt 2 -3)", "1/8"),
        ("(expt 2.0 0.5)", "1.4142135623730951"),
        ("(isqrt 17)", "4"),
        ("(log 8 2)", "3.0"),
        ("(gcd 12 18)", "6"),
        ("(lcm 4 6)", "12"),
        ("(ash 1 10)", "1024"),
        ("(ash -5 -1)", "-3"),
        ("(ldb (byte 4 4) 255)", "15"),
        ("(dpb 0 (byte 4 0) 255)", "240"),
        ("(logcount -8)", "3"),
        ("(integer-length -8)", "3"),
        ("(logbitp 70 -1)", "t"),
        ('(parse-integer " 42 ")', "42; 4"),
        ('(parse-integer "ff" :radix 16)', "255; 2"),
        ('(parse-integer "1x" :junk-allowed t)', "1; 1"),
        ("(rationalize 0.1)", "1/10"),
        ("(rational 0.5)", "1/2"),
        ("(signum -2.5)", "-1.0"),
        ("(list 1e10 0.001 -0.0 1e7 123456.789)", "(1.0e10 0.001 -0.0 1.0e7 123456.789)"),
    ],
)
def test_arithmetic_follows_the_standard(lisp: Evaluate, text: str, wanted: str) -> None:
    assert lisp(text) == wanted


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(/ 1 0)", "E-ARITHMETIC"),
        ("(mod 1.0 0)", "E-ARITHMETIC"),
        ("(sqrt -1)", "E-ARITHMETIC"),
        ("(log 0)", "E-ARITHMETIC"),
        ("(exp 1000)", "E-ARITHMETIC"),
        ("(* 1e308 10.0)", "E-ARITHMETIC"),
        ("(expt 2 2000000)", "E-LIMIT-INTEGER"),
        ("(ash 1 2000000)", "E-LIMIT-INTEGER"),
        ("(let ((x (expt 2 600000))) (* x x))", "E-LIMIT-INTEGER"),
        ('(+ 1 "a")', "E-TYPE"),
        ("(evenp 1.5)", "E-TYPE"),
        ('(parse-integer "x")', "E-TYPE"),
        ("(logand 1 2.0)", "E-TYPE"),
    ],
)
def test_what_has_no_result_is_a_coded_problem(fault: Evaluate, text: str, code: str) -> None:
    assert fault(text) == code


@given(rationals, rationals)
def test_rational_arithmetic_agrees_with_fractions(a: Fraction, b: Fraction) -> None:
    for name, expected in (("+", a + b), ("-", a - b), ("*", a * b)):
        got = BUILTINS[name].call(lisp_number(a), lisp_number(b))
        assert got == lisp_number(expected)
        assert got.__class__ in (int, Ratio)
    if b:
        q, r = BUILTINS["FLOOR"].call(lisp_number(a), lisp_number(b))
        assert q == math.floor(a / b)
        assert r == lisp_number(a - q * b)
        assert BUILTINS["ROUND"].call(lisp_number(a), lisp_number(b))[0] == round(a / b)


@given(rationals, doubles)
def test_a_ratio_and_a_float_compare_by_exact_value(a: Fraction, b: float) -> None:
    less = BUILTINS["<"].call(lisp_number(a), b)
    assert less is (T if a < Fraction(b) else NIL)


@given(doubles)
def test_a_printed_float_reads_as_itself(x: float) -> None:
    assert float(float_text(x)) == x


@given(st.integers(min_value=0, max_value=10**6), st.integers(2, 36))
def test_digits_in_any_base_read_as_the_integer(n: int, base: int) -> None:
    assert int(integer_text(n, base), base) == n


def test_an_integer_of_many_digits_prints_whole() -> None:
    text = integer_text(10**9000 + 7)
    assert len(text) == 9001
    assert text.endswith("0007")


class Recorder(Staged):
    """A staged value that tells what it was asked."""

    def generic(self, name: str, arguments: tuple[object, ...]) -> object:
        return (name, len(arguments))

    def refuse(self, place: str) -> Exception:
        return ValueError(place)


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "max", "min", "<", "=", "/=", "expt", "mod"])
def test_a_staged_operand_takes_the_call(name: str) -> None:
    assert BUILTINS[name.upper()].call(2, Recorder()) == (name, 2)
    assert BUILTINS[name.upper()].staged


@pytest.mark.parametrize("name", ["abs", "sqrt", "exp", "log", "sin", "tanh", "1+", "signum"])
def test_a_staged_operand_takes_a_call_of_one(name: str) -> None:
    assert BUILTINS[name.upper()].call(Recorder()) == (name, 1)


def test_a_staged_value_is_refused_where_an_index_is_needed() -> None:
    with pytest.raises(ValueError, match="an index"):
        BUILTINS["NTH"].call(Recorder(), NIL)


def test_random_numbers_are_the_same_in_every_evaluation() -> None:
    text = "(list (random 100) (random 1.0) (random (expt 10 30)))"
    first, second = (print_text(Evaluator().evaluate(text)) for _ in range(2))
    assert first == second
