"""All examples of a loader's stages read once: ranges of fields, values that are no number or out
of bounds, examples that two stages share by content, classes that a sorted split leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import Change, Diagnostic, Edit, diagnostic
from ..diagnostics.diagnostic import Related
from ..records import NamedTuple
from ..spans import Span
from .loader import Loader

if TYPE_CHECKING:
    import numpy as np

    from .cuts import Arrays

ROWS = 1024
"""Examples that are in memory together."""

SAMPLE = 4 << 20
"""Bytes of a stage's examples that a run compares with another's."""

CLASSES = 1000
"""Distinct values up to which an integer of an example is a class."""


class Field:
    """What is known of a field: its least and greatest value, how many are no finite number, and
    of one integer an example its values and whether they never fall or never rise."""

    def __init__(self) -> None:
        self.least: float | int | None = None
        self.most: float | int | None = None
        self.bad, self.first_bad = 0, -1
        self.classes: set[int] | None = set()
        self.rises = self.falls = True
        self._last: int | None = None

    def take(self, array: np.ndarray, at: int) -> None:
        import numpy as np

        if array.dtype.kind == "b":
            array = array.view(np.uint8)
        if array.dtype.kind not in "iu":
            array = np.asarray(array, np.float64)
            fine = np.isfinite(array)
            if not fine.all():
                if self.first_bad < 0:
                    row = np.flatnonzero(~fine.reshape(len(array), -1).all(axis=1))[0]
                    self.first_bad = at + int(row)
                self.bad += int((~fine).sum())
                array = array[fine]
        if not array.size:
            return
        low, high = array.min().item(), array.max().item()
        self.least = low if self.least is None else min(self.least, low)
        self.most = high if self.most is None else max(self.most, high)
        if array.ndim == 1 and array.dtype.kind in "iu":
            self._count(array)
        else:
            self.classes = None

    def _count(self, array: np.ndarray) -> None:
        import numpy as np

        if self.classes is not None:
            self.classes |= set(np.unique(array).tolist())
            if len(self.classes) > CLASSES:
                self.classes = None
        run = array if self._last is None else np.concatenate([[self._last], array])
        steps = np.diff(run.astype(np.int64))
        self.rises &= bool((steps >= 0).all())
        self.falls &= bool((steps <= 0).all())
        self._last = int(array[-1])

    def told(self) -> dict[str, Any]:
        said: dict[str, Any] = {"least": self.least, "most": self.most}
        if self.bad:
            said["not_finite"] = self.bad
        if self.classes is not None and self.classes:
            said["values"] = len(self.classes)
        return said


class Stage(NamedTuple):
    """What was read of a stage. `prints`: a hash of each example's content."""

    name: str
    examples: int
    fields: dict[str, Field]
    prints: Any
    outside: dict[str, tuple[int, int]]  # field -> example and value that first broke its bound


def survey(
    loader: Loader, stages: Sequence[str], bounds: Mapping[str, Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[Diagnostic]]:
    """What the stages hold, and what is wrong. `bounds`: of the fields of a stage, by name
    (compile.bounds.Bound)."""
    read = [_read(loader, name, bounds.get(name, {})) for name in stages if _ends(loader, name)]
    found: list[Diagnostic] = []
    for stage in read:
        found += _wrong(loader, stage, bounds.get(stage.name, {}))
    found += _shared(loader, read)
    found += _sorted(loader, read)
    found += _marked(loader, [stage.name for stage in read])
    return [_told(loader, stage) for stage in read], found


def doubles(loader: Loader) -> list[Diagnostic]:
    """W-SPLIT-LEAK as a run looks for it: by examples of each stage that lie evenly in it; of
    data that is one thing W-SPLIT-OVERLAP of masks. Raises what readers raise."""
    names = [name for name in loader.declaration.stages if _ends(loader, name)]
    if loader.declaration.whole:
        return list(_marked(loader, names))
    if len(names) < 2:
        return []
    return list(_shared(loader, [_sample(loader, name) for name in names]))


def _sample(loader: Loader, name: str) -> Stage:
    size = sum(t.bytes for t in loader.fields(name).values())
    step = max(1, -(-(loader.examples(name) or 0) * size // SAMPLE))
    whole = _together([_prints(b, False) for b in loader.everything(name, ROWS, step)])
    return Stage(name, len(whole), {}, whole, {})


def _ends(loader: Loader, stage: str) -> bool:
    return bool(loader.fields(stage)) and loader.examples(stage) is not None


def _told(loader: Loader, stage: Stage) -> dict[str, Any]:
    fields = {name: field.told() for name, field in stage.fields.items()}
    return {
        "loader": loader.name, "stage": stage.name, "examples": stage.examples, "fields": fields,
    }  # fmt: skip


def _read(loader: Loader, name: str, bounds: Mapping[str, Any]) -> Stage:
    fields = {field: Field() for field in loader.fields(name)}
    prints: list[np.ndarray] = []
    outside: dict[str, tuple[int, int]] = {}
    at = 0
    for batch in loader.everything(name, ROWS):
        for field, array in batch.items():
            fields[field].take(array, at)
            if field in bounds and field not in outside:
                broken = _outside(array, bounds[field])
                if broken is not None:
                    outside[field] = (at + broken[0], broken[1])
        prints.append(_prints(batch, loader.declaration.whole))
        at += 1 if loader.declaration.whole else len(next(iter(batch.values())))
    return Stage(name, at, fields, _together(prints), outside)


def _outside(array: np.ndarray, bound: Any) -> tuple[int, int] | None:
    """The first example and value that is not below a bound."""
    import numpy as np

    wrong = (array < 0) | (array >= bound.size)
    if bound.ignored is not None:
        wrong &= array != bound.ignored
    if not wrong.any():
        return None
    place = np.unravel_index(int(np.argmax(wrong)), array.shape)
    return int(place[0]), int(array[place])


def _prints(batch: Arrays, whole: bool) -> np.ndarray:
    """64 bits of BLAKE2 of all fields of each example; nothing of what is one thing (`whole`)."""
    from hashlib import blake2b

    import numpy as np

    if whole:
        return np.zeros(0, np.uint64)
    flat = [a.reshape(len(a), -1).view(np.uint8) for n, a in batch.items() if n != "source"]
    rows = np.ascontiguousarray(np.concatenate(flat, axis=1))
    found = b"".join(blake2b(row, digest_size=8).digest() for row in rows)
    return np.frombuffer(found, np.uint64)


def _together(prints: Sequence[np.ndarray]) -> np.ndarray:
    import numpy as np

    return np.concatenate([np.zeros(0, np.uint64), *prints])


def _wrong(loader: Loader, stage: Stage, bounds: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """W-DATA-NAN and E-DATA-TOKEN of a stage."""
    of, span = f"{loader.name} :{stage.name}", _span(loader, stage.name)
    for name, field in stage.fields.items():
        if field.bad:
            yield diagnostic(
                "W-DATA-NAN",
                f"field {name} of {of} has {field.bad:,} values that are no finite number, the "
                f"first in example {field.first_bad:,}",
                span=span,
                hint=f'say what stands for them: (fields ({name} "{name}" :f32 :missing 0))',
                field=name,
                count=field.bad,
                example=field.first_bad,
            )
    for name, (example, value) in stage.outside.items():
        bound = bounds[name]
        related = (
            ()
            if bound.where is None
            else (Related(f"indexes an axis of {bound.size:,}", bound.where),)
        )
        yield diagnostic(
            "E-DATA-TOKEN",
            f"field {name} of {of} has {value:,} in example {example:,}; {bound.operation} takes "
            f"0 to {bound.size - 1:,}",
            span=span,
            hint=f"make the size more than {value:,}, or the data's numbers fit"
            if value >= 0
            else "no index is below 0: map the field, or say :ignore-index",
            related=related,
            field=name,
            value=value,
            size=bound.size,
            example=example,
        )


_COMPARED = ", of those that were compared: check --data compares all"


def _shared(loader: Loader, read: Sequence[Stage]) -> Iterator[Diagnostic]:
    """W-SPLIT-LEAK for stages with equal examples, unless they share them by their splits."""
    import numpy as np

    for at, one in enumerate(read):
        for two in read[at + 1 :]:
            if loader.declaration.whole or loader.shared(one.name, two.name):
                continue
            count = int(np.isin(two.prints, one.prints).sum())
            if count:
                some = any(s.examples < (loader.examples(s.name) or 0) for s in (one, two))
                yield diagnostic(
                    "W-SPLIT-LEAK",
                    f"{count:,} of {two.examples:,} examples of {loader.name} :{two.name} are "
                    f"equal to examples of :{one.name}{_COMPARED if some else ''}",
                    span=_span(loader, two.name),
                    hint="take doubles out of the data, or split it by what they have in common: "
                    "(split-by (:group field))",
                    stages=(one.name, two.name),
                    count=count,
                    examples=two.examples,
                )


def _marked(loader: Loader, names: Sequence[str]) -> Iterator[Diagnostic]:
    """W-SPLIT-OVERLAP of masks of unlike fields that mark some rows both (R24)."""
    own = loader.declaration
    masks = {n: mask for n in names if own.whole and (mask := own.stages[n].mask)}
    if len({field for field, _ in masks.values()}) < 2:
        return
    read = {name: loader.batch(name, 0, ["mask"])["mask"] > 0 for name in masks}
    for at, one in enumerate(masks):
        for two in list(masks)[at + 1 :]:
            unlike = masks[one][0] != masks[two][0] and read[one].shape == read[two].shape
            count = int((read[one] & read[two]).sum()) if unlike else 0
            if count:
                yield diagnostic(
                    "W-SPLIT-OVERLAP",
                    f"the masks of :{one} and :{two} both mark {count:,} of {read[two].size:,} "
                    "rows",
                    span=_span(loader, two),
                    stages=(one, two),
                    shared=count,
                )


def _sorted(loader: Loader, read: Sequence[Stage]) -> Iterator[Diagnostic]:
    """W-SPLIT-SORTED where stages are parts of a table that is sorted by a field of classes."""
    own = loader.declaration
    if own.split_by or own.whole or len(read) < 2 or "tokens" in loader.header():
        return
    if any(own.stages[s.name].split_by or own.stages[s.name].source for s in read):
        return
    if loader.header().get("split-by"):
        return
    for name in read[0].fields:
        fields = [stage.fields[name] for stage in read]
        sets = [field.classes for field in fields if field.classes is not None]
        if len(sets) < len(read) or not _in_order(fields):
            continue
        union = set().union(*sets)
        few = len(union) <= max(2, sum(s.examples for s in read) // 4)
        lacking = [(s.name, len(union - c)) for s, c in zip(read, sets) if union - c]
        if lacking and few:
            stage, missing = lacking[-1]
            yield diagnostic(
                "W-SPLIT-SORTED",
                f"{loader.name} is sorted by {name}: stage :{stage} has none of {missing} of its "
                f"{len(union)} values",
                span=_span(loader, stage),
                hint=f"(split-by (:stratify {name})) gives each stage its share of each",
                edit=_stratified(own.span, name),
                field=name,
                missing=missing,
            )


def _stratified(loader: Span | None, field: str) -> Edit | None:
    """Writes the clause at the loader's end."""
    if loader is None or not loader.text.endswith(")"):
        return None
    clause = f"(split-by (:stratify {field}))"
    end = Span(loader.source, loader.end - 1, loader.end - 1)
    return Edit(f"add {clause}", (Change(end, f" {clause}"),))


def _in_order(fields: Sequence[Field]) -> bool:
    return all(f.rises for f in fields) or all(f.falls for f in fields)


def _span(loader: Loader, stage: str) -> Any:
    return loader.declaration.stages[stage].span or loader.declaration.span
