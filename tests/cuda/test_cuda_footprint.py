"""What a run takes of a GPU is known before anything is allocated; a workspace stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuda_programs import planned
from test_cuda_session import LR, PERSISTENT, batch, started, step_graph

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.plan.make import layout_persistent
from sexpgpu_cuda.emulated_driver import EmulatedDriver
from sexpgpu_cuda.footprint import LIBRARIES, Footprint, footprint, refuse_memory
from sexpgpu_cuda.session import CudaSession
from sexpgpu_cuda.tuning import WORKSPACE
from sexpgpu_cuda.work import LibraryCall


class Wants(EmulatedDriver):
    """Its libraries want a workspace, and note where they are given it."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.sizes = list(sizes)
        self.given: list[int] = []

    def prepare(self, call: LibraryCall) -> int:
        return self.sizes.pop(0)

    def library(self, call: LibraryCall, workspace: int, stream: Any) -> None:
        self.given.append(workspace)
        super().library(call, workspace, stream)


def product(name: str) -> Any:
    """A program with one product, which is a library's."""
    b = Builder(OPERATIONS)
    x, y = (b.input(n, "batch", "f32", (4, 4)) for n in "xy")
    b.graph.results = {"r": b("matmul", x, y)}
    return planned(b.graph)._replace(name=name)


NOTHING = layout_persistent({})


def test_what_is_held_is_what_was_counted() -> None:
    unit = planned(step_graph(), PERSISTENT)
    held, counted = started().held, footprint([unit], PERSISTENT, False)
    assert held <= counted.total < held + 16_384
    assert (counted.workspace, counted.libraries) == (0, 0)
    assert counted.staging == 2 * counted.input > 0


def test_a_gpus_libraries_and_what_they_work_in_are_counted() -> None:
    counted = footprint([product("a"), product("b")], NOTHING, True)
    assert (counted.workspace, counted.libraries) == (WORKSPACE, LIBRARIES)
    b = Builder(OPERATIONS)
    b.graph.results = {"r": b("exp", b.input("x", "batch", "f32", (4,)))}
    assert footprint([planned(b.graph)], NOTHING, True).libraries == 0


@pytest.mark.parametrize(
    ("shape", "built"),
    [((64, 1024, 12, 64), 1_613_758_720), ((2, 256, 12, 64), 3_170_560)],
)
def test_attention_backward_is_counted_as_cudnn_builds_it(
    shape: tuple[int, ...], built: int
) -> None:
    """`built`: the workspace of the plan that cuDNN 9.19 makes for an H200."""
    b = Builder(OPERATIONS)
    q, k, v, g = (b.input(n, "batch", "bf16", shape) for n in "qkvg")
    out, kept = b.several("attention-forward", q, k, v, causal=True)
    back = b.several("attention-backward", g, q, k, v, out, kept, causal=True)
    b.graph.results = dict(zip(("dq", "dk", "dv"), back))
    workspace = footprint([planned(b.graph)], NOTHING, True).workspace
    assert workspace == max(WORKSPACE, built)


def test_what_does_not_fit_says_what_takes_most() -> None:
    needed = Footprint(1_000_000_000, 2_000_000_000, 0, 0, 0, 0, 0, 500_000_000)
    refuse_memory(needed, 0, "nobody says")
    refuse_memory(needed, 3_500_000_000, "there are")
    with pytest.raises(Problem) as raised:
        refuse_memory(needed, 3_400_000_000, "the GPU has free")
    told = raised.value.diagnostic
    assert told.code == "E-DEVICE-MEMORY"
    assert "3.5 GB (transient 2.0, persistent 1.0, libraries 0.5), the GPU has free 3.4" in (
        told.message
    )


def test_all_programs_work_in_one_room_as_large_as_any_wants() -> None:
    driver = Wants(100, 300)
    session = CudaSession([product("a"), product("b")], NOTHING, driver)
    one, another = driver.given
    assert one == another
    assert session.held >= 300
    x = {n: np.eye(4, dtype="f4") for n in "xy"}
    for name in "ab":
        results = session.program(name).launch(x, {}).outcome().results
        np.testing.assert_array_equal(results["r"], np.eye(4))


def test_a_program_that_comes_later_has_the_same_room_or_is_refused() -> None:
    driver = Wants(300, 200, 400)
    session = CudaSession([product("a")], NOTHING, driver)
    assert session.add(product("b"))
    assert not session.add(product("c"))
    assert len(driver.given) == 2
    assert len(set(driver.given)) == 1


def test_a_run_goes_on_after_a_program_was_refused() -> None:
    driver = Wants(8, 8, 8, 8, 8, 8)
    session = CudaSession([planned(step_graph(), PERSISTENT)], PERSISTENT, driver)
    driver.sizes = [16]
    assert not session.add(product("late"))
    flight = session.program("step").launch(batch(np.random.default_rng(0)), {LR: 0.1})
    assert flight.outcome().committed
