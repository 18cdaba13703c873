"""Emitted kernels against the plain interpreter of kernels; kernels as text."""

from __future__ import annotations

import re

import jit
import numpy as np
import pytest
from patterns import adam, causal, cross_entropy, gelu, gradients, layer_norm, softmax, total
from run_schedule import filled, library

from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.kernels.cost import kernel_cost
from sexpgpu_core.kernels.dump import dump_call
from sexpgpu_core.kernels.emit import emit
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.kernels.interpret import run_call
from sexpgpu_core.kernels.kernel import KernelCall
from sexpgpu_core.kernels.target import Target


def norm(b: Builder) -> None:
    x, w, c = (
        b.input(n, "batch", "f32", s) for n, s in (("x", (6, 50)), ("w", (50,)), ("c", (50,)))
    )
    y = total(b, b("square", layer_norm(b, x, w, c)))
    for name, g in zip("xwc", gradients(b, y, [x, w, c])):
        b.graph.results[name] = g


def attention(b: Builder) -> None:
    s = b.input("s", "batch", "f32", (2, 9, 9))
    b.graph.results["y"] = softmax(b, causal(b, s))


def entropy(b: Builder) -> None:
    x, t = b.input("x", "batch", "f32", (7, 11)), b.input("t", "batch", "i32", (7,))
    b.graph.results["y"] = total(b, cross_entropy(b, x, t))


def activation(b: Builder) -> None:
    b.graph.results["y"] = gelu(b, b.input("x", "batch", "f32", (5, 19)))


def update(b: Builder) -> None:
    p, g = b.input("p", "parameter", "f32", (3, 70)), b.input("g", "batch", "f32", (3, 70))
    adam(b, "p", p, g, b.input("lr", "scalar", "f32", ()))


def random(b: Builder) -> None:
    step = b.input("step", "scalar", "i32", ())
    given = {"seed": 3, "domain": "train", "site": "a", "shape": (5, 6, 9), "batch-axis": 1}
    for name, more in {"uniform": "f32", "normal": "f32", "bits": None, "bernoulli": None}.items():
        extra = {"dtype": more} if more else {"p": 0.3} if name == "bernoulli" else {}
        b.graph.results[name] = b(f"random-{name}", step, **given, **extra)


def small_floats(b: Builder) -> None:
    x = b.input("x", "batch", "bf16", (4, 37))
    y = b("cast", b("multiply", b("cast", x, dtype="f32"), b.constant(1.7, "f32")), dtype="f16")
    b.graph.results["y"] = b("add", x, b("tanh", x))
    b.graph.results["z"] = b("reduce-max", b("square", y), axes=(0,), keep=False)


FAST = {"fast", "contract", "reassoc", "nnan", "ninf", "nsz", "arcp", "afn"}
PATTERNS = {
    f.__name__: f for f in (norm, attention, entropy, activation, update, random, small_floats)
}


@pytest.mark.parametrize("name", sorted(PATTERNS))
@pytest.mark.parametrize("width", [4, 8, 16])
def test_emitted_kernels_give_what_the_interpreter_of_kernels_gives(name: str, width: int) -> None:
    b = Builder(OPERATIONS)
    PATTERNS[name](b)
    made = schedule(b.graph, OPERATIONS, library)
    rng = np.random.default_rng(0)
    given = {n.get("name"): abs(rng.standard_normal(n.types[0].shape)) for n in b.graph.inputs()}
    ours, theirs = filled(made, given), filled(made, given)
    for call in made.calls:
        assert isinstance(call, KernelCall)
        jit.run_call(call, [ours[s] for s in call.operands], width=width)
        run_call(call, theirs, OPERATIONS)
    for s, a, c in zip(made.storages, ours, theirs):
        close = np.allclose(a.astype(np.float64), c.astype(np.float64), rtol=1e-5, atol=1e-5)
        assert close or _one_step_of_bf16(a, c), (s, a, c)


def _one_step_of_bf16(a: np.ndarray, c: np.ndarray) -> bool:
    wide, other = a.astype(np.float64), c.astype(np.float64)
    return bool(np.allclose(wide, other, rtol=2**-7) and (wide != other).mean() < 0.05)


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_kernels_have_the_same_bits_at_every_width_and_no_fast_math(name: str) -> None:
    """Reductions are folded in one order whatever the vectors' width is (45.10)."""
    b = Builder(OPERATIONS)
    PATTERNS[name](b)
    made = schedule(b.graph, OPERATIONS, library)
    rng = np.random.default_rng(0)
    given = {n.get("name"): abs(rng.standard_normal(n.types[0].shape)) for n in b.graph.inputs()}
    found = []
    for width in (4, 8, 16):
        storages = filled(made, given)
        for call in made.calls:
            assert isinstance(call, KernelCall)
            jit.run_call(call, [storages[s] for s in call.operands], width=width)
            text = emit(call.kernel, "kernel", Target(width))
            assert not FAST & set(re.findall(r"[a-z]+", text))
        found.append([array.tobytes() for array in storages])
    assert found[0] == found[1] == found[2]


def test_random_kernels_draw_what_the_references_draw() -> None:
    from run_schedule import run

    from sexpgpu_core.ir.interpret import run as interpret

    b = Builder(OPERATIONS)
    random(b)
    got, _ = run(b.graph, {"step": 7})
    want = interpret(b.graph, {"step": np.array(7)}, OPERATIONS)
    for name in ("uniform", "bits", "bernoulli"):
        assert (got[name] == want[name]).all(), name
    assert np.allclose(got["normal"], want["normal"], atol=2e-6)


def test_a_kernel_is_printed_as_loops() -> None:
    b = Builder(OPERATIONS)
    attention(b)
    (call,) = schedule(b.graph, OPERATIONS, library).calls
    assert isinstance(call, KernelCall)
    text = dump_call(call, {0: "scores", 1: "y"})
    lines = text.splitlines()
    assert lines[0].startswith("rows 1 x 2 x 9 (f32 ")
    assert sum("for j < 9" in line for line in lines) == 3
    assert "max= " in text
    assert "sum= " in text


def test_cost_counts_a_broadcast_operand_once() -> None:
    b = Builder(OPERATIONS)
    x, w = b.input("x", "batch", "f32", (8, 64)), b.input("w", "batch", "f32", (64,))
    b.graph.results["y"] = b("multiply", x, w)
    (call,) = schedule(b.graph, OPERATIONS, library).calls
    assert isinstance(call, KernelCall)
    assert kernel_cost(call) == (512, 4 * (512 + 64), 4 * 512)


def test_values_of_many_dtypes_pass_through_memory_and_casts() -> None:
    from run_schedule import run

    from sexpgpu_core.ir.interpret import run as interpret

    dtypes = ("f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8")
    b = Builder(OPERATIONS)
    for source in dtypes:
        x = b.input(f"x-{source}", "batch", source, (3, 21))
        for to in (*dtypes, "bool"):
            b.graph.results[f"{source}-{to}"] = b("cast", b("add", x, x), dtype=to)
    values = np.arange(63).reshape(3, 21) % 60
    given = {f"x-{d}": values for d in dtypes}
    got, _ = run(b.graph, given)
    for name, want in interpret(b.graph, given, OPERATIONS).items():
        assert (got[name] == want).all(), name


def test_integers_divide_by_zero_without_a_trap_and_shift_as_the_references_do() -> None:
    from run_schedule import run

    from sexpgpu_core.ir.interpret import run as interpret

    b = Builder(OPERATIONS)
    x, y = (b.input(n, "batch", "i32", (2, 13)) for n in "xy")
    pairs: dict[str, Value] = {op: b(op, x, y) for op in ("mod", "rem", "shift", "maximum")}
    b.graph.results.update(pairs)
    rng = np.random.default_rng(0)
    given = {"x": rng.integers(-99, 99, (2, 13)), "y": rng.integers(-9, 9, (2, 13))}
    got, _ = run(b.graph, given)
    want = interpret(b.graph, given, OPERATIONS)
    for name in pairs:
        assert (got[name] == want[name]).all(), name
