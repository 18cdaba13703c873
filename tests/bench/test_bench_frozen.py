"""What checkpoints of a LoRA take with their frozen values shared: the bench at a small size."""

from __future__ import annotations

from bench.frozen import measured


def test_ten_checkpoints_hold_frozen_values_once_or_ten_times(tmp_path):
    shared, copied = measured(tmp_path, 2000, 1)
    assert (shared["checkpoints"], copied["checkpoints"]) == (10, 10)
    frozen = (64 + 1 + 10) * 2000 * 4e-6
    assert abs(copied["MB"] - shared["MB"] - 9 * frozen) < 0.05
    assert shared["later_s"] > 0
    assert not list((tmp_path / "runs").iterdir())
