"""Windows over up to three spatial axes, in the subset of `native`: convolution and pooling.

A block begins with the geometry (see geometry.py): sizes of the read array's axes N, of the
written rows' axes M, of the window K, then per axis `mul step off div`: window place k of row o
reads n = (o mul + k step + off) / div where that is whole and inside.
"""

from __future__ import annotations

from .source import ABOVE

CONVOLUTION = '''
def place(o: i64, k: i64, axis: i64, block: ptr[i64]) -> i64:
    """The index read on an axis, or -1."""
    n = o * block[9 + axis] + k * block[12 + axis] + block[15 + axis]
    if n < 0:
        return -1
    if n % block[18 + axis] != 0:
        return -1
    n = n // block[18 + axis]
    if n >= block[axis]:
        return -1
    return n


def source(row: i64, t: i64, block: ptr[i64]) -> i64:
    """The element row that place t of the window at `row` reads, or -1."""
    o2 = row % block[5]
    o1 = row // block[5] % block[4]
    o0 = row // (block[5] * block[4]) % block[3]
    image = row // (block[5] * block[4] * block[3])
    n2 = place(o2, t % block[8], 2, block)
    n1 = place(o1, t // block[8] % block[7], 1, block)
    n0 = place(o0, t // (block[8] * block[7]), 0, block)
    if n0 < 0 or n1 < 0 or n2 < 0:
        return -1
    return ((image * block[0] + n0) * block[1] + n1) * block[2] + n2


def line(x: ptr[T], to: ptr[T], block: ptr[i64], o2: i64, channels: i64, taken: i64) -> None:
    """The window's last axis: K2 times `taken` channels of x, which starts at its row's begin."""
    width = block[8]
    start = o2 * block[11] + block[17]
    if block[14] == 1 and block[20] == 1 and channels == taken:
        if start >= 0 and start + width <= block[2]:
            copy(to, shift(x, start * channels), width * taken * BYTES)
            return
    for k in range(width):
        n = place(o2, k, 2, block)
        at = shift(to, k * taken)
        if n < 0:
            for c in range(taken):
                at[c] = 0.0
        else:
            source = shift(x, n * channels)
            for c in range(taken):
                at[c] = source[c]


def columns(x: ptr[T], to: ptr[T], block: ptr[i64], first: i64, last: i64, line_first: i64,
            line_last: i64, channels: i64, taken: i64) -> None:
    """Rows [first, last) of the matrix whose columns are the window's places: lines of K2 places
    from line_first to line_last, `taken` of `channels` channels each."""
    width = block[8] * taken
    here = shift(to, 0)
    for row in range(first, last):
        o2 = row % block[5]
        o1 = row // block[5] % block[4]
        o0 = row // (block[5] * block[4]) % block[3]
        image = row // (block[5] * block[4] * block[3])
        for t in range(line_first, line_last):
            n0 = place(o0, t // block[7], 0, block)
            n1 = place(o1, t % block[7], 1, block)
            if n0 < 0 or n1 < 0:
                zero(here, width * BYTES)
            else:
                at = ((image * block[0] + n0) * block[1] + n1) * block[2] * channels
                line(shift(x, at), here, block, o2, channels, taken)
            here = shift(here, width)


def multiply(block: ptr[i64], a: i64, b: i64, c: i64, m: i64, n: i64, k: i64, ai: i64, ak: i64,
             bk: i64, bj: i64, ldc: i64, code: i64) -> None:
    """The emitted product; `block` is room for its arguments. Columns of A that are contiguous
    are packed where a cell has no more than 96 rows."""
    for i in range(24):
        block[i] = 0
    block[0] = a
    block[1] = b
    block[2] = c
    block[3] = m
    block[4] = n
    block[5] = k
    block[6] = ai
    block[7] = ak
    block[8] = bk
    block[9] = bj
    block[10] = ldc
    block[11] = 1
    block[12] = 1
    block[22] = 96 if ai == 1 else m
    block[23] = n
    invoke(code, block, 0, (m + block[22] - 1) // block[22])


def rows(block: ptr[i64], begin: i64, end: i64) -> None:
    """conv and its input gradient. After the geometry: 21 x, 22 w (group, K, n), 23 result, 24
    rows, 25 rows of a cell, 26 groups, 27 channels, 28 result's channels, 29 scratch, 30 code of
    the product, 31 elements from one group of w to the next, 32 from one row of w to the next."""
    x = ptr[T](block[21])
    taken = block[27] // block[26]
    given = block[28] // block[26]
    lines = block[6] * block[7]
    depth = lines * block[8] * taken
    matrix = ptr[T](block[29] + 256)
    for cell in range(begin, end):
        group = cell % block[26]
        first = cell // block[26] * block[25]
        last = min(first + block[25], block[24])
        columns(shift(x, group * taken), matrix, block, first, last, 0, lines, block[27], taken)
        b = block[22] + group * block[31] * BYTES
        c = block[23] + (first * block[28] + group * given) * BYTES
        multiply(ptr[i64](block[29]), i64(matrix), b, c, last - first, given, depth, depth, 1,
                 block[32], 1, block[28], block[30])


def weights(block: ptr[i64], begin: i64, end: i64) -> None:
    """The weight gradient: a cell is (part of the rows, run of lines, group). 21 x, 22 gradient,
    23 parts of the result, 24 rows, 25 rows of a tile, 26 groups, 27 channels, 28 gradient's
    channels, 29 scratch, 30 code of the product, 31 parts, 32 tiles of a part, 33 lines of a run,
    34 runs, 35 elements of a tile's matrix."""
    x = ptr[T](block[21])
    taken = block[27] // block[26]
    given = block[28] // block[26]
    lines = block[6] * block[7]
    width = block[8] * taken
    matrix = ptr[T](block[29] + 256)
    partial = shift(matrix, block[35])
    size = lines * width * block[28]
    for cell in range(begin, end):
        group = cell % block[26]
        run = cell // block[26] % block[34]
        part = cell // (block[26] * block[34])
        line_first = run * block[33]
        line_last = min(line_first + block[33], lines)
        depth = (line_last - line_first) * width
        result = ptr[T](block[23])
        result = shift(result, part * size + line_first * width * block[28] + group * given)
        for tile in range(block[32]):
            first = (part * block[32] + tile) * block[25]
            last = min(first + block[25], block[24])
            if first < block[24]:
                columns(shift(x, group * taken), matrix, block, first, last, line_first,
                        line_last, block[27], taken)
                b = block[22] + (first * block[28] + group * given) * BYTES
                if tile == 0:
                    multiply(ptr[i64](block[29]), i64(matrix), b, i64(result), depth, given,
                             last - first, 1, depth, block[28], 1, block[28], block[30])
                else:
                    multiply(ptr[i64](block[29]), i64(matrix), b, i64(partial), depth, given,
                             last - first, 1, depth, block[28], 1, given, block[30])
                    for i in range(depth):
                        to = shift(result, i * block[28])
                        more = shift(partial, i * given)
                        for j in range(given):
                            to[j] = to[j] + more[j]


def spread(block: ptr[i64], begin: i64, end: i64) -> None:
    """The input gradient where strides leave most of a gathered matrix empty: products of the
    gradient's rows, each added where its window read. 21 gradient, 22 w, 23 result, 24 rows of an
    image, 25 rows of a tile, 26 groups, 27 result's channels, 28 gradient's channels, 29 scratch,
    30 code of the product, 31 elements of an image. A cell is an image."""
    g = block[21]
    result = ptr[T](block[23])
    taken = block[27] // block[26]
    given = block[28] // block[26]
    places = block[6] * block[7] * block[8]
    depth = places * taken
    matrix = ptr[T](block[29] + 256)
    for image in range(begin, end):
        zero(shift(result, image * block[31]), block[31] * BYTES)
        for group in range(block[26]):
            to = shift(result, group * taken)
            for tile in range((block[24] + block[25] - 1) // block[25]):
                first = image * block[24] + tile * block[25]
                last = min(first + block[25], (image + 1) * block[24])
                multiply(ptr[i64](block[29]), g + (first * block[28] + group * given) * BYTES,
                         block[22] + group * given * BYTES, i64(matrix), last - first, depth,
                         given, block[28], 1, 1, block[28], depth, block[30])
                for row in range(first, last):
                    for t in range(places):
                        at = source(row, t, block)
                        if at >= 0:
                            x = shift(to, at * block[27])
                            more = shift(matrix, (row - first) * depth + t * taken)
                            for c in range(taken):
                                x[c] = x[c] + more[c]


def fold(block: ptr[i64], begin: i64, end: i64) -> None:
    """Parts added in order. block: parts, result, elements, parts. Cells of 1024 elements."""
    parts = ptr[T](block[0])
    result = ptr[T](block[1])
    for j in range(begin * 1024, min(end * 1024, block[2])):
        total = parts[j]
        for p in range(1, block[3]):
            total = total + parts[p * block[2] + j]
        result[j] = total
'''

_PLACE = CONVOLUTION[: CONVOLUTION.index("def line")]


def _places(visit: str) -> str:
    """The places of a window that are inside, in order: each has its element of x begin `at`."""
    return f"""\
    for k0 in range(block[6]):
        n0 = o0 * block[9] + k0 * block[12] + block[15]
        for k1 in range(block[7]):
            n1 = o1 * block[10] + k1 * block[13] + block[16]
            if n0 >= 0 and n0 < block[0] and n1 >= 0 and n1 < block[1]:
                line = ((image * block[0] + n0) * block[1] + n1) * block[2]
                for k2 in range(block[8]):
                    n2 = o2 * block[11] + k2 * block[14] + block[17]
                    if n2 >= 0 and n2 < block[2]:
                        at = (line + n2) * channels
                        {visit}
"""


MAXIMA = (
    ABOVE
    + '''
def greatest(block: ptr[i64], begin: i64, end: i64) -> None:
    """max-pool; NaN wins. After the geometry, which divides by nothing: 21 x, 22 result, 23
    channels. A cell is a line of windows along the last axis."""
    channels = block[23]
    for cell in range(begin, end):
        plane = cell // block[4]
        image = plane // block[3]
        for o2 in range(block[5]):
            to = shift(ptr[T](block[22]), (cell * block[5] + o2) * channels)
            peak(ptr[T](block[21]), to, block, image, plane % block[3], cell % block[4], o2)


def peak(x: ptr[T], to: ptr[T], block: ptr[i64], image: i64, o0: i64, o1: i64, o2: i64) -> None:
    """The greatest of a window."""
    channels = block[23]
    for c in range(channels):
        to[c] = LEAST
'''
    + _places("raise_to(shift(x, at), to, channels)")
    + '''

def raise_to(value: sole[T], to: sole[T], channels: i64) -> None:
    """The greater, and NaN."""
    for c in range(channels):
        old = to[c]
        new = value[c]
        to[c] = new if above(new, old) | (new != new) else old


def greatest_gradient(block: ptr[i64], begin: i64, end: i64) -> None:
    """g to the first greatest of each window. 21 x, 22 result, 23 channels, 24 g, 25 elements of
    an image of x, 26 scratch: a window's greatest, and what of g is not given yet. A cell is an
    image."""
    channels = block[23]
    best = ptr[T](block[26])
    left = shift(best, channels)
    for image in range(begin, end):
        zero(shift(ptr[T](block[22]), image * block[25]), block[25] * BYTES)
        g = shift(ptr[T](block[24]), image * block[3] * block[4] * block[5] * channels)
        for o0 in range(block[3]):
            for o1 in range(block[4]):
                for o2 in range(block[5]):
                    peak(ptr[T](block[21]), best, block, image, o0, o1, o2)
                    copy(left, g, channels * BYTES)
                    give(best, left, block, image, o0, o1, o2)
                    g = shift(g, channels)


def give(best: ptr[T], left: ptr[T], block: ptr[i64], image: i64, o0: i64, o1: i64,
         o2: i64) -> None:
    """What is left to the places of a window, in order: the first that is the greatest takes it."""
    channels = block[23]
'''
    + _places(
        "take(shift(ptr[T](block[21]), at), shift(ptr[T](block[22]), at), best, left, channels)"
    )
    + '''

def take(value: sole[T], to: sole[T], best: sole[T], left: sole[T], channels: i64) -> None:
    """A NaN is only among values whose greatest is one. No sum is -0, so adding 0 is nothing."""
    for c in range(channels):
        new = value[c]
        more = left[c]
        hit = (new == best[c]) | (new != new)
        to[c] = to[c] + (more if hit else ZERO)
        left[c] = ZERO if hit else more
'''
)

MEANS = (
    _PLACE
    + '''
def count(o0: i64, o1: i64, o2: i64, block: ptr[i64]) -> i64:
    """Places of a window that are inside."""
    a = 0
    b = 0
    c = 0
    for k in range(block[6]):
        if place(o0, k, 0, block) >= 0:
            a = a + 1
    for k in range(block[7]):
        if place(o1, k, 1, block) >= 0:
            b = b + 1
    for k in range(block[8]):
        if place(o2, k, 2, block) >= 0:
            c = c + 1
    return max(a * b * c, 1)


def mean(block: ptr[i64], begin: i64, end: i64) -> None:
    """avg-pool. 21 x, 22 result, 23 channels, 24 divisor or 0: places that are inside. A cell is
    a window."""
    x = ptr[T](block[21])
    channels = block[23]
    places = block[6] * block[7] * block[8]
    for row in range(begin, end):
        to = shift(ptr[T](block[22]), row * channels)
        for c in range(channels):
            to[c] = 0.0
        for t in range(places):
            at = source(row, t, block)
            if at >= 0:
                value = shift(x, at * channels)
                for c in range(channels):
                    to[c] = to[c] + value[c]
        divisor = block[24]
        if divisor == 0:
            divisor = count(row // (block[5] * block[4]) % block[3], row // block[5] % block[4],
                            row % block[5], block)
        for c in range(channels):
            to[c] = to[c] / C(divisor)


def mean_gradient(block: ptr[i64], begin: i64, end: i64) -> None:
    """The geometry is the gradient's: rows are of x, places read g. 21 g, 22 result, 23 channels,
    24 divisor or 0, 25 geometry of the pooling. A cell is an element row of x."""
    g = ptr[T](block[21])
    channels = block[23]
    pooling = ptr[i64](block[25])
    places = block[6] * block[7] * block[8]
    for row in range(begin, end):
        to = shift(ptr[T](block[22]), row * channels)
        for c in range(channels):
            to[c] = 0.0
        for t in range(places):
            at = source(row, t, block)
            if at >= 0:
                divisor = block[24]
                if divisor == 0:
                    divisor = count(at // (block[2] * block[1]) % block[0],
                                    at // block[2] % block[1], at % block[2], pooling)
                value = shift(g, at * channels)
                for c in range(channels):
                    to[c] = to[c] + value[c] / C(divisor)
'''
)
