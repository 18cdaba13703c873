"""Joins, padding, flips, copies and tables, also of views."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_programs import array, check, one_node, run_schedule

from sexpgpu_core.ir import Type
from sexpgpu_core.kernels.kernel import View

RNG = np.random.default_rng(0)


def test_concat() -> None:
    check("concat", [array(RNG, (2, 3, 4)), array(RNG, (2, 5, 4))], axis=1)


@pytest.mark.parametrize("dtype", ["f32", "i64", "bf16"])
def test_pad(dtype: str) -> None:
    x = array(RNG, (2, 3, 4), dtype)
    check("pad", [x], low=(1, 0, 2), high=(0, 1, 1), value=2)
    check("pad", [x], low=(0, 0, 0), high=(0, 1, 0), interior=(1, 0, 2), value=0)


def test_flip() -> None:
    check("flip", [array(RNG, (3, 4, 5))], axes=(0, 2))


def test_slice_set() -> None:
    check("slice-set", [array(RNG, (5, 5)), array(RNG, (2, 3))], starts=(1, 2))


def test_table() -> None:
    check("table", [], dtype="f32", shape=(2, 2), values=(1.0, 2.0, 3.0, -0.5))
    check("table", [], dtype="bool", shape=(3,), values=(True, False, True))


def test_operands_that_do_not_lie_dense_are_copied() -> None:
    x = array(RNG, (4, 6))
    schedule, _ = one_node("cumsum", [Type("f32", (6, 4))], axis=0)
    schedule.storages[0].type = Type("f32", (4, 6))
    schedule.calls[0].inputs = (View(0, "f32", (6, 4), (1, 6)),)
    found = run_schedule(schedule, [x]).results["0"]
    np.testing.assert_allclose(found, np.cumsum(x.T, axis=0), rtol=1e-6)
