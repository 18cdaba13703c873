"""Generic functions: which methods a call runs, found once for the classes of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import Problem, problem
from ..binders import keyword_arguments
from ..classes import CLASS_OF, EPOCH, TOP
from ..closures import wrong_count
from ..definitions import core_symbol
from ..equality import eql_key
from ..machine import current
from ..printer import COMPOUNDS, brief
from ..values import Function, Symbol, Value
from .built_in_classes import built_in, class_of
from .combinations import STANDARD, Combination, Effective
from .methods import (  # fmt: skip
    Eql,
    Method,
    Shape,
    applies,
    check_congruent,
    rank,
    same_place,
    shown_specializer,
    shown_specializers,
)

SEARCH_STEPS = 50
"""What finding the methods for new classes costs: about the time of so many steps."""


class GenericFunction(Function):
    """A function that is its methods. `key` says of arguments what decides which methods run;
    `cache` holds the effective method by it; `order`: required parameters, most decisive first.
    `bare`: its lambda list is not known before it has a method.
    """

    __slots__ = (
        "bare", "cache", "combination", "epoch", "extended", "key", "methods", "order", "shape",
        "title",
    )  # fmt: skip

    def __init__(self, title: Value, shape: Shape, lambda_list: str) -> None:
        super().__init__(brief(title), _caller(self), lambda_list)
        self.title = title
        self.methods: list[Method] = []
        self.combination: Combination = STANDARD
        self.cache: dict[Any, Effective] = {}
        self.key: Callable[[tuple[Value, ...]], Any] = _no_key
        self.epoch = EPOCH[0]
        self.bare = False
        self.extended = False  # by a method of a file
        self.reshape(shape, lambda_list)

    def reshape(self, shape: Shape, lambda_list: str, order: tuple[int, ...] = ()) -> None:
        """Give it another lambda list."""
        self.shape = shape
        self.lambda_list = lambda_list
        self.order = order or tuple(range(shape.required))
        self.least = shape.required
        closed = not shape.rest and shape.keys is None
        self.most = shape.required + shape.optional if closed else None

    def add(self, method: Method) -> None:
        """Add a method, in place of one of the same qualifiers and specializers."""
        if self.bare and not self.methods:
            self.reshape(method.shape._replace(keys=None if method.shape.keys is None else ()),
                         method.lambda_list)  # fmt: skip
        check_congruent(self.name, self.shape, self.lambda_list, method.shape, method.lambda_list)
        if method.generic is not None and method.generic is not self:
            raise problem("E-TYPE", f"{brief(method)} belongs to another generic function")
        self.methods = [m for m in self.methods if not same_place(m, method)]
        self.methods.append(method)
        method.generic = self
        self.changed()

    def remove(self, method: Method) -> None:
        """Take a method away."""
        self.methods = [m for m in self.methods if m is not method]
        if method.generic is self:
            method.generic = None
        self.changed()

    def changed(self) -> None:
        """Forget what was found with other methods."""
        self.forget()
        self.key = _key_function(self.methods)
        self.extended = any(not method.native for method in self.methods)

    def forget(self) -> None:
        self.cache = {}
        self.epoch = EPOCH[0]

    def applicable(self, arguments: tuple[Value, ...]) -> list[Method]:
        """Methods for these arguments, most specific first."""
        classes = [class_of(x) for x in arguments[: self.shape.required]]
        found = [m for m in self.methods if applies(m, arguments, classes)]
        found.sort(key=lambda m: rank(m, classes, self.order))
        return found

    def find(self, arguments: tuple[Value, ...]) -> Effective:
        """The effective method of a call, from now on that of all calls alike."""
        current().spend(SEARCH_STEPS, self.name)
        methods = self.applicable(arguments)
        if not methods:
            return lambda given: no_applicable(self, given)
        effective = self.combination.effective(self, methods)
        checked = self._checked(methods, effective)
        self.cache[self.key(arguments)] = checked
        return checked

    def _checked(self, methods: list[Method], effective: Effective) -> Effective:
        """The same, once the keywords of a call are known to some method (CLHS 7.6.5)."""
        shapes = [self.shape, *(m.shape for m in methods)]
        keyed = [shape.keys for shape in shapes if shape.keys is not None]
        if not keyed or any(shape.other_keys for shape in shapes):
            return effective
        known = dict.fromkeys([key for keys in keyed for key in keys])
        start, name = self.shape.required + self.shape.optional, self.name

        def run(arguments: tuple[Value, ...]) -> Value:
            if len(arguments) > start:
                keyword_arguments(name, arguments[start:], known, False)
            return effective(arguments)

        return run


def _caller(generic: GenericFunction) -> Callable[..., Value]:
    m = current()

    def call(*arguments: Value) -> Value:
        size = len(arguments)
        if size < generic.least or (generic.most is not None and size > generic.most):
            raise wrong_count(generic, size)
        fuel = m.fuel = m.fuel - 1
        if fuel < 0:
            m.add_fuel(generic.name)
        if generic.epoch is not EPOCH[0]:
            generic.forget()
        effective = generic.cache.get(generic.key(arguments))
        return (effective or generic.find(arguments))(arguments)

    return call


def _no_key(arguments: tuple[Value, ...]) -> Any:
    return None


def _key_function(methods: list[Method]) -> Callable[[tuple[Value, ...]], Any]:
    """What of the arguments tells which of the methods apply: classes where some specialize."""
    places: dict[int, set[Any]] = {}
    for method in methods:
        for at, specializer in enumerate(method.specializers):
            if isinstance(specializer, Eql):
                places.setdefault(at, set()).add(specializer.key)
            elif specializer is not TOP:
                places.setdefault(at, set())
    if not places:
        return _no_key
    if len(places) == 1:
        ((only, values),) = places.items()
        if not values:
            return lambda arguments: class_of(arguments[only])
    rows = list(places.items())
    return lambda arguments: tuple([_part(arguments[at], values) for at, values in rows])


def _part(value: Value, single: set[Any]) -> Any:
    """An argument's class; itself where a method is for that object."""
    if single:
        key = eql_key(value)
        if key in single:
            return (key,)
    return class_of(value)


def no_applicable(generic: GenericFunction, arguments: tuple[Value, ...]) -> Value:
    """Ask `no-applicable-method`, which the file may have methods for."""
    return current().cell(core_symbol("NO-APPLICABLE-METHOD")).call(generic, *arguments)


def no_method_fits(generic: GenericFunction, arguments: tuple[Value, ...]) -> Problem:
    """E-CALL-METHOD with the classes of the arguments and what there are methods for."""
    given = [class_of(x) for x in arguments[: generic.shape.required]]
    shown = shown_specializers(tuple(given))
    known = [shown_specializers(m.specializers) for m in generic.methods if not m.qualifiers]
    there = ", ".join(dict.fromkeys(known[:8]))
    return problem(
        "E-CALL-METHOD",
        f"no method of {generic.name} is for arguments of the classes {shown}",
        hint=f"there are methods for {there}" if there else f"{generic.name} has no methods yet",
        function=generic.name,
        classes=[shown_specializer(c) for c in given],
    )


def generic_named(title: Value) -> GenericFunction | None:
    """The generic function of a function name, if there is one."""
    from ..function_forms import is_setf_name

    m = current()
    cell = m.setf_cell(title.cdr.car, title) if is_setf_name(title) else m.cell(title)
    found = cell.function
    return found if isinstance(found, GenericFunction) else None


class StandardGeneric(Function):
    """A generic function of the standard before an evaluation has made its own of it."""

    __slots__ = ("rows", "shape", "title")

    def __init__(self, title: Symbol, shape: Shape, lambda_list: str, doc: str) -> None:
        most = None if shape.rest else shape.required + shape.optional
        super().__init__(repr(title), self._call, lambda_list, shape.required, most, doc)
        self.title = title
        self.shape = shape
        self.rows: list[Method] = []

    def _call(self, *arguments: Value) -> Value:
        return current().cell(self.title).call(*arguments)

    def in_evaluation(self) -> Function:
        """A generic function with the standard's methods, to which a file may add its own."""
        made = GenericFunction(self.title, self.shape, self.lambda_list)
        made.doc = self.doc
        for row in self.rows:
            made.add(Method((), row.specializers, row.shape, row.body, native=True))
        return made


COMPOUNDS[GenericFunction] = lambda generic, settings: (
    f"#<standard-generic-function {generic.name} ({len(generic.methods)})>"
)
CLASS_OF[GenericFunction] = lambda generic: built_in("standard-generic-function")
