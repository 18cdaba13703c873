"""The order of calls: fewer live bytes at the peak, commit calls last.

Law: the result is a topological order of the same calls, with `calls[commit:]` the commit part.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence

from ..kernels.kernel import Call, Storage
from ..records import NamedTuple

GAIN = 0.97
"""A new order must bring the peak below this part of the given order's: near ties keep the order
that fusion chose, which has better locality."""
WINDOW = 12
"""Ready calls that are compared."""


class Touch(NamedTuple):
    """Storages that a call reads and writes. Asked of each call once: they are sets made anew."""

    reads: set[int]
    writes: set[int]


def touches(calls: Sequence[Call]) -> list[Touch]:
    return [Touch(c.reads(), c.writes()) for c in calls]


def dependencies(calls: Sequence[Touch]) -> list[set[int]]:
    """For each call the earlier calls that must come before it: read after write, write after
    read, write after write, by storage."""
    before: list[set[int]] = []
    writers: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    for i, (reads, writes) in enumerate(calls):
        needs = set()
        for s in reads:
            if s in writers:
                needs.add(writers[s])
        for s in writes:
            if s in writers:
                needs.add(writers[s])
            needs.update(readers.get(s, ()))
        for s in writes:
            writers[s] = i
            readers[s] = []
        for s in reads:
            readers.setdefault(s, []).append(i)
        needs.discard(i)
        before.append(needs)
    return before


def order_calls(
    storages: Sequence[Storage], calls: Sequence[Touch], commit: int, kept: frozenset[int]
) -> list[int]:
    """Numbers of the calls in their new order: `calls[:commit]` may move, the commit part follows
    as it is. `kept`: storages that live to the end (results)."""
    head = calls[:commit]
    tail = list(range(commit, len(calls)))
    if len(head) < 3:
        return list(range(len(calls)))
    sizes = [_transient_bytes(s) for s in storages]
    pinned = kept.union(*(calls[i].reads for i in tail))
    before = dependencies(head)
    head = [_sized(call, sizes) for call in head]
    touched = [reads | writes for reads, writes in head]
    best, least = list(range(commit)), GAIN * peak(touched, range(commit), sizes, pinned)
    for chosen in (_forward(touched, before, sizes, pinned), _backward(head, before, sizes)):
        reached = peak(touched, chosen, sizes, pinned)
        if reached < least:
            best, least = chosen, reached
    return best + tail


def peak(
    touched: list[set[int]], order: Sequence[int], sizes: Sequence[int], pinned: frozenset[int]
) -> int:
    """Most transient bytes alive at once in this order. `touched`: storages by call."""
    left = _uses(touched)
    live: set[int] = set()
    now = most = 0
    for i in order:
        for s in touched[i] - live:
            live.add(s)
            now += sizes[s]
        if now > most:
            most = now
        for s in touched[i]:
            left[s] -= 1
            if left[s] == 0 and s not in pinned:
                now -= sizes[s]
    return most


def _sized(call: Touch, sizes: Sequence[int]) -> Touch:
    """What counts of a call's storages: those that take room."""
    return Touch({s for s in call.reads if sizes[s]}, {s for s in call.writes if sizes[s]})


def _transient_bytes(storage: Storage) -> int:
    return storage.type.bytes if storage.kind == "temp" else 0


def _uses(touched: list[set[int]]) -> dict[int, int]:
    count: dict[int, int] = {}
    for storages in touched:
        for s in storages:
            count[s] = count.get(s, 0) + 1
    return count


def _forward(
    touched: list[set[int]],
    before: list[set[int]],
    sizes: Sequence[int],
    pinned: frozenset[int],
) -> list[int]:
    """From the first call on: of the ready ones take that after which least is alive. It brings
    forward what frees."""
    left = _uses(touched)
    live: set[int] = set()

    def growth(i: int) -> int:
        grown = 0
        for s in touched[i]:
            if s not in live:
                grown += sizes[s]
            if left[s] == 1 and s not in pinned:
                grown -= sizes[s]
        return grown

    def took(i: int) -> None:
        live.update(touched[i])
        for s in touched[i]:
            left[s] -= 1

    return _schedule(before, growth, took, range(len(touched)))


def _backward(calls: Sequence[Touch], before: list[set[int]], sizes: Sequence[int]) -> list[int]:
    """From the last call back: of those that nothing is waiting for take that before which least
    is alive. It puts off what is not needed yet."""
    after: list[set[int]] = [set() for _ in calls]
    for i, needs in enumerate(before):
        for j in needs:
            after[j].add(i)
    reads = [c.reads - c.writes for c in calls]
    writes = [c.writes for c in calls]
    writers: dict[int, int] = {}
    for made in writes:
        for s in made:
            writers[s] = writers.get(s, 0) + 1
    live: set[int] = set()

    def growth(i: int) -> int:
        grown = 0
        for s in reads[i]:
            if s not in live:
                grown += sizes[s]
        for s in writes[i]:
            if writers[s] == 1:
                grown -= sizes[s]
        return grown

    def took(i: int) -> None:
        live.update(reads[i])
        for s in writes[i]:
            writers[s] -= 1

    return _schedule(after, growth, took, range(len(calls) - 1, -1, -1))[::-1]


def _schedule(
    needs: list[set[int]],
    growth: Callable[[int], int],
    took: Callable[[int], None],
    order: Sequence[int],
) -> list[int]:
    """List scheduling. `order`: which of equals comes first."""
    rank = {i: r for r, i in enumerate(order)}
    waiting = [len(n) for n in needs]
    unlocks: list[list[int]] = [[] for _ in needs]
    for i, n in enumerate(needs):
        for j in n:
            unlocks[j].append(i)
    ready = [rank[i] for i in order if waiting[i] == 0]
    chosen: list[int] = []
    while ready:
        best = order[ready.pop(_least(ready, order, growth))]
        chosen.append(best)
        took(best)
        for j in unlocks[best]:
            waiting[j] -= 1
            if waiting[j] == 0:
                insort(ready, rank[j])
    return chosen


def _least(ready: list[int], order: Sequence[int], growth: Callable[[int], int]) -> int:
    """Which of the first ready ones grows least; the first of equals."""
    if len(ready) == 1:
        return 0
    grown = [growth(order[r]) for r in ready[:WINDOW]]
    return grown.index(min(grown))
