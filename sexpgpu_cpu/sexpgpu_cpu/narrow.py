"""Which convolutions need no gathered matrix, and their code: every size but the number of
pictures is a constant of it."""

from __future__ import annotations

import functools
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
PICTURES = 4
"""Fewest pictures: one is a cell."""


class Narrow(NamedTuple):
    """What a text is made for. `width`: elements of a vector; `dtype` f32 or f64; `channels` read
    and `given`. The geometry's first axis is one place."""

    dtype: str
    width: int
    geometry: Geometry
    channels: int
    given: int

    @property
    def taps(self) -> list[int]:
        """Offsets in the padded picture, in elements, in the order of the weights' rows."""
        g, c = self.geometry, self.channels
        rows, columns = range(g.window[1]), range(g.window[2])
        return [
            (i * g.step[1] * self.plane[1] + j * g.step[2]) * c + k
            for i in rows
            for j in columns
            for k in range(c)
        ]

    @property
    def few(self) -> bool:
        """Whether the weights of a vector of channels stay in registers."""
        return self.depth <= TAPS

    @property
    def depth(self) -> int:
        """Products in an output."""
        return self.geometry.places * self.channels

    @property
    def plane(self) -> tuple[int, int]:
        """Rows and columns of a padded picture."""
        g = self.geometry
        return tuple(  # type: ignore[return-value]
            (g.rows[a] - 1) * g.mul[a] + (g.window[a] - 1) * g.step[a] + 1 for a in (1, 2)
        )

    @property
    def scratch(self) -> int:
        """Bytes of a padded picture."""
        return math.prod(self.plane) * self.channels * self.bytes

    @property
    def bytes(self) -> int:
        return 4 if self.dtype == "f32" else 8


def takes(n: Narrow, pictures: int, groups: int) -> bool:
    """Whether it is convolved without a gathered matrix: up to two axes, nothing left out between
    places, weights that stay in the second cache, a picture for each of a few threads."""
    g = n.geometry
    flat = g.read[0] == g.rows[0] == g.window[0] == 1 and not g.off[0]
    whole = set(g.div) == {1} and min(g.step) > 0 and groups == 1
    wide = n.few or n.given >= n.width // 2
    size = g.places * n.channels * n.given * n.bytes
    return host().fma and flat and whole and wide and size <= WEIGHTS and pictures >= PICTURES


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
