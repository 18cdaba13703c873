"""Linear algebra on both devices: factors multiply back, bases are orthonormal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builtin_calls import both, call

SHAPES = [(3, 3), (1, 1), (2, 5, 5), (0, 0), (0, 3, 3), (17, 17), (2, 1, 4, 4)]
WIDE = [(4, 3), (3, 4), (2, 6, 6), (5, 1), (1, 5), (0, 3), (3, 0), (2, 20, 7), (0, 2, 3)]


def matrix(shape: tuple[int, ...], dtype: str = "f4") -> Any:
    return np.random.default_rng(5).standard_normal(shape).astype(dtype)


def positive(shape: tuple[int, ...], dtype: str = "f4") -> Any:
    x = matrix(shape, dtype)
    return (x @ x.swapaxes(-1, -2) + np.eye(shape[-1])).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_cholesky_multiplies_back(shape: tuple[int, ...], dtype: str) -> None:
    x = positive(shape, dtype)
    low = both(lambda a: call("cholesky", a), x)
    np.testing.assert_allclose(low @ low.swapaxes(-1, -2), x, rtol=1e-5, atol=1e-4)
    assert not np.triu(low, 1).any()


def test_what_is_not_positive_has_no_cholesky_factor() -> None:
    x = np.array([[[1, 2], [2, 1]], [[4, 0], [0, 9]]], "f4")
    found = both(lambda a: call("cholesky", a), x)
    assert np.isnan(found[0][np.tri(2, dtype=bool)]).all()
    assert found[1].tolist() == [[2, 0], [0, 3]]


@pytest.mark.parametrize("shape", SHAPES)
def test_systems_are_solved(shape: tuple[int, ...]) -> None:
    x, y = positive(shape, "f8"), matrix((*shape[:-1], 70), "f8")
    found = both(lambda a, b: call("solve", a, b), x, y)
    np.testing.assert_allclose(x @ found, y, rtol=1e-8, atol=1e-8)
    found = both(lambda a: call("inverse", a), x)
    np.testing.assert_allclose(x @ found, np.broadcast_to(np.eye(shape[-1]), shape), atol=1e-8)
    np.testing.assert_allclose(both(lambda a: call("det", a), x), np.linalg.det(x), rtol=1e-9)
    logs = np.linalg.slogdet(x)[1] if x.size else np.zeros(shape[:-2])
    np.testing.assert_allclose(both(lambda a: call("logdet", a), x), logs, rtol=1e-9)


def test_a_right_side_may_be_a_vector_or_one_for_all() -> None:
    x, y = positive((2, 3, 3)), matrix((3,))
    found = both(lambda a, b: call("solve", a, b), x, y)
    np.testing.assert_allclose(np.einsum("bij,bj->bi", x, found), [y, y], rtol=1e-4, atol=1e-4)


def test_determinants_below_zero_and_of_singular_matrices() -> None:
    x = np.array([[[0, 1], [1, 0]], [[1, 2], [2, 4]]], "f4")
    assert both(lambda a: call("det", a), x).tolist() == [-1, 0]
    assert np.isnan(both(lambda a: call("logdet", a), x)[0])
    assert both(lambda a: call("logdet", a), x)[1] == -np.inf


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems(upper: bool, transpose: bool, unit: bool) -> None:
    x, y = matrix((2, 5, 5), "f8") * 0.3 + 2 * np.eye(5), matrix((2, 5, 130), "f8")
    at = {"upper": upper, "transpose": transpose, "unit": unit}
    found = both(lambda a, b: call("solve-triangular", a, b, **at), x, y)
    kept = np.triu(x) if upper else np.tril(x)
    if unit:
        kept = kept * (1 - np.eye(5)) + np.eye(5)
    turned = kept.swapaxes(-1, -2) if transpose else kept
    np.testing.assert_allclose(turned @ found, y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", WIDE)
def test_qr_and_svd_multiply_back(shape: tuple[int, ...], dtype: str) -> None:
    x = matrix(shape, dtype)
    q, r = both(lambda a: call("qr", a), x)
    np.testing.assert_allclose(q @ r, x, atol=1e-5)
    assert (np.diagonal(r, axis1=-2, axis2=-1) >= 0).all()
    u, s, v = both(lambda a: call("svd", a), x)
    np.testing.assert_allclose(u * s[..., None, :] @ v, x, atol=1e-5)
    assert (np.diff(s) <= 0).all()
    for basis in (q, u, v.swapaxes(-1, -2)):
        assert_orthonormal(basis, 1e-6)


def assert_orthonormal(columns: Any, tolerance: float) -> None:
    gram = columns.swapaxes(-1, -2) @ columns
    unit = np.broadcast_to(np.eye(columns.shape[-1]), gram.shape)
    np.testing.assert_allclose(gram, unit, atol=tolerance)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (4, 4)])
def test_bases_of_matrices_without_full_rank(shape: tuple[int, int], rank: int, full: bool) -> None:
    """The bases are not unique there: the device's own are measured, in f64."""
    x = matrix((shape[0], rank), "f8") @ matrix((rank, shape[1]), "f8")

    def parts(a: Any) -> list[Any]:
        u, s, v = call("svd", a, full=full)
        k = min(shape)
        product = call("matmul", call("*", call("slice", u, axis=-1, end=k), s),
                       call("slice", v, axis=0, end=k))  # fmt: skip
        gram = call("matmul", u, u, transpose_x=True)
        return [s, product, gram, call("matmul", v, v, transpose_y=True)]

    s, product, left, right = both(parts, x, tolerance=1e-12)
    np.testing.assert_allclose(product, x, atol=1e-12)
    np.testing.assert_allclose(left, np.eye(len(left)), atol=1e-12)
    np.testing.assert_allclose(right, np.eye(len(right)), atol=1e-12)
    assert (s[rank:] < 1e-12).all()


def test_small_singular_values_keep_their_vectors_orthogonal() -> None:
    x = matrix((60, 40), "f8") * 10.0 ** (-np.arange(40) / 4)
    u, s, v = both(lambda a: call("svd", a), x, tolerance=1e-5)
    assert_orthonormal(u, 1e-12)
    np.testing.assert_allclose(u * s @ v, x, atol=1e-13)


@pytest.mark.parametrize("shape", SHAPES)
def test_eigenvalues_ascend_and_vectors_rebuild(shape: tuple[int, ...]) -> None:
    x = matrix(shape, "f8")
    half = (x + x.swapaxes(-1, -2)) / 2
    w, v = both(lambda a: call("eigh", a), x)
    np.testing.assert_allclose(v * w[..., None, :] @ v.swapaxes(-1, -2), half, atol=1e-12)
    assert (np.diff(w) >= 0).all()
    assert_orthonormal(v, 1e-12)


def test_newton_schulz_nears_the_orthogonal_factor() -> None:
    x = matrix((20, 8))
    found = both(lambda a: call("newton-schulz", a), x, tolerance=1e-5)
    singular = np.linalg.svd(found, compute_uv=False)
    assert ((singular > 0.6) & (singular < 1.3)).all()
    plain = both(lambda a: call("newton-schulz", a, steps=0), x)
    np.testing.assert_allclose(plain, x / np.linalg.norm(x), rtol=1e-5)


@pytest.mark.parametrize("power", [0, 1, 2, 5])
def test_powers_of_a_matrix(power: int) -> None:
    x = np.random.default_rng(1).integers(-3, 4, (2, 3, 3)).astype("i4")
    found = both(lambda a: call("matrix-power", a, power), x)
    np.testing.assert_array_equal(found, np.linalg.matrix_power(x, power))
