"""A sample of the graphs of `many.py`; all of them: nox -s graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from both_devices import STEP, Share, disagreements, outside, poisoned
from error_bounds import Ball, error_bounds
from many import law

from sexpgpu_core.ir import Builder
from sexpgpu_core.ir.ops import OPERATIONS


@pytest.fixture(scope="module", autouse=True)
def object_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEXPGPU_CACHE", str(tmp_path_factory.mktemp("objects")))
        yield


def test_on_cpu_a_graph_gives_what_it_gives_on_reference() -> None:
    law(60, 0)()


def test_the_text_of_a_graph_reads_back() -> None:
    law(150, 1, steps=False)()


def balls(make: Any, **inputs: Any) -> Ball:
    b = Builder(OPERATIONS)
    given = {k: b.input(k, "batch", "f32", np.shape(v)) for k, v in inputs.items()}
    b.graph.results["r"] = make(b, **given)
    return error_bounds(b.graph, {k: np.asarray(v, "f4") for k, v in inputs.items()})["r"]


def test_a_sum_of_many_may_be_off_by_a_rounding_a_term() -> None:
    x = np.full(1000, 0.1, "f4")
    ball = balls(lambda b, x: b("reduce-sum", x, axes=(0,), keep=False), x=x)
    assert 1e-6 < ball.radius < 1e-2
    assert abs(float(x.sum()) - ball.center) <= ball.radius


def test_what_cancels_is_not_known_to_its_last_digit() -> None:
    def make(b: Any, x: Any) -> Any:
        near = b("exp", b("log", x))
        return b("subtract", near, x)

    ball = balls(make, x=np.array([3.0, 5.0]))
    assert (ball.radius > 1e-7).all()
    assert (np.abs(ball.center) < ball.radius).all()


def test_a_step_between_two_values_is_unknown_and_one_beside_it_is_known() -> None:
    def make(b: Any, x: Any) -> Any:
        return b("floor", b("exp", b("log", x)))

    assert np.isfinite(balls(make, x=np.array([3.5])).radius).all()
    assert balls(make, x=np.array([3.0])).radius[0] >= 1.0


def test_an_index_that_rounding_decides_makes_what_it_takes_unknown() -> None:
    def make(b: Any, x: Any, y: Any) -> Any:
        return b("gather", y, b("argmax", b("tanh", x), axis=0, keep=False), axis=0)

    y = np.array([1.0, 2.0, 3.0])
    assert balls(make, x=np.array([0.1, 0.9, 0.2]), y=y).radius == 0
    assert np.isinf(
        balls(make, x=np.array([0.9, np.nextafter(np.float32(0.9), 1), 0.2]), y=y).radius
    )


def test_a_value_outside_its_ball_is_told_with_its_place() -> None:
    share = Share()
    ball = Ball(np.array([1.0, 2.0]), np.array([0.1, 0.1]))
    assert outside(np.array([1.05, 2.0], "f4"), ball, share) == ""
    assert "at (1,)" in outside(np.array([1.0, 2.2], "f4"), ball, share)
    assert "nan" in outside(np.array([np.nan, 2.0], "f4"), ball, share)
    assert (share.known, share.all) == (6, 6)


def test_a_buffer_read_after_its_life_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a plan that ends a life one call early, and the poison of the checked build."""
    from sexpgpu_cpu import draft

    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (8, 8))
    y = b("matmul", x, x)
    for _ in range(3):
        y = b("matmul", y, y)
    b.graph.results["r"] = b("matmul", y, x)
    assert disagreements(b.graph, "f32", 0, Share()) == []
    true_ends = draft.ends

    def early(plan: Any) -> Any:
        return {call - 1: buffers for call, buffers in true_ends(plan).items()}

    monkeypatch.setattr(draft, "ends", early)
    assert any("nan" in wrong for wrong in disagreements(b.graph, "f32", 0, Share()))


def test_the_checked_build_is_left_as_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setenv("SEXPGPU_CHECK", "0")
    with poisoned():
        assert os.environ["SEXPGPU_CHECK"] == "1"
    assert os.environ["SEXPGPU_CHECK"] == "0"
    assert STEP > 0
