"""Irregular kernels in the subset of `native`. T: dtype of the data, J: of indices, U: of results.

Arrays are dense. An array is seen as (outer, axis, inner) around the axis that a kernel works on.
"""

from __future__ import annotations

MOVES = '''
def move(block: ptr[i64], begin: i64, end: i64) -> None:
    """Strided to strided, up to six axes. block: from, to, 6 sizes, 6 + 6 strides in elements. A
    cell is a row along the last axis."""
    source = ptr[T](block[0])
    target = ptr[U](block[1])
    n = block[7]
    read = block[13]
    write = block[19]
    for cell in range(begin, end):
        rest = cell
        a = 0
        b = 0
        for axis in range(4, -1, -1):
            i = rest % block[2 + axis]
            rest = rest // block[2 + axis]
            a = a + i * block[8 + axis]
            b = b + i * block[14 + axis]
        x = shift(source, a)
        y = shift(target, b)
        if read == 1 and write == 1:
            for j in range(n):
                y[j] = x[j]
        else:
            for j in range(n):
                y[j * write] = x[j * read]


def fill(block: ptr[i64], begin: i64, end: i64) -> None:
    """One element everywhere. block: to, elements, address of the element. Cells of 4096."""
    target = ptr[T](block[0])
    value = ptr[T](block[2])[0]
    for j in range(begin * 4096, min(end * 4096, block[1])):
        target[j] = value
'''

ABOVE = '''
def above(a: C, b: C) -> i1:
    """a > b; u64 stands in a signed register."""
    if U64:
        return (a ^ -9223372036854775808) > (b ^ -9223372036854775808)
    return a > b

'''

GATHER = (
    ABOVE
    + '''
def report(error: ptr[i64], row: i64) -> None:
    """The first row whose index is out of range; one of them where threads meet."""
    if error[0] == 0:
        error[1] = row
        error[0] = 1


def gather(block: ptr[i64], begin: i64, end: i64) -> None:
    """block: x (B O N I), index (B P), result (B O P I), O, P, N, I, whether to report, error."""
    x = ptr[T](block[0])
    index = ptr[J](block[1])
    result = ptr[T](block[2])
    places = block[4]
    size = block[5]
    inner = block[6]
    for cell in range(begin, end):
        p = cell % places
        o = cell // places
        j = index[o // block[3] * places + p]
        to = shift(result, cell * inner)
        if j >= 0 and j < size:
            copy(to, shift(x, (o * size + j) * inner), inner * BYTES)
        else:
            if block[7] != 0:
                report(ptr[i64](block[8]), cell)
            zero(to, inner * BYTES)


def greater(a: C, b: C) -> C:
    """The greater (SIDE 1) or lesser; NaN wins."""
    better = above(b, a)
    if SIDE < 0:
        better = above(a, b)
    if better or b != b:
        return b
    return a


def scatter(block: ptr[i64], begin: i64, end: i64) -> None:
    """Positions in ascending order, a cell a block of columns: no two cells touch one element.
    block: y (B O P I), index (B P), result (B O N I), O, P, N, I, whether to report, error,
    columns of a cell, cells of a row."""
    y = ptr[T](block[0])
    index = ptr[J](block[1])
    result = ptr[T](block[2])
    places = block[4]
    size = block[5]
    inner = block[6]
    for cell in range(begin, end):
        o = cell // block[10]
        first = cell % block[10] * block[9]
        count = min(block[9], inner - first)
        base = shift(index, o // block[3] * places)
        for p in range(places):
            j = base[p]
            if j >= 0 and j < size:
                to = shift(result, (o * size + j) * inner + first)
                value = shift(y, (o * places + p) * inner + first)
                if ADD:
                    for c in range(count):
                        to[c] = to[c] + value[c]
                elif SIDE != 0:
                    for c in range(count):
                        to[c] = greater(to[c], value[c])
                else:
                    for c in range(count):
                        to[c] = value[c]
            else:
                if block[7] != 0:
                    report(ptr[i64](block[8]), o * places + p)


def take_along(block: ptr[i64], begin: i64, end: i64) -> None:
    """block: x (O N I), index (O P I), result (O P I), O, P, N, I, whether to report, error."""
    x = ptr[T](block[0])
    index = ptr[J](block[1])
    result = ptr[T](block[2])
    inner = block[6]
    size = block[5]
    for cell in range(begin, end):
        o = cell // block[4]
        for i in range(inner):
            j = index[cell * inner + i]
            if j >= 0 and j < size:
                result[cell * inner + i] = x[(o * size + j) * inner + i]
            else:
                if block[7] != 0:
                    report(ptr[i64](block[8]), cell)
                result[cell * inner + i] = 0


def put_along(block: ptr[i64], begin: i64, end: i64) -> None:
    """block: y (O P I), index (O P I), result (O N I), O, P, N, I, whether to report, error. A
    cell is one of O: positions in ascending order."""
    y = ptr[T](block[0])
    index = ptr[J](block[1])
    result = ptr[T](block[2])
    inner = block[6]
    size = block[5]
    for cell in range(begin, end):
        for p in range(block[4]):
            row = (cell * block[4] + p) * inner
            for i in range(inner):
                j = index[row + i]
                if j >= 0 and j < size:
                    at = (cell * size + j) * inner + i
                    if ADD:
                        result[at] = result[at] + y[row + i]
                    else:
                        result[at] = y[row + i]
                else:
                    if block[7] != 0:
                        report(ptr[i64](block[8]), cell * block[4] + p)
'''
)

SCAN = (
    ABOVE
    + '''
def extremum(block: ptr[i64], begin: i64, end: i64) -> None:
    """Index of the first greatest (GREATEST) or least; the first NaN wins. block: x (O N I),
    result (O I) of U, N, I. A cell is one result."""
    x = ptr[T](block[0])
    result = ptr[U](block[1])
    size = block[2]
    inner = block[3]
    for cell in range(begin, end):
        at = cell // inner * size * inner + cell % inner
        best = x[at]
        where = 0
        for n in range(1, size):
            value = x[at + n * inner]
            if GREATEST:
                better = above(value, best)
            else:
                better = above(best, value)
            if better or (value != value and best == best):
                best = value
                where = n
        result[cell] = where


def running(block: ptr[i64], begin: i64, end: i64) -> None:
    """KIND: 0 sum, 1 product, 2 greatest, 3 least. block: x (O N I), result, N, I, reverse,
    exclusive. A cell is one sequence."""
    x = ptr[T](block[0])
    result = ptr[T](block[1])
    size = block[2]
    inner = block[3]
    for cell in range(begin, end):
        at = cell // inner * size * inner + cell % inner
        step = inner
        if block[4] != 0:
            at = at + (size - 1) * inner
            step = 0 - inner
        so_far = C(0)
        if KIND == 1:
            so_far = C(1)
        for n in range(size):
            value = x[at]
            if block[5] != 0:
                result[at] = so_far
            if KIND == 0:
                so_far = so_far + value
            if KIND == 1:
                so_far = so_far * value
            if KIND == 2:
                if n == 0 or above(value, so_far) or (value != value and so_far == so_far):
                    so_far = value
            if KIND == 3:
                if n == 0 or above(so_far, value) or (value != value and so_far == so_far):
                    so_far = value
            if block[5] == 0:
                result[at] = so_far
            at = at + step
'''
)

SORT = (
    ABOVE
    + '''
def before(a: C, b: C) -> i1:
    """Whether a stands strictly before b; NaN stands last."""
    if b != b:
        return a == a
    if DESCENDING:
        return above(a, b)
    return above(b, a)


def order(block: ptr[i64], begin: i64, end: i64) -> None:
    """Stable merge sort, bottom up. block: x (O N I), indices (O K I) of U, values (O K I) or 0,
    N, I, K, scratch: N keys and twice N indices. A cell is one sequence."""
    x = ptr[T](block[0])
    indices = ptr[U](block[1])
    size = block[3]
    inner = block[4]
    wanted = block[5]
    keys = ptr[C](block[6])
    for cell in range(begin, end):
        o = cell // inner
        i = cell % inner
        here = ptr[i64](block[6] + size * 8)
        there = ptr[i64](block[6] + size * 16)
        for n in range(size):
            keys[n] = x[(o * size + n) * inner + i]
            here[n] = n
        width = 1
        while width < size:
            start = 0
            while start < size:
                merge(keys, here, there, start, min(start + width, size),
                      min(start + 2 * width, size))
                start = start + 2 * width
            swap = here
            here = there
            there = swap
            width = 2 * width
        for k in range(wanted):
            at = (o * wanted + k) * inner + i
            indices[at] = here[k]
            if block[2] != 0:
                values = ptr[T](block[2])
                values[at] = keys[here[k]]


def merge(keys: ptr[C], here: ptr[i64], there: ptr[i64], start: i64, middle: i64,
          stop: i64) -> None:
    left = start
    right = middle
    for n in range(start, stop):
        take_right = False
        if left >= middle:
            take_right = True
        elif right < stop:
            take_right = before(keys[here[right]], keys[here[left]])
        if take_right:
            there[n] = here[right]
            right = right + 1
        else:
            there[n] = here[left]
            left = left + 1


def search(block: ptr[i64], begin: i64, end: i64) -> None:
    """block: sorted (R N), x (R M), result (R M) of U, N, M, elements from a row of sorted to the
    next (0: one for all), right. A cell is one element of x."""
    edges = ptr[T](block[0])
    x = ptr[T](block[1])
    result = ptr[U](block[2])
    for cell in range(begin, end):
        row = shift(edges, cell // block[4] * block[5])
        value = x[cell]
        low = 0
        high = block[3]
        while low < high:
            middle = (low + high) // 2
            if block[6] != 0:
                after = before(value, row[middle])
            else:
                after = not before(row[middle], value)
            if after:
                high = middle
            else:
                low = middle + 1
        result[cell] = low
'''
)

PRODUCT = '''
def product(block: ptr[i64], begin: i64, end: i64) -> None:
    """Integers: C(b i j) = sum of A(b i k) B(b k j), k ascending. block: A, B, C, m, n, k, row and
    column strides of A, B and C. A cell is a row of C."""
    a = ptr[T](block[0])
    b = ptr[T](block[1])
    c = ptr[T](block[2])
    for i in range(begin, end):
        for j in range(block[4]):
            total = C(0)
            for k in range(block[5]):
                total = total + a[i * block[6] + k * block[7]] * b[k * block[8] + j * block[9]]
            c[i * block[10] + j * block[11]] = total
'''
