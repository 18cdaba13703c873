"""Singular values of dense matrices in the subset of `native`, in f64. A cell is a matrix.

Reflections to two diagonals, then implicit shifts, on whole rows of transposed vectors.
"""

from __future__ import annotations

from .eigen_source import ROWS

SINGULAR = (
    ROWS
    + '''
def bidiagonal(g: ptr[f64], us: ptr[f64], d: ptr[f64], e: ptr[f64], right: ptr[f64],
               below: ptr[f64], t: ptr[f64], short: i64, long: i64) -> None:
    """g = l b r': d on b's diagonal and e[j] below d[j]. Row j of g keeps r's reflection from j
    on, row j of us l's from j + 1; right and below are their betas."""
    for j in range(short):
        v = shift(g, j * long)
        head = v[j]
        right[j] = reflector(v, j, j, long)
        d[j] = head
        if right[j] > 0.0:
            d[j] = head - v[j]
            for i in range(j + 1, short):
                turn_row(shift(g, i * long + j), shift(v, j), right[j], long - j)
        e[j] = 0.0
        below[j] = 0.0
        if j + 1 < short:
            u = shift(us, j * short)
            for i in range(j + 1, short):
                u[i] = g[i * long + j]
            head = u[j + 1]
            below[j] = reflector(u, j + 1, j + 1, short)
            e[j] = head
            if below[j] > 0.0:
                e[j] = head - u[j + 1]
                wide = long - j - 1
                fill(t, 0.0, wide)
                for i in range(j + 1, short):
                    add_times(t, u[i], shift(g, i * long + j + 1), wide)
                for i in range(j + 1, short):
                    add_times(shift(g, i * long + j + 1), 0.0 - below[j] * u[i], t, wide)


def basis(rows: ptr[f64], count: i64, vs: ptr[f64], betas: ptr[f64], reflections: i64, off: i64,
          n: i64) -> None:
    """The first rows of the product of reflections, the last first; row j of vs begins at
    j + off."""
    fill(rows, 0.0, count * n)
    for i in range(count):
        rows[i * n + i] = 1.0
    for j in range(reflections - 1, -1, -1):
        first = j + off
        if betas[j] > 0.0:
            for i in range(first, count):
                turn_row(shift(rows, i * n + first), shift(vs, j * n + first), betas[j], n - first)


def chase_down(d: ptr[f64], e: ptr[f64], u: ptr[f64], v: ptr[f64], low: i64, high: i64, long: i64,
               short: i64) -> None:
    """One implicit step of QR of the upper bidiagonal (d, e) from `low` to `high`, by the shift
    of the last two."""
    x = d[low]
    last = d[high]
    y = d[high - 1]
    h = e[high - 1]
    g = 0.0
    if high - 1 > low:
        g = e[high - 2]
    f = ((y - last) * (y + last) + (g - h) * (g + h)) / (2.0 * h * y)
    f = f + away(hypotenuse(f, 1.0), f)
    f = ((x - last) * (x + last) + h * (y / f - h)) / x
    c = 1.0
    s = 1.0
    for i in range(low, high):
        h = s * e[i]
        g = c * e[i]
        y = d[i + 1]
        for side in range(2):
            z = hypotenuse(f, h)
            c = 1.0
            s = 0.0
            if z > 0.0:
                c = f / z
                s = h / z
            if side == 0:
                if i > low:
                    e[i - 1] = z
                f = x * c + g * s
                g = g * c - x * s
                h = y * s
                y = y * c
                rotate(shift(v, i * short), shift(v, (i + 1) * short), c, 0.0 - s, short)
            else:
                d[i] = z
                f = c * g + s * y
                x = c * y - s * g
                rotate(shift(u, i * long), shift(u, (i + 1) * long), c, 0.0 - s, long)
    e[high - 1] = f
    d[high] = x


def cancel(d: ptr[f64], e: ptr[f64], u: ptr[f64], low: i64, high: i64, long: i64) -> None:
    """Removes e[low - 1], beside a value that is as good as 0, by turning it through the rows."""
    f = e[low - 1]
    d[low - 1] = 0.0
    e[low - 1] = 0.0
    for i in range(low, high + 1):
        h = hypotenuse(f, d[i])
        if h > 0.0:
            c = d[i] / h
            s = f / h
            d[i] = h
            rotate(shift(u, (low - 1) * long), shift(u, i * long), c, s, long)
            f = 0.0 - s * e[i]
            e[i] = c * e[i]


def values_of(d: ptr[f64], e: ptr[f64], u: ptr[f64], v: ptr[f64], short: i64, long: i64) -> None:
    """Those of the upper bidiagonal (d, e), in d; the rows of u and v turn with them."""
    for high in range(short - 1, -1, -1):
        going = True
        steps = 0
        while going and steps < 60:
            steps = steps + 1
            low = high
            joined = True
            while low > 0 and joined:
                beside = size_of(d[low]) + size_of(d[low - 1])
                joined = size_of(e[low - 1]) > max(1.2e-16 * beside, 1e-120)
                if joined:
                    around = size_of(e[low - 1])
                    if low > 1:
                        around = around + size_of(e[low - 2])
                    if size_of(d[low - 1]) <= 1.2e-16 * around:
                        cancel(d, e, u, low, high, long)
                        joined = False
                    else:
                        low = low - 1
            going = low < high
            if going:
                chase_down(d, e, u, v, low, high, long, short)
        if d[high] < 0.0:
            d[high] = 0.0 - d[high]
            scale(shift(v, high * short), 0.0 - 1.0, short)


def svd(block: ptr[i64], begin: i64, end: i64) -> None:
    """block: x (m n), u (m left), s, v' (right n), m, n, left, right, scratch: the longer
    vectors' rows, the shorter's, x by long rows, reflections, four of the short, one long."""
    m = block[4]
    n = block[5]
    left = block[6]
    right = block[7]
    short = min(m, n)
    long = max(m, n)
    g = ptr[f64](block[8])
    rows = left
    if m < n:
        rows = right
    w = shift(g, rows * long)
    given = shift(w, short * short)
    us = shift(given, short * long)
    e = shift(us, short * short)
    zero = 0.0
    for cell in range(begin, end):
        x = shift(ptr[f64](block[0]), cell * m * n)
        u = shift(ptr[f64](block[1]), cell * m * left)
        s = shift(ptr[f64](block[2]), cell * short)
        v = shift(ptr[f64](block[3]), cell * right * n)
        factor = factor_of(x, m * n)
        if factor == 0.0:
            fill(u, zero / zero, m * left)
            fill(s, zero / zero, short)
            fill(v, zero / zero, right * n)
            continue
        for i in range(m):
            for j in range(n):
                if m < n:
                    given[i * long + j] = x[i * n + j] * factor
                else:
                    given[j * long + i] = x[i * n + j] * factor
        betas = shift(e, short)
        below = shift(betas, short)
        bidiagonal(given, us, s, e, betas, below, shift(below, short), short, long)
        basis(g, rows, given, betas, short, 0, long)
        basis(w, short, us, below, short - 1, 1, short)
        values_of(s, e, g, w, short, long)
        if factor != 1.0:
            for i in range(short):
                s[i] = s[i] / factor
        for i in range(short):
            best = i
            for j in range(i + 1, short):
                if s[j] > s[best]:
                    best = j
            if best != i:
                kept = s[i]
                s[i] = s[best]
                s[best] = kept
                swap_rows(g, i, best, long)
                swap_rows(w, i, best, short)
        for i in range(rows):
            row = shift(g, i * long)
            other = row
            if i < short:
                other = shift(w, i * short)
            turned = negative(row, long)
            if m < n and i < short:
                turned = negative(other, short)
            if turned:
                scale(row, 0.0 - 1.0, long)
                if i < short:
                    scale(other, 0.0 - 1.0, short)
        if m < n:
            copy(v, g, right * n * 8)
            for j in range(m):
                for i in range(m):
                    u[i * left + j] = w[j * m + i]
        else:
            copy(v, w, n * n * 8)
            for j in range(left):
                for i in range(m):
                    u[i * left + j] = g[j * long + i]
'''
)
