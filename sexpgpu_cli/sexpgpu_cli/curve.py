"""A run's numbers as a small plot of text: events.jsonl to lines of the terminal."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .units import real

Points = list[tuple[int, float]]
TICKS = "▁▂▃▄▅▆▇█"
MARKS = "·o+x"


def read_series(file: Path) -> dict[str, Points]:
    """Every metric by its name, as (step, value); steps that a resume did again count once."""
    series: dict[str, dict[int, float]] = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    for line in lines:
        event = _event(line)
        for name, value in event.get("metrics", {}).items():
            series.setdefault(name, {})[event["step"]] = real(value)
    return {name: sorted(points.items()) for name, points in series.items()}


def _event(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:  # the last line of a run that was killed
        return {}
    return found if isinstance(found, dict) and found.get("event") in ("step", "eval") else {}


def losses(series: Mapping[str, Points]) -> dict[str, Points]:
    """The series named loss, training first; else the objective; at most as many as marks."""
    for word in ("loss", "objective"):
        names = sorted((n for n in series if n.split("/")[-1] == word), key=_training_first)
        if names:
            return {name: series[name] for name in names[: len(MARKS)]}
    return {}


def _training_first(name: str) -> tuple[bool, str]:
    return (not name.startswith("train"), name)


def sparkline(values: Sequence[float], width: int = 24) -> str:
    """The last values as a row of bars."""
    shown = [v for v in values if math.isfinite(v)]
    shown = [shown[i * len(shown) // width] for i in range(width)] if len(shown) > width else shown
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    scale = (len(TICKS) - 1) / (high - low) if high > low else 0.0
    return "".join(TICKS[round((v - low) * scale)] for v in shown)


def plot(series: Mapping[str, Points], width: int = 64, height: int = 12) -> str:
    """All series in one frame: values upwards, steps to the right, a mark each."""
    points = [p for of in series.values() for p in of if math.isfinite(p[1])]
    if not points:
        return "(no finite value to draw)"
    last = max(step for step, _ in points) or 1
    low, high = min(v for _, v in points), max(v for _, v in points)
    span = (high - low) or 1.0
    grid = [[" "] * width for _ in range(height)]
    for mark, of in zip(MARKS, series.values()):
        for step, value in of:
            if math.isfinite(value):
                row = round((high - value) / span * (height - 1))
                grid[row][round(step / last * (width - 1))] = mark
    labels = {0: f"{high:.3g}", height // 2: f"{(low + high) / 2:.3g}", height - 1: f"{low:.3g}"}
    lines = [f"{labels.get(i, ''):>8} |{''.join(row).rstrip()}" for i, row in enumerate(grid)]
    lines.append(f"{'':>8} +{'-' * width}")
    lines.append(f"{'':>9} 0{f'step {last:,}':>{width - 1}}")
    lines.append(" " * 10 + "   ".join(f"{m} {name}" for m, name in zip(MARKS, series)))
    return "\n".join(lines)
