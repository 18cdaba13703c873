"""Matrix products against NumPy, and equal bits whatever the threads."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_programs import array, check, one_node, run_node, run_schedule
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.ir import Type
from sexpgpu_core.kernels.kernel import Schedule, View
from sexpgpu_cpu import blas, products
from sexpgpu_cpu.host import host
from sexpgpu_cpu.products import Matrix, Product, merged

SIZE = st.integers(1, 40)


@settings(max_examples=40, deadline=None)
@given(SIZE, SIZE, SIZE, st.booleans(), st.booleans(), st.sampled_from(["f32", "f64"]))
def test_products_of_any_shape(m: int, n: int, k: int, tx: bool, ty: bool, dtype: str) -> None:
    rng = np.random.default_rng(m * n * k)
    x = array(rng, (k, m) if tx else (m, k), dtype)
    y = array(rng, (n, k) if ty else (k, n), dtype)
    check("matmul", [x, y], 1e-5, **{"transpose-x": tx, "transpose-y": ty})


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((3, 5, 7), (7, 4)),
        ((5, 7), (3, 7, 4)),
        ((2, 3, 5, 7), (3, 7, 4)),
        ((2, 1, 3, 1, 5, 7), (2, 1, 4, 7, 4)),
        ((2, 2, 2, 2, 2, 3, 5), (2, 1, 2, 1, 2, 5, 4)),
        ((0, 3), (3, 4)),
        ((2, 0), (0, 4)),
        ((1, 300), (300, 1)),
        ((300, 2), (2, 1)),
    ],
)
def test_leading_axes_broadcast(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    check("matmul", [array(rng, x), array(rng, y)], 1e-5)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_narrow_floats_are_rounded_once(dtype: str) -> None:
    rng = np.random.default_rng(0)
    check("matmul", [array(rng, (20, 30), dtype), array(rng, (30, 10), dtype)], 1e-2)


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64", "u8"])
def test_integers_wrap_in_their_dtype(dtype: str) -> None:
    rng = np.random.default_rng(0)
    check("matmul", [array(rng, (2, 3, 4), dtype), array(rng, (2, 4, 5), dtype)])


@pytest.mark.parametrize("shape", [(768, 128, 512), (512, 768, 131), (129, 2048, 65)])
def test_bits_do_not_depend_on_threads(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    rng = np.random.default_rng(0)
    arrays = [array(rng, (m, k)), array(rng, (k, n))]
    found = [run_node("matmul", arrays, threads)[0].results["0"] for threads in (1, 2, 3)]
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_views_are_multiplied_as_they_lie() -> None:
    # A (b t h d) array seen as (b h t d), as attention does.
    rng = np.random.default_rng(0)
    x, y = array(rng, (2, 5, 3, 8)), array(rng, (2, 5, 3, 8))
    schedule, _ = one_node("matmul", [Type("f32", (2, 3, 5, 8))] * 2, **{"transpose-y": True})
    call = schedule.calls[0]
    strides = (5 * 3 * 8, 8, 3 * 8, 1)
    call.inputs = tuple(View(i, "f32", (2, 3, 5, 8), strides) for i in (0, 1))
    outcome = run_schedule(_retyped(schedule, x.shape), [x, y])
    wanted = np.einsum("bthd,bshd->bhts", x.astype("f8"), y.astype("f8"))
    np.testing.assert_allclose(outcome.results["0"], wanted, rtol=1e-4, atol=1e-5)


def test_an_operand_without_a_contiguous_axis_is_copied() -> None:
    rng = np.random.default_rng(0)
    x, y = array(rng, (6, 8)), array(rng, (8, 10))
    schedule, _ = one_node("matmul", [Type("f32", (3, 4)), Type("f32", (4, 5))])
    call = schedule.calls[0]
    call.inputs = (View(0, "f32", (3, 4), (16, 2)), View(1, "f32", (4, 5), (20, 2)))
    schedule.storages[0].type = Type("f32", x.shape)
    schedule.storages[1].type = Type("f32", y.shape)
    outcome = run_schedule(schedule, [x, y])
    np.testing.assert_allclose(outcome.results["0"], x[::2, ::2] @ y[::2, ::2], rtol=1e-5)


def _retyped(schedule: Schedule, shape: tuple[int, ...]) -> Schedule:
    for storage in schedule.storages[:2]:
        storage.type = Type("f32", shape)
    return schedule


@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_the_emitted_kernel_runs_at_every_width(
    width: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if width > host().width:
        pytest.skip("this machine's vectors are narrower")
    monkeypatch.setenv("SEXPGPU_WIDTH", str(width))
    monkeypatch.setenv("SEXPGPU_BLAS", "emitted")
    with fresh_machine():
        rng = np.random.default_rng(0)
        check("matmul", [array(rng, (77, 300), dtype), array(rng, (300, 45), dtype)], 1e-5)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("transposed", [False, True])
def test_libraries_agree(dtype: str, transposed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEXPGPU_BLAS", "library")
    with fresh_machine():
        if blas.provider().emitted:
            pytest.skip("no BLAS library is here")
        rng = np.random.default_rng(0)
        y = array(rng, (290, 130) if transposed else (130, 290), dtype)
        arrays = [array(rng, (2, 400, 130), dtype), y]
        check("matmul", arrays, 1e-5, threads=2, **{"transpose-y": transposed})
        bits = [
            run_node("matmul", arrays, t, **{"transpose-y": transposed})[0].results["0"].tobytes()
            for t in (1, 2)
        ]
        assert bits[0] == bits[1]


def test_a_provider_always_exists() -> None:
    assert blas.provider().name
    assert blas.EMITTED.emitted


def test_batch_axes_join_where_strides_allow() -> None:
    a = Matrix(0, 8, 1, (320, 80))
    b = Matrix(0, 4, 1, (128, 32))
    c = Matrix(0, 4, 1, (160, 40))
    product = Product("f32", (2, 4), 10, 4, 8, a, b, c)
    assert merged(product).batch == (8,)


def test_a_batch_that_continues_the_rows_is_rows() -> None:
    a = Matrix(0, 8, 1, (320, 80))
    b = Matrix(0, 4, 1, (0, 0))
    c = Matrix(0, 4, 1, (160, 40))
    found = merged(Product("f32", (2, 4), 10, 4, 8, a, b, c))
    assert (found.batch, found.m) == ((), 80)


class fresh_machine:  # noqa: N801
    """Settings from the environment are read once; read them again inside."""

    def __enter__(self) -> None:
        self.clear()

    def __exit__(self, *error: object) -> None:
        import os

        os.environ.pop("SEXPGPU_WIDTH", None)
        os.environ.pop("SEXPGPU_BLAS", None)
        self.clear()

    def clear(self) -> None:
        host.cache_clear()
        blas.provider.cache_clear()
        products.unit.cache_clear()
