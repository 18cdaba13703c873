"""Convolution and pooling against the references: strides, padding, groups, 1 to 3 axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_programs import array, check, run_node

from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.convolution import output_shape
from sexpgpu_core.ir.ops.pooling import pooled_shape

RNG = np.random.default_rng(0)
CASES = [
    ((9, 8), (3, 3), 1, (1, 1), (1, 1), ((1, 1), (1, 1))),
    ((9, 8), (3, 2), 2, (2, 1), (1, 2), ((0, 1), (2, 0))),
    ((9, 8), (1, 1), 1, (1, 1), (1, 1), ((0, 0), (0, 0))),
    ((11,), (3,), 1, (2,), (1,), ((1, 1),)),
    ((5, 6, 7), (3, 3, 3), 1, (1, 2, 1), (1, 1, 1), ((1, 1), (0, 0), (1, 0))),
    ((12, 12), (3, 3), 4, (1, 1), (1, 1), ((1, 1), (1, 1))),
    ((14, 14), (5, 5), 1, (3, 3), (1, 1), ((2, 2), (2, 2))),
]


def attributes(case: Any) -> dict[str, Any]:
    _, _, groups, strides, dilations, padding = case
    return {"strides": strides, "dilations": dilations, "padding": padding, "groups": groups}


def arrays(case: Any, dtype: str = "f32") -> tuple[Any, Any, Any]:
    sizes, window, groups, *_ = case
    x = array(RNG, (3, *sizes, 4), dtype)
    w = array(RNG, (*window, 4 // groups, 8), dtype)
    shape = output_shape(OPERATIONS["conv"], x.shape, w.shape, attributes(case))
    return x, w, array(RNG, shape, dtype)


@pytest.mark.parametrize("case", CASES)
def test_convolution(case: Any) -> None:
    x, w, _ = arrays(case)
    check("conv", [x, w], 1e-5, threads=2, **attributes(case))


@pytest.mark.parametrize("case", CASES)
def test_its_input_gradient(case: Any) -> None:
    x, w, g = arrays(case)
    check("conv-input-gradient", [g, w], 1e-5, **attributes(case), **{"input-shape": x.shape})


@pytest.mark.parametrize("case", CASES)
def test_its_weight_gradient(case: Any) -> None:
    x, w, g = arrays(case)
    check("conv-weight-gradient", [x, g], 1e-5, **attributes(case), **{"kernel-shape": w.shape})


@pytest.mark.parametrize("dtype", ["f64", "bf16"])
def test_other_floats(dtype: str) -> None:
    x, w, g = arrays(CASES[1], dtype)
    tolerance = 1e-10 if dtype == "f64" else 2e-2
    at = attributes(CASES[1])
    check("conv", [x, w], tolerance, **at)
    check("conv-weight-gradient", [x, g], tolerance, **at, **{"kernel-shape": w.shape})


def test_the_bits_of_a_convolution_do_not_depend_on_threads() -> None:
    x, w = array(RNG, (8, 20, 20, 8)), array(RNG, (3, 3, 8, 16))
    at = {
        "strides": (1, 1),
        "dilations": (1, 1),
        "padding": ((1, 1), (1, 1)),
        "groups": 1,
    }
    g = array(RNG, (8, 20, 20, 16))
    for operation, operands, more in (
        ("conv", [x, w], {}),
        ("conv-weight-gradient", [x, g], {"kernel-shape": w.shape}),
        ("conv-input-gradient", [g, w], {"input-shape": x.shape}),
    ):
        found = [
            run_node(operation, operands, t, **at, **more)[0].results["0"].tobytes()
            for t in (1, 2, 3)
        ]
        assert found[0] == found[1] == found[2]


def test_a_wide_weight_gradient() -> None:
    x, g = array(RNG, (2, 9, 9, 64)), array(RNG, (2, 9, 9, 40))
    at = {"strides": (1, 1), "dilations": (1, 1), "padding": ((1, 1), (1, 1)), "groups": 1}
    check("conv-weight-gradient", [x, g], 1e-5, **at, **{"kernel-shape": (3, 3, 64, 40)})


POOLS = [
    ((9, 8), (2, 2), (2, 2), ((0, 0), (0, 0))),
    ((9, 8), (3, 3), (1, 1), ((1, 1), (1, 1))),
    ((11,), (3,), (2,), ((1, 1),)),
    ((5, 6, 7), (3, 2, 3), (1, 2, 1), ((1, 1), (0, 0), (1, 0))),
]


def pool(case: Any) -> tuple[Any, Any, dict[str, Any]]:
    sizes, window, strides, padding = case
    x = array(RNG, (3, *sizes, 5))
    at = {"sizes": window, "strides": strides, "padding": padding}
    return x, array(RNG, pooled_shape(OPERATIONS["max-pool"], x.shape, at)), at


@pytest.mark.parametrize("case", POOLS)
def test_max_pooling(case: Any) -> None:
    x, g, at = pool(case)
    check("max-pool", [x], threads=2, **at)
    check("max-pool-gradient", [x, g], 1e-5, threads=2, **at)


@pytest.mark.parametrize("case", POOLS)
@pytest.mark.parametrize("counted", [None, True])
def test_average_pooling(case: Any, counted: bool | None) -> None:
    x, g, at = pool(case)
    more = {"count-padding": counted} if counted else {}
    check("avg-pool", [x], **at, **more)
    check("avg-pool-gradient", [g], 1e-5, **at, **more, **{"input-shape": x.shape})


def test_max_pooling_keeps_nan_and_chooses_the_first_of_equals() -> None:
    x = np.zeros((1, 4, 4, 2), "f4")
    x[0, 1, 1, 0] = np.nan
    at = {"sizes": (2, 2), "strides": (2, 2), "padding": ((0, 0), (0, 0))}
    check("max-pool", [x], **at)
    check("max-pool-gradient", [np.zeros_like(x), np.ones((1, 2, 2, 2), "f4")], **at)


@pytest.mark.parametrize("wide", [0, 1])
def test_the_gradient_of_a_maximum_goes_to_the_first_nan_or_greatest(wide: int) -> None:
    x = array(RNG, (2, 5, 5, 19))
    x[:, 1, 2] = x[:, 2, 1] = np.nan
    x[0, 3:] = -np.inf
    x[1, 3:, :, ::2], x[1, 3:, :, 1::2] = -0.0, 0.0
    x[0, 0] = -np.inf  # as padding is, which is never chosen
    at: dict[str, Any] = {"sizes": (2, 2), "strides": (1, 1), "padding": ((wide, wide),) * 2}
    shape = (2, 4 + 2 * wide, 4 + 2 * wide, 19)
    check("max-pool-gradient", [x, np.arange(np.prod(shape), dtype="f4").reshape(shape)], **at)


def test_integers_are_pooled() -> None:
    x = array(RNG, (2, 6, 6, 3), "i32") - 25
    at = {"sizes": (2, 2), "strides": (2, 2), "padding": ((1, 1), (0, 0))}
    check("max-pool", [x], **at)


def test_large_integers_are_pooled() -> None:
    x = np.random.default_rng(0).integers(0, 2**64, (2, 9, 2), dtype=np.uint64)
    check("max-pool", [x], sizes=(2,), strides=(1,), padding=((1, 1),))
