"""Numbers of a run as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sexpgpu_cli import curve, units
from sexpgpu_cli.lines import describe


def test_a_curve_falls_from_upper_left_to_lower_right() -> None:
    text = curve.plot({"train/loss": [(0, 4.0), (50, 3.0), (100, 2.0)]}, width=21, height=5)
    assert text.splitlines() == [
        "       4 |·",
        "         |",
        "       3 |          ·",
        "         |",
        "       2 |                    ·",
        "         +---------------------",
        "          0            step 100",
        "          · train/loss",
    ]


def test_values_that_are_not_finite_are_left_out() -> None:
    assert "no finite value" in curve.plot({"loss": [(1, float("nan"))]})
    assert curve.sparkline([1.0, float("inf"), 2.0]) == "▁█"
    assert curve.sparkline([]) == ""
    assert len(curve.sparkline([float(i) for i in range(500)])) == 24


def test_a_resumed_step_counts_once_and_losses_come_training_first(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    events = [
        {"event": "eval", "step": 10, "metrics": {"val/loss": 3.0}},
        {"event": "step", "step": 10, "metrics": {"train/loss": 4.0, "train/norm": 1.0}},
        {"event": "step", "step": 10, "metrics": {"train/loss": "nan"}},
    ]
    file.write_text("\n".join(map(json.dumps, events)))
    found = curve.losses(curve.read_series(file))
    assert list(found) == ["train/loss", "val/loss"]
    assert len(found["train/loss"]) == 1
    assert curve.read_series(tmp_path / "none.jsonl") == {}


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (units.count(999), "999"),
        (units.count(12_345), "12.3 k"),
        (units.count(623902720), "624 M"),
        (units.size(41943040), "40.0 MiB"),
        (units.size(12), "12 B"),
        (units.duration(None), "-"),
        (units.duration(0.0274), "27.4 ms"),
        (units.duration(3.5), "3.50 s"),
        (units.duration(3723), "1:02:03"),
        (units.metric("nan"), "nan"),
        (units.metric(0.0), "0.0000"),
        (units.metric(3e-5), "3.000e-05"),
    ],
)
def test_units(made: str, text: str) -> None:
    assert made == text


def test_an_event_of_a_kind_nobody_knows_gives_no_line() -> None:
    assert describe({"event": "new-kind"}, 10) is None
