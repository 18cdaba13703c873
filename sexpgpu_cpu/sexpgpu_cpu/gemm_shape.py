"""Sizes of a matrix product: vectors and registers of the machine, and the grid of its cells.

The grid follows from shapes alone; an element's bits do not depend on it (see gemm_emit).
"""

from __future__ import annotations

from sexpgpu_core.records import NamedTuple

KC = 256
"""Rows of B in a packed panel: 32 KB at 32 columns of f32, which stays in L1."""

CELL_ROWS = 384
"""Most rows of C that a cell takes; a multiple of every micro-kernel height used."""

DEEP, DEEP_ROWS = 512, 192
"""With a longer k a cell takes fewer rows, so that its block of A stays in the second cache."""

CELL_COLUMNS = 256
"""Most columns of a cell."""

CELLS = 16
"""Cells that a product is cut into, about, where they do not become too small."""

LEFT_ROWS = 96
"""Most rows of a cell whose A is transposed: they are packed on the stack, 96 KB of f32."""

SMALL = 2_000_000
"""Multiply-adds of a product below which a whole matrix is one cell."""


class Shape(NamedTuple):
    """Vector width in elements, heights tried in turn, vectors in a row of C, element type."""

    width: int
    heights: tuple[int, ...]
    vectors: tuple[int, ...]
    dtype: str

    @property
    def scalar(self) -> str:
        return "float" if self.dtype == "f32" else "double"

    @property
    def vector(self) -> str:
        return f"<{self.width} x {self.scalar}>"

    @property
    def bytes(self) -> int:
        """Of a vector."""
        return self.width * (4 if self.dtype == "f32" else 8)

    @property
    def overload(self) -> str:
        return f"v{self.width}{self.dtype}"

    @property
    def columns(self) -> int:
        """Columns of a packed panel."""
        return self.width * max(self.vectors)


def shape_for(width_f32: int, dtype: str) -> Shape:
    """Blocking for a machine whose vectors hold `width_f32` floats (4, 8 or 16).

    16: 24 accumulators of 32 registers; 8 and 4: 12 accumulators of 16 (SSE, AVX) registers.
    """
    width = width_f32 if dtype == "f32" else max(2, width_f32 // 2)
    heights = (12, 4, 1) if width_f32 == 16 else (6, 2, 1)
    return Shape(width, heights, (2, 1), dtype)


SLOTS = (
    *("a", "b", "c"),  # pointers to the first element
    *("m", "n", "k"),
    *("ai", "ak", "bk", "bj", "ldc"),  # strides in elements: A(i,k), B(k,j), rows of C
    *("n1", "n2"),  # sizes of batch axes 1 and 2 (axis 0 follows from the cells)
    *("a0", "a1", "a2", "b0", "b1", "b2", "c0", "c1", "c2"),  # batch strides
    *("rows", "columns"),  # of a cell
    "packed",  # panels of B made beforehand, or 0
)
"""The argument block, eight bytes each."""


def grid(m: int, n: int, k: int, columns: int, standing: bool = False) -> tuple[int, int]:
    """Rows and columns of a cell, from shapes alone. `standing`: the columns of A are contiguous,
    so that a cell packs its rows of A first, and is wide."""
    if standing:
        return _standing_grid(m, n, columns)
    if m * n * k <= SMALL:
        return m, n
    rows = min(m, DEEP_ROWS if k > DEEP else CELL_ROWS)
    across = max(1, CELLS // -(-m // rows))
    wide = max(-(-n // across), -(-SMALL // (rows * k)))
    return rows, min(n, CELL_COLUMNS, -(-wide // columns) * columns)


def _standing_grid(m: int, n: int, columns: int) -> tuple[int, int]:
    wide = min(n, CELL_COLUMNS)
    blocks = max(-(-m // LEFT_ROWS), min(CELLS // 2 // -(-n // max(wide, 1)), m // 60), 1)
    rows = -(-m // blocks)
    return min(m, -(-rows // 12) * 12), wide


PACKED_ROWS, PACKED_COLUMNS = 96, 1024
"""Most rows and columns of a cell whose panels of B are packed beforehand."""


def prepacked(m: int, n: int, k: int, batch: int) -> bool:
    """Whether a record of its own packs B once for all cells: they are many, and B is one."""
    return batch == 1 and m > PACKED_ROWS and m * n * k > SMALL


def packed_grid(m: int, n: int, standing: bool) -> tuple[int, int]:
    """Rows and columns of a cell over packed panels: as wide as may be, for A is read once."""
    wide = min(n, PACKED_COLUMNS)
    if standing:
        return _standing_grid(m, n, 1)[0], wide
    blocks = -(-m // PACKED_ROWS)
    return min(m, -(-m // blocks // 12) * 12), wide


def panels(n: int, k: int, columns: int) -> tuple[int, int]:
    """Panels of B (cells of the packing), and elements that they take."""
    number = -(-n // columns) * -(-k // KC)
    return number, number * KC * columns


def cells(m: int, n: int, rows: int, columns: int, batch: int) -> int:
    """Number of cells of a product."""
    if not (m and n):
        return 0
    return batch * -(-m // rows) * -(-n // columns)
