"""The order of examples: a keyed bijection, splits that share nothing, windows that cover."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.data import order, split, windows
from sexpgpu_core.experiment.declarations import Windows


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3000), st.integers(), st.integers(0, 5))
def test_an_epoch_visits_every_example_once(n, seed, epoch):
    got = order.permute(n, order.key(seed, "text", "train", epoch), np.arange(n))
    assert sorted(got.tolist()) == list(range(n))


def test_an_order_is_the_same_asked_at_once_or_one_by_one():
    keys = order.key(7, "text", "train", 0)
    whole = order.permute(1000, keys, np.arange(1000))
    alone = [int(order.permute(1000, keys, np.array([i]))[0]) for i in (0, 17, 999)]
    assert alone == [int(whole[i]) for i in (0, 17, 999)]


def test_seed_loader_stage_and_epoch_each_change_the_order():
    base = (1, "text", "train", 0)
    others = [
        (2, "text", "train", 0),
        (1, "b", "train", 0),
        (1, "text", "long", 0),
        (1, "text", "train", 1),
    ]
    first = order.permute(500, order.key(*base), np.arange(500))
    for other in others:
        assert (order.permute(500, order.key(*other), np.arange(500)) != first).mean() > 0.9


def test_an_order_is_fixed_for_all_time():
    keys = order.key(1337, "text", "train", 0)
    assert order.permute(100, keys, np.arange(5)).tolist() == [50, 45, 85, 10, 74]


def test_a_shuffle_has_no_trend():
    n = 100_000
    got = order.permute(n, order.key(0, "a", "b", 0), np.arange(n))
    assert abs(np.corrcoef(np.arange(n), got)[0, 1]) < 0.02
    assert abs(np.corrcoef(got[:-1], got[1:])[0, 1]) < 0.02


def test_draws_fill_their_range_evenly():
    got = order.draw(10, order.key("draw"), np.arange(100_000))
    counts = np.bincount(got, minlength=10)
    assert counts.min() > 9_500
    assert counts.max() < 10_500


@given(st.integers(1, 10_000), st.integers(1, 50))
def test_streams_are_contiguous_runs_whose_first_are_longer(n, rows):
    starts = order.run_starts(n, rows)
    lengths = np.diff([*starts, n])
    assert lengths.sum() == n
    assert (lengths == [n // rows + (r < n % rows) for r in range(rows)]).all()


@given(st.integers(0, 5000), st.lists(st.integers(0, 100), min_size=3, max_size=3))
def test_parts_that_share_a_border_share_no_example_and_leave_none(n, cuts):
    a, b, c = sorted(Fraction(cut, 100) for cut in cuts)
    parts = [split.ranges(n, ((low, high),)) for low, high in ((0, a), (a, b), (b, c), (c, 1))]
    assert sum(split.size(part) for part in parts) == n
    assert all(split.overlap(x, y) == 0 for i, x in enumerate(parts) for y in parts[i + 1 :])


def test_a_fraction_means_its_decimal_value_not_the_double_below_it():
    assert split.ranges(100, ((0, 0.29),)) == ((0, 29),)


def test_an_empty_pair_is_left_out():
    assert split.ranges(10, ((0, 0), (0.5, 1))) == ((5, 10),)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=200), st.integers(0, 10))
def test_a_stratified_part_has_its_share_of_each_class_within_one(labels, tenth):
    kinds = np.array(labels)
    ranked = split.by_class(kinds)
    (part,) = split.ranges(len(kinds), ((0, tenth / 10),)) or ((0, 0),)
    chosen = kinds[ranked(np.arange(*part))]
    for kind in set(labels):
        share = (kinds == kind).sum() * tenth / 10
        assert abs((chosen == kind).sum() - share) <= 1.5


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 400), st.integers(1, 40), st.integers(1, 40))
def test_windows_are_as_many_as_the_formula_says_and_lie_inside(length, size, step):
    cut = Windows(size, step)
    n = windows.count(length, cut)
    assert n == (max(0, (length - size) // step + 1) if length >= size else 0)
    at = windows.starts(((0, length),), cut, np.arange(n))
    assert all(a >= 0 and a + size <= length for a in at)
    if step <= size and n:
        seen = set().union(*(range(a, a + size) for a in at))
        assert seen == set(range(int(at[-1]) + size))
        assert length - len(seen) < step


def test_no_window_crosses_the_border_of_two_ranges():
    parts = ((0, 10), (20, 35))
    at = windows.starts(parts, Windows(4, 4), np.arange(windows.total(parts, Windows(4, 4))))
    assert at.tolist() == [0, 4, 20, 24, 28]


def test_random_windows_fit_whole_into_their_ranges():
    parts, cut = ((0, 10), (20, 35)), Windows(4, 4)
    at = windows.anywhere(parts, cut, order.key(1), np.arange(2000))
    assert set(at.tolist()) == {*range(7), *range(20, 32)}
