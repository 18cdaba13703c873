"""The step's loop, in the subset of `native`: records walked by all threads of the pool.

A record is {function, block, cells, ...}; its cells are shared out in halves of the grid, a thread
that is done with its own takes from the others. A record waits for the cells of those it needs, not
for threads: one that has lost its core holds up nobody unless it is inside a cell. So the step
does not collapse beside a busy neighbour. Bits do not depend on who takes a cell.
"""

from __future__ import annotations

RECORD = 8
"""Words of a record: function, block, cells, chunk, bytes of block a thread, first record to wait
for, gate, end of those to wait for. A gate record (word 6 = 1) is the commit point: where its
decision is not to go on, the walk ends. Launches of a program count from 1."""

LINE = 8
"""Words of a record's counters, a cache line: cells done since the program was opened, then a
queue a thread, (launch << 32 | next cell). With more than 7 threads, more lines."""

SPIN = 160
"""Pauses before a thread sleeps: about 6 us. Long spins collapsed beside a busy neighbour."""

# Words of the pool's shared memory, each in a line of its own.
TICKET, STOP, EVENTS, SLEEPERS, IDLE, LAUNCH = 0, 8, 16, 24, 32, 40
"""TICKET: launches so far, which workers sleep on. LAUNCH: table, counters, records, launch number
of this program, threads, words of a record's counters, first record of the commit part."""
POOL_WORDS = 64

SOURCE = '''
def take(queue: ptr[i64], slot: i64, launch: i64, begin: i64, end: i64, chunk: i64) -> i64:
    """The first of up to `chunk` cells of [begin, end), or -1. A launch's first taker finds the
    queue of an older launch and starts at `begin`; a straggler of an older launch gets nothing."""
    while True:
        old = acquire(queue, slot)
        age = old >> 32
        if age > launch:
            return -1
        next = old & 4294967295
        if age < launch:
            next = begin
        if next >= end:
            return -1
        if compare_swap(queue, slot, old, (launch << 32) | (next + chunk)):
            return next


def finish(pool: ptr[i64], state: ptr[i64], count: i64, target: i64) -> None:
    """Count cells as done; who finishes the record wakes the sleepers."""
    before = fetch_add(state, 0, count)
    if before + count >= target:
        fetch_add(pool, EVENTS, 1)
        if acquire(pool, SLEEPERS) > 0:
            wake(pool, EVENTS)


def await_done(pool: ptr[i64], state: ptr[i64], target: i64) -> None:
    for i in range(SPIN):
        if acquire(state, 0) >= target:
            return
        pause()
    while True:
        seen = acquire(pool, EVENTS)
        fetch_add(pool, SLEEPERS, 1)
        if acquire(state, 0) < target:
            sleep(pool, EVENTS, seen)
        fetch_add(pool, SLEEPERS, -1)
        if acquire(state, 0) >= target:
            return


def work(pool: ptr[i64], record: ptr[i64], state: ptr[i64], launch: i64, thread: i64,
         threads: i64) -> None:
    """Take cells of one record until there are none: first this thread's part, then the others'."""
    cells = record[2]
    chunk = record[3]
    target = launch * cells
    block = record[1] + thread * record[4]
    for turn in range(threads):
        owner = thread + turn
        if owner >= threads:
            owner = owner - threads
        begin = cells * owner // threads
        end = cells * (owner + 1) // threads
        while True:
            first = take(state, 1 + owner, launch, begin, end, chunk)
            if first < 0:
                break
            last = min(first + chunk, end)
            invoke(record[0], block, first, last)
            finish(pool, state, last - first, target)


def walk(pool: ptr[i64], table: ptr[i64], counters: ptr[i64], records: i64, launch: i64,
         thread: i64, threads: i64, line: i64) -> None:
    for r in range(records):
        record = shift(table, r * RECORD)
        for needed in range(record[5], record[7]):
            other = shift(counters, needed * line)
            await_done(pool, other, launch * shift(table, needed * RECORD)[2])
        state = shift(counters, r * line)
        work(pool, record, state, launch, thread, threads)
        if record[6] != 0:
            await_done(pool, state, launch * record[2])
            decision = ptr[i64](record[1])
            if acquire(decision, 0) != launch * 2 + 1:
                return


def walk_alone(table: ptr[i64], records: i64, launch: i64) -> i64:
    """One thread: no counters. 1 if the walk reached the end, 0 if the gate stopped it."""
    for r in range(records):
        record = shift(table, r * RECORD)
        invoke(record[0], record[1], 0, record[2])
        if record[6] != 0:
            if ptr[i64](record[1])[0] != launch * 2 + 1:
                return 0
    return 1


def launch_all(pool: ptr[i64], table: ptr[i64], counters: ptr[i64], records: i64, launch: i64,
               threads: i64, line: i64, commit: i64) -> i64:
    """One launch on the caller's thread and the pool's. 1 if the gate let it through."""
    if threads == 1:
        return walk_alone(table, records, launch)
    ticket = acquire(pool, TICKET) + 1
    release(pool, TICKET, ticket)
    slot = shift(pool, LAUNCH + (ticket & 1) * 8)
    release(slot, 7, 0 - ticket)
    release(slot, 0, i64(table))
    release(slot, 1, i64(counters))
    release(slot, 2, records)
    release(slot, 3, launch)
    release(slot, 4, threads)
    release(slot, 5, line)
    release(slot, 7, ticket)
    release(pool, TICKET + 1, ticket)
    if acquire(pool, IDLE) > 0:
        wake(pool, TICKET + 1)
    walk(pool, table, counters, records, launch, 0, threads, line)
    if commit < records:
        decision = ptr[i64](shift(table, (commit - 1) * RECORD)[1])
        if acquire(decision, 0) != launch * 2 + 1:
            for r in range(commit, records):
                fetch_add(shift(counters, r * line), 0, shift(table, r * RECORD)[2])
            return 0
    for r in range(records):
        await_done(pool, shift(counters, r * line), launch * shift(table, r * RECORD)[2])
    return 1


def worker(argument: ptr[i64]) -> None:
    """A thread of the pool. argument: pool, number of the thread. It sleeps between launches; one
    that comes late finds the cells taken and goes on to the newest launch."""
    pool = ptr[i64](argument[0])
    thread = argument[1]
    seen = 0
    while True:
        ticket = acquire(pool, TICKET + 1)
        for i in range(SPIN):
            ticket = acquire(pool, TICKET + 1)
            if ticket != seen:
                break
            pause()
        while ticket == seen:
            if acquire(pool, STOP) != 0:
                return
            fetch_add(pool, IDLE, 1)
            if acquire(pool, TICKET + 1) == seen and acquire(pool, STOP) == 0:
                sleep(pool, TICKET + 1, seen)
            fetch_add(pool, IDLE, -1)
            ticket = acquire(pool, TICKET + 1)
        if acquire(pool, STOP) != 0:
            return
        seen = ticket
        slot = shift(pool, LAUNCH + (ticket & 1) * 8)
        if acquire(slot, 7) == ticket:
            table = ptr[i64](acquire(slot, 0))
            counters = ptr[i64](acquire(slot, 1))
            records = acquire(slot, 2)
            launch = acquire(slot, 3)
            threads = acquire(slot, 4)
            line = acquire(slot, 5)
            if acquire(slot, 7) == ticket and thread < threads:
                walk(pool, table, counters, records, launch, thread, threads, line)


def stop_all(pool: ptr[i64]) -> None:
    release(pool, STOP, 1)
    fetch_add(pool, TICKET + 1, 1)
    wake(pool, TICKET + 1)


def gate(block: ptr[i64], begin: i64, end: i64) -> None:
    """Decide whether to commit. block: decision, launch, verdict's address or 0, error words,
    their number."""
    go = 1
    if block[2] != 0:
        if ptr[u8](block[2])[0] == 0:
            go = 0
    errors = ptr[i64](block[3])
    for i in range(block[4]):
        if errors[2 * i] != 0:
            go = 0
    release(block, 0, block[1] * 2 + go)


def serial(block: ptr[i64], begin: i64, end: i64) -> None:
    """A run of small records as one cell. block: their table, their number."""
    table = ptr[i64](block[0])
    for r in range(block[1]):
        record = shift(table, r * RECORD)
        invoke(record[0], record[1], 0, record[2])


def repeat(block: ptr[i64], begin: i64, end: i64) -> None:
    """A loop as one cell. block: the body's table, its records, most trips, address of the byte
    that each trip asks first or 0, patches and their number: (address of a word, what it moves by
    a trip). At the end all words are what they were."""
    table = ptr[i64](block[0])
    patches = ptr[i64](block[4])
    trips = 0
    while trips < block[2]:
        if block[3] != 0:
            if ptr[u8](block[3])[0] == 0:
                break
        for r in range(block[1]):
            record = shift(table, r * RECORD)
            invoke(record[0], record[1], 0, record[2])
        for p in range(block[5]):
            word = ptr[i64](patches[2 * p])
            release(word, 0, word[0] + patches[2 * p + 1])
        trips = trips + 1
    for p in range(block[5]):
        word = ptr[i64](patches[2 * p])
        release(word, 0, word[0] - trips * patches[2 * p + 1])
'''

EXPORTED = ("launch_all", "worker", "stop_all", "gate", "serial", "repeat")
CONSTANTS = {
    "RECORD": RECORD,
    "SPIN": SPIN,
    "TICKET": TICKET,
    "STOP": STOP,
    "EVENTS": EVENTS,
    "SLEEPERS": SLEEPERS,
    "IDLE": IDLE,
    "LAUNCH": LAUNCH,
}
