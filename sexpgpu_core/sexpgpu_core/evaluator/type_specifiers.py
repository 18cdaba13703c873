"""Type specifiers to types, and whether a value is of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import Problem, problem
from .classes import CLASSES, Class, is_instance
from .definitions import core_symbol
from .equality import eql
from .faults import wrong_type
from .numeric import compare
from .printer import brief
from .spending import spend
from .type_kinds import (
    ALL,
    ANY_CONS,
    ATOMIC,
    EXPANDERS,
    FIXNUM,
    FLOAT_KIND,
    INTEGER_KIND,
    KINDS,
    NONE,
    RATIONAL_KIND,
    REAL_KIND,
    Arrays,
    Complement,
    Conses,
    Intersection,
    Kind,
    Members,
    Named,
    Numbers,
    Satisfying,
    Union,
    is_all,
)
from .values import (
    NIL,
    Array,
    Cons,
    Ratio,
    Symbol,
    Value,
    first_value,
)

MOST_EXPANSIONS = 1_000
DEEPEST = 500
EXPANSION_CELLS, COMPOUND_CELLS = 200, 40
"""What an expansion and a compound specifier cost, as of a walk."""

_nested: list[Value] = []
"""The compound specifiers being parsed, one inside of another."""


def is_type(value: Value, kind: Any) -> bool:
    """Whether a value is of a parsed type."""
    return _TESTS[kind.__class__](value, kind)


def _is_number(x: Value, t: Numbers) -> bool:
    kind = _NUMBER_KINDS.get(x.__class__)
    if kind is None or kind not in t.kinds:
        return False
    if t.low is not None:
        order = compare("typep", x, t.low)
        if order not in ((1,) if t.low_open else (0, 1)):
            return False
    if t.high is not None:
        order = compare("typep", x, t.high)
        return order in ((-1,) if t.high_open else (-1, 0))
    return True


_NUMBER_KINDS: dict[type, str] = {int: "integer", float: "float", Ratio: "ratio"}


def _is_array(x: Value, t: Arrays) -> bool:
    if not isinstance(x, Array) or (t.element is not None and x.element != t.element):
        return False
    if t.simple and (x.fill is not None or x.adjustable):
        return False
    if t.dims is None:
        return True
    return len(t.dims) == len(x.dims) and all(
        want is None or want == have for want, have in zip(t.dims, x.dims)
    )


def _is_named(x: Value, t: Named) -> bool:
    return KINDS[t.name].test(x) if t.name.__class__ is str else is_instance(x, t.name)


def _satisfies(x: Value, t: Satisfying) -> bool:
    from .designators import function_of

    return first_value(function_of(t.predicate).call(x)) is not NIL


_TESTS: dict[type, Callable[[Value, Any], bool]] = {
    Union: lambda x, t: _is_any(x, t.of),
    Intersection: lambda x, t: _is_all(x, t.of),
    Complement: lambda x, t: not is_type(x, t.of),
    Members: lambda x, t: any(eql(x, m) for m in t.of),
    Numbers: _is_number,
    Arrays: _is_array,
    Conses: lambda x, t: (
        x.__class__ is Cons and (t is ANY_CONS or (is_type(x.car, t.car) and is_type(x.cdr, t.cdr)))
    ),
    Named: _is_named,
    Satisfying: _satisfies,
}


def _is_any(x: Value, kinds: tuple[Any, ...]) -> bool:
    for kind in kinds:  # noqa: SIM110 - C must call no user function
        if is_type(x, kind):
            return True
    return False


def _is_all(x: Value, kinds: tuple[Any, ...]) -> bool:
    for kind in kinds:  # noqa: SIM110 - C must call no user function
        if not is_type(x, kind):
            return False
    return True


def parse_type(spec: Value) -> Any:
    """The type of a specifier; E-TYPE if it names none."""
    written = spec
    for _ in range(MOST_EXPANSIONS):
        if spec.__class__ is Symbol:
            known = ATOMIC.get(spec.name) if spec.home == "" else None
            if known is not None:
                return known
            if spec in CLASSES:
                return Named(CLASSES[spec])
        elif isinstance(spec, Class):
            known = ATOMIC.get(spec.name.name) if spec.name.home == "" else None
            return Named(spec) if known is None else known
        head = spec.car if spec.__class__ is Cons else spec
        if head.__class__ is not Symbol:
            break
        expander = EXPANDERS.get(head)
        if expander is None:
            return _compound(spec, head)
        spend("a type", EXPANSION_CELLS)
        spec = first_value(expander(*_arguments(spec.cdr)) if spec is not head else expander())
    else:
        raise problem("E-TYPE", f"the type {brief(written)} expands into itself without end")
    raise no_type(spec)


def no_type(spec: Value) -> Exception:
    return problem("E-TYPE", f"{brief(spec)} is no type", wanted="a type specifier")


def _arguments(items: Value) -> list[Value]:
    from .builtins.listing import proper

    try:
        return proper("a type", items)
    except Problem as error:
        if error.diagnostic.code.startswith("E-LIMIT"):
            raise
        raise no_type(items) from None


def _compound(spec: Value, head: Symbol) -> Any:
    maker = _COMPOUND.get(head.name) if head.home == "" else None
    if spec.__class__ is not Cons or maker is None:
        raise no_type(spec)
    spend("a type", COMPOUND_CELLS)
    _nested.append(spec)
    try:
        if len(_nested) > DEEPEST:
            raise problem(
                "E-LIMIT-DEPTH",
                f"types are nested over {DEEPEST} deep, or a deftype expands into itself",
            )
        return maker(*_arguments(spec.cdr))
    except TypeError:
        raise no_type(spec) from None
    finally:
        _nested.pop()


def _bound(spec: Value) -> tuple[Value, bool]:
    """A bound and whether it is left out itself: 3, (3), *."""
    if spec.__class__ is Symbol and spec.name == "*":
        return None, False
    if spec.__class__ is Cons:
        return _bound(spec.car)[0], True
    if spec.__class__ not in _NUMBER_KINDS:
        raise wrong_type("a type specifier", spec, "a number or *")
    return spec, False


_STAR = core_symbol("*")


def _numbers(kinds: frozenset[str]) -> Callable[..., Any]:
    def make(low: Value = _STAR, high: Value = _STAR) -> Any:
        (a, a_open), (b, b_open) = _bound(low), _bound(high)
        if kinds == INTEGER_KIND:
            a, a_open = (a + 1 if a_open else a), False
            b, b_open = (b - 1 if b_open else b), False
        if a is not None and b is not None and compare("a type", a, b) > 0:
            return NONE
        return Numbers(kinds, a, b, a_open, b_open)

    return make


def _unsigned(size: Value = _STAR) -> Any:
    return Numbers(INTEGER_KIND, 0, None if size.__class__ is Symbol else (1 << size) - 1)


def _signed(size: Value = _STAR) -> Any:
    if size.__class__ is Symbol:
        return Numbers(INTEGER_KIND)
    return Numbers(INTEGER_KIND, -(1 << (size - 1)), (1 << (size - 1)) - 1)


def _is_star(x: Value) -> bool:
    return x.__class__ is Symbol and x.name == "*"


def _dims(spec: Value) -> tuple[int | None, ...] | None:
    if _is_star(spec):
        return None
    if spec.__class__ is int:
        return (None,) * spec
    return tuple(None if _is_star(d) else d for d in _arguments(spec))


def _arrays(simple: bool) -> Callable[..., Any]:
    def make(element: Value = _STAR, dims: Value = _STAR) -> Any:
        return Arrays(_dims(dims), None if _is_star(element) else upgraded(element), simple)

    return make


def _vector_type(element: Value = _STAR, size: Value = _STAR) -> Any:
    return Arrays(
        (None if _is_star(size) else size,), None if _is_star(element) else upgraded(element)
    )


def _sized(element: str, simple: bool) -> Callable[..., Any]:
    return lambda size=_STAR: Arrays((None if _is_star(size) else size,), element, simple)


def upgraded(element: Value) -> str:
    """The element type that an array for such elements has: t character bit integer float nil."""
    from .subtypes import is_empty, is_subtype

    kind = parse_type(element)
    if is_empty(kind):
        return "nil"
    for name, wide in _UPGRADES:
        if is_subtype(kind, wide)[0]:
            return name
    return "t"


_UPGRADES: tuple[tuple[str, Any], ...] = (
    ("bit", Numbers(INTEGER_KIND, 0, 1)),
    ("integer", Numbers(INTEGER_KIND, -(1 << 63), (1 << 64) - 1)),
    ("float", Numbers(FLOAT_KIND)),
    ("character", Named("character")),
)


def _cons_type(car: Value = _STAR, cdr: Value = _STAR) -> Any:
    return Conses(*(ALL if _is_star(part) else parse_type(part) for part in (car, cdr)))


_COMPOUND: dict[str, Callable[..., Any]] = {
    "OR": lambda *specs: Union(tuple(parse_type(s) for s in specs)),
    "AND": lambda *specs: Intersection(tuple(parse_type(s) for s in specs)),
    "NOT": lambda spec: Complement(parse_type(spec)),
    "MEMBER": lambda *objects: Members(objects),
    "EQL": lambda value: Members((value,)),
    "SATISFIES": lambda predicate: Satisfying(predicate),
    "VALUES": lambda *specs: parse_type(specs[0]) if specs else ALL,
    "INTEGER": _numbers(INTEGER_KIND),
    "RATIONAL": _numbers(RATIONAL_KIND),
    "REAL": _numbers(REAL_KIND),
    **{
        name: _numbers(FLOAT_KIND)
        for name in ("FLOAT", "SHORT-FLOAT", "SINGLE-FLOAT", "DOUBLE-FLOAT", "LONG-FLOAT")
    },
    "COMPLEX": lambda part=_STAR: NONE,
    "MOD": lambda n: Numbers(INTEGER_KIND, 0, n - 1),
    "UNSIGNED-BYTE": _unsigned,
    "SIGNED-BYTE": _signed,
    "ARRAY": _arrays(False),
    "SIMPLE-ARRAY": _arrays(True),
    "VECTOR": _vector_type,
    "SIMPLE-VECTOR": _sized("t", True),
    "STRING": _sized("character", False),
    "BASE-STRING": _sized("character", False),
    "SIMPLE-STRING": _sized("character", True),
    "SIMPLE-BASE-STRING": _sized("character", True),
    "BIT-VECTOR": _sized("bit", False),
    "SIMPLE-BIT-VECTOR": _sized("bit", True),
    "CONS": _cons_type,
    "FUNCTION": lambda *signature: Named("function"),
}
for _name in (*ATOMIC, *_COMPOUND, "*"):
    core_symbol(_name)


def typep(value: Value, spec: Value) -> bool:
    """Whether a value is of the type a specifier names; VALUES and FUNCTION lists name none."""
    if spec.__class__ is Cons and getattr(spec.car, "name", "") in ("VALUES", "FUNCTION"):
        raise no_type(spec)
    return is_type(value, parse_type(spec))


__all__ = [
    "ALL",
    "ATOMIC",
    "EXPANDERS",
    "FIXNUM",
    "KINDS",
    "NONE",
    "Arrays",
    "Complement",
    "Conses",
    "Intersection",
    "Kind",
    "Members",
    "Named",
    "Numbers",
    "Satisfying",
    "Union",
    "is_all",
    "is_type",
    "no_type",
    "parse_type",
    "typep",
    "upgraded",
]
