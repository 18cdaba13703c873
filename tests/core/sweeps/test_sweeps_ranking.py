"""Points to a ranked table: seeds that fail, folds that lack, ties, and numbers that are none."""

from __future__ import annotations

import math

import pytest

from sexpgpu_core.sweeps import Point, Rank
from sexpgpu_core.sweeps.ranking import Result, table

MIN = Rank("val/loss", "min")


def of(
    width: int, value: float | None, *, fold: int = 0, state: str = "finished", by: str = "a"
) -> Result:
    point = Point(f"w{width}f{fold}", {"width": str(width), "fold": str(fold)}, 1)
    return Result(point, state, value, by)


def rows(results: list[Result], rank: Rank = MIN) -> list[tuple[int, str, int, int]]:
    found, _ = table(results, rank, ["fold"])
    return [(r["place"], r["values"]["width"], r["n"], r["failed"]) for r in found]


def test_rows_are_sorted_by_their_mean_to_the_goal() -> None:
    results = [of(8, 3.0), of(16, 1.0), of(24, 2.0)]
    assert [r[1] for r in rows(results)] == ["16", "24", "8"]
    assert [r[1] for r in rows(results, Rank("val/loss", "max"))] == ["8", "24", "16"]


def test_rows_of_one_mean_share_a_place_and_keep_their_order() -> None:
    results = [of(8, 2.0), of(16, 1.0), of(24, 1.0), of(32, 3.0)]
    assert [r[:2] for r in rows(results)] == [(1, "16"), (1, "24"), (3, "8"), (4, "32")]


def test_one_number_has_no_deviation() -> None:
    (row,), _ = table([of(8, 2.0)], MIN, ["fold"])
    assert (row["mean"], row["deviation"], row["minimum"], row["maximum"]) == (2.0, None, 2.0, 2.0)


@pytest.mark.parametrize("lacks", [(None, "pending"), (7.0, "failed"), (math.nan, "finished")])
def test_a_row_that_lacks_a_fold_is_not_ranked_against_whole_ones(
    lacks: tuple[float | None, str],
) -> None:
    value, state = lacks
    whole = [of(8, 2.0 + fold, fold=fold) for fold in range(3)]
    holed = [of(16, 1.0, fold=0), of(16, 1.0, fold=1), of(16, value, fold=2, state=state)]
    for results in ([*whole, *holed], [*holed, *whole]):
        found, otherwise = table(results, MIN, ["fold"])
        assert [row["values"] for row in found] == [{"width": "8"}]
        assert otherwise == 1


def test_rows_with_the_same_folds_are_ranked_while_others_are_not_there_yet() -> None:
    results = [of(w, 1.0 * w, fold=f) for w in (8, 16) for f in range(2)]
    results += [of(w, None, fold=2, state="pending") for w in (8, 16)]
    assert rows(results) == [(1, "8", 2, 0), (2, "16", 2, 0)]


def test_folds_are_compared_with_their_own_evaluation() -> None:
    same = [of(w, 1.0 * w, fold=f, by=f"id{f}") for w in (8, 16) for f in range(2)]
    assert len(rows(same)) == 2
    other = [of(24, 0.0, fold=f, by=f"no{f}") for f in range(2)]
    found, otherwise = table([*same, *other], MIN, ["fold"])
    assert [row["values"]["width"] for row in found] == ["8", "16"]
    assert otherwise == 1


def seeded(width: int, values: list[tuple[str, float | None]]) -> list[Result]:
    return [
        Result(Point(f"w{width}s{n}", {"width": str(width)}, n), state, value, "a")
        for n, (state, value) in enumerate(values)
    ]


def test_seeds_that_failed_or_came_to_no_number_are_counted() -> None:
    done = [("finished", 1.0), ("finished", 2.0)]
    results = [
        *seeded(8, [*done, ("failed", None)]),
        *seeded(16, [*done, ("finished", math.nan), ("finished", math.inf)]),
        *seeded(24, [("finished", math.nan)]),
        *seeded(32, [("finished", None)]),
    ]
    found, otherwise = table(results, MIN, [])
    assert [(r["values"]["width"], r["n"], r["failed"]) for r in found] == [
        ("8", 2, 1),
        ("16", 2, 2),
    ]
    assert otherwise == 0


def test_without_a_rank_or_a_number_there_is_no_table() -> None:
    assert table([of(8, 2.0)], None, []) == ([], 0)
    assert table([of(8, None, state="pending")], MIN, []) == ([], 0)


@pytest.mark.parametrize("at", ["last", "best", 12])
def test_a_rank_reads_back_what_it_tells(at: str | int) -> None:
    rank = Rank("val/loss", "max", at)
    assert Rank.of(rank.told()) == rank
    assert Rank.of(None) is None
