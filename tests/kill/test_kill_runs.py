"""A few kills of the many that `nox -s kill` does."""

from __future__ import annotations

from pathlib import Path

import pytest
from kill_runs import ADAPTED, FROZEN, PLAIN, Killer, Size, Wrong, kill, outcome

SMALL = Size(steps=60, width=64, every=5, mean=1.2)


@pytest.mark.slow
def test_runs_killed_at_random_moments_end_in_the_same_bits(tmp_path: Path) -> None:
    killers = kill(tmp_path, 8, SMALL, seed=1)
    assert all(killer.ends >= 1 for killer in killers)
    assert sum(sum(killer.phases.values()) for killer in killers) == 8
    assert all(killer.kills >= 2 for killer in killers)


@pytest.mark.slow
def test_what_differs_by_one_bit_is_seen(tmp_path: Path) -> None:
    killer = Killer(tmp_path, PLAIN, SMALL, seed=2)
    found = outcome(tmp_path / "runs" / "whole")
    assert found == killer.wanted
    name, metrics = next(iter(found["numbers"].items()))
    killer.wanted["numbers"] = {**found["numbers"], name: {**metrics, "train/loss": 0.0}}
    with pytest.raises(Wrong, match="numbers"):
        killer.finish()


@pytest.mark.slow
def test_frozen_values_that_lie_there_twice_or_changed_are_seen(tmp_path: Path) -> None:
    killer = Killer(tmp_path, ADAPTED, SMALL, seed=3)
    *_, file = sorted((tmp_path / "runs" / "whole").glob(f"checkpoints/step-*/{FROZEN}"))
    killer.look(tmp_path / "runs" / "whole")
    data = file.read_bytes()
    file.unlink()
    file.write_bytes(data)
    with pytest.raises(Wrong, match="lie there 2 times"):
        killer.look(tmp_path / "runs" / "whole")
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(Wrong, match="damaged"):
        killer.look(tmp_path / "runs" / "whole")
