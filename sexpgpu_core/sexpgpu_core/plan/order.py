"""The order of calls: fewer live bytes at the peak, commit calls last.

Law: the result is a topological order of the same calls, with `calls[commit:]` the commit part.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..kernels.kernel import KernelCall, NodeCall, Storage

Call = KernelCall | NodeCall
GAIN = 0.97
"""A new order must bring the peak below this part of the given order's: near ties keep the order
that fusion chose, which has better locality."""
WINDOW = 24


def dependencies(calls: Sequence[Call]) -> list[set[int]]:
    """For each call the earlier calls that must come before it: read after write, write after
    read, write after write, by storage."""
    before: list[set[int]] = []
    writers: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    for i, call in enumerate(calls):
        needs = set()
        reads, writes = call.reads(), call.writes()
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
    storages: Sequence[Storage], calls: Sequence[Call], commit: int, kept: frozenset[int]
) -> list[Call]:
    """Reorder `calls[:commit]`; the commit part follows as it is. `kept`: storages that live to
    the end (results)."""
    head = list(calls[:commit])
    tail = list(calls[commit:])
    if len(head) < 3:
        return head + tail
    sizes = [_transient_bytes(s) for s in storages]
    pinned = kept.union(*(c.reads() for c in tail)) if tail else kept
    chosen = _greedy(head, sizes, pinned)
    given = list(range(len(head)))
    if peak(head, chosen, sizes, pinned) < GAIN * peak(head, given, sizes, pinned):
        head = [head[i] for i in chosen]
    return head + tail


def peak(
    calls: Sequence[Call], order: Sequence[int], sizes: Sequence[int], pinned: frozenset[int]
) -> int:
    """Most transient bytes alive at once in this order."""
    left = _uses(calls)
    live: set[int] = set()
    now = most = 0
    for i in order:
        touched = calls[i].reads() | calls[i].writes()
        for s in touched - live:
            live.add(s)
            now += sizes[s]
        most = max(most, now)
        for s in touched:
            left[s] -= 1
            if left[s] == 0 and s not in pinned:
                now -= sizes[s]
    return most


def _transient_bytes(storage: Storage) -> int:
    return storage.type.bytes if storage.kind == "temp" else 0


def _uses(calls: Sequence[Call]) -> dict[int, int]:
    count: dict[int, int] = {}
    for call in calls:
        for s in call.reads() | call.writes():
            count[s] = count.get(s, 0) + 1
    return count


def _greedy(calls: Sequence[Call], sizes: Sequence[int], pinned: frozenset[int]) -> list[int]:
    """List scheduling: of the first ready calls take the one after which least is alive."""
    before = dependencies(calls)
    waiting = [len(b) for b in before]
    after: list[list[int]] = [[] for _ in calls]
    for i, needs in enumerate(before):
        for j in needs:
            after[j].append(i)
    left = _uses(calls)
    touched = [c.reads() | c.writes() for c in calls]
    live: set[int] = set()
    ready = [i for i, n in enumerate(waiting) if n == 0]
    chosen: list[int] = []
    while ready:
        best = min(
            ready[:WINDOW], key=lambda i: (_growth(touched[i], live, left, sizes, pinned), i)
        )
        ready.remove(best)
        chosen.append(best)
        live |= touched[best]
        for s in touched[best]:
            left[s] -= 1
        for j in after[best]:
            waiting[j] -= 1
            if waiting[j] == 0:
                ready.append(j)
        ready.sort()
    return chosen


def _growth(
    touched: set[int],
    live: set[int],
    left: dict[int, int],
    sizes: Sequence[int],
    pinned: frozenset[int],
) -> int:
    """Bytes alive after the call less those before it."""
    grown = 0
    for s in touched:
        if s not in live:
            grown += sizes[s]
        if left[s] == 1 and s not in pinned:
            grown -= sizes[s]
    return grown
