"""Factors of dense row-major matrices in the subset of `native`, in f64. A cell is a matrix.

Scratch is each thread's own. What is summed is summed in ascending order.
"""

from __future__ import annotations

VECTORS = '''
def size_of(x: f64) -> f64:
    return max(x, 0.0 - x)


def dot(x: ptr[f64], y: ptr[f64], n: i64) -> f64:
    total = 0.0
    for i in range(n):
        total = total + x[i] * y[i]
    return total


def add_times(x: ptr[f64], factor: f64, y: ptr[f64], n: i64) -> None:
    """x + factor y in place."""
    for i in range(n):
        x[i] = x[i] + factor * y[i]


def scale(x: ptr[f64], factor: f64, n: i64) -> None:
    for i in range(n):
        x[i] = x[i] * factor


def rotate(x: ptr[f64], y: ptr[f64], c: f64, s: f64, n: i64) -> None:
    """(c x - s y, s x + c y) in place."""
    for i in range(n):
        a = x[i]
        b = y[i]
        x[i] = c * a - s * b
        y[i] = s * a + c * b


def unit_rows(x: ptr[f64], n: i64) -> None:
    for i in range(n):
        for j in range(n):
            x[i * n + j] = 0.0
        x[i * n + i] = 1.0


def swap_rows(x: ptr[f64], i: i64, j: i64, n: i64) -> None:
    for k in range(n):
        a = x[i * n + k]
        x[i * n + k] = x[j * n + k]
        x[j * n + k] = a


def negative(x: ptr[f64], n: i64) -> i1:
    """Whether the first greatest element is below 0."""
    best = 0.0
    found = False
    for i in range(n):
        if size_of(x[i]) > best:
            best = size_of(x[i])
            found = x[i] < 0.0
    return found
'''

FACTORS = (
    VECTORS
    + '''
def cholesky(block: ptr[i64], begin: i64, end: i64) -> None:
    """block: x, result, n. Of (x + x') / 2; all of the triangle is NaN if it is not positive."""
    n = block[2]
    zero = 0.0
    for cell in range(begin, end):
        x = shift(ptr[f64](block[0]), cell * n * n)
        l = shift(ptr[f64](block[1]), cell * n * n)
        good = True
        for i in range(n):
            row = shift(l, i * n)
            for j in range(i + 1):
                other = shift(l, j * n)
                rest = (x[i * n + j] + x[j * n + i]) * 0.5 - dot(row, other, j)
                if i == j:
                    good = good and rest > 0.0
                    row[i] = sqrt(rest)
                else:
                    row[j] = rest / other[j]
            for j in range(i + 1, n):
                row[j] = 0.0
        if not good:
            for i in range(n):
                for j in range(i + 1):
                    l[i * n + j] = zero / zero


def triangular(block: ptr[i64], begin: i64, end: i64) -> None:
    """block: a, b, x, n, m, row and column stride of a, forward, unit, cells of a matrix. A cell
    is 64 columns."""
    n = block[3]
    m = block[4]
    for cell in range(begin, end):
        at = cell // block[9]
        first = cell % block[9] * 64
        count = min(64, m - first)
        a = shift(ptr[f64](block[0]), at * n * n)
        y = shift(ptr[f64](block[1]), at * n * m + first)
        x = shift(ptr[f64](block[2]), at * n * m + first)
        for step in range(n):
            i = step
            if block[7] == 0:
                i = n - 1 - step
            row = shift(x, i * m)
            for c in range(count):
                row[c] = y[i * m + c]
            for before in range(step):
                p = before
                if block[7] == 0:
                    p = n - 1 - before
                add_times(row, 0.0 - a[i * block[5] + p * block[6]], shift(x, p * m), count)
            if block[8] == 0:
                pivot = a[i * block[5] + i * block[6]]
                for c in range(count):
                    row[c] = row[c] / pivot


def lu(block: ptr[i64], begin: i64, end: i64) -> None:
    """By rows with the first greatest pivot. block: x, packed, order (i32), sign, n."""
    n = block[4]
    for cell in range(begin, end):
        x = shift(ptr[f64](block[1]), cell * n * n)
        order = shift(ptr[i32](block[2]), cell * n)
        copy(x, shift(ptr[f64](block[0]), cell * n * n), n * n * 8)
        sign = 1.0
        for i in range(n):
            order[i] = i
        for k in range(n):
            best = k
            for i in range(k + 1, n):
                if size_of(x[i * n + k]) > size_of(x[best * n + k]):
                    best = i
            if best != k:
                swap_rows(x, k, best, n)
                kept = order[k]
                order[k] = order[best]
                order[best] = kept
                sign = 0.0 - sign
            pivot = x[k * n + k]
            for i in range(k + 1, n):
                factor = x[i * n + k]
                if pivot != 0.0:
                    factor = factor / pivot
                x[i * n + k] = factor
                add_times(shift(x, i * n + k + 1), 0.0 - factor, shift(x, k * n + k + 1), n - 1 - k)
        signs = ptr[f64](block[3])
        signs[cell] = sign


def reflect(x: ptr[f64], v: ptr[f64], beta: f64, w: ptr[f64], first: i64, stop: i64, from_: i64,
            n: i64) -> None:
    """x - beta v (v' x) of rows first to stop, of columns from_ to n; w is room for v' x."""
    for j in range(from_, n):
        w[j] = 0.0
    for i in range(first, stop):
        add_times(shift(w, from_), v[i], shift(x, i * n + from_), n - from_)
    for i in range(first, stop):
        add_times(shift(x, i * n + from_), 0.0 - beta * v[i], shift(w, from_), n - from_)


def qr(block: ptr[i64], begin: i64, end: i64) -> None:
    """Householder's. block: x (m n), q (m k), r (k n), m, n, k, scratch: m n, k m, k, max(n, k)."""
    m = block[3]
    n = block[4]
    k = block[5]
    x = ptr[f64](block[6])
    vs = shift(x, m * n)
    betas = shift(vs, k * m)
    w = shift(betas, k)
    for cell in range(begin, end):
        copy(x, shift(ptr[f64](block[0]), cell * m * n), m * n * 8)
        q = shift(ptr[f64](block[1]), cell * m * k)
        r = shift(ptr[f64](block[2]), cell * k * n)
        for j in range(k):
            v = shift(vs, j * m)
            total = 0.0
            for i in range(j, m):
                v[i] = x[i * n + j]
                total = total + v[i] * v[i]
            length = sqrt(total)
            if v[j] > 0.0:
                length = 0.0 - length
            total = total - v[j] * length
            v[j] = v[j] - length
            betas[j] = 0.0
            if total > 0.0:
                betas[j] = 1.0 / total
                reflect(x, v, betas[j], w, j, m, j, n)
        for i in range(m):
            for j in range(k):
                q[i * k + j] = 0.0
        for j in range(k):
            q[j * k + j] = 1.0
        for j in range(k - 1, -1, -1):
            reflect(q, shift(vs, j * m), betas[j], w, j, m, j, k)
        for i in range(k):
            sign = 1.0
            if x[i * n + i] < 0.0:
                sign = 0.0 - 1.0
            for j in range(n):
                r[i * n + j] = 0.0
                if j >= i:
                    r[i * n + j] = sign * x[i * n + j]
            for j in range(m):
                q[j * k + i] = sign * q[j * k + i]
'''
)
