"""Which convolutions need no gathered matrix, and their code: every size but the number of
pictures is a constant of it."""

from __future__ import annotations

import functools
import itertools
import math
from pathlib import Path
from typing import TYPE_CHECKING

from sexpgpu_core.records import NamedTuple

from .compilation import ModuleText
from .host import host
from .loader import CodeUnit, unit_key
from .native.unit import files_digest

if TYPE_CHECKING:
    from .calls.geometry import Geometry

TAPS = 28
"""Most taps, places times channels: registers of the weights, beside those of the sums."""

WEIGHTS = 1 << 20
"""Most bytes of weights, which every row of pixels reads again. Of 2.4 MB a gathered matrix and
packed panels took 0.7 of the time, of 0.6 MB 1.1."""
VECTORS = 2
"""Vectors of given channels that share what is read."""
PICTURES = 4
"""Fewest pictures: one is a cell."""


class Line(NamedTuple):
    """Along one axis `rows` outputs, `first`, `first` + div, ..., that meet the same places of the
    window, so many: `places`, then `jump` on. The first output reads `reads`, then `step` on."""

    first: int
    rows: int
    places: int
    jump: int
    window: int
    reads: int
    step: int


class Phase(NamedTuple):
    """A line of sheets, one of rows and one of columns, `reads` in the padded picture."""

    first: tuple[int, ...]
    rows: tuple[int, ...]
    places: tuple[int, ...]
    jump: tuple[int, ...]
    window: tuple[int, ...]
    reads: tuple[int, ...]
    step: tuple[int, ...]


class Band(NamedTuple):
    """`times` neighbours alike, each `read` channels and `given` after the last: vectors of given
    channels, where each begins and its lanes. `begin`: the given channel of the first."""

    times: int
    begin: int
    given: int
    read: int
    vectors: list[tuple[int, int]]


class Narrow(NamedTuple):
    """What a text is made for. `width`: elements of a vector; `dtype` f32 or f64; `channels` read
    and `given`, both in `groups`. A picture is of sheets: one, unless there are three axes."""

    dtype: str
    width: int
    geometry: Geometry
    channels: int
    given: int
    groups: int = 1

    @property
    def taps(self) -> list[int]:
        """Offsets in the padded picture, in elements, in the order of the weights' rows."""
        g, c = self.geometry, self.channels
        _, high, wide = self.plane
        sheet, row = g.step[0] * high * wide, g.step[1] * wide
        return [
            (h * sheet + i * row + j * g.step[2]) * c + k
            for h in range(g.window[0])
            for i in range(g.window[1])
            for j in range(g.window[2])
            for k in range(self.taken)
        ]

    @property
    def taken(self) -> int:
        """Channels read by a group."""
        return self.channels // self.groups

    @property
    def own(self) -> int:
        """Channels given by a group."""
        return self.given // self.groups

    @property
    def few(self) -> bool:
        """Whether the weights of a vector of channels stay in registers."""
        return self.groups == 1 and self.depth <= TAPS and set(self.geometry.div) == {1}

    @property
    def wide(self) -> bool:
        """Whether a group gives more than half a vector, one group alone half: a channel read
        meets all of it."""
        return self.own >= self.width // 2 + (self.groups > 1)

    @property
    def lanes(self) -> bool:
        """Whether groups lie beside each other in a vector, read and given."""
        return self.groups > 1 and not self.wide and self.taken <= self.width

    @property
    def across(self) -> bool:
        """Whether a vector is of the channels read: few are given."""
        some = self.channels >= self.width // 2
        return self.groups == 1 and some and not self.wide and not self.few

    @property
    def bands(self) -> list[Band]:
        """All given channels, in vectors that share what is read."""
        if not self.lanes:
            starts = range(0, self.own, self.width)
            each = [(s, min(self.width, self.own - s)) for s in starts]
            pairs = [each[i : i + VECTORS] for i in range(0, len(each), VECTORS)]
            return [Band(self.groups, 0, self.own, self.taken, pair) for pair in pairs]
        beside = max(1, min(self.width // self.own, self.width // self.taken))
        both = VECTORS * beside
        whole, rest = divmod(self.groups, both)
        vector = beside * self.own
        pair = [(v * vector, vector) for v in range(VECTORS)]
        found = [Band(whole, 0, both * self.own, both * self.taken, pair)] if whole else []
        sizes = [(v, min(beside, rest - v) * self.own) for v in range(0, rest, beside)]
        tail = [(v * self.own, size) for v, size in sizes]
        begin = whole * both * self.own
        return [*found, Band(1, begin, self.given, self.channels, tail)] if tail else found

    @property
    def depth(self) -> int:
        """Products in an output."""
        return self.geometry.places * self.taken

    @property
    def low(self) -> list[int]:
        """The sheet, the row and the column of the picture where the padded one begins."""
        return [_span(self.geometry, a)[0] for a in range(3)]

    @property
    def plane(self) -> list[int]:
        """Sheets, rows and columns of a padded picture."""
        spans = (_span(self.geometry, a) for a in range(3))
        return [last - first for first, last in spans]

    @property
    def phases(self) -> list[Phase]:
        """All outputs; one phase unless the geometry divides."""
        axes = [
            [line._replace(reads=line.reads - low) for line in _lines(self.geometry, a)]
            for a, low in enumerate(self.low)
        ]
        return [Phase(*zip(*lines)) for lines in itertools.product(*axes)]

    @property
    def scratch(self) -> int:
        """Bytes of a padded picture."""
        return math.prod(self.plane) * self.channels * self.bytes

    @property
    def bytes(self) -> int:
        return 4 if self.dtype == "f32" else 8


def _lines(g: Geometry, a: int) -> list[Line]:
    """The phases along an axis."""
    found = []
    for first in range(min(g.div[a], g.rows[a])):
        places = range(g.window[a])
        seen = [k for k in places if (first + k * g.step[a] + g.off[a]) % g.div[a] == 0]
        rows = -(-(g.rows[a] - first) // g.div[a])
        jump = seen[1] - seen[0] if len(seen) > 1 else 1
        k = seen[0] if seen else 0
        reads = (first + k * g.step[a] + g.off[a]) // g.div[a]
        found.append(Line(first, rows, k, jump, len(seen), reads, jump * g.step[a] // g.div[a]))
    return found


def _span(g: Geometry, a: int) -> tuple[int, int]:
    """What is read along an axis: the first, and one more than the last."""
    some = [n for n in _lines(g, a) if n.window]
    ends = [n.reads + (n.rows - 1) * g.mul[a] + (n.window - 1) * n.step for n in some]
    return min((n.reads for n in some), default=0), max(ends, default=0) + 1


def takes(n: Narrow, pictures: int) -> bool:
    """Whether it is convolved without a gathered matrix: up to two axes, of three where groups
    would make the matrix's products small; weights that stay in the second cache, a picture for
    each of a few threads."""
    g = n.geometry
    flat = g.read[0] == g.rows[0] == g.window[0] == 1 and not g.off[0]
    size = g.places * n.taken * n.given * n.bytes
    enough = pictures >= PICTURES or n.groups > 1
    kind = n.few or n.wide or n.lanes or n.across
    some = (flat or n.groups > 1) and min(g.step) > 0
    return host().fma and some and kind and size <= WEIGHTS and enough


@functools.cache
def narrow_unit(n: Narrow) -> CodeUnit:
    """Its functions `narrow` and `narrow_weights`."""

    def text() -> ModuleText:
        from .narrow_emit import narrow_text

        return ModuleText(narrow_text(n), "narrow")  # in final form: passes gain little

    folder = str(Path(__file__).parent)
    digests = (files_digest(folder, "narrow*.py"), files_digest(folder, "direct*.py"))
    key = unit_key("narrow", *digests, repr(n))
    return CodeUnit(key, ("narrow", "narrow_weights"), text)
