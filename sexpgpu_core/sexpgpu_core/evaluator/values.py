"""What Lisp values are in Python. No class here but `Ratio` has arithmetic, so a Python TypeError
is a type error.

Integers are int, floats are float (always a double), truth is T or NIL and never a Python bool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Held = TypeVar("Held")

Value = Any
"""Any Lisp value: the classes below, int, float, or an instance of `Staged`."""


class Symbol:
    """A name. `home` is the module that owns it: "" the standard's and core's, None uninterned.

    `value` is the current dynamic (global or special) value, UNBOUND if there is none.
    """

    __slots__ = ("constant", "home", "keyword", "name", "notes", "plist", "special", "value")

    def __init__(self, name: str, home: str | None = None, keyword: bool = False) -> None:
        self.name = name
        self.home = home
        self.keyword = keyword
        self.special = False
        self.constant = keyword
        self.plist: Value = None
        self.value: Value = self if keyword else UNBOUND
        self.notes: dict[Any, Any] | None = None  # what tables have for it (OfSymbols)

    def __repr__(self) -> str:
        return (":" if self.keyword else "") + self.name.lower()


class OfSymbols(Generic[Held]):
    """A table of what symbols stand for. An entry lies with its symbol and lives no longer: what a
    file defines goes with the file."""

    __slots__ = ()

    def get(self, symbol: Symbol) -> Held | None:
        """None where there is none."""
        notes = symbol.notes
        return None if notes is None else notes.get(self)

    def __contains__(self, symbol: Symbol) -> bool:
        return symbol.notes is not None and self in symbol.notes

    def __getitem__(self, symbol: Symbol) -> Held:
        found: Held = (symbol.notes or {})[self]
        return found

    def __setitem__(self, symbol: Symbol, held: Held) -> None:
        if symbol.notes is None:
            symbol.notes = {}
        symbol.notes[self] = held

    def pop(self, symbol: Symbol) -> None:
        """Take the entry away, if there is one."""
        if symbol.notes is not None:
            symbol.notes.pop(self, None)


class Unbound:
    """The value of a variable that has none."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND = Unbound()
NIL = Symbol("NIL", "")
T = Symbol("T", "")
QUOTE = Symbol("QUOTE", "")
FUNCTION = Symbol("FUNCTION", "")
QUASIQUOTE = Symbol("%QUASIQUOTE", "")  # what the reader makes of ` , ,@
UNQUOTE = Symbol("%UNQUOTE", "")
UNQUOTE_SPLICING = Symbol("%UNQUOTE-SPLICING", "")
READER_SYMBOLS = (NIL, T, QUOTE, FUNCTION, QUASIQUOTE, UNQUOTE, UNQUOTE_SPLICING)
for _constant in READER_SYMBOLS:
    _constant.plist = NIL
for _constant in (NIL, T):
    _constant.value = _constant
    _constant.constant = True

KEYWORDS: dict[str, Symbol] = {}


def keyword(name: str) -> Symbol:
    """The keyword of an upper-case name, without its colon."""
    found = KEYWORDS.get(name)
    if found is None:
        found = KEYWORDS[name] = Symbol(name, "", True)
        found.plist = NIL
    return found


class Cons:
    """A pair. `span` is set on conses that were read (and on those a macro made: the call's)."""

    __slots__ = ("car", "cdr", "span")

    def __init__(self, car: Value, cdr: Value, span: Any = None) -> None:
        self.car = car
        self.cdr = cdr
        self.span = span


class Ratio:
    """A ratio in lowest terms with denominator > 1. Results that are whole are int."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: int, denominator: int) -> None:
        self.numerator = numerator
        self.denominator = denominator

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ratio)
            and self.numerator == other.numerator
            and self.denominator == other.denominator
        )

    def __hash__(self) -> int:
        return hash((self.numerator, self.denominator))

    def __float__(self) -> float:
        return self.numerator / self.denominator


class Character:
    """A character; `character(c)` gives the one object of a code point, so eq works."""

    __slots__ = ("char",)

    def __init__(self, char: str) -> None:
        self.char = char


_characters: dict[str, Character] = {}


def character(char: str) -> Character:
    found = _characters.get(char)
    if found is None:
        found = _characters[char] = Character(char)
    return found


class Array:
    """An array of any rank: `data` in row-major order. `fill` is the fill pointer or None.

    `declared`: the type of elements that it was made for, as written and parsed, where `element`
    says less.
    """

    __slots__ = ("adjustable", "data", "declared", "dims", "element", "fill")

    def __init__(
        self,
        dims: tuple[int, ...],
        data: list[Value],
        element: str = "t",
        fill: int | None = None,
        adjustable: bool = False,
    ) -> None:
        self.dims = dims
        self.data = data
        self.element = element  # t character bit integer float: upgraded element type
        self.fill = fill
        self.adjustable = adjustable
        self.declared: Any = None


class Vector(Array):
    """Rank 1. `data` holds values; the active length is `fill` if there is one."""

    __slots__ = ()

    def __init__(self, data: list[Value], element: str = "t") -> None:
        super().__init__((len(data),), data, element)


class String(Vector):
    """A mutable string: `data` is a list of one-character Python strings."""

    __slots__ = ()

    def __init__(self, text: str | list[str] = "") -> None:
        super().__init__(list(text), "character")

    def text(self) -> str:
        data = self.data if self.fill is None else self.data[: self.fill]
        return "".join(data)


class MultipleValues(tuple):  # type: ignore[type-arg]
    """The values of a form that returned any number but one; one value is returned as itself."""

    __slots__ = ()


def first_value(value: Value) -> Value:
    """What a form's result is where one value is wanted."""
    if value.__class__ is MultipleValues:
        return value[0] if value else NIL
    return value


class Function:
    """A function object. `call(*arguments)` takes Lisp arguments in order, keywords included.

    `least` and `most` bound the number of arguments (most None: any). `staged`: the call's span
    is noted before it is made, because it may build graph nodes.
    """

    __slots__ = ("call", "doc", "lambda_list", "least", "most", "name", "span", "staged")

    def __init__(
        self,
        name: str,
        call: Callable[..., Value],
        lambda_list: str = "(&rest arguments)",
        least: int = 0,
        most: int | None = None,
        doc: str = "",
        staged: bool = False,
        span: Any = None,
    ) -> None:
        self.name = name
        self.call = call
        self.lambda_list = lambda_list
        self.least = least
        self.most = most
        self.doc = doc
        self.staged = staged
        self.span = span

    def in_evaluation(self) -> Function:
        """What its name means in one evaluation: a generic function starts anew in each."""
        return self


class Staged:
    """Base of values that are not Lisp's: tensors, step scalars, handles. More is not known here.

    Generic builtins hand the call over when an operand is staged: `operand.generic("+", args)`.
    `if`, `case`, an index and their like raise E-STAGE-TENSOR through `refuse`.
    """

    __slots__ = ()

    def generic(self, name: str, arguments: tuple[Value, ...]) -> Value:
        """The call (name argument...) in which this value is an operand; name is in lower case."""
        raise NotImplementedError

    def refuse(self, place: str) -> Exception:
        """The Problem to raise where `place` ("if", "an index") needs an ordinary value."""
        raise NotImplementedError

    def describe(self) -> str:
        """How it prints, as `#<tensor f32 (12 64)>`."""
        raise NotImplementedError

    def type_name(self) -> str:
        """What `type-of` says: "tensor", "step-scalar"."""
        raise NotImplementedError


def make_list(items: Any) -> Value:
    """A fresh proper list of a Python iterable."""
    result: Value = NIL
    for item in reversed(list(items)):
        result = Cons(item, result)
    return result


def list_items(value: Value) -> list[Value]:
    """Elements of a proper list; TypeError on anything else (dotted lists too)."""
    items = []
    while value.__class__ is Cons:
        items.append(value.car)
        value = value.cdr
    if value is not NIL:
        raise TypeError("not a proper list")
    return items
