"""Seconds a step, and the warning that the steps wait for their data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sexpgpu_core.runtime.throughput import Throughput


@pytest.mark.parametrize(("waited", "told"), [(0.5, True), (0.01, False)])
def test_steps_that_wait_for_data_are_told_with_the_share(waited: float, told: bool) -> None:
    seconds: Iterator[float] = iter(range(100))
    throughput = Throughput(lambda: float(next(seconds)))
    throughput.start(0)
    for _ in range(10):
        throughput.step(waited)
    said = throughput.since_log(10)
    assert said.told(32, {})["data_wait_s"] == pytest.approx(waited)
    warning = said.waiting()
    assert (warning is not None) is told
    if warning is not None:
        assert warning.code == "W-DATA-WAIT"
        assert "50% of the last 10 steps" in warning.message
