"""Sums over the alignments of label sequences in the subset of `native` (Graves and others, 2006).

A probability is a mantissa in f64 and an exponent of 2^256: nothing is ever too small for it.
"""

from __future__ import annotations

ALIGNMENT = '''
def normal(ms: ptr[f64], ks: ptr[i64], at: i64) -> None:
    """The mantissa brought into [2^-256, 1)."""
    while ms[at] != 0.0 and ms[at] < 8.636168555094445e-78:
        ms[at] = ms[at] * 1.157920892373162e77
        ks[at] = ks[at] - 1
    while ms[at] >= 1.0:
        ms[at] = ms[at] * 8.636168555094445e-78
        ks[at] = ks[at] + 1


def plus(ms: ptr[f64], ks: ptr[i64], at: i64, m: f64, k: i64) -> None:
    """Adds m 2^(256 k); what is 2^256 times smaller than the sum is lost."""
    if m != 0.0:
        if ms[at] == 0.0 or k > ks[at] + 1:
            ms[at] = m
            ks[at] = k
        elif k == ks[at] + 1:
            ms[at] = ms[at] * 8.636168555094445e-78 + m
            ks[at] = k
        elif k == ks[at]:
            ms[at] = ms[at] + m
        elif k == ks[at] - 1:
            ms[at] = ms[at] + m * 8.636168555094445e-78


def times(ms: ptr[f64], ks: ptr[i64], at: i64, p: f64) -> None:
    if p < 8.636168555094445e-78:
        ms[at] = ms[at] * (p * 1.157920892373162e77)
        ks[at] = ks[at] - 1
    else:
        ms[at] = ms[at] * p
    normal(ms, ks, at)


def symbol(labels: ptr[J], s: i64, blank: i64) -> i64:
    """Of state s: blanks stand around every label."""
    if s % 2 == 0:
        return blank
    return labels[s // 2]


def jumps(labels: ptr[J], s: i64) -> i1:
    """Whether state s may follow s - 2: a label unlike the one before."""
    if s < 2 or s % 2 == 0:
        return False
    return labels[s // 2] != labels[s // 2 - 1]


def report(error: ptr[i64], row: i64) -> None:
    if error[0] == 0:
        error[1] = row
        error[0] = 1


def known(labels: ptr[J], count: i64, classes: i64) -> i1:
    for i in range(count):
        if labels[i] < 0 or labels[i] >= classes:
            return False
    return True


def align(block: ptr[i64], begin: i64, end: i64) -> None:
    """block: p (b t c), labels (b l), lengths of both, mantissas and exponents of the sums, shares
    (b t c), t, c, l, blank, error, scratch: twice (t + 1) (2 l + 1). A cell is an example."""
    t = block[7]
    c = block[8]
    width = block[9]
    blank = block[10]
    states = 2 * width + 1
    for cell in range(begin, end):
        p = shift(ptr[f64](block[0]), cell * t * c)
        labels = shift(ptr[J](block[1]), cell * width)
        mantissas = ptr[f64](block[4])
        exponents = ptr[f64](block[5])
        shares = shift(ptr[f64](block[6]), cell * t * c)
        length = ptr[K](block[2])[cell]
        count = ptr[L](block[3])[cell]
        good = length >= 0 and length <= t and count >= 0 and count <= width
        if good:
            good = known(labels, count, c)
        if not good:
            report(ptr[i64](block[11]), cell)
            length = 0
            count = 0
        last = 2 * count
        ms = ptr[f64](block[12])
        ks = ptr[i64](block[12] + (t + 1) * states * 8)
        zero(ms, (t + 1) * states * 16)
        zero(shares, t * c * 8)
        # Row i + 1 of ms and ks is step i; row 0 takes the sum, then what follows a step.
        for i in range(length):
            row = (i + 1) * states
            for s in range(last + 1):
                if i == 0:
                    if s < 2:
                        ms[row + s] = 1.0
                else:
                    before = row - states + s
                    plus(ms, ks, row + s, ms[before], ks[before])
                    if s > 0:
                        plus(ms, ks, row + s, ms[before - 1], ks[before - 1])
                    if jumps(labels, s):
                        plus(ms, ks, row + s, ms[before - 2], ks[before - 2])
                times(ms, ks, row + s, p[i * c + symbol(labels, s, blank)])
        row = length * states
        plus(ms, ks, 0, ms[row + last], ks[row + last])
        if last > 0:
            plus(ms, ks, 0, ms[row + last - 1], ks[row + last - 1])
        if length == 0 and last == 0:
            ms[0] = 1.0
        normal(ms, ks, 0)
        whole = ms[0]
        height = ks[0]
        mantissas[cell] = whole
        exponents[cell] = f64(height)
        for s in range(states):
            ms[s] = 0.0
            ks[s] = 0
        if whole != 0.0:
            backward(block, cell, length, last, whole, height)


def backward(block: ptr[i64], cell: i64, length: i64, last: i64, whole: f64,
             height: i64) -> None:
    """Shares of the classes in each step."""
    t = block[7]
    c = block[8]
    states = 2 * block[9] + 1
    blank = block[10]
    p = shift(ptr[f64](block[0]), cell * t * c)
    labels = shift(ptr[J](block[1]), cell * block[9])
    shares = shift(ptr[f64](block[6]), cell * t * c)
    ms = ptr[f64](block[12])
    ks = ptr[i64](block[12] + (t + 1) * states * 8)
    for step in range(length):
        i = length - 1 - step
        row = (i + 1) * states
        for s in range(last + 1):
            # Row 0 goes up state by state: s + 1 and s + 2 are still those of the step behind.
            if i == length - 1:
                if s >= last - 1:
                    ms[s] = 1.0
            else:
                if s < last:
                    plus(ms, ks, s, ms[s + 1], ks[s + 1])
                if s + 2 <= last and jumps(labels, s + 2):
                    plus(ms, ks, s, ms[s + 2], ks[s + 2])
                normal(ms, ks, s)
            share = ms[row + s] / whole * ms[s]
            k = ks[row + s] + ks[s] - height
            while k < 0 and share != 0.0:
                share = share * 8.636168555094445e-78
                k = k + 1
            while k > 0 and share != 0.0:
                share = share * 1.157920892373162e77
                k = k - 1
            at = i * c + symbol(labels, s, blank)
            shares[at] = shares[at] + share
        for s in range(last + 1):
            times(ms, ks, s, p[i * c + symbol(labels, s, blank)])
'''
