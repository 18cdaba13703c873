"""The walk over tiles of a product by a BLAS, in the subset of `native`."""

from __future__ import annotations

SLOTS = (
    *("function", "a", "b", "c"),
    *("m", "n", "k", "lda", "ldb", "ldc", "transpose_a", "transpose_b"),
    *("rows", "columns", "n1", "n2"),
    *("a0", "a1", "a2", "b0", "b1", "b2", "c0", "c1", "c2"),
    *("row_of_a", "column_of_b"),
)

BLAS = '''
def tiles(block: ptr[i64], begin: i64, end: i64) -> None:
    """Cells in order of batch, row block, column block; see SLOTS."""
    a = ptr[T](block[1])
    b = ptr[T](block[2])
    c = ptr[T](block[3])
    rows = block[12]
    columns = block[13]
    down = (block[4] + rows - 1) // rows
    across = (block[5] + columns - 1) // columns
    for cell in range(begin, end):
        batch = cell // (down * across)
        i = cell // across % down * rows
        j = cell % across * columns
        i2 = batch % block[15]
        i1 = batch // block[15] % block[14]
        i0 = batch // block[15] // block[14]
        at_a = i0 * block[16] + i1 * block[17] + i2 * block[18] + i * block[25]
        at_b = i0 * block[19] + i1 * block[20] + i2 * block[21] + j * block[26]
        at_c = i0 * block[22] + i1 * block[23] + i2 * block[24] + i * block[9] + j
        blas(block[0], block[10], block[11], min(rows, block[4] - i),
             min(columns, block[5] - j), block[6], 1.0, shift(a, at_a), block[7],
             shift(b, at_b), block[8], 0.0, shift(c, at_c), block[9])
'''
