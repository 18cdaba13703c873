"""One stage of a loader: which examples its batches hold (page 20, "Loaders"; R4, R6, R38)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..experiment.declarations import LoaderDeclaration, StageDeclaration, Windows
from ..experiment.protocols import Header
from ..ir.types import Type, numpy_dtype
from . import order, split, windows

if TYPE_CHECKING:
    import numpy as np

_AHEAD = 64
"""Batches whose examples are computed at once: a step of a small model is near the cost of one."""


class Stage:
    """Facts from the header alone; `reader` is called when the first batch is asked for."""

    def __init__(
        self,
        loader: LoaderDeclaration,
        stage: StageDeclaration,
        shape: str,
        header: Header,
        seed: int,
        reader: Callable[[], Any],
    ) -> None:
        self.loader, self.declaration, self.header = loader, stage, header
        self._seed, self._reader = seed, reader
        self.windows = self._windows(shape)
        self.ranges = self._ranges()
        self.examples = self._examples()
        self._ranked: Callable[[np.ndarray], np.ndarray] | None = None
        self._ahead: tuple[int, np.ndarray] | None = None
        self._refuse()

    # -- facts

    def _refuse(self) -> None:
        """What later issues bring is refused by name, never ignored."""
        w = self.windows
        method, field = _method(self.loader.split_by)
        if method == "stratify" and field not in self.header["fields"]:
            known = " ".join(self.header["fields"])
            raise problem(
                "E-FIELD",
                f"(split-by (:stratify {field})): no such field",
                hint=f"It has {known}.",
                field=field,
            )
        later = {
            "(map ...)": self.loader.maps,
            ":mask in a stream": self.windows and self.declaration.mask,
            "(windows ... :documents)": w and _true(w.documents),
            "(windows ... :pack)": w and _true(w.pack),
        }
        for form, given in later.items():
            if given:
                raise problem("E-UNSUPPORTED", f"{form} is not offered yet", form=form)

    def _windows(self, shape: str) -> Windows | None:
        chosen = self.declaration.windows or self.loader.windows
        if shape == "stream" and chosen is None and not self.loader.whole:
            raise problem(
                "E-OPTION", f"the stream of {self.loader.name} needs (windows n)", clause="windows"
            )
        if shape == "table" and chosen is not None:
            raise problem("E-OPTION", f"{self.loader.name} is a table: (windows ...) cuts a stream")
        return chosen

    @property
    def _length(self) -> int | None:
        length = self.header.get("tokens") if self.windows else self.header.get("count")
        if length is None and self.header["fields"] and not self.loader.whole:
            raise problem(
                "E-DATA-FORMAT", "the arrays have unlike numbers of examples; such data is (whole)"
            )
        return length

    def _ranges(self) -> split.Ranges:
        length = self._length
        return () if length is None or self.loader.whole else split.ranges(length, self._pairs)

    @property
    def _pairs(self) -> split.Pairs:
        return self.declaration.split

    def _examples(self) -> int | None:
        if self.loader.whole:
            return 1
        if self._length is None:
            return None
        if self.windows is None:
            return split.size(self.ranges)
        n = windows.total(self.ranges, self.windows)
        if n == 0:
            tokens = split.size(self.ranges)
            raise problem(
                "E-DATA-SMALL",
                f"stage :{self.declaration.name} has {tokens} tokens, fewer than a window of "
                f"{self.windows.size}",
                tokens=tokens,
                window=self.windows.size,
            )
        return n

    @property
    def rows(self) -> int:
        if self.loader.whole:
            return 1
        rows = self.declaration.batch or self.loader.batch
        if rows is None:
            raise problem("E-OPTION", f"loader {self.loader.name} needs (batch n)", clause="batch")
        return rows

    def batches(self) -> int | None:
        """Batches of an epoch; of random windows as many as have the stage's tokens once."""
        if self.examples is None:
            return None
        if self._order(True) == "random" and self.windows:
            whole = split.size(self.ranges) // (self.windows.size * self.rows)
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
        """Types of one example, as `(fields ...)` names them."""
        if self.windows is not None:
            dtype, shape = self.header["fields"]["tokens"]
            return {"tokens": Type(dtype, (self.windows.size, *shape))}
        found = self.header["arrays" if self.loader.whole else "fields"]
        types = {
            name: Type(dtype or found[column][0], tuple(found[column][1]))
            for name, (column, dtype) in self._columns(found).items()
        }
        return {**types, **self._mask_type(types)}

    def _mask_type(self, types: dict[str, Type]) -> dict[str, Type]:
        """`:mask (FIELD VALUE)` brings the f32 field `mask`, 1 where the field has the value."""
        if self.declaration.mask is None:
            return {}
        field, _ = self.declaration.mask
        if field not in types:
            known = " ".join(types)
            raise problem("E-FIELD", f"(:mask ({field} ...)): no such field", hint=f"has: {known}")
        return {"mask": Type("f32", types[field].shape)}

    def _columns(self, found: Any) -> dict[str, tuple[str, str | None]]:
        """Field -> (the source's own name, declared dtype)."""
        if not self.loader.fields:
            return {name: (name, None) for name in found}
        columns: dict[str, tuple[str, str | None]] = {}
        for name, column, *rest in self.loader.fields:
            if column not in found:
                known = " ".join(found)
                raise problem("E-FIELD", f"the source has no {column}", hint=f"It has {known}.")
            columns[name] = (column, rest[0].lstrip(":") if rest and rest[0] else None)
        return columns

    def shared(self, other: Stage) -> int:
        """Positions that both stages read of one source; 0 where they cut it by other rules, or
        where masks keep them apart."""
        if self.declaration.source or other.declaration.source or self.loader.whole:
            return 0
        mine, theirs = self.declaration.mask, other.declaration.mask
        if mine and theirs and mine[0] == theirs[0] and mine[1] != theirs[1]:
            return 0
        return split.overlap(self.ranges, other.ranges)

    # -- data

    def _order(self, training: bool) -> str:
        chosen = (self.declaration.order or "").lstrip(":").lower()
        return chosen or ("shuffled" if training else "sequential")

    def batch(self, number: int, names: Iterable[str] | None) -> dict[str, np.ndarray]:
        if self.loader.whole or not self.header["fields"]:
            return self._read(None, names)
        per = self.batches() or 1
        block, inside = divmod(number % per, _AHEAD)
        first = number - inside
        ahead = self._ahead  # read once: threads may ask for batches of other blocks
        if ahead is None or ahead[0] != first:
            count = min(_AHEAD, per - block * _AHEAD)
            ahead = (first, self._training(number // per, block * _AHEAD, count))
            self._ahead = ahead
        return self._read(ahead[1][inside], names)

    def _training(self, epoch: int, first: int, count: int) -> np.ndarray:
        """Places (count, B) of an epoch's batches: starts of windows, or rows of a table."""
        import numpy as np

        kind, rows = self._order(True), self.rows
        position = np.arange(first * rows, (first + count) * rows, dtype=np.int64)
        if kind == "random":
            return self._random(epoch, position).reshape(count, rows)
        if kind == "streams":
            index = self._continued(first, count).ravel()
        elif kind == "shuffled":
            index = order.permute(self.examples or 0, self._keys(epoch), position)
        else:
            index = position
        shift = self._shift(epoch) if kind == "shuffled" else 0
        return self._places(index, shift).reshape(count, rows)

    def _random(self, epoch: int, position: np.ndarray) -> np.ndarray:
        if self.windows is not None:
            return windows.anywhere(self.ranges, self.windows, self._keys(epoch), position)
        return self._places(order.draw(self.examples or 0, self._keys(epoch), position))

    def _continued(self, first: int, count: int) -> np.ndarray:
        import numpy as np

        starts = order.run_starts(self.examples or 0, self.rows)
        return starts[None, :] + np.arange(first, first + count, dtype=np.int64)[:, None]

    def _shift(self, epoch: int) -> int:
        if self.windows is None or not self.windows.shift:
            return 0
        return self._keys(("shift", epoch))[0] % windows.stride(self.windows)

    def _keys(self, epoch: Any) -> tuple[int, ...]:
        return order.key(self._seed, self.loader.name, self.declaration.name, epoch)

    def _places(self, index: np.ndarray, shift: int = 0) -> np.ndarray:
        if self.windows is not None:
            return windows.starts(self.ranges, self.windows, index, shift)
        place = split.locate(self.ranges, index)
        ranked = self._ranks()
        return place if ranked is None else ranked(place)

    def _ranks(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """How positions of the split map to examples: None by position (R6)."""
        method, seed = _method(self.loader.split_by)
        if method == "position":
            return None
        if self._ranked is None:
            n = self.header["count"]
            if method == "hash":
                self._ranked = split.by_hash(n, seed or 0)
            else:
                self._ranked = split.by_class(self._labels(str(seed)))
        return self._ranked

    def _labels(self, field: str) -> np.ndarray:
        import numpy as np

        n = self.header["count"]
        labels = np.empty(n, numpy_dtype(self.header["fields"][field][0]))
        self._reader().read(np.arange(n), {field: labels})
        return labels

    def evaluation(self, number: int, names: Iterable[str] | None) -> dict[str, np.ndarray]:
        """Batch `number` of a pass over all examples; the last may be short."""
        import numpy as np

        if self.loader.whole or not self.header["fields"]:
            return self._read(None, names)
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
            return self._read(self._random(0, index), names)
        return self._read(self._places(index), names)

    def _read(
        self, places: np.ndarray | None, names: Iterable[str] | None
    ) -> dict[str, np.ndarray]:
        import numpy as np

        if self.windows is not None and places is not None:
            tokens = self._reader().tokens()
            return {"tokens": windows.gather(tokens, places, self.windows.size)}
        types = self.fields()
        asked = types if names is None else [n for n in types if n in set(names)]
        mask = self.declaration.mask
        marked = mask[0] if mask is not None and "mask" in asked else None
        wanted = [n for n in types if n != "mask" and (n in asked or n == marked)]
        columns = self._columns(self.header["arrays" if self.loader.whole else "fields"])
        lead = () if places is None else (len(places),)
        out = {
            columns[n][0]: np.empty((*lead, *types[n].shape), numpy_dtype(types[n].dtype))
            for n in wanted
        }
        if out:
            self._reader().read(slice(None) if places is None else places, out)
        read = {n: out[columns[n][0]] for n in wanted}
        if mask is not None and marked is not None:
            read["mask"] = (read[mask[0]] == mask[1]).astype(np.float32)
        return {n: read[n] for n in asked}


def _true(value: Any) -> bool:
    """Whether an option is set; Lisp's NIL, None and False are not."""
    return value is not None and value is not False and getattr(value, "name", "") != "NIL"


def _method(written: Any) -> tuple[str, Any]:
    """`(split-by ...)` to its name and its seed or field."""
    if not written:
        return "position", None
    parts = written if isinstance(written, (tuple, list)) else (written,)
    head = parts[0]
    if isinstance(head, (tuple, list)):
        return _method(head)
    name = str(head).lstrip(":").lower()
    if name in ("position", "hash", "stratify"):
        rest = [p for p in parts[1:] if str(p).lower() != ":seed"]
        return name, (rest[0] if rest else None)
    raise problem(
        "E-OPTION-VALUE",
        f"(split-by {name}) is not offered; by :position, :hash or (:stratify field)",
        wanted=("position", "hash", "stratify"),
    )
