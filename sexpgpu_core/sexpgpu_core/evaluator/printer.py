"""Values to text, with an explicit stack: no depth or length of a value can break it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import problem
from ..records import NamedTuple
from .float_text import float_text
from .integer_text import integer_text
from .spending import FIRST_LOOK, look
from .standard_variables import VARIABLES
from .symbol_text import character_text, string_text, symbol_text
from .values import (
    NIL,
    QUASIQUOTE,
    UNQUOTE,
    UNQUOTE_SPLICING,
    Array,
    Character,
    Cons,
    Function,
    MultipleValues,
    Ratio,
    Staged,
    String,
    Symbol,
    Unbound,
    Value,
    Vector,
    make_list,
)


class Settings(NamedTuple):
    """The printer variables. `length` and `level` None: no cut. `plain`: no method of the file is
    called. `asking`: the object whose method asks how it would print without it."""

    escape: bool = True
    base: int = 10
    radix: bool = False
    case: str = "DOWNCASE"
    length: int | None = None
    level: int | None = None
    circle: bool = False
    array: bool = True
    gensym: bool = True
    plain: bool = False
    asking: Value = None


class Parts(NamedTuple):
    """A compound: `opening`, values between spaces, `closing`."""

    opening: str
    items: list[Value]
    closing: str


COMPOUNDS: dict[type, Callable[[Any, Settings], Parts | str]] = {}
"""How structures, conditions, tables print: by class, found along its bases."""


def current_settings() -> Settings:
    """What the printer variables say now."""
    v = VARIABLES
    readably = v["*PRINT-READABLY*"].value is not NIL
    length, level = v["*PRINT-LENGTH*"].value, v["*PRINT-LEVEL*"].value
    base = v["*PRINT-BASE*"].value
    if base.__class__ is not int or not 2 <= base <= 36:
        raise problem("E-TYPE", f"*print-base* is {brief(base)}, wants an integer from 2 to 36")
    return Settings(
        escape=readably or v["*PRINT-ESCAPE*"].value is not NIL,
        base=base,
        radix=v["*PRINT-RADIX*"].value is not NIL,
        case=getattr(v["*PRINT-CASE*"].value, "name", "DOWNCASE"),
        length=length if length.__class__ is int and not readably else None,
        level=level if level.__class__ is int and not readably else None,
        circle=v["*PRINT-CIRCLE*"].value is not NIL,
        array=readably or v["*PRINT-ARRAY*"].value is not NIL,
        gensym=readably or v["*PRINT-GENSYM*"].value is not NIL,
    )


def print_text(value: Value, settings: Settings | None = None) -> str:
    """The text of a value (`current_settings` unless given)."""
    use = current_settings() if settings is None else settings
    atom = atom_text(value, use)
    return atom if atom is not None else "".join(_Printer(use, value).run())


def brief(value: Value) -> str:
    """The text of a value in a message: cut at 10 elements, 4 levels and 80 characters."""
    text = print_text(value, Settings(length=10, level=4, plain=True))
    return text if len(text) <= 80 else text[:77] + "..."


def atom_text(value: Value, settings: Settings) -> str | None:
    """The text of a value that has no parts, else None."""
    kind = value.__class__
    maker = _ATOMS.get(kind)
    if maker is not None:
        return maker(value, settings)
    if isinstance(value, String):
        return string_text(value.text()) if settings.escape else value.text()
    if kind is Cons or isinstance(value, Array) or _compound(kind):
        return None
    return _opaque_text(value, settings)


def _integer_text(n: int, s: Settings) -> str:
    text = integer_text(n, s.base)
    if not s.radix:
        return text
    return text + "." if s.base == 10 else radix_prefix(s.base) + text


def radix_prefix(base: int) -> str:
    return {2: "#b", 8: "#o", 16: "#x"}.get(base) or f"#{base}r"


def _ratio_text(r: Ratio, s: Settings) -> str:
    text = integer_text(r.numerator, s.base) + "/" + integer_text(r.denominator, s.base)
    return (radix_prefix(s.base) if s.radix else "") + text


_ATOMS: dict[type, Callable[[Any, Settings], str]] = {
    Symbol: lambda x, s: symbol_text(x, s.escape, s.case, s.gensym),
    int: _integer_text,
    float: lambda x, s: float_text(x),
    Ratio: _ratio_text,
    Character: lambda x, s: character_text(x.char) if s.escape else x.char,
    Unbound: lambda x, s: "#<unbound>",
    MultipleValues: lambda x, s: "#<values>",
}


def _opaque_text(value: Value, settings: Settings) -> str:
    if isinstance(value, Staged):
        return value.describe()
    if isinstance(value, Function):
        return f"#<function {value.name.lower()}>"
    return f"#<{type(value).__name__.lower()}>"


def _compound(kind: type) -> Callable[[Any, Settings], Parts | str] | None:
    for cls in kind.__mro__:
        found = COMPOUNDS.get(cls)
        if found is not None:
            return found
    return None


class _Tail(NamedTuple):
    """What is left of a list after `position` elements."""

    rest: Value
    position: int
    depth: int


class _Items(NamedTuple):
    items: list[Value]
    position: int
    depth: int
    closing: str


class _Item(NamedTuple):
    value: Value
    depth: int


class _Printer:
    """One printing. `labels`: of objects met twice, under *print-circle*."""

    def __init__(self, settings: Settings, value: Value) -> None:
        self.settings = settings
        self.out: list[str] = []
        self.stack: list[Any] = [_Item(value, 0)]
        self.labels = shared_objects(value, settings) if settings.circle else {}
        self.numbers: dict[int, int] = {}

    def run(self) -> list[str]:
        stack, out, asks = self.stack, self.out, FIRST_LOOK
        while stack:
            entry = stack.pop()
            if entry.__class__ is str:
                out.append(entry)
            else:
                _STEPS[entry.__class__](self, entry)
            if len(out) > asks:
                asks = look("the printer", len(out), 10)
        return out

    def item(self, entry: _Item) -> None:
        value, depth = entry
        atom = atom_text(value, self.settings)
        if atom is not None:
            if not (self.labels and id(value) in self.labels and self.labelled(value)):
                self.out.append(atom)
        elif not self.labelled(value):
            self.compound(value, depth)

    def compound(self, value: Value, depth: int) -> None:
        level = self.settings.level
        if level is not None and depth >= level:
            self.out.append("#")
        elif value.__class__ is Cons and (mark := template_mark(value)):
            self.out.append(mark)
            self.stack.append(_Item(value.cdr.car, depth))
        elif value.__class__ is Cons:
            self.out.append("(")
            self.stack.append(_Tail(value, 0, depth))
        else:
            parts = parts_of(value, self.settings)
            if isinstance(parts, str):
                self.out.append(parts)
            else:
                self.out.append(parts.opening)
                self.stack.append(_Items(parts.items, 0, depth, parts.closing))

    def labelled(self, value: Value) -> bool:
        """Write `#1=` the first time, `#1#` later: true when nothing is left to write."""
        key = id(value)
        if key not in self.labels:
            return False
        if key in self.numbers:
            self.out.append(f"#{self.numbers[key]}#")
            return True
        self.numbers[key] = len(self.numbers) + 1
        self.out.append(f"#{self.numbers[key]}=")
        return False

    def tail(self, entry: _Tail) -> None:
        rest, index, depth = entry
        if rest is NIL:
            self.out.append(")")
        elif rest.__class__ is not Cons or (
            index and (id(rest) in self.labels or template_mark(rest))
        ):
            self.stack += [")", _Item(rest, depth + 1), " . "]
        elif self.settings.length is not None and index >= self.settings.length:
            self.out.append(" ...)" if index else "...)")
        else:
            if index:
                self.out.append(" ")
            self.stack += [_Tail(rest.cdr, index + 1, depth), _Item(rest.car, depth + 1)]

    def items(self, entry: _Items) -> None:
        items, index, depth, closing = entry
        if index >= len(items):
            self.out.append(closing)
            return
        if index:
            self.out.append(" ")
        if self.settings.length is not None and index >= self.settings.length:
            self.out.append("..." + closing)
            return
        self.stack += [_Items(items, index + 1, depth, closing), _Item(items[index], depth + 1)]


_STEPS: dict[type, Callable[[_Printer, Any], None]] = {
    _Item: _Printer.item,
    _Tail: _Printer.tail,
    _Items: _Printer.items,
}


def template_mark(form: Cons) -> str | None:
    """The mark of what the reader makes of ` , ,@: its form is printed after it."""
    mark = _MARKS.get(form.car) if form.car.__class__ is Symbol else None
    alone = mark and form.cdr.__class__ is Cons and form.cdr.cdr is NIL
    return mark if alone else None


_MARKS = {QUASIQUOTE: "`", UNQUOTE: ",", UNQUOTE_SPLICING: ",@"}


def parts_of(value: Value, settings: Settings) -> Parts | str:
    """The parts of an array, structure, table."""
    if isinstance(value, Array):
        return _array_parts(value, settings)
    found = _compound(value.__class__)
    assert found is not None
    return found(value, settings)


def _array_parts(array: Array, settings: Settings) -> Parts | str:
    if not settings.array:
        return (
            f"#<{'vector' if len(array.dims) == 1 else 'array'} {' '.join(map(str, array.dims))}>"
        )
    if isinstance(array, Vector):
        items = array.data if array.fill is None else array.data[: array.fill]
        if array.element == "bit":
            return "#*" + "".join(map(str, items))
        return Parts("#(", items, ")")
    nested = _nest(array)
    if not array.dims:
        return Parts("#0A", [nested], "")
    return Parts(f"#{len(array.dims)}A", [nested], "")


def _nest(array: Array) -> Value:
    """The elements as nested lists; one value at rank 0."""
    if not array.dims:
        return array.data[0]
    level: list[Value] = list(array.data)
    for axis in range(len(array.dims) - 1, -1, -1):
        size = array.dims[axis]
        count = 1
        for d in array.dims[:axis]:
            count *= d
        level = [make_list(level[i * size : (i + 1) * size]) for i in range(count)]
    return level[0]


def shared_objects(value: Value, settings: Settings) -> dict[int, Value]:
    """Conses and compounds that are met more than once in a value, by id."""
    seen: dict[int, Value] = {}
    shared: dict[int, Value] = {}
    stack = [value]
    while stack:
        x = stack.pop()
        if atom_text_free(x):
            continue
        if id(x) in seen:
            shared[id(x)] = x
            continue
        seen[id(x)] = x
        if x.__class__ is Cons:
            stack += [x.cdr, x.car]
        elif x.__class__ is not Symbol:
            parts = parts_of(x, settings)
            stack += [] if isinstance(parts, str) else parts.items
    return shared


def atom_text_free(value: Value) -> bool:
    """Whether a value is never labelled: it has no parts, and is no symbol without a home."""
    if value.__class__ is Symbol:
        return value.home is not None
    if value.__class__ is Cons:
        return False
    if isinstance(value, String) or not isinstance(value, Array):
        return isinstance(value, String) or _compound(value.__class__) is None
    return False
