"""The driver under stress: every cell once, waits hold, gates, forks, many threads."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_cpu import driver
from sexpgpu_cpu.cache import ObjectCache
from sexpgpu_cpu.draft import driver_unit
from sexpgpu_cpu.intervals import Intervals
from sexpgpu_cpu.loader import Code, load
from sexpgpu_cpu.memory import Words
from sexpgpu_cpu.native.unit import native_unit
from sexpgpu_cpu.pool import Pool, line_words
from sexpgpu_cpu.table import Group, Table, _chunk, group
from sexpgpu_cpu.work import Span, Work, bits

COUNT = '''
def count(block: ptr[i64], begin: i64, end: i64) -> None:
    """block: counts of this record, of the one before (or 0), cells of it, its target, broken."""
    mine = ptr[i64](block[0])
    for cell in range(begin, end):
        fetch_add(mine, cell, 1)
    if block[1] != 0:
        before = ptr[i64](block[1])
        for cell in range(block[2]):
            if acquire(before, cell) < block[3]:
                fetch_add(ptr[i64](block[4]), 0, 1)


def one(block: ptr[i64], begin: i64, end: i64) -> None:
    fetch_add(ptr[i64](block[0]), 0, 1)
'''
UNIT = native_unit("count", COUNT, ("count", "one"), {})


class Chain:
    """Records that each depend on the one before, counting how often each cell ran."""

    def __init__(self, cells: list[int], threads: int) -> None:
        self.code = load([driver_unit(), UNIT], ObjectCache())
        self.entry = {n: self.code[driver_unit().key, n] for n in driver.EXPORTED}
        self.broken = Words(1)
        self.counts = [np.zeros(n, np.int64) for n in cells]
        self.works = []
        for i, n in enumerate(cells):
            words = [self.counts[i].ctypes.data, 0, 0, 0, self.broken.address]
            if i:
                words[1:3] = [self.counts[i - 1].ctypes.data, cells[i - 1]]
            span = (Span(0, 1, True),)  # one byte in common: never independent
            self.works.append(Work(UNIT, "count", words, n, 1e-4, span))
        self.pool = Pool(threads, self.entry)
        self.table = Table(self.works, self.code, None, threads, self.entry["serial"], 0)
        self.launches = 0

    def launch(self) -> bool:
        self.launches += 1
        for i in range(1, len(self.works)):
            block = self.table.table[8 * i + 1]
            ctypes.c_int64.from_address(block + 24).value = self.launches
        t = self.table
        return self.pool.launch(
            t.table.address, t.counters.address, t.records, self.launches, t.line, t.commit
        )


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 9])
def test_every_cell_runs_once_and_after_what_it_needs(threads: int) -> None:
    chain = Chain([1, 7, 64, 3, 1, 100, 2], threads)
    for _ in range(200):
        assert chain.launch()
    chain.pool.close()
    assert all((c == 200).all() for c in chain.counts)
    assert chain.broken[0] == 0


def test_workers_that_slept_come_back() -> None:
    import time

    chain = Chain([50, 50], 2)
    for _ in range(3):
        time.sleep(0.02)
        chain.launch()
    chain.pool.close()
    assert (chain.counts[1] == 3).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_makes_threads_of_its_own() -> None:
    chain = Chain([50, 50], 2)
    chain.launch()
    child = os.fork()
    if child == 0:
        chain.launch()
        os._exit(0 if (chain.counts[1] == 2).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    chain.launch()
    chain.pool.close()
    assert (chain.counts[1] == 2).all()


def test_closing_twice_is_no_error() -> None:
    chain = Chain([1], 2)
    chain.pool.close()
    chain.pool.close()


class Gated:
    """One counted record before a gate, one after it."""

    def __init__(self, threads: int, verdict: Any) -> None:
        self.code = load([driver_unit(), UNIT], ObjectCache())
        self.entry = {n: self.code[driver_unit().key, n] for n in driver.EXPORTED}
        self.counts = np.zeros((2, 8), np.int64)
        self.errors = Words(4)
        works = [
            Work(UNIT, "one", [self.counts[i].ctypes.data], 1, 1e-4, (Span(i, i + 1, True),))
            for i in (0, 1)
        ]
        works[1].commit = True
        gate = Work(
            driver_unit(), "gate", [0, 0, verdict.ctypes.data, self.errors.address, 2], 1, 1e-7
        )
        self.pool = Pool(threads, self.entry)
        self.table = Table(works, self.code, gate, threads, self.entry["serial"], 0)
        self.launches = 0

    def launch(self) -> bool:
        self.launches += 1
        t = self.table
        t.set_launch(self.launches)
        if self.pool.threads == 1:
            return self.pool.launch_alone(t.table.address, t.records, self.launches)
        return self.pool.launch(
            t.table.address, t.counters.address, t.records, self.launches, t.line, t.commit
        )


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_gate_lets_through_what_the_verdict_allows(threads: int) -> None:
    verdict = np.ones(1, np.uint8)
    gated = Gated(threads, verdict)
    allowed = 0
    rng = np.random.default_rng(0)
    for _ in range(300):
        verdict[0] = rng.integers(0, 2)
        assert gated.launch() == bool(verdict[0])
        allowed += int(verdict[0])
    gated.pool.close()
    assert gated.counts[:, 0].tolist() == [300, allowed]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_stops_the_commit(threads: int) -> None:
    gated = Gated(threads, np.ones(1, np.uint8))
    assert gated.launch()
    gated.errors[2] = 1
    assert not gated.launch()
    gated.pool.close()
    assert gated.counts[:, 0].tolist() == [2, 1]


def work(start: int, stop: int, written: bool = True, seconds: float = 1e-3) -> Work:
    return Work(UNIT, "one", [], 4, seconds, (Span(start, stop, written),))


def test_small_pieces_in_a_row_are_one_record() -> None:
    small = [work(0, 1, seconds=1e-8) for _ in range(5)]
    groups = group([*small, work(0, 1), *small], 2)
    assert [(g.serial, len(g.works)) for g in groups] == [(True, 5), (False, 1), (True, 5)]


def test_independent_pieces_share_a_group() -> None:
    groups = group([work(0, 8), work(8, 16), work(4, 6)], 2)
    assert [len(g.works) for g in groups] == [2, 1]


def test_two_readers_do_not_conflict() -> None:
    reader = Group([work(0, 8, written=False)], False)
    assert not reader.conflicts(work(4, 6, written=False))
    assert reader.conflicts(work(4, 6))
    writer = Group([work(0, 8)], False)
    assert writer.conflicts(work(7, 9, written=False))
    assert not writer.conflicts(work(8, 9))


RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8)), max_size=20)


@given(RANGES, st.integers(0, 40), st.integers(0, 8))
def test_interval_sets_know_their_bytes(
    ranges: list[tuple[int, int]], start: int, size: int
) -> None:
    found, known = Intervals(), set()
    for a, n in ranges:
        found.add(a, a + n)
        known |= set(range(a, a + n))
    assert found.overlaps(start, start + size) == bool(known & set(range(start, start + size)))
    assert found.starts == sorted(found.starts)
    assert all(b < a for a, b in zip(found.starts[1:], found.stops))


def test_chunks_leave_something_to_take_over() -> None:
    assert _chunk(work(0, 1), 1) == 1
    long = Work(UNIT, "one", [], 1000, 1e-6)
    assert 6 <= _chunk(long, 2) <= 125
    assert _chunk(Work(UNIT, "one", [], 3, 1e-9), 2) == 3


def test_a_records_counters_fill_lines() -> None:
    assert line_words(2) == 8
    assert line_words(7) == 8
    assert line_words(8) == 16


def test_a_group_knows_its_kind() -> None:
    assert Group([], True).serial
    assert isinstance(Code(), Code)


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        (1.0, "f32", 0x3F800000),
        (1e40, "f32", 0x7F800000),
        (-1e40, "f32", 0xFF800000),
        (1.0, "f64", 0x3FF0000000000000),
        (1.0, "bf16", 0x3F80),
        (1.00390625, "bf16", 0x3F80),  # a tie, to even
        (1.0039062500000002, "bf16", 0x3F81),  # above the tie by less than f32 tells
        (1.0039062499999998, "bf16", 0x3F80),
        (float("nan"), "bf16", 0x7FC0),
        (1.5, "f16", 0x3E00),
        (-3, "i64", -3),
        (True, "bool", 1),
        (2**64 - 1, "u64", -1),
    ],
)
def test_scalars_are_rounded_once(value: float, dtype: str, wanted: int) -> None:
    assert bits(value, dtype) == wanted
