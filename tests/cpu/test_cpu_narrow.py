"""Convolutions without a gathered matrix against the references, and their error against f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_programs import array, check, run_node

from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.convolution import output_shape
from sexpgpu_cpu.calls.geometry import forward
from sexpgpu_cpu.host import host
from sexpgpu_cpu.narrow import Narrow, takes

RNG = np.random.default_rng(1)
CASES: list[Any] = [  # sizes, window, channels, given, strides, dilations, padding
    ((9, 8), (3, 3), 1, 16, (1, 1), (1, 1), ((1, 1), (1, 1))),
    ((28, 28), (5, 5), 1, 33, (1, 1), (1, 1), ((2, 2), (2, 2))),
    ((9, 11), (3, 3), 3, 20, (2, 3), (1, 2), ((1, 2), (0, 3))),
    ((7, 5), (3, 2), 2, 1, (1, 2), (2, 1), ((0, 0), (1, 0))),
    ((13,), (7,), 1, 5, (2,), (1,), ((6, 0),)),
    ((3, 3), (2, 2), 1, 8, (1, 1), (1, 1), ((4, 4), (0, 4))),
    ((1, 1), (1, 1), 3, 7, (1, 1), (1, 1), ((0, 0), (0, 0))),
    ((9, 14), (3, 3), 13, 16, (1, 1), (1, 1), ((1, 1), (1, 1))),
    ((8, 13), (3, 2), 24, 41, (2, 1), (1, 2), ((0, 1), (2, 0))),
    ((5, 4), (1, 1), 31, 70, (1, 2), (1, 1), ((0, 0), (0, 0))),
    ((27,), (5,), 7, 12, (1,), (2,), ((8, 0),)),
    ((9, 14), (3, 3), 16, 1, (1, 1), (1, 1), ((1, 1), (1, 1))),
    ((9, 7), (3, 2), 37, 3, (2, 3), (2, 1), ((1, 2), (0, 3))),
]
GROUPED: list[Any] = [  # the same, and groups
    ((9, 14), (3, 3), 64, 64, (1, 1), (1, 1), ((1, 1), (1, 1)), 64),
    ((9, 7), (7, 7), 37, 37, (1, 1), (1, 1), ((3, 3), (3, 3)), 37),
    ((8, 13), (3, 3), 33, 33, (2, 2), (1, 1), ((0, 1), (1, 1)), 33),
    ((11, 6), (2, 3), 10, 10, (3, 2), (1, 2), ((0, 2), (4, 1)), 10),
    ((9, 14), (3, 3), 64, 64, (1, 1), (1, 1), ((1, 1), (1, 1)), 16),
    ((6, 5), (3, 3), 21, 42, (2, 1), (1, 1), ((1, 1), (1, 1)), 7),
    ((6, 5), (3, 1), 20, 5, (1, 1), (2, 1), ((2, 2), (0, 0)), 5),
    ((6, 5), (1, 1), 8, 24, (2, 2), (1, 1), ((0, 0), (0, 0)), 8),
    ((7, 7), (3, 3), 36, 60, (2, 2), (1, 1), ((1, 1), (1, 1)), 2),
    ((7, 7), (3, 3), 64, 34, (1, 2), (1, 1), ((1, 1), (0, 1)), 2),
    ((27,), (4,), 19, 19, (1,), (1,), ((3, 0),), 19),
    ((4, 5, 7), (3, 3, 3), 40, 40, (1, 1, 1), (1, 1, 1), ((1, 1), (1, 1), (1, 1)), 40),
    ((5, 6, 7), (3, 2, 3), 8, 16, (2, 3, 1), (1, 1, 2), ((1, 1), (0, 1), (1, 2)), 4),
    ((4, 5, 6), (2, 3, 1), 32, 48, (1, 2, 3), (2, 1, 1), ((0, 2), (4, 1), (0, 0)), 2),
    ((3, 4, 5), (2, 3, 3), 20, 5, (3, 1, 2), (1, 1, 1), ((0, 0), (1, 1), (2, 0)), 5),
]
ALL = [*CASES, *GROUPED]


def given(case: Any, dtype: str, rows: int = 5) -> tuple[Any, Any, Any, dict[str, Any]]:
    sizes, window, channels, out, strides, dilations, padding, groups = (*case, 1)[:8]
    at = {"strides": strides, "dilations": dilations, "padding": padding, "groups": groups}
    x = array(RNG, (rows, *sizes, channels), dtype)
    w = array(RNG, (*window, channels // groups, out), dtype)
    g = array(RNG, output_shape(OPERATIONS["conv"], x.shape, w.shape, at), dtype)
    return x, w, g, at


@pytest.mark.parametrize(("dtype", "tolerance"), [("f32", 1e-5), ("f64", 1e-12), ("bf16", 2e-2)])
@pytest.mark.parametrize("case", ALL)
def test_a_convolution_of_few_taps(case: Any, dtype: str, tolerance: float) -> None:
    x, w, g, at = given(case, dtype)
    check("conv", [x, w], tolerance, **at)
    check("conv-weight-gradient", [x, g], tolerance, **at, **{"kernel-shape": w.shape})
    check("conv-input-gradient", [g, w], tolerance, **at, **{"input-shape": x.shape})


def test_groups_of_three_axes_need_no_matrix() -> None:
    """Products of a gathered matrix would be of one column each."""
    for _, window, channels, out, *_, groups in (case for case in GROUPED if len(case[0]) == 3):
        ones, pads = (1, 1, 1), [(k // 2, k // 2) for k in window]
        node = {"strides": ones, "dilations": ones, "padding": pads}
        made = Narrow("f32", 16, forward((6, 6, 6), (6, 6, 6), window, node), channels, out, groups)
        assert takes(made, 1) == host().fma


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_any_number_of_pictures(rows: int) -> None:
    x, w, g, at = given(CASES[0], "f32", rows)
    check("conv", [x, w], 1e-5, **at)
    check("conv-weight-gradient", [x, g], 1e-5, **at, **{"kernel-shape": w.shape})


def test_the_gradient_of_what_gives_one_channel() -> None:
    case = ((9, 8), (3, 3), 16, 1, (1, 1), (1, 1), ((1, 1), (1, 1)))
    _, w, g, at = given(case, "f32")
    check("conv-input-gradient", [g, w], 1e-5, **at, **{"input-shape": (5, 9, 8, 16)})


@pytest.mark.parametrize(
    "case", [CASES[1], CASES[7], CASES[-1], *GROUPED[2:6], GROUPED[8], GROUPED[12]]
)
def test_bits_do_not_depend_on_threads(case: Any) -> None:
    x, w, g, at = given(case, "f32", 23)
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


@pytest.mark.parametrize("case", ALL)
def test_errors_against_f64_are_within_those_of_a_sum(case: Any) -> None:
    x, w, g, at = given(case, "f32", 9)
    pixels = int(np.prod(g.shape[:-1]))
    for operation, operands, terms, more in (
        ("conv", (x, w), w.size // w.shape[-1], {}),
        ("conv-weight-gradient", (x, g), pixels, {"kernel-shape": w.shape}),
    ):
        wide = [a.astype("f8") for a in operands]
        exact = run_node(operation, wide, **at, **more)[0].results["0"]
        bound = run_node(operation, [np.abs(a) for a in wide], **at, **more)[0].results["0"]
        found = run_node(operation, list(operands), **at, **more)[0].results["0"]
        assert (np.abs(found - exact) <= terms * 2.0**-24 * bound).all()
