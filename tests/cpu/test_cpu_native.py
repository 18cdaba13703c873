"""The subset of Python computes what Python computes."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from sexpgpu_cpu.cache import ObjectCache
from sexpgpu_cpu.loader import load
from sexpgpu_cpu.native.lower import lower
from sexpgpu_cpu.native.printer import NativeError
from sexpgpu_cpu.native.unit import native_unit

FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
HEAD = "def run(block: ptr[i64], begin: i64, end: i64) -> None:\n"


def compile_body(body: str, before: str = "", **constants: Any) -> Any:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    unit = native_unit("test", before + HEAD + lines, ("run",), constants)
    code = load([unit], ObjectCache())
    function = FUNCTION(code[unit.key, "run"])
    function.kept = code
    return function


def run(body: str, words: list[int], before: str = "", **constants: Any) -> list[int]:
    block = np.array(words, np.int64)
    compile_body(body, before, **constants)(block.ctypes.data, 0, len(words))
    return block.tolist()


def test_loops_and_branches() -> None:
    body = """
total = 0
for i in range(begin, end):
    if block[i] % 2 == 0:
        continue
    if block[i] > 50:
        break
    total += block[i]
block[0] = total
"""
    assert run(body, [1, 2, 3, 51, 5])[0] == 4


def test_a_loop_can_run_backwards() -> None:
    body = """
at = 0
for i in range(3, -1, -1):
    block[at] = i
    at = at + 1
"""
    assert run(body, [9, 9, 9, 9, 9]) == [3, 2, 1, 0, 9]


def test_while_and_functions() -> None:
    before = (
        "def collatz(n: i64) -> i64:\n    steps = 0\n    while n != 1:\n"
        "        n = n // 2 if n % 2 == 0 else 3 * n + 1\n        steps += 1\n    return steps\n"
    )
    assert run("block[0] = collatz(block[0])", [27], before) == [111]


def test_conditions_stop_early() -> None:
    # Reading before the block's begin would fault in the second test.
    body = """
i = 0 - 1
if i >= 0 and block[i * 1000000000] > 0:
    block[0] = 1
if i < 0 or block[i * 1000000000] > 0:
    block[1] = 1
if not i >= 0:
    block[2] = 1
"""
    assert run(body, [0, 0, 0]) == [0, 1, 1]


def test_bits_and_bounds() -> None:
    body = """
block[0] = (5 & 3) | (8 ^ 1)
block[1] = min(block[2], 7) + max(block[2], 7)
block[2] = (block[2] << 4) >> 2
block[3] = -block[2] + ~0
"""
    assert run(body, [0, 0, 3, 0]) == [9, 10, 12, -13]


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16"])
def test_floats(dtype: str) -> None:
    numpy = np.dtype({"f64": "f8", "f32": "f4", "f16": "f2"}[dtype])
    x = np.array([1.5, -2.25, 3.0, 0.1], numpy)
    y = np.zeros(4, numpy)
    body = """
x = ptr[T](block[0])
y = ptr[T](block[1])
for i in range(4):
    y[i] = sqrt(x[i] * x[i]) / 2.0 - 1.0
    y[i] += 0.25
"""
    block = np.array([x.ctypes.data, y.ctypes.data], np.int64)
    compile_body(body, T=dtype)(block.ctypes.data, 0, 0)
    wide = x.astype("f8" if dtype == "f64" else "f4")
    step = (np.sqrt(wide * wide) / 2 - 1).astype(numpy).astype(wide.dtype)
    np.testing.assert_array_equal(y, (step + wide.dtype.type(0.25)).astype(numpy))


def test_bf16_is_rounded_to_nearest_even() -> None:
    import ml_dtypes

    rng = np.random.default_rng(0)
    x = rng.integers(0, 2**32, 5000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    y = np.zeros(5000, ml_dtypes.bfloat16)
    body = """
x = ptr[f32](block[0])
y = ptr[bf16](block[1])
for i in range(5000):
    y[i] = x[i]
"""
    block = np.array([x.ctypes.data, y.ctypes.data], np.int64)
    compile_body(body)(block.ctypes.data, 0, 0)
    with np.errstate(all="ignore"):
        wanted = x.astype(ml_dtypes.bfloat16)
    finite = ~np.isnan(x)
    np.testing.assert_array_equal(y.view("u2")[finite], wanted.view("u2")[finite])
    assert np.isnan(y[~finite].astype("f4")).all()


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "u16", "i32", "u32", "bool"])
def test_small_integers_are_widened_and_cut(dtype: str) -> None:
    numpy = np.dtype(
        {"bool": "?"}.get(
            dtype, f"{dtype[0]}{int(dtype[1:] or 8) // 8}" if dtype != "bool" else "?"
        )
    )
    x = np.array([0, 1, 1, 0], numpy) if dtype == "bool" else np.array([0, 1, 127, 5], numpy)
    if dtype[0] == "i":
        x[3] = -5
    y = np.zeros(4, np.int64)
    body = """
x = ptr[T](block[0])
y = ptr[i64](block[1])
for i in range(4):
    y[i] = x[i]
"""
    block = np.array([x.ctypes.data, y.ctypes.data], np.int64)
    compile_body(body, T=dtype)(block.ctypes.data, 0, 0)
    np.testing.assert_array_equal(y, x.astype(np.int64))


def test_memory_is_copied_and_cleared() -> None:
    body = """
copy(shift(block, 2), block, 16)
zero(block, 8)
"""
    assert run(body, [1, 2, 3, 4]) == [0, 2, 1, 2]


def test_atomics() -> None:
    body = """
block[1] = fetch_add(block, 0, 5)
if compare_swap(block, 0, block[2], block[1]):
    block[2] = 100
release(block, 3, acquire(block, 0) + 1)
"""
    assert run(body, [7, 0, 12, 0]) == [7, 7, 100, 8]


def test_a_constant_condition_leaves_the_other_branch_out() -> None:
    body = """
if FAST:
    block[0] = 1
else:
    block[0] = unknown(3)
"""
    assert run(body, [0], FAST=True) == [1]


@pytest.mark.parametrize("side", [-1, 0, 1])
def test_constants_are_compared_in_every_way(side: int) -> None:
    body = """
if SIDE < 0:
    block[0] = 1
if SIDE <= 0:
    block[1] = 1
if SIDE > 0:
    block[2] = 1
if SIDE >= 0:
    block[3] = 1
"""
    wanted = [int(t) for t in (side < 0, side <= 0, side > 0, side >= 0)]
    assert run(body, [0, 0, 0, 0], SIDE=side) == wanted


@pytest.mark.parametrize(
    "body",
    ["x = [1]", "x = y", "block[0] = nobody(1)", "x = 1.0 + begin", "for i in block: pass"],
)
def test_what_is_not_in_the_subset_is_refused(body: str) -> None:
    with pytest.raises(NativeError):
        lower(HEAD + "    " + body + "\n", ("run",), {})


def test_text_is_a_function_of_source_and_constants() -> None:
    source = HEAD + "    block[0] = N\n"
    assert lower(source, ("run",), {"N": 1}) == lower(source, ("run",), {"N": 1})
    one, two = (native_unit("a", source, ("run",), {"N": n}).key for n in (1, 2))
    assert one != two


def test_numba_computes_the_same() -> None:
    """The second implementation: the subset is also numba's."""
    numba = pytest.importorskip("numba")
    from sexpgpu_cpu.calls import source

    text = source.SORT[source.SORT.index("def merge") : source.SORT.index("def search")]
    text = text.replace(": ptr[C]", "").replace(": ptr[i64]", "").replace(": i64", "")
    names: dict[str, Any] = {"before": numba.njit(lambda a, b: a < b)}
    exec(text, names)
    merge = numba.njit(names["merge"])
    keys = np.array([3.0, 5.0, 1.0, 4.0])
    there = np.zeros(4, np.int64)
    merge(keys, np.array([0, 1, 2, 3]), there, 0, 2, 4)
    assert there.tolist() == [2, 0, 3, 1]
