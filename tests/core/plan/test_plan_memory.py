"""Addresses: no two live buffers share a byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_core.plan.memory import ALIGN, Holes, Lifetime, aligned, place, stack

LIVES = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(0, 30), st.integers(0, 10)), max_size=60
).map(lambda rows: [Lifetime(i, size, a, a + d) for i, (size, a, d) in enumerate(rows)])


@given(LIVES)
def test_live_buffers_never_overlap(lives: list[Lifetime]) -> None:
    offsets, top = place(lives)
    for i, a in enumerate(lives):
        for b in lives[:i]:
            if a.first <= b.last and b.first <= a.last:
                x, y = offsets[a.storage], offsets[b.storage]
                assert x + aligned(a.bytes) <= y or y + aligned(b.bytes) <= x
    assert all(offsets[a.storage] + aligned(a.bytes) <= top for a in lives)


@given(LIVES)
def test_offsets_are_cache_lines(lives: list[Lifetime]) -> None:
    offsets, top = place(lives)
    assert all(o % ALIGN == 0 for o in offsets.values())
    assert top % ALIGN == 0


@given(LIVES)
def test_the_region_is_at_least_the_peak_and_at_most_the_sum(lives: list[Lifetime]) -> None:
    _, top = place(lives)
    calls = {x for life in lives for x in (life.first, life.last)}
    peak = max(
        (sum(aligned(x.bytes) for x in lives if x.first <= c <= x.last) for c in calls), default=0
    )
    assert peak <= top <= sum(aligned(x.bytes) for x in lives)


def test_a_dead_buffers_room_is_used_again() -> None:
    lives = [Lifetime(0, 64, 0, 1), Lifetime(1, 64, 1, 2), Lifetime(2, 64, 2, 3)]
    offsets, top = place(lives)
    assert top == 128
    assert offsets[2] == offsets[0]


def test_an_heir_has_its_sources_address() -> None:
    lives = [Lifetime(0, 64, 0, 1), Lifetime(1, 64, 1, 2)]
    offsets, top = place(lives, {0: 1})
    assert offsets[0] == offsets[1]
    assert top == 64


def test_neighbouring_holes_become_one() -> None:
    holes = Holes()
    a, b, c = (holes.take(64) for _ in range(3))
    holes.take(64)
    holes.give(a, 64)
    holes.give(c, 64)
    holes.give(b, 64)
    assert holes.spans == [(0, 192)]
    assert holes.take(192) == 0


def test_a_hole_at_the_top_grows() -> None:
    holes = Holes()
    holes.take(64)
    last = holes.take(64)
    holes.give(last, 64)
    assert holes.take(256) == last
    assert holes.top == 64 + 256


def test_stacked_buffers_follow_one_another() -> None:
    assert stack({"a": 1, "b": 65, "c": 0}) == ({"a": 0, "b": 64, "c": 192}, 256)
