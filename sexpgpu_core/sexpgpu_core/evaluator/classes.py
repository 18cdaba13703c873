"""Classes of structures, conditions and objects alike: one table, superclasses in the standard's
order (CLHS 4.3.5), slots merged along it (CLHS 7.5.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..diagnostics import problem
from .values import OfSymbols, Symbol, T, Value

CLASSES: OfSymbols[Class] = OfSymbols()
"""Classes by name."""

CLASS_OF: dict[type, Callable[[Any], Class]] = {}
"""The class of a value by the Python class that values of its kind have."""

EPOCH: list[object] = [object()]
"""Replaced when the superclasses of a class change: what was found by classes is stale then."""


class Slot:
    """A slot. `initform`: a function of no arguments or None. `cell`: holds the one value that
    all objects share, if they do. `kind` is its type."""

    __slots__ = ("cell", "initargs", "initform", "kind", "name", "read_only")

    def __init__(
        self,
        name: Symbol,
        initargs: tuple[Symbol, ...] = (),
        initform: Callable[[], Value] | None = None,
        kind: Value = T,
        cell: list[Value] | None = None,
        read_only: bool = False,
    ) -> None:
        self.name = name
        self.initargs = initargs
        self.initform = initform
        self.kind = kind
        self.cell = cell
        self.read_only = read_only


class Layout:
    """What objects of one definition of a class hold; a new definition makes a new one."""

    __slots__ = ("slots",)

    def __init__(self, slots: dict[Symbol, Slot]) -> None:
        self.slots = slots


class Class:
    """A class. `own`: slots of its definition; `precedence`: itself and its superclasses, most
    specific first, empty while a superclass is not defined; `defaults`: default initargs, as
    functions of no arguments.
    """

    __slots__ = (
        "ancestors", "defaults", "doc", "layout", "name", "own", "own_defaults", "precedence",
        "subclasses", "supers",
    )  # fmt: skip
    meta = "BUILT-IN-CLASS"

    def __init__(self, name: Symbol, supers: tuple[Class, ...], own: Iterable[Slot] = ()) -> None:
        self.name = name
        self.doc = ""
        self.subclasses: list[Class] = []
        self.own_defaults: dict[Symbol, Callable[[], Value]] = {}
        self.define(supers, list(own))

    def define(self, supers: tuple[Class, ...], own: list[Slot]) -> None:
        """Give it superclasses and slots, and all that is below it what follows from them."""
        self.supers = supers
        self.own = own
        for parent in supers:
            if parent.name.home != "" and self not in parent.subclasses:
                parent.subclasses.append(self)
        self.finish()

    def finish(self) -> None:
        """Find the order of superclasses and the slots."""
        self.precedence = precedence_of(self)
        self.ancestors = frozenset(self.precedence)
        self.layout = Layout(_merged_slots(self.precedence))
        self.defaults: dict[Symbol, Callable[[], Value]] = {}
        for part in reversed(self.precedence):
            self.defaults.update(part.own_defaults)
        for below in self.subclasses:
            below.finish()

    @property
    def shown(self) -> str:
        """As messages name it."""
        return repr(self.name)


class Instance:
    """An object with slots by name. `layout`: the one that it was made or last changed for."""

    __slots__ = ("layout", "slots", "type")

    def __init__(self, kind: Class, slots: dict[Symbol, Value]) -> None:
        self.type = kind
        self.layout = kind.layout
        self.slots = slots


def precedence_of(cls: Class) -> tuple[Class, ...]:
    """A class before its superclasses, those in the order of each definition, and related ones
    together; empty when a superclass has none yet.
    """
    if len(cls.supers) == 1:
        above = cls.supers[0].precedence
        return (cls, *above) if above else ()
    if any(not parent.precedence for parent in cls.supers):
        return ()
    return tuple(_sorted(cls, _all_classes(cls)))


def _all_classes(cls: Class) -> list[Class]:
    found: dict[Class, None] = {cls: None}
    for parent in cls.supers:
        found.update(dict.fromkeys(parent.precedence))
    return list(found)


def _sorted(cls: Class, classes: list[Class]) -> list[Class]:
    """Topological: among several that could be next, the one whose subclass stands last."""
    before: dict[Class, set[Class]] = {c: set() for c in classes}
    for c in classes:
        for first, second in zip((c, *c.supers), c.supers):
            before[second].add(first)
    done: list[Class] = []
    while before:
        ready = [c for c, earlier in before.items() if not earlier - set(done)]
        if not ready:
            raise problem(
                "E-CLASS-ORDER",
                f"the superclasses of {cls.shown} stand in orders that contradict each other",
                hint="name them in the order in which their own definitions have them",
                name=cls.shown,
            )
        chosen = ready[0] if len(ready) == 1 else _latest(ready, done)
        done.append(chosen)
        del before[chosen]
    return done


def _latest(ready: list[Class], done: list[Class]) -> Class:
    for below in reversed(done):
        for candidate in ready:
            if candidate in below.supers:
                return candidate
    return ready[0]


def _merged_slots(precedence: tuple[Class, ...]) -> dict[Symbol, Slot]:
    """Slots by name: what the most specific class says, with the initargs of all."""
    named: dict[Symbol, list[Slot]] = {}
    for part in reversed(precedence):
        for slot in part.own:
            named.setdefault(slot.name, []).insert(0, slot)
    return {name: rows[0] if len(rows) == 1 else _merged(rows) for name, rows in named.items()}


def _merged(rows: list[Slot]) -> Slot:
    initargs = tuple(dict.fromkeys(key for row in rows for key in row.initargs))
    initform = next((row.initform for row in rows if row.initform is not None), None)
    kinds = [row.kind for row in rows if row.kind is not T]
    first = rows[0]
    return Slot(first.name, initargs, initform, _both(kinds), first.cell, first.read_only)


def _both(kinds: list[Value]) -> Value:
    from .made_forms import form

    return (kinds[0] if len(kinds) == 1 else form("AND", *kinds)) if kinds else T


def is_instance(value: Value, cls: Class) -> bool:
    """Whether a value is of a class."""
    find = CLASS_OF.get(value.__class__)
    return find is not None and cls in find(value).ancestors


def proper_name(cls: Class) -> Value:
    """The name that finds a class, else the class itself."""
    return cls.name if CLASSES.get(cls.name) is cls else cls


def define_class(cls: Class) -> Class:
    """Make a class known by its name."""
    CLASSES[cls.name] = cls
    return cls


TOP = define_class(Class(T, ()))
