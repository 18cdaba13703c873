"""Factors and spectra of matrices by their PTX: what the reference gives, odd sizes, batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuda_programs import check, graph_of, launched, normal, opened, planned
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.ir import Builder, Value
from sexpgpu_cuda.work import LibraryCall

BATCHES = st.sampled_from([(), (2,), (2, 3)])
DTYPES = st.sampled_from(["f32", "f64"])
FEW = settings(max_examples=12, deadline=None)


def several(name: str, **at: Any) -> Any:
    def make(b: Builder, *x: Value, **named: Value) -> dict[str, Value]:
        found = b.several(name, *x, *named.values(), **at)
        return {str(k): v for k, v in enumerate(found)}

    return make


def positive(batch: tuple[int, ...], n: int, dtype: str) -> Any:
    x = normal((*batch, n, n), "f64")
    return (x @ np.swapaxes(x, -1, -2) + n * np.eye(n)).astype(dtype.replace("f", "float"))


@given(BATCHES, st.integers(1, 9), DTYPES)
@FEW
def test_a_cholesky_factor_is_the_reference_s(batch: tuple[int, ...], n: int, dtype: str) -> None:
    check(several("cholesky"), x=positive(batch, n, dtype))


def test_a_matrix_that_is_not_positive_has_nan_in_its_triangle() -> None:
    x = np.array([[[1, 2], [2, 1]], [[4, 0], [0, 9]]], "f4")
    check(several("cholesky"), x=x)


@given(BATCHES, st.integers(1, 9), st.sampled_from([1, 3, 70]), st.booleans(), st.booleans(),
       st.booleans(), DTYPES)  # fmt: skip
@FEW
def test_triangular_systems_are_solved(
    batch: tuple[int, ...], n: int, m: int, upper: bool, transpose: bool, unit: bool, dtype: str
) -> None:
    a, y = positive(batch, n, dtype) / n, normal((*batch, n, m), dtype, seed=1)
    at = {"upper": upper, "transpose": transpose, "unit": unit}
    check(several("solve-triangular", **at), 1e-5 if dtype == "f32" else 1e-11, a=a, y=y)


@given(BATCHES, st.integers(0, 9), DTYPES)
@FEW
def test_lu_has_the_reference_s_pivots(batch: tuple[int, ...], n: int, dtype: str) -> None:
    check(several("lu"), 1e-5 if dtype == "f32" else 1e-11, x=normal((*batch, n, n), dtype))


@given(BATCHES, st.integers(1, 9), st.integers(1, 9), DTYPES)
@FEW
def test_q_and_r_have_a_diagonal_that_is_not_below_0(
    batch: tuple[int, ...], m: int, n: int, dtype: str
) -> None:
    check(several("qr"), 1e-5 if dtype == "f32" else 1e-11, x=normal((*batch, m, n), dtype))


@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
@pytest.mark.parametrize("n", [33])
def test_a_matrix_may_be_more_than_a_warp_s(name: str, n: int) -> None:
    check(several(name), 1e-9, x=positive((2,), n, "f64") / n)


@given(BATCHES, st.integers(1, 9), DTYPES)
@FEW
def test_eigenvalues_ascend_and_vectors_have_the_reference_s_signs(
    batch: tuple[int, ...], n: int, dtype: str
) -> None:
    check(several("eigh"), 1e-4 if dtype == "f32" else 1e-11, x=normal((*batch, n, n), dtype))


@given(BATCHES, st.integers(1, 9), st.integers(1, 9), st.sampled_from([None, True]), DTYPES)
@FEW
def test_singular_values_descend_and_vectors_have_the_reference_s_signs(
    batch: tuple[int, ...], m: int, n: int, full: bool | None, dtype: str
) -> None:
    x, k = normal((*batch, m, n), dtype), min(m, n)

    def make(b: Builder, x: Value) -> dict[str, Value]:
        u, s, v = b.several("svd", x, full=full)
        return {"s": s, **({} if full else {"u": u, "v": v}), **bases(b, u, v)}

    found = check(make, 1e-4 if dtype == "f32" else 1e-11, x=x)
    assert found["s"].shape[-1] == k


def bases(b: Builder, u: Value, v: Value) -> dict[str, Value]:
    """Gram matrices: units, whatever vectors were chosen where there is a choice."""
    return {
        "left": b("matmul", u, u, **{"transpose-x": True}),
        "right": b("matmul", v, v, **{"transpose-y": True}),
    }


@pytest.mark.parametrize("full", [None, True])
@pytest.mark.parametrize("rank", [0, 1, 3])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)])
def test_bases_are_orthonormal_without_full_rank(
    shape: tuple[int, int], rank: int, full: bool | None
) -> None:
    x = normal((shape[0], rank), "f64") @ normal((rank, shape[1]), "f64", seed=1)

    def make(b: Builder, x: Value) -> dict[str, Value]:
        u, s, v = b.several("svd", x, full=full)
        k = min(shape)
        inside = {"starts": (0, 0), "steps": (1, 1)}
        left = b("slice", u, stops=(shape[0], k), **inside)
        right = b("slice", v, stops=(k, shape[1]), **inside)
        product = b("matmul", b("multiply", left, s), right)
        return {"s": s, "product": product, **bases(b, u, v)}

    found = check(make, 1e-12, x=x)
    assert (found["s"][rank:] < 1e-12).all()


def test_more_pairs_than_warps_are_turned() -> None:
    x = normal((19, 33), "f64")
    check(several("eigh"), 1e-10, x=x[:, :19].copy())
    check(several("svd"), 1e-10, x=x)


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_squares_stay_in_range(scale: float) -> None:
    x = normal((4, 4), "f64") * scale
    check(lambda b, x: dict(zip("wv", b.several("eigh", x))), 1e-12, x=x)
    check(lambda b, x: dict(zip("usv", b.several("svd", x))), 1e-12, x=x)


def test_close_eigenvalues_have_orthonormal_vectors() -> None:
    turn = np.linalg.qr(normal((8, 8), "f64"))[0]
    x = turn * np.array([1, 1, 1 + 1e-14, 1, -1, 0, 0, 2.0]) @ turn.T

    def make(b: Builder, x: Value) -> dict[str, Value]:
        w, v = b.several("eigh", x)
        return {"w": w, "gram": b("matmul", v, v, **{"transpose-x": True})}

    check(make, 1e-13, x=x)


def test_what_is_not_finite_has_no_spectrum() -> None:
    x = normal((3, 4, 4), "f64")
    x[0, 1, 2], x[1, 0, 0] = np.nan, np.inf
    graph = graph_of(lambda b, x: dict(zip("wvusz", (*b.several("eigh", x), *b.several("svd", x)))),
                     x=x)  # fmt: skip
    found = launched(graph, {"x": x}).results
    for value in found.values():
        assert np.isnan(value[:2]).all()
        assert np.isfinite(value[2]).all()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0), (3, 0), (0, 3)], ids=str)
@pytest.mark.parametrize("full", [None, True])
def test_nothing_has_empty_factors(shape: tuple[int, ...], full: bool | None) -> None:
    x = normal(shape)
    check(several("svd", full=full), x=x)
    check(several("qr"), x=x)
    if shape[-1] == shape[-2]:
        for name in ("cholesky", "lu", "eigh"):
            check(several(name), x=x)


@pytest.mark.parametrize("name", ["cholesky", "solve-triangular", "lu", "qr", "eigh", "svd"])
def test_nothing_of_it_is_a_library_s_and_bits_stay(name: str) -> None:
    inputs = {"x": positive((2,), 7, "f32")}
    if name == "solve-triangular":
        inputs["y"] = normal((2, 7, 3))
    graph = graph_of(several(name), **inputs)
    program = opened(planned(graph)).program("step")
    assert not [r for r in program.records if isinstance(r, LibraryCall)]
    once, again = (launched(graph, inputs).results for _ in range(2))
    assert all(once[k].tobytes() == again[k].tobytes() for k in once)
