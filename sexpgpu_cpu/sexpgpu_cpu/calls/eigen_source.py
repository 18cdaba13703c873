"""Eigenvalues of dense symmetric matrices in the subset of `native`, in f64. A cell is a matrix.

Reflections to three diagonals, then implicit shifts. What is turned are whole rows, so
vectors are kept transposed until the end. Scratch is each thread's own.
"""

from __future__ import annotations

from .linear_source import VECTORS

ROWS = (
    VECTORS
    + '''
def inner(x: ptr[f64], y: ptr[f64], n: i64) -> f64:
    """Eight chains of additions, since one would wait for each: the order is fixed by n alone."""
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    e = 0.0
    f = 0.0
    g = 0.0
    h = 0.0
    whole = n // 8 * 8
    for at in range(0, whole, 8):
        a = a + x[at] * y[at]
        b = b + x[at + 1] * y[at + 1]
        c = c + x[at + 2] * y[at + 2]
        d = d + x[at + 3] * y[at + 3]
        e = e + x[at + 4] * y[at + 4]
        f = f + x[at + 5] * y[at + 5]
        g = g + x[at + 6] * y[at + 6]
        h = h + x[at + 7] * y[at + 7]
    rest = dot(shift(x, whole), shift(y, whole), n - whole)
    return (((a + e) + (c + g)) + ((b + f) + (d + h))) + rest


def hypotenuse(x: f64, y: f64) -> f64:
    large = max(size_of(x), size_of(y))
    if large == 0.0:
        return 0.0
    ratio = min(size_of(x), size_of(y)) / large
    return large * sqrt(1.0 + ratio * ratio)


def away(x: f64, sign: f64) -> f64:
    """Of size x, with the sign of the other."""
    if sign < 0.0:
        return 0.0 - size_of(x)
    return size_of(x)


def factor_of(x: ptr[f64], n: i64) -> f64:
    """What x is multiplied by so that no square leaves the range; 0 where x is not finite."""
    large = 0.0
    finite = True
    for i in range(n):
        large = max(large, size_of(x[i]))
        finite = finite and x[i] - x[i] == 0.0
    if not finite:
        return 0.0
    if large > 1e50 or (large < 1e-50 and large > 1e-308):
        return 1.0 / large
    return 1.0


def fill(x: ptr[f64], value: f64, n: i64) -> None:
    for i in range(n):
        x[i] = value


def reflector(v: ptr[f64], at: i64, first: i64, stop: i64) -> f64:
    """beta of 1 - beta v v', which moves v[first:stop] to place `at`, one of its ends. v becomes
    that vector; 0 leaves all as it is."""
    head = v[at]
    v[at] = 0.0
    rest = inner(shift(v, first), shift(v, first), stop - first)
    v[at] = head
    if rest < 1e-280:
        return 0.0
    v[at] = head + away(sqrt(rest + head * head), head)
    return 2.0 / (rest + v[at] * v[at])


def turn_row(x: ptr[f64], v: ptr[f64], beta: f64, n: i64) -> None:
    add_times(x, 0.0 - beta * inner(x, v, n), v, n)
'''
)

EIGEN = (
    ROWS
    + '''
def tridiagonal(a: ptr[f64], d: ptr[f64], e: ptr[f64], p: ptr[f64], n: i64) -> None:
    """Of a's lower triangle, from the last row: diagonal d, e[i] beside i and i + 1. Row i of a
    keeps its reflection before the diagonal, and beta on it."""
    for i in range(n - 1, 0, -1):
        v = shift(a, i * n)
        d[i] = v[i]
        head = v[i - 1]
        beta = reflector(v, i - 1, 0, i)
        e[i - 1] = head
        if beta > 0.0:
            e[i - 1] = head - v[i - 1]
            fill(p, 0.0, i)
            for j in range(i):
                row = shift(a, j * n)
                p[j] = inner(row, v, j) + row[j] * v[j]
                add_times(p, v[j], row, j)
            scale(p, beta, i)
            add_times(p, 0.0 - 0.5 * beta * inner(p, v, i), v, i)
            for j in range(i):
                row = shift(a, j * n)
                minus = 0.0 - v[j]
                less = 0.0 - p[j]
                for k in range(j + 1):
                    row[k] = row[k] + (minus * p[k] + less * v[k])
        v[i] = beta
    d[0] = a[0]
    e[n - 1] = 0.0


def chase_up(d: ptr[f64], e: ptr[f64], rows: ptr[f64], low: i64, high: i64, n: i64) -> None:
    """One implicit step of QL from `high` to `low`, by the shift of the first two."""
    g = (d[low + 1] - d[low]) / (2.0 * e[low])
    g = d[high] - d[low] + e[low] / (g + away(hypotenuse(g, 1.0), g))
    s = 1.0
    c = 1.0
    moved = 0.0
    for i in range(high - 1, low - 1, -1):
        f = s * e[i]
        b = c * e[i]
        r = hypotenuse(f, g)
        e[i + 1] = r
        s = 0.0
        c = 1.0
        if r > 0.0:
            s = f / r
            c = g / r
        g = d[i + 1] - moved
        r = (d[i] - g) * s + 2.0 * c * b
        moved = s * r
        d[i + 1] = g + moved
        g = c * r - b
        rotate(shift(rows, i * n), shift(rows, (i + 1) * n), c, s, n)
    d[low] = d[low] - moved
    e[low] = g
    e[high] = 0.0


def eigh(block: ptr[i64], begin: i64, end: i64) -> None:
    """Of (x + x') / 2. block: x, w, v, n, scratch: twice n n, twice n."""
    n = block[3]
    a = ptr[f64](block[4])
    rows = shift(a, n * n)
    e = shift(rows, n * n)
    zero = 0.0
    for cell in range(begin, end):
        x = shift(ptr[f64](block[0]), cell * n * n)
        values = shift(ptr[f64](block[1]), cell * n)
        vectors = shift(ptr[f64](block[2]), cell * n * n)
        for i in range(n):
            for j in range(n):
                a[i * n + j] = x[i * n + j] * 0.5 + x[j * n + i] * 0.5
        factor = factor_of(a, n * n)
        if factor == 0.0:
            fill(values, zero / zero, n)
            fill(vectors, zero / zero, n * n)
            continue
        if factor != 1.0:
            scale(a, factor, n * n)
        tridiagonal(a, values, e, shift(e, n), n)
        unit_rows(rows, n)
        for i in range(1, n):
            v = shift(a, i * n)
            if v[i] > 0.0:
                for j in range(i):
                    turn_row(shift(rows, j * n), v, v[i], i)
        for low in range(n):
            steps = 0
            high = n
            while high > low and steps < 60:
                high = low
                while high < n - 1 and size_of(e[high]) > 1.2e-16 * (
                    size_of(values[high]) + size_of(values[high + 1])
                ) and size_of(e[high]) > 1e-200:
                    high = high + 1
                if high > low:
                    chase_up(values, e, rows, low, high, n)
                steps = steps + 1
        for i in range(n):
            least = i
            for j in range(i + 1, n):
                if values[j] < values[least]:
                    least = j
            if least != i:
                kept = values[i]
                values[i] = values[least]
                values[least] = kept
                swap_rows(rows, i, least, n)
        if factor != 1.0:
            for i in range(n):
                values[i] = values[i] / factor
        for j in range(n):
            row = shift(rows, j * n)
            if negative(row, n):
                scale(row, 0.0 - 1.0, n)
            for i in range(n):
                vectors[i * n + j] = row[i]
'''
)
