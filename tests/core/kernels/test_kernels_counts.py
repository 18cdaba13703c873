"""How much is made: counts that a slower compiler would change, where times tell little."""

from __future__ import annotations

import math

import numpy as np
import pytest
from patterns import gpt, training_step
from run_schedule import library, run

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.ir import Builder, Graph
from sexpgpu_core.ir.interpret import run as interpret
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.update import apply_body, body_of
from sexpgpu_core.kernels.fuse import Fusion
from sexpgpu_core.kernels.kernel import KernelCall
from sexpgpu_core.kernels.prepare import Prepared
from sexpgpu_core.passes.rebuild import rebuild


def fused(graph: Graph) -> tuple[Fusion, list[KernelCall]]:
    fusion = Fusion(Prepared(graph, OPERATIONS, library))
    return fusion, [c for c in fusion.run().calls if isinstance(c, KernelCall)]


def step(layers: int) -> Graph:
    b = Builder(OPERATIONS)
    training_step(b, gpt(b, layers))
    return b.graph


def test_a_deeper_network_builds_no_more_kernels() -> None:
    made = [fused(step(layers)) for layers in (2, 3, 5)]
    calls = [len(c) for _, c in made]
    assert (calls[2] - calls[1]) == 2 * (calls[1] - calls[0])
    kernels = [{c.kernel.key() for c in found} for _, found in made]
    assert len(kernels[1] ^ kernels[2]) == 2  # the norm adds what all parameters give
    patterns = [len(fusion.patterns) for fusion, _ in made]
    assert patterns[1] == patterns[2]
    objects = {id(c.kernel) for c in made[2][1]}
    assert len(objects) <= patterns[2] + len(kernels[2])


def test_calls_of_one_structure_have_their_own_storages_and_nodes() -> None:
    _, calls = fused(step(3))
    commits = [c for c in calls if c.commit]
    written = [s for c in commits for s in c.writes()]
    assert len(written) == len(set(written))
    assert len({c.nodes for c in commits}) == len(commits)


def body(scalar_root: bool) -> Graph:
    """p - root(lr) g and the mean of m and g; the root in a scalar or an element at a time."""
    b = Builder(OPERATIONS)
    p, g, m = (b.input(n, "parameter", "f32", (6, 5)) for n in ("p", "g", "m"))
    lr = b.input("lr", "scalar", "f32", ())
    rate = b("power", lr, b.like(0.3, lr)) if scalar_root else b("sqrt", lr)
    mean = b("multiply", b("add", m, g), b.like(0.5, m))
    b.graph.results = {"p": b("subtract", p, b("multiply", rate, g)), "m": mean}
    return b.graph


def updates(scalar_root: bool, count: int = 4) -> Graph:
    b, inner = Builder(OPERATIONS), body(scalar_root)
    applied, lr = body_of(inner, OPERATIONS), b.input("lr", "scalar", "f32", ())
    for i in range(count):
        p = b.input(f"p{i}", "parameter", "f32", (6, 5))
        m = b.input(f"m{i}", "optimizer", "f32", (6, 5))
        g = b("tanh", b.input(f"x{i}", "batch", "f32", (6, 5)))
        found = apply_body(b, applied, {"p": p, "g": g, "m": m, "lr": lr})
        b.graph.results[f"next:parameter:p{i}"] = found["p"]
        b.graph.results[f"next:optimizer:m{i}"] = found["m"]
    return b.graph


def test_an_elementwise_update_is_one_node_and_one_call() -> None:
    graph = updates(scalar_root=False)
    prepared = Prepared(graph, OPERATIONS, library)
    assert [n.operation for n in prepared.nodes].count("update") == 4
    fusion, calls = fused(graph)
    assert len(calls) == 4
    assert len({id(c.kernel) for c in calls}) == len(fusion.patterns) == 1


def test_an_update_with_a_dear_scalar_is_taken_apart() -> None:
    prepared = Prepared(updates(scalar_root=True), OPERATIONS, library)
    assert not any(n.operation == "update" for n in prepared.nodes)


def test_updates_give_what_their_bodies_give() -> None:
    for graph in (updates(scalar_root=False), updates(scalar_root=True)):
        rng = np.random.default_rng(3)
        inputs = {
            n.get("name"): rng.random(n.types[0].shape).astype(np.float32) for n in graph.inputs()
        }
        got, _ = run(graph, inputs)
        want = interpret(graph, inputs, OPERATIONS)
        for name, array in want.items():
            assert np.allclose(got[name], array, rtol=1e-6, atol=1e-6), name


def test_a_walk_without_changes_infers_no_types() -> None:
    graph, asked = step(1), 0

    class Counted(dict[str, object]):
        def __getitem__(self, name: str) -> object:
            nonlocal asked
            asked += 1
            return super().__getitem__(name)

    again = rebuild(graph, Counted(OPERATIONS))  # type: ignore[arg-type]
    assert asked == 0
    assert len(again.nodes) == len(graph.live())


def test_constants_of_unlike_class_or_sign_stay_apart() -> None:
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (4,))
    for number in (0.0, -0.0, 3.0, 5.0):
        b.graph.results[f"r{number}"] = b("pad", x, low=(1,), high=(0,), value=number)
    got, _ = run(b.graph, {"x": np.arange(4, dtype=np.float32)})
    assert np.signbit(got["r-0.0"][0])
    assert not np.signbit(got["r0.0"][0])
    assert [got[f"r{n}"][0] for n in (3.0, 5.0)] == [3.0, 5.0]


def normed(operation: str, channels: int, **given: object) -> Graph:
    """A norm of pictures, its gradients from a cotangent."""
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (4, 20, 20, channels))
    g = b.input("g", "batch", "f32", x.shape)
    weights = [b.input(n, "parameter", "f32", (channels,)) for n in ("weight", "bias")]
    y = b(operation, x, *weights, eps=1e-5, **given)
    wanted = {v.node.get("name"): v for v in (x, *weights)}
    b.graph.results = {"y": y, **differentiate(b.graph, OPERATIONS, y, wanted, g)}
    return b.graph


def over_places(graph: Graph) -> list[KernelCall]:
    size = max(t.size for n in graph.nodes for t in n.types)
    return [c for c in fused(graph)[1] if math.prod(c.outer) * c.kernel.inner >= size]


def means_the_same(graph: Graph) -> None:
    draw = np.random.default_rng(8).normal
    given = {n.get("name"): draw(size=n.types[0].shape).astype("f4") for n in graph.inputs()}
    found, _ = run(graph, given)
    for name, want in interpret(graph, given, OPERATIONS).items():
        np.testing.assert_allclose(found[name], want, 1e-4, 1e-4, err_msg=name)


@pytest.mark.parametrize("groups", [1, 8, 16, 32])
def test_numbers_of_groups_lie_beside_their_channels_for_kernels_over_places(groups: int) -> None:
    graph = normed("group-norm", 32, groups=groups)
    wide = over_places(graph)
    assert len(wide) >= 4
    assert {c.kernel.inner % 32 for c in wide} == {0}
    means_the_same(graph)


@pytest.mark.parametrize("channels", [3, 8, 24])
def test_numbers_of_few_channels_lie_once_a_place_of_a_line(channels: int) -> None:
    graph = normed("layer-norm", channels, axes=(0, 1, 2))
    wide = over_places(graph)
    assert len(wide) >= 4
    assert {c.kernel.inner for c in wide} == {20 * channels}
    means_the_same(graph)


def test_a_root_of_each_channel_is_taken_once_and_not_in_each_row() -> None:
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (500, 128))
    v = b.input("v", "parameter", "f32", (128,))
    b.graph.results = {"y": b("multiply", x, b("rsqrt", b("add", v, b.like(1e-5, v))))}
    rows = [c for c in fused(b.graph)[1] if "rsqrt" in [e.op for e in c.kernel.expressions]]
    assert [math.prod(c.outer) * c.kernel.inner for c in rows] == [128]
    means_the_same(b.graph)
