"""A sweep as text: what did not finish, or has no number, is named and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sexpgpu_cli.sweep_text import text


def sweep(points: list[dict[str, Any]], **more: Any) -> list[str]:
    counts: dict[str, int] = {}
    for point in points:
        counts[point["state"]] = counts.get(point["state"], 0) + 1
    rank = {"metric": "val/loss", "goal": "min"}
    told = {"name": "s", "state": "finished", "counts": counts, "rank": rank, "table": []}
    return text({**told, "points": points, **more}, Path("runs/sweep-x")).splitlines()


def point(name: str, state: str = "finished", value: Any = 1.0) -> dict[str, Any]:
    return {"point": name, "state": state, "value": value, "run": None}


def test_points_without_a_finite_number_are_named() -> None:
    lines = sweep([point("a"), point("b", value="nan"), point("c", value=None)])
    assert lines[1] == "finished without a finite val/loss: b c"
    assert not [line for line in sweep([point("a")]) if "without" in line]
    assert not [line for line in sweep([point("a", value=None)], rank=None) if "without" in line]


def test_many_points_that_did_not_finish_are_counted() -> None:
    lines = sweep([point(f"p{n}", "failed") for n in range(11)])
    assert lines[1:9] == [f"failed  p{n}" for n in range(8)]
    assert lines[9] == "... and 3 more points that have not finished"


def test_rows_that_lack_folds_are_counted() -> None:
    alone = "2 rows were judged otherwise and are not ranked against these"
    assert alone in sweep([point("a")], omitted={"table": 2}, over=[])
    folds = "2 rows were judged otherwise, or lack folds, and are not ranked against these"
    assert folds in sweep([point("a")], omitted={"table": 2}, over=["fold"])


def test_a_sweep_that_never_began_names_no_folder() -> None:
    assert sweep([point("a")])[-1] == "folder  runs/sweep-x"
    told = {"name": "s", "state": "stopped", "counts": {"pending": 1}, "rank": None, "table": []}
    lines = text({**told, "points": [point("a", "pending")]}, Path("runs/sweep-x"), begun=False)
    assert lines.splitlines()[-1] == "no folder yet: nothing of it was begun"


def test_a_sweep_whose_process_is_gone_is_lost() -> None:
    lines = sweep([point("a", "running")], state="stopped", alive=False)
    assert lines[0] == "s: lost, its process is gone, 1 running of 1 points"
