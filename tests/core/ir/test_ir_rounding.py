"""Numbers to dtypes, rounded once (45.23)."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir.rounding import rounded

_NUMPY = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}


@pytest.mark.parametrize("dtype", _NUMPY)
@given(st.floats(-3e4, 3e4) | st.floats(-1e-4, 1e-4))
def test_floats_round_as_numpy_rounds_them(dtype: str, value: float) -> None:
    # ml_dtypes goes from f64 to bf16 by way of f32 and may round twice.
    given = float(np.float32(value)) if dtype == "bf16" else value
    assert repr(rounded(given, dtype)) == repr(float(_NUMPY[dtype](given)))


def test_a_ratio_just_above_a_tie_is_rounded_once() -> None:
    above = 1 + Fraction(1, 2**24) + Fraction(1, 2**80)
    assert rounded(above, "f32") == 1 + 2.0**-23
    assert rounded(float(above), "f32") == 1.0
    assert rounded(Fraction(1, 3), "f64") == 1 / 3
    assert rounded(2**53 + 1, "f64") == 2.0**53


def test_values_have_the_class_of_their_dtype() -> None:
    assert rounded(1, "f32").__class__ is float
    assert rounded(True, "i32").__class__ is int
    assert rounded(1, "bool") is True
    assert str(rounded(-0.0, "f16")) == "-0.0"


@pytest.mark.parametrize(
    ("value", "dtype", "code"),
    [
        (256, "u8", "E-DTYPE-RANGE"),
        (-1, "u64", "E-DTYPE-RANGE"),
        (1e39, "f32", "E-DTYPE-RANGE"),
        (65520, "f16", "E-DTYPE-RANGE"),
        (10**400, "f64", "E-DTYPE-RANGE"),
        (1.0, "i32", "E-DTYPE-WEAK"),
        (Fraction(1, 2), "i32", "E-DTYPE-WEAK"),
    ],
)
def test_what_does_not_fit_is_a_problem(value, dtype: str, code: str) -> None:
    with pytest.raises(Problem, match=code):
        rounded(value, dtype)


def test_infinities_are_values() -> None:
    assert rounded(float("inf"), "bf16") == float("inf")
    assert rounded(65519, "f16") == 65504.0
