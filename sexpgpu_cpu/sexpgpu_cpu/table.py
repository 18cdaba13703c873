"""Work to the table that the driver walks: groups, small runs as one record, blocks, counters."""

from __future__ import annotations

from collections.abc import Sequence

from .driver import LINE, RECORD
from .intervals import Intervals
from .loader import Code
from .loops import LoopTable
from .memory import Memory, Words
from .pool import line_words
from .work import Work, bits

SMALL = 3e-6
"""Seconds below which a piece is not worth handing to another thread."""
CHUNK = 6e-6
"""Seconds of cells that a thread takes at once, at least."""
SHARES = 4
"""Chunks of a thread's own part, at most: what another can still take over."""


class Group:
    """Consecutive pieces that do not touch each other's bytes, or small ones for one thread."""

    __slots__ = ("read", "serial", "works", "written")

    def __init__(self, works: list[Work], serial: bool) -> None:
        self.works: list[Work] = []
        self.serial = serial
        self.read = Intervals()
        self.written = Intervals()
        for work in works:
            self.add(work)

    def add(self, work: Work) -> None:
        self.works.append(work)
        if not self.serial:
            for span in work.spans:
                (self.written if span.written else self.read).add(span.start, span.stop)

    def conflicts(self, work: Work) -> bool:
        """Whether a byte is touched by both and written by one."""
        return any(
            self.written.overlaps(s.start, s.stop)
            or (s.written and self.read.overlaps(s.start, s.stop))
            for s in work.spans
        )


def group(works: Sequence[Work], threads: int) -> list[Group]:
    """Cut a list at dependencies; runs of small pieces become serial groups."""
    groups: list[Group] = []
    for work in works:
        small = work.cells * work.seconds < SMALL
        if groups and _joins(groups[-1], work, small, threads):
            groups[-1].add(work)
        else:
            groups.append(Group([work], small))
    return groups


def _joins(last: Group, work: Work, small: bool, threads: int) -> bool:
    if last.serial:
        return small
    # A small piece beside large ones is taken by whoever is free.
    return threads > 1 and not last.conflicts(work)


class Table:
    """Records, blocks and counters of one program. `commit`: record after the gate."""

    def __init__(
        self,
        works: Sequence[Work],
        code: Code,
        gate: Work | None,
        threads: int,
        serial: int,
        errors: int,
    ) -> None:
        """`serial`: address of the driver's function for runs; `errors`: of the error words."""
        self.threads = threads
        self.line = line_words(threads)
        self._code = code
        self._serial = serial
        self._errors = errors
        before = group([w for w in works if not w.commit], threads)
        after = group([w for w in works if w.commit], threads)
        groups = before + ([Group([gate], False)] if gate else []) + after
        records = sum(1 if g.serial else len(g.works) for g in groups)
        inner = sum(len(g.works) for g in groups if g.serial)
        self.records = records
        self.table = Words(RECORD * max(records + inner, 1))
        self.counters = Words(self.line * max(records, 1))
        self.scratch_bytes = -(-max((w.scratch for w in works), default=0) // 64) * 64
        self.scratch = Memory(threads * self.scratch_bytes)
        words = sum(_block_words(w, threads) for g in groups for w in g.works)
        self.blocks = Words(words + LINE * len(groups))
        self.loops: list[LoopTable] = []
        self.pokes: dict[str, list[tuple[int, str]]] = {}
        self.commit = records
        self._gate_word = -1
        self.order: list[tuple[int, list[Work]]] = []  # record -> its work, in order
        self._next_block = 0
        self._next_inner = records
        self._fill(groups, gate)
        # Where all is serial, other threads would only be woken.
        self.parallel = threads > 1 and any(not g.serial and _worth(g, gate) for g in groups)

    def set_launch(self, number: int) -> None:
        """Tell the gate which launch it decides on."""
        if self._gate_word >= 0:
            self.blocks[self._gate_word] = number

    def _fill(self, groups: list[Group], gate: Work | None) -> None:
        record = previous = 0
        for g in groups:
            start = record
            if g.serial:
                self._put_serial(record, g, previous, start)
                self.order.append((record, g.works))
                record += 1
            else:
                for work in g.works:
                    self._put(record, work, previous, start)
                    self.order.append((record, [work]))
                    record += 1
            if gate is not None and g.works[0] is gate:
                self.table[RECORD * start + 6] = 1
                self.commit = record
                self._gate_word = (self.table[RECORD * start + 1] - self.blocks.address) // 8 + 1
            previous = start

    def _put(self, record: int, work: Work, wait_from: int, wait_to: int) -> None:
        block, stride = self._block(work)
        chunk = _chunk(work, self.threads)
        address = self._code[work.unit.key, work.name]
        words = [address, block, work.cells, chunk, stride, wait_from, 0, wait_to]
        self.table.write(RECORD * record, words)

    def _put_serial(self, record: int, g: Group, wait_from: int, wait_to: int) -> None:
        start = self._next_inner
        for work in g.works:
            self._put(self._next_inner, work, 0, 0)
            self._next_inner += 1
        block = self._next_block
        self._next_block += LINE
        self.blocks.write(block, [self.table.at(RECORD * start), len(g.works)])
        words = [self._serial, self.blocks.at(block), 1, 1, 0, wait_from, 0, wait_to]
        self.table.write(RECORD * record, words)

    def _block(self, work: Work) -> tuple[int, int]:
        """Address of the block and bytes from one thread's to the next's (0 where shared)."""
        copies = self.threads if work.scratch else 1
        size = -(-max(len(work.words), 1) // LINE) * LINE
        first = self._next_block
        for thread in range(copies):
            words = list(work.words)
            if work.loop is not None:
                self.loops.append(LoopTable(work.loop, self._code, self._errors))
                words = self.loops[-1].words
            if work.scratch:
                words[work.scratch_word] = self.scratch.address + thread * self.scratch_bytes
            for word, unit, name in work.links:
                words[word] = self._code[unit.key, name]
            if work.error >= 0:
                words[work.error] = self._errors + 16 * work.call
            self.blocks.write(self._next_block, words)
            for word, text, dtype in work.pokes:
                self.pokes.setdefault(text, []).append((self._next_block + word, dtype))
            self._next_block += size
        return self.blocks.at(first), 8 * size if copies > 1 else 0

    def poke(self, text: str, value: float) -> None:
        """Write a step scalar into every block that holds it."""
        for word, dtype in self.pokes.get(text, ()):
            self.blocks[word] = bits(value, dtype)


def _worth(g: Group, gate: Work | None) -> bool:
    return g.works[0] is not gate


def _block_words(work: Work, threads: int) -> int:
    copies = threads if work.scratch else 1
    return copies * -(-max(len(work.words), 1) // LINE) * LINE


def _chunk(work: Work, threads: int) -> int:
    share = -(-work.cells // (threads * SHARES))
    least = int(CHUNK / work.seconds) if work.seconds > 0 else work.cells
    return max(1, min(max(share, least), work.cells))
