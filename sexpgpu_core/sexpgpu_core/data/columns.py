"""`(fields ...)`: columns of a source to fields, renamed, grouped, typed, filled, hashed (R26)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, nearest, problem
from ..experiment.protocols import Header
from ..ir.types import FLOATS, SIGNED, WIDTH, Type, numpy_dtype
from ..records import NamedTuple
from ..staging.source_options import shown

if TYPE_CHECKING:
    import numpy as np

TEXT = "text"
"""What a header calls the dtype of a column of texts; such a column is hashed or mapped."""


class Field(NamedTuple):
    """One field: the columns it is made of. `hash`: the seed of the numbers that texts become."""

    columns: tuple[str, ...]
    grouped: bool
    dtype: str | None
    missing: Any
    hash: int | None


LARGEST = {"f64": 1.8e308, "f32": 3.4028235e38, "bf16": 3.3895314e38, "f16": 65504.0}
"""The greatest finite numbers."""


def fits(value: Any, dtype: str) -> bool:
    """Whether a dtype has a value: a number, t (True) or nil (None)."""
    if value is None or value is True:
        return dtype == "bool"
    if dtype in FLOATS:
        return not LARGEST[dtype] < abs(value) < float("inf")
    if dtype == "bool" or value != value or abs(value) == float("inf") or value != int(value):
        return False
    bits = 8 * WIDTH[dtype]
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if dtype in SIGNED else (0, 2**bits)
    return bool(low <= value < high)


class Columns:
    """The fields of a table, in order. `whole`: arrays as they are, without an axis of examples."""

    def __init__(self, declared: Sequence[Any], header: Header, whole: bool) -> None:
        self._found: Mapping[str, Any] = header.get("arrays" if whole else "fields", {})
        self._gaps: Mapping[str, str] = header.get("gaps", {})  # column -> where it has no value
        self._fields = {said[0]: self._declared(*said) for said in declared} or {
            name: self._field(name) for name in self._found
        }

    def said(self) -> Any:
        """All that what is read follows from, beside the source."""
        return tuple((name, tuple(field)) for name, field in self._fields.items())

    def _declared(self, name: str, *said: Any) -> Field:
        try:
            return self._field(*said)
        except Problem as wrong:
            column = ("column",) if wrong.diagnostic.code == "E-FIELD" else ()
            raise wrong.of("fields", name, *column) from None

    def _field(self, column: Any, dtype: Any = None, options: Mapping[str, Any] = {}) -> Field:
        grouped = isinstance(column, (tuple, list))
        named = self._range(column) if grouped else (self._named(column),)
        kind = str(dtype).lstrip(":").lower() if dtype else None
        seed = options.get("hash")
        field = Field(named, grouped, kind, options.get("missing"), seed)
        dtypes = {self._found[name][0] for name in named}
        if seed is None and TEXT in dtypes and kind is not None:
            raise _text(named[0])
        if grouped and any(self._found[name][1] for name in named):
            raise problem("E-FIELD", f"columns {named[0]} to {named[-1]}: one of them has axes")
        gaps = [name for name in named if name in self._gaps]
        if gaps and field.missing is None and seed is None:
            raise _gap(gaps[0], self._gaps[gaps[0]])
        type = self._type(field)
        if field.missing is not None and type is not None and not fits(field.missing, type.dtype):
            told = f":missing {field.missing:g} of a field of {type.dtype}, which has no such value"
            raise problem("E-OPTION-VALUE", told, option="missing")
        return field

    def _named(self, column: Any) -> str:
        names = list(self._found)
        if column.__class__ is int and 0 <= column < len(names):
            return names[column]
        written = column.lstrip(":") if isinstance(column, str) else None
        if written is not None and written in self._found:
            return written
        near = nearest(written, names) if written else None
        known = " ".join(names[:20])
        hint = f"Did you mean {near}?" if near else f"It has {known}."
        told = written or shown(column)
        raise problem("E-FIELD", f"the source has no {told}", hint=hint, field=str(column))

    def _range(self, column: Sequence[Any]) -> tuple[str, ...]:
        """(1 14) is columns 1 to 13, as `:split` counts; names are taken with the last."""
        names = list(self._found)
        if len(column) != 2:
            raise problem("E-OPTION-VALUE", "columns of a field are one, or the first and the end")
        first, end = column
        if end.__class__ is int:
            if first.__class__ is not int or not 0 <= first < end <= len(names):
                told = f"columns ({first} {end}) of a source that has {len(names)}"
                raise problem("E-FIELD", told, hint="the end is not one of them: (1 14) is 1 to 13")
            return tuple(names[first:end])
        low, high = names.index(self._named(first)), names.index(self._named(end))
        return tuple(names[low : high + 1])

    def types(self) -> dict[str, Type]:
        """Types of the fields; columns of text that are not hashed are none."""
        return {n: t for n, f in self._fields.items() if (t := self._type(f)) is not None}

    def texts(self) -> dict[str, str]:
        """Fields that are texts, with their columns: what only `map` can take."""
        return {n: f.columns[0] for n, f in self._fields.items() if self._type(f) is None}

    def known(self, what: str, field: str, clause: str) -> Type:
        """The type of a field that a clause names. Raises E-FIELD."""
        types = self.types()
        if field in types:
            return types[field]
        if field in self._fields:
            column = self._fields[field].columns[0]
            told = f"{what}: {field} holds text, which has no number"
            hint = f'number its texts: (fields ({field} "{column}" :hash 0))'
            raise problem("E-FIELD", told, hint=hint, field=field).of(clause)
        near = nearest(field, types)
        hint = f"Did you mean {near}?" if near else f"It has {' '.join(types)}."
        raise problem("E-FIELD", f"{what}: no such field", hint=hint, field=field).of(clause)

    def mask(self, mask: tuple[str, Any] | None) -> dict[str, Type]:
        """`:mask (FIELD VALUE)` brings the f32 field `mask`, 1 where the field has the value."""
        if mask is None:
            return {}
        field, value = mask
        dtype, shape = self.known(f"(:mask ({field} ...))", field, "mask")
        if not fits(value, dtype):
            told = f":mask ({field} {shown(value)}): {field} is {dtype}, which has no such value"
            raise problem("E-OPTION-VALUE", told, option="mask").of("mask")
        return {"mask": Type("f32", shape)}

    def masked(
        self,
        mask: tuple[str, Any] | None,
        names: Iterable[str] | None,
        read: Callable[[list[str]], dict[str, np.ndarray]],
    ) -> dict[str, np.ndarray]:
        """The fields that are asked for, and `mask` made of its field."""
        import numpy as np

        types = {**self.types(), **self.mask(mask)}
        chosen = None if names is None else set(names)
        asked = [n for n in types if chosen is None or n in chosen]
        marked = mask[0] if mask is not None and "mask" in asked else None
        found = read([n for n in types if n != "mask" and (n in asked or n == marked)])
        if mask is not None and marked is not None:
            found["mask"] = (found[marked] == mask[1]).astype(np.float32)
        return {n: found[n] for n in asked}

    def _type(self, field: Field) -> Type | None:
        dtype, shape = self._found[field.columns[0]]
        if field.hash is not None:
            dtype = "u32"
        elif dtype == TEXT:
            return None
        elif field.grouped:
            dtype = joint(self._found[name][0] for name in field.columns)
        width = (len(field.columns),) if field.grouped else ()
        return Type(field.dtype or dtype, (*shape, *width))

    def read(
        self, reader: Callable[[], Any], places: Any, wanted: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Fields at places: numbers of examples, a slice of all, or None for whole arrays."""
        types = self.types()
        if not wanted:
            return {}
        made = reader()
        if isinstance(places, slice):
            import numpy as np

            places = np.arange(len(made))
        out, raw = {}, self._raw(types, wanted, places)
        if raw:
            made.read(slice(None) if places is None else places, raw)
        for name in wanted:
            field = self._fields[name]
            try:
                out[name] = self._made(made, field, types[name], places, raw)
            except Problem as wrong:
                raise wrong.of("fields", name) from None
        return out

    def _raw(self, types: Mapping[str, Type], wanted: Sequence[str], places: Any) -> Any:
        """Memory for the columns, in a field's own dtype where it is one column as it is."""
        import numpy as np

        lead = () if places is None else (len(places),)
        raw: dict[str, np.ndarray] = {}
        for name in wanted:
            field = self._fields[name]
            for column in field.columns if field.hash is None else ():
                dtype, shape = self._found[column]
                own = types[name].dtype
                as_it_is = _filled(field) and own != "f64"  # a float, for NaN where there is none
                kind = numpy_dtype(dtype if as_it_is else _wide(dtype, own))
                if column in raw:
                    kind = np.promote_types(kind, raw[column].dtype)
                raw[column] = np.empty((*lead, *shape), kind)
        return raw

    def _made(
        self, reader: Any, field: Field, type: Type, places: Any, raw: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        import numpy as np

        if field.hash is not None:
            parts = [_hashed(reader, column, places, field.hash) for column in field.columns]
        else:
            parts = [raw[column] for column in field.columns]
        found = np.stack(parts, axis=-1) if field.grouped else parts[0]
        if _filled(field) and found.dtype.kind == "f":
            found = np.where(np.isnan(found), field.missing, found)
        made: np.ndarray = found.astype(numpy_dtype(type.dtype), copy=False)
        if made.dtype.kind in "iu" and found.dtype != made.dtype:
            _kept(field, found, made, type.dtype)
        return made


def _wide(dtype: str, into: str) -> str:
    """What a column is read as: a field's own dtype, unless it may be an integer that is too
    small for the column's numbers, which is seen once they are read."""
    import numpy as np

    one, other = numpy_dtype(dtype), numpy_dtype(into)
    if other.kind not in "iu" or other.itemsize == 8 or np.can_cast(one, other):
        return into
    return dtype if one.kind == "f" else "i64"


def _kept(field: Field, found: np.ndarray, made: np.ndarray, dtype: str) -> None:
    """E-DATA-TYPE where a number is another one in a field's dtype."""
    wrong = found != made
    if wrong.any():
        told = " ".join(field.columns[:3])
        raise problem(
            "E-DATA-TYPE",
            f"column {told} has {found[wrong].ravel()[0].item():g}, which {dtype} has not",
            hint="declare a dtype that holds it, as :i32 or :f32",
            field=field.columns[0],
        )


def _filled(field: Field) -> bool:
    return field.missing is not None and field.hash is None


def _hashed(reader: Any, column: str, places: Any, seed: int) -> np.ndarray:
    """The first four bytes of SHA-256 of seed and text, a u32 each."""
    import hashlib

    import numpy as np

    known: dict[str, int] = {}
    found = np.empty(len(places), np.uint32)
    for at, text in enumerate(reader.texts(column, places)):
        if text not in known:
            digest = hashlib.sha256(f"{seed}{text}".encode()).digest()
            known[text] = int.from_bytes(digest[:4], "little")
        found[at] = known[text]
    return found


def joint(dtypes: Any) -> str:
    """The dtype of columns that become one field."""
    several = set(dtypes)
    if len(several) == 1:
        return str(several.pop())
    return "f64" if "f64" in several else "f32" if several & {"f32", "f16", "bf16"} else "i32"


def _text(column: str) -> Problem:
    return problem(
        "E-DATA-TYPE",
        f"column {column} holds text, which no tensor takes",
        hint=f'number its texts, (fields (name "{column}" :hash 0)), or use (map {column} ...)',
        field=column,
    )


def _gap(column: str, where: str) -> Problem:
    return problem(
        "E-DATA-TYPE",
        f"column {column} has no value at {where}",
        hint=f'say what stands for it: (fields (name "{column}" :f32 :missing 0))',
        field=column,
    )
