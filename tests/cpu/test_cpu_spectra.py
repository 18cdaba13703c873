"""Eigenvalues and singular values multiply back, with orthonormal bases, to f64's places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_programs import run_node
from hypothesis import given, settings
from hypothesis import strategies as st

RNG = np.random.default_rng(3)
PLACES = 1e-14
"""Of the greatest value, times the square root of the size."""


def orthogonal(n: int) -> Any:
    return np.linalg.qr(RNG.standard_normal((n, n)))[0]


def near(found: Any, wanted: Any, size: float) -> None:
    bound = PLACES * size * np.sqrt(max(wanted.shape))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=bound)


def signs_are_settled(columns: Any) -> bool:
    """Of equally great elements, but for rounding, either may have been the first greatest."""
    size = np.abs(columns)
    greatest = np.where(size >= size.max(axis=0) * (1 - 1e-12), columns, -1.0)
    return bool((greatest.max(axis=0) > 0).all())


def holds_eigh(x: Any) -> Any:
    w, v = results("eigh", x)
    size = np.abs(x).max() * len(x) ** 0.5
    near(v * w @ v.T, x, size)
    near(v.T @ v, np.eye(len(x)), 1.0)
    near(w, np.linalg.eigvalsh(x), size)
    assert (np.diff(w) >= 0).all()
    assert signs_are_settled(v)
    return w


def holds_svd(x: Any, full: bool = False) -> Any:
    u, s, v = results("svd", x, full=full)
    k, size = len(s), np.abs(x).max() * max(x.shape) ** 0.5
    near(u[:, :k] * s @ v[:k], x, size)
    near(u.T @ u, np.eye(u.shape[1]), 1.0)
    near(v @ v.T, np.eye(len(v)), 1.0)
    near(s, np.linalg.svd(x, compute_uv=False), size)
    assert (np.diff(s) <= 0).all()
    assert (s >= 0).all()
    assert signs_are_settled(u)
    return s


def results(operation: str, x: Any, **attributes: Any) -> Any:
    outcome: Any = run_node(operation, [x], **attributes)[0]
    return [outcome.results[str(i)] for i in range(len(outcome.results))]


@pytest.mark.parametrize("n", [64, 200])
def test_spectra_of_matrices_of_some_size(n: int) -> None:
    x = RNG.standard_normal((n, n))
    holds_eigh(x + x.T)
    holds_svd(x)
    holds_svd(x[: n // 3])
    holds_svd(x[:, : n // 3], full=True)


@pytest.mark.parametrize("n", [2, 9, 33])
def test_values_that_occur_often(n: int) -> None:
    q = orthogonal(n)
    values = np.arange(n) // 4 * 2.0 - 3.0
    x = q * values @ q.T
    near(holds_eigh((x + x.T) / 2), values, n)
    near(holds_svd(orthogonal(n)), np.ones(n), 1.0)
    assert holds_eigh(3.0 * np.eye(n)).tolist() == [3.0] * n
    assert holds_eigh(np.zeros((n, n))).tolist() == [0.0] * n
    assert holds_svd(np.zeros((n, n)), full=True).tolist() == [0.0] * n
    near(holds_eigh(np.ones((n, n)))[:-1], np.zeros(n - 1), n)


@pytest.mark.parametrize("rank", [1, 5, 39])
def test_values_of_matrices_without_full_rank_are_nothing(rank: int) -> None:
    x = RNG.standard_normal((40, rank)) @ RNG.standard_normal((rank, 50))
    near(holds_svd(x, full=True)[rank:], np.zeros(40 - rank), np.abs(x).max() * 7)
    x[:, ::3] = 0.0
    x[7] = 0.0
    holds_svd(x)
    holds_svd(x.T.copy(), full=True)
    holds_eigh(x @ x.T)


@pytest.mark.parametrize("diagonal", [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 1.0, 0.0], [0.0] * 3])
def test_two_diagonals_with_values_of_nothing(diagonal: list[float]) -> None:
    x = np.diag(diagonal) + np.diag([1.0, 1.0], 1)
    holds_svd(x)
    holds_svd(x.T.copy())
    holds_eigh(x + x.T)


@pytest.mark.parametrize("factor", [1e-306, 1e-200, 1e-60, 1e60, 1e200, 1e300])
def test_scales_whose_squares_leave_the_range(factor: float) -> None:
    x = RNG.standard_normal((12, 12))
    x = x + x.T
    np.testing.assert_allclose(holds_eigh(x * factor) / factor, holds_eigh(x), rtol=1e-12)
    np.testing.assert_allclose(holds_svd(x * factor) / factor, holds_svd(x), rtol=1e-12)


def test_values_of_very_different_size_in_one_matrix() -> None:
    sizes = 10.0 ** -np.arange(0, 300, 10)
    x = RNG.standard_normal((30, 30)) * sizes
    for turned in (x, x[:, ::-1].copy(), x[::-1].T.copy()):
        holds_svd(turned)
    x = x * sizes[:, None]
    holds_eigh(x + x.T)
    holds_eigh((x + x.T)[::-1, ::-1].copy())


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_has_no_spectrum(wrong: float) -> None:
    x = np.eye(5)
    x[2, 1] = wrong
    for operation in ("eigh", "svd"):
        assert all(np.isnan(v).all() for v in results(operation, x))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_spectra_of_small_whole_numbers(m: int, n: int, seed: int) -> None:
    """They have many zeros and equal values."""
    x = np.random.default_rng(seed).integers(-1, 2, (m, n)).astype("f8")
    holds_svd(x, full=bool(seed % 2))
    holds_eigh(x @ x.T)
