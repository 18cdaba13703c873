"""Generated kernels, run by their PTX: what the references give, at even and odd sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuda_programs import check, graph_of, integers, launched, normal, opened, planned

from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_cuda.scatters import SORTED

SHAPES = [(4, 256), (3, 37), (1, 1), (7, 1), (1, 4096)]
FLOATS = ("f32", "bf16", "f16", "f64")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_elementwise_work_is_one_rounding_a_node(shape: tuple[int, ...], dtype: str) -> None:
    def make(b: Builder, x: Value, y: Value) -> Value:
        return b("add", b("multiply", x, y), b("maximum", x, b("negate", y)))

    check(make, x=normal(shape, dtype), y=normal(shape, dtype, 1))


@pytest.mark.parametrize(
    "name",
    ["exp", "log", "tanh", "erf", "sigmoid", "sin", "cos", "sqrt", "rsqrt", "expm1", "log1p",
     "exp2", "log2", "floor", "ceiling", "round", "sign", "reciprocal", "is-nan", "tan"],
)  # fmt: skip
def test_a_function_agrees_with_its_reference(name: str) -> None:
    x = np.concatenate([normal((120,)) * 3, np.array([0, -0.0, np.inf, -np.inf, np.nan], "f4")])
    with np.errstate(all="ignore"):
        check(lambda b, x: b(name, x), x=np.abs(x) if name in ("log", "log2", "sqrt") else x)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "sqrt"])
def test_f64_is_computed_in_f64(name: str) -> None:
    x = np.abs(normal((133,), "f64")) * 5
    check(lambda b, x: b(name, x), 2e-15, x=x)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_power_has_the_signs_and_exact_cases_of_c(dtype: str) -> None:
    inf, nan = np.inf, np.nan
    bases = [2, 0.9, -2, -2, -2, 0, 0, 0, 1, inf, -inf, -1, nan, 2, 0.5, 9]
    powers = [10, 1234, 3, 4, 0.5, 0, 2, -1, inf, -2, 3, inf, 0, nan, 1, 0.5]
    x, y = (np.array(c, {"f32": "f4", "f64": "f8"}[dtype]) for c in (bases, powers))
    with np.errstate(all="ignore"):
        check(lambda b, x, y: b("power", x, y), 1e-6 if dtype == "f32" else 1e-12, x=x, y=y)


@pytest.mark.parametrize("dtype", ["i32", "u32", "i64", "u8", "i16"])
def test_integers_wrap_divide_and_shift(dtype: str) -> None:
    def make(b: Builder, x: Value, y: Value) -> dict[str, Value]:
        names = ("add", "multiply", "subtract", "minimum", "bit-xor", "rem", "mod", "less")
        return {n: b(n, x, y) for n in names}

    check(make, x=integers(120, (3, 21), dtype), y=integers(7, (3, 21), dtype, 1))


@pytest.mark.parametrize("shape", [*SHAPES, (5, 5000), (2, 40, 33)])
def test_a_softmax_is_a_row_in_a_group_of_threads(shape: tuple[int, ...]) -> None:
    check(lambda b, x: b("softmax", x, axis=len(shape) - 1), x=normal(shape) * 4)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_a_softmax_of_16_bits_sums_in_32(dtype: str) -> None:
    check(lambda b, x: b("softmax", x, axis=1), x=normal((6, 96), dtype))


@pytest.mark.parametrize("name", ["sum", "max", "min", "product", "any", "all"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_reductions_over_rows_columns_and_all(name: str, axes: tuple[int, ...]) -> None:
    x = normal((300, 44)) * 0.1 + 1
    given = x > 1 if name in ("any", "all") else x
    check(lambda b, x: b(f"reduce-{name}", x, axes=axes, keep=False), 2e-5, x=given)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keep", [False, True])
def test_logarithms_of_sums_are_taken_over_any_axes(axes: tuple[int, ...], keep: bool) -> None:
    for dtype in ("f32", "bf16"):
        check(lambda b, x: b("logsumexp", x, axes=axes, keep=keep), x=normal((3, 5, 9), dtype))


def test_a_long_fold_is_finished_by_further_kernels() -> None:
    check(lambda b, x: b("reduce-sum", x, axes=(0,), keep=False), x=normal((70_000, 3)))


def norms(b: Builder, x: Value, weight: Value) -> Value:
    bias = b("multiply", weight, b.constant(0.5, "f32"))
    normed = b("layer-norm", x, weight, bias, axes=(1,), eps=1e-5)
    return b("reduce-sum", b("multiply", normed, b("tanh", x)), axes=(0, 1), keep=False)


@pytest.mark.parametrize("shape", [(6, 64), (260, 9), (3, 1000)])
def test_a_norm_and_its_weights_gradient(shape: tuple[int, int]) -> None:
    from sexpgpu_core.autodiff import differentiate

    def make(b: Builder, x: Value, weight: Value) -> dict[str, Value]:
        loss = norms(b, x, weight)
        found = differentiate(b.graph, OPERATIONS, loss, {"x": x, "weight": weight})
        return {"loss": loss, **{k: v for k, v in found.items() if v is not None}}

    check(make, 2e-5, x=normal(shape), weight=normal(shape[1:], seed=1))


@pytest.mark.parametrize("classes", [10, 65, 5003])
def test_cross_entropy_and_its_gradient(classes: int) -> None:
    from sexpgpu_core.autodiff import differentiate

    def make(b: Builder, x: Value, labels: Value) -> dict[str, Value]:
        rows = b("cross-entropy", x, labels, axis=1)
        loss = b("reduce-sum", rows, axes=(0,), keep=False)
        found = differentiate(b.graph, OPERATIONS, loss, {"x": x})
        return {"loss": loss, "x": found["x"]}  # type: ignore[dict-item]

    check(make, 1e-5, x=normal((9, classes)), labels=integers(classes, (9,)))


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("width", [1, 12, 33])
@pytest.mark.parametrize("places", [SORTED - 1, SORTED, 40])
def test_rows_are_gathered_and_scattered_in_order(width: int, dtype: str, places: int) -> None:
    def make(b: Builder, x: Value, i: Value, y: Value) -> dict[str, Value]:
        return {
            "gather": b("gather", x, i, axis=0),
            "add": b("scatter-add", x, i, y, axis=0),
            "set": b("scatter-set", x, i, y, axis=0),
            "max": b("scatter-max", x, i, y, axis=0),
        }

    y = normal((places, width), dtype)
    check(make, x=normal((11, width), dtype), i=integers(11, (places,)), y=y)


@pytest.mark.parametrize("places", [20, 50, 2100])
def test_a_sorted_scatter_has_the_bits_of_a_walk(places: int) -> None:
    def make(b: Builder, x: Value, i: Value, y: Value) -> Value:
        return b("scatter-add", x, i, y, axis=1, **{"batch-axes": 1, "out": "drop"})

    x, y = normal((2, 9, 3)), normal((2, places, 3), seed=1)
    i = integers(13, (2, places)) - 2  # some are outside
    found = check(make, 1e-5, x=x, i=i, y=y)["r"]
    wanted = x.copy()
    for row in range(2):
        for p in range(places):
            if 0 <= i[row, p] < 9:
                wanted[row, i[row, p]] += y[row, p]
    assert found.tobytes() == wanted.tobytes()


def test_elements_are_taken_along_an_axis() -> None:
    def make(b: Builder, x: Value, i: Value) -> Value:
        return b("take-along", x, i, axis=1)

    check(make, x=normal((4, 9, 5)), i=integers(9, (4, 3, 5)))


def test_an_index_outside_is_reported_with_its_row_and_commits_nothing() -> None:
    inputs = {"x": normal((5, 3)), "i": np.array([1, 7, 0, 9], "i4")}
    graph = graph_of(lambda b, x, i: b("gather", x, i, axis=0), **inputs)
    outcome = launched(graph, inputs)
    assert outcome.error is not None
    assert outcome.error[1] == 1
    assert not outcome.committed


@pytest.mark.parametrize("places", [SORTED - 1, SORTED])
def test_a_scatter_reports_the_first_position_outside(places: int) -> None:
    index = np.arange(places, dtype="i4") % 5
    index[[7, 11]] = 9, -1
    inputs = {"x": normal((5, 3)), "i": index, "y": normal((places, 3))}
    outcome = launched(
        graph_of(lambda b, x, i, y: b("scatter-add", x, i, y, axis=0), **inputs), inputs
    )
    assert outcome.error is not None
    assert outcome.error[1] == 7


@pytest.mark.parametrize("shape", [(5, 8), (3, 9, 4), (6, 1), (2, 700)])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_of_the_greatest_wins_and_nan_is_beyond_all(name: str, shape: Any) -> None:
    x = np.round(normal(shape))
    x.reshape(-1)[-1] = np.nan
    check(lambda b, x: b(name, x, axis=1, keep=False), x=x)


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "i64"])
def test_extrema_of_narrow_integers_keep_their_sign(dtype: str) -> None:
    def make(b: Builder, x: Value) -> dict[str, Value]:
        names = ("argmin", "argmax", "reduce-min", "reduce-max")
        given = {"arg": {"axis": 0}, "red": {"axes": (0,)}}
        return {n: b(n, x, keep=False, **given[n[:3]]) for n in names}

    raw = np.random.default_rng(0).integers(0, 256, (7, 33), np.uint8)
    check(make, x=raw.view({"i8": "i1"}.get(dtype, "u1")).astype(numpy_dtype(dtype)))


def test_moves_that_are_no_views() -> None:
    def make(b: Builder, x: Value, y: Value) -> dict[str, Value]:
        return {
            "concat": b("concat", x, y, axis=1),
            "pad": b("pad", x, low=(1, 2), high=(0, 3), value=0.5),
            "flip": b("flip", x, axes=(0, 1)),
            "turned": b("permute", b("exp", x), axes=(1, 0)),
            "part": b("slice", x, starts=(1, 2), stops=(4, 9), steps=(2, 3)),
        }

    check(make, x=normal((5, 11)), y=normal((5, 4), seed=1))


@pytest.mark.parametrize("shape", [(), (7,), (30, 70), (5, 1, 33)], ids=str)
def test_random_numbers_are_the_references_to_the_bit(shape: tuple[int, ...]) -> None:
    b = Builder(OPERATIONS)
    step = b.input("step", "scalar", "i32", ())
    at: dict[str, Any] = {"site": "gpt/dropout#1", "domain": "train", "seed": 3, "shape": shape}
    b.graph.results = {
        "bits": b("random-bits", step, **at),
        "bernoulli": b("random-bernoulli", step, p=0.3, **at),
        "uniform": b("random-uniform", step, dtype="f32", **at),
        "normal": b("random-normal", step, dtype="f32", **at),
        "uniform bf16": b("random-uniform", step, dtype="bf16", **at),
    }
    found = opened(planned(b.graph)).program("step").launch({}, {"step": 5}).outcome().results
    for name, wanted in run(b.graph, {"step": np.int32(5)}, OPERATIONS).items():
        assert found[name].tobytes() == wanted.tobytes(), name
