"""Rows by index and by segment, quantiles, products of blocks: beside loops over NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builtin_calls import both, call, slopes_agree

from sexpgpu_core.diagnostics import Problem

X = np.random.default_rng(3).standard_normal((7, 3)).astype("f4")
SEGMENTS = np.array([0, 2, 2, 5, 0, 1, 2], "i4")


def segmented(function: Any, x: Any, n: int) -> Any:
    rows = [x[n_ == SEGMENTS] for n_ in range(n)]
    return np.stack([function(r, axis=0) if len(r) else np.zeros(x.shape[1:]) for r in rows])


@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "i8"])
@pytest.mark.parametrize("side", ["max", "min"])
def test_extrema_of_segments_and_empty_ones_are_zero(side: str, dtype: str) -> None:
    x = (X * 20 if dtype[0] != "u" else abs(X) * 20).astype(dtype)
    found = both(lambda a, s: call(f"segment-{side}", a, s, 7), x, SEGMENTS)
    np.testing.assert_array_equal(found, segmented(getattr(np, side), x, 7))
    dropped = both(lambda a, s: call(f"segment-{side}", a, s, 3, out="drop"), x, SEGMENTS)
    np.testing.assert_array_equal(dropped, found[:3])


def test_softmax_over_segments() -> None:
    found = both(lambda a, s: call("segment-softmax", a, s, 6), X, SEGMENTS)
    for n in range(6):
        if (n == SEGMENTS).any():
            np.testing.assert_allclose(found[n == SEGMENTS].sum(0), 1, rtol=1e-6)
    dropped = both(lambda a, s: call("segment-softmax", a, s, 3, out="drop"), X, SEGMENTS)
    assert not dropped[SEGMENTS > 2].any()
    np.testing.assert_allclose(dropped[SEGMENTS < 3], found[SEGMENTS < 3], rtol=1e-6)


def test_gradients_over_segments() -> None:
    wide = X.astype("f8")
    for name in ("segment-softmax", "segment-max", "segment-min"):
        slopes_agree(lambda a, s, name=name: call(name, a, s, 6), wide, SEGMENTS)
        slopes_agree(lambda a, s, name=name: call(name, a, s, 3, out="drop"), wide, SEGMENTS)


def test_a_segment_that_is_not_there_ends_the_run() -> None:
    with pytest.raises(Problem, match="index 5"):
        both(lambda a, s: call("segment-max", a, s, 3), X, SEGMENTS)


def test_distinct_values_are_counted() -> None:
    assert both(lambda s: call("unique-count", s, 9), SEGMENTS) == 4
    assert both(lambda s: call("unique-count", s, 3, out="drop"), SEGMENTS) == 3


@pytest.mark.parametrize("name", ["scatter-max", "scatter-min"])
@pytest.mark.parametrize("dtype", ["f4", "i4", "f2"])
def test_extrema_at_indices(name: str, dtype: str) -> None:
    x, y = (X[:4] * 9).astype(dtype), (X[1:] * 9).astype(dtype)
    index = np.array([0, 3, 3, 1, 0, 3], "i4")
    found = both(lambda a, i, b: call(name, a, i, b), x, index, y)
    wanted = x.copy()
    (np.maximum if name == "scatter-max" else np.minimum).at(wanted, index, y)
    np.testing.assert_array_equal(found, wanted)


def test_nan_wins_at_indices() -> None:
    x = np.array([1, np.nan, 3], "f4")
    y = np.array([np.nan, 5], "f4")
    found = both(lambda a, i, b: call("scatter-max", a, i, b), x, np.array([0, 1], "i4"), y)
    assert np.isnan(found).tolist() == [True, True, False]


@pytest.mark.parametrize("dtype", ["u8", "i8"])
def test_whole_numbers_of_all_64_bits_are_compared(dtype: str) -> None:
    x = np.array([5, 2**63 - 1, 2**64 - 1, 2**63, 0], "u8").astype(dtype)
    index = np.array([0, 0, 1, 1, 0], "i4")

    def parts(a: Any, i: Any) -> list[Any]:
        values, order = call("top-k", a, 5)
        zero = call("slice", a, start=4)
        return [
            values, order, call("argmax", a), call("argmin", a), call("sort", a),
            call("cummax", a), call("cummin", a), call("searchsorted", call("sort", a), a),
            call("segment-max", a, i, 2), call("max", a, zero), call("reduce-min", a),
            call("scatter-min", call("slice", a, end=2), i, a),
        ]  # fmt: skip

    values = both(parts, x, index)[0]
    np.testing.assert_array_equal(values, np.sort(x)[::-1])


def test_coordinates_pick_elements_and_rows() -> None:
    x = np.arange(24).reshape(2, 3, 4).astype("i4")
    index = np.array([[0, 1], [1, 2]], "i8")
    found = both(lambda a, i: call("gather-nd", a, i), x, index)
    np.testing.assert_array_equal(found, x[index[:, 0], index[:, 1]])
    outside = np.array([[0, 3], [1, 2], [-1, 0], [2, 0]], "i8")
    dropped = both(lambda a, i: call("gather-nd", a, i, out="drop"), x, outside)
    np.testing.assert_array_equal(dropped[1], x[1, 2])
    assert not dropped[[0, 2, 3]].any()
    with pytest.raises(Problem, match="size 2"):
        both(lambda a, i: call("gather-nd", a, i), x, outside)
    slopes_agree(lambda a: call("gather-nd", a, [[0, 1], [2, 0], [0, 1]]), X.astype("f8"))


def test_a_queue_forgets_its_oldest_rows() -> None:
    found = both(lambda a, b: call("push-rows", a, b), X[:3], X[3:5])
    np.testing.assert_array_equal(found, X[[2, 3, 4]])
    with pytest.raises(Problem, match="rows differ"):
        both(lambda a, b: call("push-rows", a, b), X[:2], X)


@pytest.mark.parametrize("q", [0, 0.3, 0.5, 1])
@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
def test_quantiles(q: float, axis: Any) -> None:
    found = both(lambda a: call("quantile", a, q, axis=axis, keep=True), X)
    np.testing.assert_allclose(found, np.quantile(X, q, axis=axis, keepdims=True), atol=1e-6)


def test_a_median_with_nan_is_nan() -> None:
    x = X.copy()
    x[3, 1] = np.nan
    np.testing.assert_allclose(both(lambda a: call("median", a, axis=0), x), np.median(x, 0))


def test_kroneckers_product() -> None:
    np.testing.assert_allclose(both(lambda a, b: call("kron", a, b), X, X[:2]), np.kron(X, X[:2]))
    line = both(lambda a, b: call("kron", a, b), X, X[0])
    np.testing.assert_allclose(line, np.kron(X, X[0]))


def test_an_empty_slice_at_the_end_is_one() -> None:
    assert both(lambda a: call("concat", a, call("slice", a, start=7), axis=0), X).shape == (7, 3)


def test_logsumexp_of_nothing_and_of_minus_infinity() -> None:
    x = np.full((2, 3), -np.inf, "f4")
    x[1, 0] = 2
    assert both(lambda a: call("logsumexp", a, axis=1), x).tolist() == [-np.inf, 2]
    assert both(lambda a: call("logsumexp", a, axis=1), x[:, :0]).tolist() == [-np.inf] * 2
