"""What was chosen from outside, as an experiment keeps it and its run's documents say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def selection(
    variant: str | None,
    point: tuple[str, Mapping[str, str]] | None,
    sets: Mapping[str, str],
    knobs: Mapping[str, Any],
    steps: int | None,
    seed: int | None,
) -> dict[str, str]:
    """What was chosen; the values of knobs as they print, however they were written."""
    named, values = point or (None, {})
    found = {"variant": variant, "point": named, "steps": steps, "seed": seed}
    found.update({f"knob:{n}": knobs[n].text for n in values})
    found.update({f"set:{n}": knobs[n].text for n in sets})
    return {key: str(value) for key, value in found.items() if value is not None}
