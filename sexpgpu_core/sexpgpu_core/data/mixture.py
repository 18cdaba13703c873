"""Several sources by weight (R43): which source, and which of its examples, a position holds.

Positions go in blocks of 1,024, in which each source has its quota, so shares are exact within one
example at every border of blocks; a key permutes a block. Law: a source's examples come in its own
order and epochs, and none is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

from ..diagnostics import problem
from ..experiment.declarations import StageDeclaration
from ..ir.types import Type, numpy_dtype
from . import order

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from .stage import Stage

_BLOCK = 1024
_MOST = 32
"""Sources at most: with more the heaviest could have fewer than none in a block."""


class MixtureStage:
    """A stage over several sources: `parts` are stages of its own, one a source."""

    def __init__(
        self,
        name: str,
        stage: StageDeclaration,
        parts: Mapping[str, tuple[float, Stage]],
        seed: int,
    ) -> None:
        self.declaration, self._key = stage, (seed, name, stage.name, "mixture")
        self._names = tuple(parts)
        self._parts = [part for _, part in parts.values()]
        self._weights = _shares(name, [weight for weight, _ in parts.values()])
        self._kind = (stage.order or "").lstrip(":")
        if self._kind == "streams":
            raise problem("E-OPTION-VALUE", ":order :streams continues one stream, no mixture")
        self._alike()

    def _alike(self) -> None:
        first = self._parts[0].fields()
        for name, part in zip(self._names, self._parts):
            if part.fields() != first:
                told = f"sources {self._names[0]} and {name} of a mixture have other fields"
                raise problem("E-DATA-FORMAT", told, hint=_both(first, part.fields()))

    # -- facts

    def fields(self) -> dict[str, Type]:
        """Those of each source, and `source`, its number in the order of writing."""
        return {**self._parts[0].fields(), "source": Type("i32", ())}

    @property
    def examples(self) -> int | None:
        counts = [part.examples for part in self._parts]
        return None if None in counts else sum(n or 0 for n in counts)

    @property
    def uncounted(self) -> Sequence[Path]:
        """Files of sources whose documents a check has left uncounted."""
        return [path for part in self._parts for path in part.uncounted]

    @property
    def rows(self) -> int:
        return self._parts[0].rows

    def batches(self) -> int | None:
        """Batches of an epoch: the examples of all sources, once as many."""
        for part in self._parts:
            part.batches()
        return None if self.examples is None else self.examples // self.rows

    def shared(self, other: Any) -> int:
        """Examples that both stages read."""
        if not isinstance(other, MixtureStage):
            return 0
        return sum(mine.shared(theirs) for mine, theirs in zip(self._parts, other._parts))

    def epochs(self, number: int) -> dict[str, float]:
        """How often each source was seen before batch `number` of training, by name."""
        import numpy as np

        at, sizes = number * self.rows, [part.examples or 1 for part in self._parts]
        if self._kind == "sequential":
            whole, inside = divmod(at, sum(sizes))
            starts = np.cumsum([0, *sizes[:-1]])
            seen = [whole * n + min(max(inside - int(s), 0), n) for s, n in zip(starts, sizes)]
        else:
            block = at // _BLOCK * _BLOCK
            which, _ = self.drawn(np.arange(block, at, dtype=np.int64))
            seen = (self._counts(block) + np.bincount(which, minlength=len(sizes))).tolist()
        return {name: count / n for name, count, n in zip(self._names, seen, sizes)}

    # -- data

    def batch(self, number: int, names: Iterable[str] | None) -> dict[str, np.ndarray]:
        import numpy as np

        position = np.arange(number * self.rows, (number + 1) * self.rows, dtype=np.int64)
        if self._kind == "sequential":
            return self._read(*self._in_turn(position % (self.examples or 1)), names)
        return self._read(*self.drawn(position), names)

    def evaluation(self, number: int, names: Iterable[str] | None) -> dict[str, np.ndarray]:
        """Batch `number` of a pass: one source after the other."""
        import numpy as np

        n = self.examples or 0
        position = np.arange(number * self.rows, min(n, (number + 1) * self.rows))
        if self._kind in ("shuffled", "random"):
            position = order.permute(n, order.key(*self._key, 0), position)
        which, at = self._in_turn(position)
        return self._read(which, at, names, passing=True)

    def some(self, index: Sequence[int]) -> dict[str, np.ndarray]:
        """Examples by their numbers, one source after the other."""
        import numpy as np

        return self._read(*self._in_turn(np.asarray(index, np.int64)), None, passing=True)

    def _in_turn(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        ends = np.cumsum([part.examples or 0 for part in self._parts])
        which = np.searchsorted(ends, position, side="right")
        return which, position - (ends[which] - np.diff(ends, prepend=0)[which])

    def drawn(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which source each position is of, and how many of that source's came before."""
        import numpy as np

        which, at = np.empty_like(position), np.empty_like(position)
        for block in np.unique(position // _BLOCK).tolist():
            here = position // _BLOCK == block
            keys = order.key(*self._key, "block", block)
            slot = order.permute(_BLOCK, keys, position[here] % _BLOCK)
            begin = self._counts(block * _BLOCK)
            ends = np.cumsum(self._counts((block + 1) * _BLOCK) - begin)
            which[here] = np.searchsorted(ends, slot, side="right")
            first = ends - np.diff(ends, prepend=0)
            at[here] = begin[which[here]] + slot - first[which[here]]
        return which, at

    def _counts(self, position: int) -> np.ndarray:
        """Examples of each source before a border of blocks; the heaviest takes what is left."""
        import numpy as np

        found = [floor(weight * position) for weight in self._weights]
        heaviest = self._weights.index(max(self._weights))
        found[heaviest] += position - sum(found)
        return np.array(found, np.int64)

    def _read(
        self,
        which: np.ndarray,
        at: np.ndarray,
        names: Iterable[str] | None,
        passing: bool = False,
    ) -> dict[str, np.ndarray]:
        import numpy as np

        types = self.fields()
        wanted = [n for n in types if names is None or n in set(names)]
        out = {
            n: np.empty((len(which), *types[n].shape), numpy_dtype(types[n].dtype)) for n in wanted
        }
        inner = [n for n in wanted if n != "source"]
        for number, part in enumerate(self._parts):
            epochs = at // (part.examples or 1)
            for epoch in np.unique(epochs[which == number]).tolist() if inner else ():
                some = np.flatnonzero((which == number) & (epochs == epoch))
                inside = at[some] % (part.examples or 1)
                places = part.in_order(inside) if passing else part.places(epoch, inside)
                for name, array in part.read(places, inner, epoch).items():
                    out[name][some] = array
        if "source" in out:
            out["source"][:] = which
        return out


def _shares(loader: str, weights: Sequence[float]) -> list[Fraction]:
    if not weights or len(weights) > _MOST:
        raise problem("E-OPTION-VALUE", f"{loader}: a mixture has 1 to {_MOST} sources")
    if min(weights) <= 0:
        raise problem("E-OPTION-VALUE", f"{loader}: the weights of a mixture are above 0")
    exact = [Fraction(repr(float(weight))) for weight in weights]
    return [weight / sum(exact) for weight in exact]


def _both(one: Mapping[str, Type], two: Mapping[str, Type]) -> str:
    return (
        " ".join(f"{n} {t}" for n, t in one.items())
        + " and "
        + " ".join(f"{n} {t}" for n, t in two.items())
    )
