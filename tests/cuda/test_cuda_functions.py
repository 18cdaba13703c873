"""Functions of f64 and those that f32 makes of them: some units in the last place, C's cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuda_programs import check, graph_of, launched, normal

from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.kernels import maths
from sexpgpu_cuda.transcendental import FUNCTIONS

LIMITS = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 2, -2, 1e-30, 1e30, 700, -700]
UNIT = ("asin", "acos", "atanh")
NAMES = sorted({*FUNCTIONS, "sigmoid"} - {"atan2", "pow", "fmod"})


def units(found: Any, wanted: Any) -> float:
    """The greatest distance, in units in the last place; values that are not finite agree."""
    usual = np.isfinite(wanted)
    np.testing.assert_array_equal(found[~usual], wanted[~usual])
    with np.errstate(all="ignore"):
        scale = np.maximum(np.abs(wanted), np.finfo(wanted.dtype).tiny)
        apart = np.abs(found.astype("f8") - wanted.astype("f8")) / scale
    return float(apart[usual].max()) / float(np.finfo(wanted.dtype).eps)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_right_to_a_few_units(name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 200) if name in UNIT else rng.standard_normal(200) * 3
    limits = [v for v in LIMITS if abs(v) < 1e6 or not np.isfinite(v)]
    edge = limits if name in ("sin", "cos", "tan") else LIMITS
    x = np.concatenate([x, rng.standard_normal(20) * 1e-3, edge])
    x = np.abs(x) if name in ("log", "log2", "acosh") else x
    given = {"x": x.astype({"f32": "f4", "f64": "f8"}[dtype])}
    graph = graph_of(lambda b, x: b(name, x), **given)
    found = launched(graph, given).results["r"]
    with np.errstate(all="ignore"):
        wanted = run(graph, given, OPERATIONS)["r"]
    assert units(found, wanted) <= 4
    zeros = wanted == 0
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", ["atan2", "rem", "mod"])
def test_a_function_of_two_has_the_signs_and_cases_of_c(name: str, dtype: str) -> None:
    inf, nan = np.inf, np.nan
    x = [3, -3, 1, 0, -0.0, 0, -0.0, 1, -1, inf, -inf, inf, 1, nan, 5.5, -7.25, 1e30, 1e30, 7.5]
    y = [2, 2, -0.0, 1, 1, -1, -1, inf, inf, inf, -inf, 1, 0, 1, -0.5, 2.5, 3.0, 1e-3, inf]
    kind = {"f32": "f4", "f64": "f8"}[dtype]
    xs = np.concatenate([np.array(x, kind), normal((64,)).astype(kind) * 100])
    ys = np.concatenate([np.array(y, kind), normal((64,), seed=3).astype(kind)])
    with np.errstate(all="ignore"):
        check(lambda b, x, y: b(name, x, y), 1e-6 if dtype == "f32" else 1e-15, x=xs, y=ys)


def test_all_that_the_emitter_asks_of_a_c_library_is_there() -> None:
    composites = {"cbrt", "lgamma"}  # the passes expand these
    asked = {"pow" if name == "power" else name for name in maths.F64} | {"fmod"}
    own = {"sigmoid", "sqrt", "rsqrt"}
    assert asked - own - composites == FUNCTIONS.keys()
