"""A few kills of the many that `nox -s kill` does."""

from __future__ import annotations

from pathlib import Path

import pytest
from kill_runs import Size, Wrong, kill, outcome

SMALL = Size(steps=60, width=64, every=5, mean=1.2)


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_in_the_same_bits(tmp_path: Path) -> None:
    killer = kill(tmp_path, 6, SMALL, seed=1)
    assert killer.ends >= 1
    assert sum(killer.phases.values()) == killer.kills == 6


@pytest.mark.slow
def test_what_differs_by_one_bit_is_seen(tmp_path: Path) -> None:
    killer = kill(tmp_path, 1, SMALL, seed=2)
    found = outcome(tmp_path / "runs" / "whole")
    assert found == killer.wanted
    name, metrics = next(iter(found["numbers"].items()))
    killer.wanted["numbers"] = {**found["numbers"], name: {**metrics, "train/loss": 0.0}}
    with pytest.raises(Wrong, match="numbers"):
        killer.finish()
