"""What a plan's calls do: FLOPs of products, bytes, and loops as often as they run."""

from __future__ import annotations

from sexpgpu_core.ir import Builder
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.plan.make import layout_persistent, make_plan
from sexpgpu_core.plan.work import Work, graph_work, work_of


def test_products_and_kernels_count_apart_and_those_alike_together() -> None:
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (8, 64))
    w = b.input("w", "batch", "f32", (64, 64))
    y = b("matmul", b("matmul", x, w), w)
    b.graph.results["y"] = b("add", y, x)
    cut = schedule(b.graph, OPERATIONS, lambda name: name == "matmul")
    found = work_of(make_plan("test", cut, layout_persistent({})), OPERATIONS)
    (products,) = [w for w in found if w.product]
    (kernel,) = [w for w in found if not w.product]
    assert products == Work(2 * 8 * 64 * 64, 0, 4 * (8 * 64 * 2 + 64 * 64), 2)
    assert kernel == Work(0, 8 * 64, 4 * 3 * 8 * 64, 1)


def test_a_graph_is_taken_node_by_node() -> None:
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (4, 4))
    b.graph.results["y"] = b("exp", b("matmul", x, x))
    assert sum(w.calls for w in graph_work(b.graph, OPERATIONS)) == 2


def test_convolutions_count_apart_from_products() -> None:
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (2, 8, 8, 4))
    w = b.input("w", "batch", "f32", (3, 3, 4, 4))
    how = {"strides": (1, 1), "dilations": (1, 1), "padding": ((1, 1), (1, 1)), "groups": 1}
    b.graph.results["y"] = b("conv", x, w, **how)
    (found,) = graph_work(b.graph, OPERATIONS)
    assert (found.product, found.operations) == (0, 0)
    assert found.convolution == found.flops == 2 * 2 * 8 * 8 * 4 * 4 * 9
