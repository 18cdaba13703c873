"""One stage of a loader: which examples its batches hold (page 20, "Loaders"; R4, R6, R38)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..experiment.declarations import LoaderDeclaration, StageDeclaration
from ..experiment.protocols import Header
from ..ir.types import Type
from . import order, split, windows
from .cuts import Source, make_cut

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

_AHEAD = 64
"""Batches whose examples are computed at once: a step of a small model is near the cost of one."""


class Stage:
    """Facts from the header alone; `reader` is called when the first batch is asked for.

    `host`: calls Lisp functions with rows of arguments, for `map`.
    """

    def __init__(
        self,
        loader: LoaderDeclaration,
        stage: StageDeclaration,
        header: Header,
        seed: int,
        reader: Callable[[], Any],
        host: Any = None,
        source: str = "",
    ) -> None:
        self.loader, self.declaration, self.header = loader, stage, header
        self._seed, self._source = seed, source
        self.cut = make_cut(Source(loader.name, header, reader), loader, stage)
        self._mapping: Any = None
        if stage.maps or loader.maps:
            from .mapping import Mapping

            self._mapping = Mapping(stage.maps or loader.maps, self.cut, host, self._keys)
        self._ahead: tuple[int, np.ndarray] | None = None

    # -- facts

    @property
    def examples(self) -> int | None:
        count: int | None = self.cut.examples
        return count

    @property
    def uncounted(self) -> Sequence[Path]:
        """Files of the source, where a check has left its documents or groups uncounted."""
        paths: Sequence[Path] = self.header.get("paths", ())
        return paths if getattr(self.cut, "unread", False) else ()

    @property
    def rows(self) -> int:
        if self.loader.whole:
            return 1
        rows = self.declaration.batch or self.loader.batch
        if rows is None:
            raise problem(
                "E-OPTION",
                f"loader {self.loader.name} needs (batch n)",
                hint="(batch 32) in the loader, or :batch 32 in each stage",
                clause="batch",
            )
        return rows

    def batches(self) -> int | None:
        """Batches of an epoch; of random windows as many as have the stage's tokens once."""
        if self.examples is None:
            return None
        if self._order(True) == "random" and self.cut.windows:
            whole: int = split.size(self.cut.ranges) // (self.cut.windows.size * self.rows)
        else:
            whole = self.examples // self.rows
        if whole == 0:
            raise self._small()
        return whole

    def _small(self) -> Problem:
        return problem(
            "E-DATA-SMALL",
            f"stage :{self.declaration.name} of {self.loader.name} has {self.examples} examples, "
            f"fewer than a batch of {self.rows}",
            examples=self.examples,
            batch=self.rows,
        )

    def fields(self) -> dict[str, Type]:
        """Types of one example, as `(fields ...)` names them and `(map ...)` makes them."""
        found: dict[str, Type] = (self._mapping or self.cut).fields()
        return found

    def shared(self, other: Any) -> int:
        """Positions that both stages read of one source; 0 where they cut it by other rules, or
        where masks keep them apart."""
        if self.declaration.source or other.declaration.source or self.loader.whole:
            return 0
        if not isinstance(other, Stage):
            return 0
        mine, theirs = self.declaration.mask, other.declaration.mask
        if mine and theirs and mine[0] == theirs[0] and mine[1] != theirs[1]:
            return 0
        if self.declaration.split_by != other.declaration.split_by:
            return 0
        return split.overlap(self.cut.ranges, other.cut.ranges)

    # -- data

    def _order(self, training: bool) -> str:
        chosen = (self.declaration.order or "").lstrip(":").lower()
        return chosen or ("shuffled" if training else "sequential")

    def batch(self, number: int, names: Iterable[str] | None) -> dict[str, np.ndarray]:
        if self.loader.whole or not self.header["fields"]:
            return self.read(None, names)
        per = self.batches() or 1
        epoch = number // per
        block, inside = divmod(number % per, _AHEAD)
        first = number - inside
        ahead = self._ahead  # read once: threads may ask for batches of other blocks
        if ahead is None or ahead[0] != first:
            count = min(_AHEAD, per - block * _AHEAD)
            ahead = (first, self._training(epoch, block * _AHEAD, count))
            self._ahead = ahead
        return self.read(ahead[1][inside], names, epoch)

    def _training(self, epoch: int, first: int, count: int) -> np.ndarray:
        """Places (count, B) of an epoch's batches."""
        import numpy as np

        rows = self.rows
        position = np.arange(first * rows, (first + count) * rows, dtype=np.int64)
        return self.places(epoch, position).reshape(count, rows)

    def places(self, epoch: int, position: np.ndarray) -> np.ndarray:
        """Places of an epoch's examples in training, by their positions in it."""
        kind, n = self._order(True), self.examples or 0
        if kind == "random":
            return self._anywhere(epoch, position)
        if kind == "streams":
            rows = self.rows
            index = order.run_starts(n, rows)[position % rows] + position // rows
        elif kind == "shuffled":
            index = order.permute(n, self._keys(epoch), position)
        else:
            index = position
        return self._places(index, self._shift(epoch) if kind == "shuffled" else 0)

    def in_order(self, index: np.ndarray) -> np.ndarray:
        """Places of examples in the source's own order."""
        return self._places(index)

    def _anywhere(self, epoch: int, position: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.cut.anywhere(self._keys(epoch), position)
        return found

    def _places(self, index: np.ndarray, shift: int = 0) -> np.ndarray:
        found: np.ndarray = self.cut.places(index, shift)
        return found

    def _shift(self, epoch: int) -> int:
        cut = self.cut.windows
        if cut is None or not cut.shift:
            return 0
        return self._keys(("shift", epoch))[0] % windows.stride(cut)

    def _keys(self, epoch: Any) -> tuple[int, ...]:
        own = (self._source,) if self._source else ()
        return order.key(self._seed, self.loader.name, self.declaration.name, *own, epoch)

    def evaluation(self, number: int, names: Iterable[str] | None) -> dict[str, np.ndarray]:
        """Batch `number` of a pass over all examples; the last may be short."""
        import numpy as np

        if self.loader.whole or not self.header["fields"]:
            return self.read(None, names)
        n, rows = self.examples or 0, self.rows
        kind = self._order(False)
        if kind == "streams":
            starts = order.run_starts(n, rows)
            full = number < n // rows
            index = (starts if full else starts[: n % rows]) + number
        else:
            index = np.arange(number * rows, min(n, (number + 1) * rows), dtype=np.int64)
        if kind == "shuffled":
            index = order.permute(n, self._keys(0), index)
        if kind == "random":
            return self.read(self._anywhere(0, index), names)
        return self.read(self._places(index), names)

    def some(self, index: Sequence[int]) -> dict[str, np.ndarray]:
        """Examples by their numbers in the source's own order."""
        import numpy as np

        if self.loader.whole or not self.header["fields"]:
            return self.read(None, None)
        return self.read(self.in_order(np.asarray(index, np.int64)), None)

    def read(
        self, places: np.ndarray | None, names: Iterable[str] | None, epoch: int = 0
    ) -> dict[str, np.ndarray]:
        """The fields of some examples, or of all that there is."""
        if self._mapping is not None:
            mapped: dict[str, np.ndarray] = self._mapping.read(places, names, epoch)
            return mapped
        found: dict[str, np.ndarray] = self.cut.read(places, names)
        return found
