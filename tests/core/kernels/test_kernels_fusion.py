"""Patterns of training come out as the kernels they should be, and give what the graph means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from patterns import (
    adam,
    causal,
    cross_entropy,
    gelu,
    gpt,
    gradients,
    layer_norm,
    softmax,
    total,
    training_step,
)
from run_schedule import library, run

from sexpgpu_core.ir import Builder, Graph
from sexpgpu_core.ir.interpret import run as interpret
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.kernels.kernel import KernelCall, Schedule
from sexpgpu_core.passes.optimize import optimize

Limits = dict[str, int]


def values(graph: Graph, limits: Limits, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    found = {}
    for node in graph.inputs():
        t, name = node.types[0], node.get("name")
        if t.dtype[0] in "iu":
            x = rng.integers(0, limits.get(name, 2), t.shape)
        elif t.dtype == "bool":
            x = rng.integers(0, 2, t.shape)
        else:
            x = rng.standard_normal(t.shape) * (0.2 if node.get("kind") == "parameter" else 1)
        found[name] = abs(x) if name.endswith("/v") else x
        found[name] = np.asarray(found[name]).astype(numpy_dtype(t.dtype))
    return found


def kernels(made: Schedule) -> list[KernelCall]:
    return [c for c in made.calls if isinstance(c, KernelCall)]


def check(
    graph: Graph, limits: Limits | None = None, bound: float = 3e-6, widths: bool = True
) -> Schedule:
    """Equal to the f64 interpreter, and the same bits for another width and other cuts of rows."""
    given = values(graph, limits or {})
    got, made = run(graph, given)
    want = interpret(graph, given, OPERATIONS, f64=True)
    for name, expected in want.items():
        scale = max(np.abs(expected.astype(np.float64)).max(initial=0), 1e-6)
        error = np.abs(got[name].astype(np.float64) - expected.astype(np.float64)).max(initial=0)
        assert error <= bound * scale, (name, error / scale)
    if widths:
        other, _ = run(graph, given, width=4, cut=True)
        for name, array in got.items():
            assert array.tobytes() == other[name].tobytes(), name
    return made


def graph_of(make: Callable[[Builder], None]) -> Graph:
    b = Builder(OPERATIONS)
    make(b)
    return b.graph


def inputs_of(b: Builder, **shapes: tuple[int, ...]) -> list[Any]:
    return [b.input(n, "batch", "f32", s) for n, s in shapes.items()]


@pytest.mark.parametrize("width", [1, 3, 7, 64, 65, 128, 300])
def test_layer_norm_is_one_kernel(width: int) -> None:
    def make(b: Builder) -> None:
        x, w, c = inputs_of(b, x=(3, 5, width), w=(width,), c=(width,))
        b.graph.results["y"] = layer_norm(b, x, w, c)

    assert len(check(graph_of(make), bound=2e-5).calls) == 1


def test_layer_norm_backward_is_one_kernel_and_one_that_finishes_its_folds() -> None:
    def make(b: Builder) -> None:
        x, w, c, d = inputs_of(b, x=(12, 40, 96), w=(96,), c=(96,), d=(12, 40, 96))
        y = total(b, b("multiply", layer_norm(b, x, w, c), d))
        for name, g in zip("xwc", gradients(b, y, [x, w, c])):
            b.graph.results[name] = g

    made = check(graph_of(make))
    assert [c.kernel.folded for c in kernels(made)] == [True, True]


@pytest.mark.parametrize("size", [1, 5, 33, 64, 200])
def test_softmax_with_scale_and_causal_mask_is_one_kernel_forward_and_backward(size: int) -> None:
    def make(b: Builder) -> None:
        s, d = inputs_of(b, s=(2, 3, size, size), d=(2, 3, size, size))
        y = softmax(b, causal(b, b("multiply", s, b.like(0.17, s))))
        b.graph.results["y"] = y
        (b.graph.results["g"],) = gradients(b, total(b, b("multiply", y, d)), [s])

    assert len(check(graph_of(make)).calls) <= 1


def test_cross_entropy_is_one_kernel_and_its_gradient_needs_no_stored_probabilities() -> None:
    def make(b: Builder) -> None:
        a, w = inputs_of(b, a=(4, 8, 32), w=(32, 65))
        labels = b.input("labels", "batch", "i32", (4, 8))
        logits = b("matmul", a, w)
        loss = total(b, cross_entropy(b, logits, labels))
        b.graph.results["loss"] = loss
        (b.graph.results["g"],) = gradients(b, loss, [w])

    made = check(graph_of(make), {"labels": 65})
    assert len(kernels(made)) == 1
    large = [s for s in made.storages if s.type.size >= 4 * 8 * 65]
    assert len(large) == 4  # logits and their gradient; w and its


def test_gelu_with_bias_forward_and_backward_and_the_fold_of_the_bias_are_one_kernel() -> None:
    def make(b: Builder) -> None:
        x, c, d = inputs_of(b, x=(300, 96), c=(96,), d=(300, 96))
        y = gelu(b, b("add", x, c))
        b.graph.results["y"] = y
        found = gradients(b, total(b, b("multiply", y, d)), [x, c])
        b.graph.results["gx"], b.graph.results["gc"] = found

    assert len(check(graph_of(make), bound=1e-5).calls) == 2


def test_adam_is_one_kernel_that_writes_where_the_values_stay() -> None:
    def make(b: Builder) -> None:
        p = b.input("p", "parameter", "f32", (37, 130))
        g = b.input("g", "batch", "f32", (37, 130))
        adam(b, "p", p, g, b.input("lr", "scalar", "f32", ()))

    made = check(graph_of(make), bound=1e-5)
    assert len(made.calls) == 1
    assert made.commit == 0
    assert not [s for s in made.storages if s.kind == "temp"]


def test_an_embedding_is_rows_of_a_table_by_index_with_its_neighbours_fused() -> None:
    def make(b: Builder) -> None:
        (w, p) = inputs_of(b, w=(29, 48), p=(6, 48))
        t = b.input("t", "batch", "i64", (3, 6))
        b.graph.results["y"] = b("add", b("gather", w, t, axis=0), p)

    assert len(check(graph_of(make), {"t": 29}).calls) == 1


def test_a_gather_on_the_last_axis_reads_lane_by_lane() -> None:
    def make(b: Builder) -> None:
        (x,) = inputs_of(b, x=(5, 70))
        t = b.input("t", "batch", "i32", (41,))
        u = b.input("u", "batch", "i32", (5, 41))
        b.graph.results["y"] = b("gather", x, t, axis=1)
        b.graph.results["z"] = b("take-along", x, u, axis=1)

    check(graph_of(make), {"t": 70, "u": 70})


def test_an_index_outside_is_reported_with_its_row() -> None:
    from jit import run_call
    from run_schedule import filled

    def make(b: Builder) -> None:
        (w,) = inputs_of(b, w=(29, 48))
        t = b.input("t", "batch", "i32", (4,))
        b.graph.results["y"] = b("gather", w, t, axis=0)

    made = schedule(graph_of(make), OPERATIONS, library)
    buffers = filled(made, {"w": np.zeros((29, 48)), "t": np.array([0, 3, 29, 5])})
    (call,) = kernels(made)
    error = run_call(call, [buffers[s] for s in call.operands])
    assert error[1] == 2
    assert call.kernel.expressions[error[0] - 1].op == "guard"


def test_parts_are_written_into_a_concat_and_pads_and_slices_are_views_or_copies() -> None:
    def make(b: Builder) -> None:
        x, y = inputs_of(b, x=(5, 7, 9), y=(5, 3, 9))
        r = b.graph.results
        r["concat"] = b("concat", b("exp", x), y, axis=1)
        r["pad"] = b("pad", x, low=(0, 1, 2), high=(3, 0, 1), value=2.0)
        r["spread"] = b("pad", y, low=(0, 1, 0), high=(0, 0, 0), interior=(0, 2, 1), value=0.0)
        r["flip"] = b("multiply", b("flip", x, axes=(1, 2)), x)
        r["turned"] = b("permute", b("exp", x), axes=(2, 1, 0))
        r["set"] = b("slice-set", x, y, starts=(0, 2, 0))
        r["slice"] = b("slice", x, starts=(0, 1, 1), stops=(5, 7, 8), steps=(2, 3, 2))

    check(graph_of(make))


def test_turned_operands_are_read_in_tiles_and_nothing_is_lost_at_their_edges() -> None:
    def make(b: Builder) -> None:
        (x, y, z) = inputs_of(b, x=(96, 80), y=(3, 40, 64), z=(2, 33, 48, 17))
        r = b.graph.results
        r["x"] = b("add", b("permute", x, axes=(1, 0)), b.like(1.0, x))
        r["y"] = b("permute", y, axes=(0, 2, 1))
        r["z"] = b("permute", z, axes=(0, 3, 2, 1))
        place = b("iota", dtype="f32", shape=(80, 96), axis=1)
        r["i"] = b("multiply", b("permute", x, axes=(1, 0)), place)

    check(graph_of(make))


def test_long_vectors_are_cut_into_rows_that_threads_can_share() -> None:
    def make(b: Builder) -> None:
        (x,) = inputs_of(b, x=(64_000,))
        b.graph.results["y"] = b("tanh", x)
        b.graph.results["norm"] = total(b, b("square", x))
        place = b("iota", dtype="f32", shape=(64_000,), axis=0)
        b.graph.results["z"] = b("multiply", x, place)

    made = check(graph_of(make), bound=1e-5)
    assert max(c.kernel.inner for c in kernels(made)) <= 1024


NARROW = [(256, 24), (300, 20), (4100, 3), (96, 7, 9), (3, 500, 6), (48, 10, 20), (2, 3, 1000)]


@pytest.mark.parametrize("shape", NARROW)
def test_long_narrow_tensors_are_cut_across_their_rows_and_every_element_is_written_once(
    shape: tuple[int, ...],
) -> None:
    """An update in place tells of what is written twice; 1024 is no multiple of these rows."""

    def make(b: Builder) -> None:
        p = b.input("p", "parameter", "f32", shape)
        g = b.input("g", "batch", "f32", shape)
        adam(b, "p", p, g, b.input("lr", "scalar", "f32", ()))
        b.graph.results["y"] = b("exp", g)
        b.graph.results["zeros"] = b("multiply", g, b.like(0.0, g))

    made = check(graph_of(make), bound=1e-5)
    for call in kernels(made):
        for place in call.places:
            walked = {
                (place[0] * i + place[1] * k + place[2] * m) for i, k, m in np.ndindex(call.outer)
            }
            assert len(walked) in (1, np.prod(call.outer))


def test_tensors_without_elements_make_no_calls() -> None:
    def make(b: Builder) -> None:
        (x,) = inputs_of(b, x=(0, 5))
        b.graph.results["y"] = b("exp", x)
        b.graph.results["sum"] = b("reduce-sum", b("exp", x), axes=(0,), keep=False)

    assert len(check(graph_of(make)).calls) == 1


def test_a_reduction_over_any_axes_is_right() -> None:
    def make(b: Builder) -> None:
        (x,) = inputs_of(b, x=(3, 4, 5, 6))
        sets = [(0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (0, 3), (0, 2, 3)]
        for axes in [*sets, (0, 1, 2), (1, 2, 3), (0, 1, 3), (0, 1, 2, 3)]:
            name = "".join(map(str, axes))
            b.graph.results[f"sum{name}"] = b("reduce-sum", x, axes=axes, keep=False)
            b.graph.results[f"max{name}"] = b("reduce-max", x, axes=axes, keep=True)

    check(graph_of(make))


def test_a_fold_over_many_rows_is_finished_in_several_calls() -> None:
    def make(b: Builder) -> None:
        (x,) = inputs_of(b, x=(70_000, 3))
        b.graph.results["sum"] = b("reduce-sum", x, axes=(0,), keep=False)
        b.graph.results["all"] = b("reduce-sum", x, axes=(0, 1), keep=False)

    made = check(graph_of(make), bound=1e-4)
    assert len([c for c in kernels(made) if c.kernel.folded]) >= 3


def test_a_value_of_a_commit_that_others_read_is_copied_last() -> None:
    def make(b: Builder) -> None:
        p = b.input("p", "state", "f32", (40,))
        q = b.input("q", "state", "f32", (40,))
        b.graph.results["next:state:p"] = b("add", q, b.like(1.0, q))
        b.graph.results["next:state:q"] = b("multiply", p, b.like(2.0, p))
        b.graph.results["sum"] = total(b, b("add", p, q))

    made = check(graph_of(make))
    assert all(c.commit for c in made.calls[made.commit :])
    assert not any(c.commit for c in made.calls[: made.commit])


def test_gpt_trains_as_its_graph_says_and_layers_add_no_new_kernels() -> None:
    def step(layers: int) -> Graph:
        b = Builder(OPERATIONS)
        training_step(b, gpt(b, layers))
        return optimize(b.graph, OPERATIONS, library)[0]

    made = check(step(2), {"tokens": 13, "labels": 13}, bound=2e-4, widths=False)
    keys = {c.kernel.key() for c in kernels(made)}
    more = schedule(step(3), OPERATIONS, library)
    new = {c.kernel.key() for c in kernels(more)} - keys
    assert len(new) <= 1  # the sum of the norm's parts
    assert len(keys) <= 32


def test_the_kernels_of_a_gpt_block_are_as_many_as_we_know() -> None:
    def count(layers: int) -> tuple[int, int, int]:
        b = Builder(OPERATIONS)
        training_step(b, gpt(b, layers))
        graph, _ = optimize(b.graph, OPERATIONS, library)
        made = schedule(graph, OPERATIONS, library)
        commits = sum(c.commit for c in made.calls)
        products = len(made.calls) - len(kernels(made))
        return len(made.calls) - commits - products, products, commits

    one, two = count(1), count(2)
    kernels_, products, commits = (b - a for a, b in zip(one, two))
    assert products == 18
    assert commits == 12
    assert kernels_ <= 27  # 14 of forward and backward with their folds, 13 of the norm


def test_a_label_outside_sets_the_error_word_of_the_fused_loss() -> None:
    b = Builder(OPERATIONS)
    logits = b.input("logits", "batch", "f32", (4, 10))
    labels = b.input("labels", "batch", "i32", (4,))
    losses = b("cross-entropy", logits, labels, axis=1)
    b.graph.results = {"loss": b("reduce-sum", losses, axes=(0,), keep=False)}
    guards = [
        e
        for call in schedule(b.graph, OPERATIONS, library).calls
        for e in call.kernel.expressions
        if e.op == "guard"
    ]
    assert len(guards) == 1


@pytest.mark.parametrize("indexed", ["gather", "take-along"])
def test_a_table_that_is_indexed_is_made_before_and_not_beside(indexed: str) -> None:
    """Both users of the table are of its space: what reads its own place could be fused with it."""
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (7,))
    table = b("tanh", b("add", x, b.constant(0.5, "f32")))
    place = b("iota", dtype="i32", shape=(7,), axis=0)
    index = b("mod", b("multiply", place, b.constant(2, "i32")), b.constant(7, "i32"))
    taken = b("sigmoid", b(indexed, table, index, axis=0))
    b.graph.results["r"] = b("multiply", table, b("add", taken, b.constant(0.25, "f32")))
    made = check(b.graph)
    writers = [
        n for n, c in enumerate(kernels(made)) for s in c.writes() if s not in made_results(made)
    ]
    assert writers == [0]


def made_results(made: Schedule) -> set[int]:
    return {view.storage for view in made.results.values()}
