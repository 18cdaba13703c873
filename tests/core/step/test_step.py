"""The step as a graph, run by the interpreter and held against its definition in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from sexpgpu_core.diagnostics import Problem, problem
from sexpgpu_core.ir import Builder, Type
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.verify import verify
from sexpgpu_core.staging.traced import (
    Group,
    Metric,
    Optimization,
    OptimizerState,
    Parameter,
    State,
    Traced,
    Update,
)
from sexpgpu_core.step import build_step

ROWS, WIDTH = 4, 3


def linear_regression(rows: int = ROWS, *, extra: bool = False) -> Traced:
    """loss = mean((x w - y)^2) over a batch of `rows`; `extra` is a parameter nothing reaches."""
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (rows, WIDTH))
    y = b.input("y", "batch", "f32", (rows, 1))
    w = b.input("w", "parameter", "f32", (WIDTH, 1))
    error = b("subtract", b("matmul", x, w), y)
    total = b("reduce-sum", b("square", error), axes=(0, 1), keep=False)
    loss = b("multiply", total, b.constant(1.0 / rows, "f32"))
    b.graph.results = {
        "loss": loss,
        "metric:loss:sum": total,
        "metric:loss:weight": b.constant(float(rows), "f32"),
        "proposal:seen": b("add", b.input("seen", "state", "i32", ()), b.constant(1, "i32")),
    }
    parameters = {"w": Parameter("w", Type("f32", (WIDTH, 1)), None, True, None, 1)}
    if extra:
        parameters["v"] = Parameter("v", Type("f32", ()), None, True, None, 1)
    states = {"seen": State("seen", Type("i32", ()), 0, "delta", None)}
    fields = {"x": Type("f32", (rows, WIDTH)), "y": Type("f32", (rows, 1))}
    return Traced(b.graph, "d", "train", rows, ("loss",), (), parameters, states, fields, {}, ())


def momentum(type: Type) -> Update:
    """m' = m / 2 + g; p' = p - lr m'."""
    b = Builder(OPERATIONS)
    param = b.input("param", "parameter", type.dtype, type.shape)
    grad = b.input("grad", "parameter", type.dtype, type.shape)
    m = b.input("m", "optimizer", type.dtype, type.shape)
    lr = b.input("(ctx :step)", "scalar", "f32", ())
    new = b("add", b("multiply", m, b.constant(0.5, "f32")), grad)
    b.graph.results = {"param": b("subtract", param, b("multiply", lr, new)), "m": new}
    return Update(b.graph, ("param", "grad", "m"), {}, (OptimizerState("m", type, 0.0),))


def optimization(traced: Traced, **options: float) -> Optimization:
    paths = tuple(traced.parameters)
    group = Group("sgd", paths, False, None, None, 1, 0, (), None, None)
    updates = {path: momentum(p.type) for path, p in traced.parameters.items()}
    given = {"clip_norm": None, "clip_value": None, "ema": None, **options}
    return Optimization(
        (group,), dict.fromkeys(paths, 0), updates, **given, ema_state=False, scalars={}
    )


def inputs(rows: int = ROWS) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    return {
        "x": draw(rows, WIDTH),
        "y": draw(rows, 1),
        "w": draw(WIDTH, 1),
        "w/m": draw(WIDTH, 1),
        "seen": np.int32(5),
        "(ctx :step)": np.float32(0.25),
    }


def gradient(given: dict[str, np.ndarray]) -> np.ndarray:
    x, y, w = (given[k].astype(np.float64) for k in "xyw")
    return 2 / len(x) * x.T @ (x @ w - y)


def test_a_step_is_gradient_then_update_then_commit() -> None:
    traced = linear_regression()
    graph = build_step(traced, optimization(traced), OPERATIONS)
    verify(graph, OPERATIONS)
    given = inputs()
    found = run(graph, given, OPERATIONS)
    g = gradient(given)
    m = given["w/m"] / 2 + g
    assert np.allclose(found["next:optimizer:w/m"], m, atol=1e-5)
    assert np.allclose(found["next:parameter:w"], given["w"] - 0.25 * m, atol=1e-5)
    assert np.isclose(found["norm"], np.linalg.norm(g), rtol=1e-5)
    assert found["verdict"]
    assert found["next:state:seen"] == 6


def test_the_norm_is_of_before_clipping_and_the_update_of_after() -> None:
    traced = linear_regression()
    graph = build_step(traced, optimization(traced, clip_norm=0.5), OPERATIONS)
    given = inputs()
    found = run(graph, given, OPERATIONS)
    g = gradient(given)
    norm = np.linalg.norm(g)
    assert norm > 0.5
    assert np.isclose(found["norm"], norm, rtol=1e-5)
    clipped = g * min(1, 0.5 / (norm + 1e-6))
    assert np.allclose(found["next:optimizer:w/m"], given["w/m"] / 2 + clipped, atol=1e-5)


def test_clip_value_bounds_every_element() -> None:
    traced = linear_regression()
    graph = build_step(traced, optimization(traced, clip_value=0.125), OPERATIONS)
    given = inputs()
    found = run(graph, given, OPERATIONS)
    clipped = np.clip(gradient(given), -0.125, 0.125)
    assert np.allclose(found["next:optimizer:w/m"], given["w/m"] / 2 + clipped, atol=1e-5)


def test_a_gradient_is_clipped_by_value_and_then_by_the_norm_of_before() -> None:
    traced = linear_regression()
    options = {"clip_value": 0.125, "clip_norm": 0.5}
    graph = build_step(traced, optimization(traced, **options), OPERATIONS)
    given = inputs()
    found, g = run(graph, given, OPERATIONS), gradient(given)
    norm = np.linalg.norm(g)
    assert np.isclose(found["norm"], norm, rtol=1e-5)
    clipped = np.clip(g, -0.125, 0.125) * min(1, 0.5 / (norm + 1e-6))
    other = np.clip(g * min(1, 0.5 / (norm + 1e-6)), -0.125, 0.125)
    assert not np.allclose(clipped, other, atol=1e-3)
    assert np.allclose(found["next:optimizer:w/m"], given["w/m"] / 2 + clipped, atol=1e-5)


def test_what_is_frozen_has_no_part_in_the_norm_and_stays() -> None:
    traced = linear_regression()
    b = Builder(OPERATIONS, traced.graph)
    v = b.input("v", "parameter", "f32", ())
    results = traced.graph.results
    results["loss"] = b("add", results["loss"], b("multiply", v, b.constant(100.0, "f32")))
    traced.parameters["v"] = Parameter("v", Type("f32", ()), None, True, None, 1)
    whole = optimization(traced)
    (group,) = whole.groups
    frozen = group._replace(name="frozen", frozen=True, paths=("v",))
    kept = whole._replace(
        groups=(group._replace(paths=("w",)), frozen),
        group_of={"w": 0, "v": 1},
        updates={"w": whole.updates["w"]},
    )
    given = {**inputs(), "v": np.float32(0), "v/m": np.float32(0)}
    norm = np.linalg.norm(gradient(given))
    found = run(build_step(traced, kept, OPERATIONS), given, OPERATIONS)
    assert np.isclose(found["norm"], norm, rtol=1e-5)
    assert "next:parameter:v" not in found
    both = run(build_step(traced, whole, OPERATIONS), given, OPERATIONS)
    assert np.isclose(both["norm"], np.hypot(norm, 100), rtol=1e-5)


@pytest.mark.parametrize("microbatches", [2, 4])
def test_microbatches_change_no_gradient_and_no_metric(microbatches: int) -> None:
    whole = linear_regression()
    one = run(build_step(whole, optimization(whole), OPERATIONS), inputs(), OPERATIONS)
    block = linear_regression(ROWS // microbatches)
    graph = build_step(block, optimization(block), OPERATIONS, microbatches=microbatches)
    verify(graph, OPERATIONS)
    several = run(graph, inputs(), OPERATIONS)
    for name in ("next:parameter:w", "loss", "metric:loss:sum", "metric:loss:weight", "norm"):
        assert np.allclose(one[name], several[name], atol=1e-6), name
    assert several["next:state:seen"] == 5 + microbatches


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_gives_a_false_verdict(bad: float) -> None:
    traced = linear_regression()
    graph = build_step(traced, optimization(traced), OPERATIONS)
    given = inputs()
    given["x"][0, 0] = bad
    with np.errstate(all="ignore"):
        assert not run(graph, given, OPERATIONS)["verdict"]


def test_without_guard_and_clip_there_is_no_norm_to_compute() -> None:
    traced = linear_regression()
    graph = build_step(traced, optimization(traced), OPERATIONS, guard=False)
    assert "norm" not in graph.results
    assert "verdict" not in graph.results


def test_ema_follows_the_new_parameter() -> None:
    traced = linear_regression()
    graph = build_step(traced, optimization(traced, ema=0.75), OPERATIONS)
    given = inputs() | {"w": np.ones((WIDTH, 1), np.float32)}
    # parameter and EMA are two inputs of one name and unlike kinds
    found = run(graph, given, OPERATIONS)
    new = found["next:parameter:w"]
    assert np.allclose(found["next:ema:w"], 0.75 * given["w"] + 0.25 * new, atol=1e-6)


def test_a_parameter_that_the_loss_does_not_reach_is_told() -> None:
    def refuse(paths: list[str]) -> None:
        raise problem("E-PARAM-UNREACHED", ", ".join(paths))

    traced = linear_regression(extra=True)
    with pytest.raises(Problem, match="E-PARAM-UNREACHED: v"):
        build_step(traced, optimization(traced), OPERATIONS, unreached=refuse)


@pytest.mark.parametrize("microbatches", [1, 2, 4])
def test_a_sum_over_the_batch_is_the_sum_of_its_blocks(microbatches: int) -> None:
    block = linear_regression(ROWS // microbatches)
    total = block.graph.results["metric:loss:sum"]
    block.graph.results["loss"] = total
    block.graph.results["metric:most:value"] = total
    most = Metric("most", "max", None, (), None)
    summed = block._replace(summed=frozenset(["loss"]), metrics=(most,))
    graph = build_step(summed, optimization(summed), OPERATIONS, microbatches=microbatches)
    found, given = run(graph, inputs(), OPERATIONS), inputs()
    errors = (given["x"] @ given["w"] - given["y"]) ** 2
    assert np.isclose(found["loss"], errors.sum(), rtol=1e-5)
    parts = errors.reshape(microbatches, -1).sum(1)
    assert np.isclose(found["metric:most:value"], parts.max(), rtol=1e-5)
    m = given["w/m"] / 2 + ROWS * gradient(given)
    assert np.allclose(found["next:optimizer:w/m"], m, atol=1e-4)
