"""Special functions and whole quotients beside Python's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from builtin_calls import both, call

X = np.array([-3.7, -2.5, -0.5, 1e-5, 0.1, 0.5, 0.999, 1, 1.001, 1.5, 2, 3, 10, 1e5, 1e20])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_lgamma_is_right_where_it_crosses_zero(dtype: str) -> None:
    x = X.astype(dtype)
    wanted = np.array([math.lgamma(v) for v in x.astype("f8")])
    np.testing.assert_allclose(both(lambda a: call("lgamma", a), x), wanted, rtol=4e-7, atol=1e-13)
    poles = both(lambda a: call("lgamma", a), np.array([0.0, -1, -3, np.inf], dtype))
    assert np.isposinf(poles).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_digamma_is_the_slope_of_lgamma(dtype: str) -> None:
    found = both(lambda a: call("digamma", a), np.array([1, 0.5, 2, -0.5, 20], dtype))
    euler = 0.5772156649015329
    wanted = [-euler, -euler - 2 * math.log(2), 1 - euler, 0.03648997397857652, 2.970523992242149]
    np.testing.assert_allclose(found, wanted, rtol=4e-7)
    assert np.isnan(both(lambda a: call("digamma", a), np.array([0.0, -2], dtype))).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_erfinv_undoes_erf(dtype: str) -> None:
    x = np.array([-0.99, -0.5, -1e-8, 0, 1e-3, 0.3, 0.9, 0.9999], dtype)
    y = both(lambda a: call("erfinv", a), x)
    back = [math.erf(v) for v in y.astype("f8")]
    np.testing.assert_allclose(back, x, rtol=1e-6 if dtype == "f4" else 1e-12)
    edges = both(lambda a: call("erfinv", a), np.array([-1, 1, 1.5], dtype))
    assert edges[:2].tolist() == [-np.inf, np.inf]
    assert np.isnan(edges[2])


def test_cbrt_takes_negative_numbers_zero_and_infinity() -> None:
    x = np.array([-27, -1e-30, 0, 8, 3, np.inf, -np.inf], "f4")
    np.testing.assert_allclose(both(lambda a: call("cbrt", a), x), np.cbrt(x), rtol=3e-7)


def test_hypot_of_infinity_is_infinite() -> None:
    x = np.array([np.inf, np.inf, 3], "f4")
    y = np.array([np.inf, 1, 4], "f4")
    assert both(lambda a, b: call("hypot", a, b), x, y).tolist() == [np.inf, np.inf, 5]


WHOLE: dict[str, Callable[[Any], Any]] = {
    "floor": np.floor, "ceiling": np.ceil, "truncate": np.trunc, "round": np.rint,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["i1", "i4", "u1", "u4", "i8"])
@pytest.mark.parametrize("name", WHOLE)
def test_integers_are_divided_to_integers(name: str, dtype: str) -> None:
    random = np.random.default_rng(2)
    low = -128 if dtype[0] == "i" else 0
    x = random.integers(low, 128, 200).astype(dtype)
    y = random.integers(max(low, -6), 7, 200).astype(dtype)
    found = both(lambda a, b: call(name, a, b), x, y)
    quotient = WHOLE[name](x.astype("f8") / np.where(y == 0, 1, y).astype("f8"))
    wanted = np.where(y == 0, 0, quotient).astype("i8").astype(dtype)
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == x.dtype


def test_the_least_integer_by_minus_one_wraps() -> None:
    x = np.array([-(2**31), 7], "i4")
    found = both(lambda a: call("truncate", a, -1), x)
    assert found.tolist() == [-(2**31), -7]


def test_integers_have_any_whole_power() -> None:
    x = np.array([2, -3, 0], "i8")
    assert both(lambda a: call("expt", a, 13), x).tolist() == [2**13, -(3**13), 0]
