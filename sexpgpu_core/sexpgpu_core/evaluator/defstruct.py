"""defstruct: a structure type (or a layout of lists and vectors) with its functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import problem
from .analyzer import Analyzer
from .classes import CLASSES, Slot, define_class
from .definition_forms import Define
from .definitions import core_symbol
from .defstruct_options import DEFAULT, Definition, SlotSpec, parse_defstruct
from .faults import wrong_type
from .machine import Machine, current
from .made_forms import form as make
from .made_forms import listed, quoted
from .nodes import Constant, Node, progn
from .scope import Scope, Tail
from .special_forms import special_form
from .structures import STRUCTURE_OBJECT, Structure, StructureClass, structure_class
from .values import NIL, Cons, Function, OfSymbols, Symbol, T, Value, Vector, make_list


@special_form("defstruct", "(defstruct name-and-options slot...)", 1)
def _defstruct(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    d = parse_defstruct(form)
    an.check_definable(d.name, "structure")
    slots = _all_slots(d)
    m = an.m
    constructors = _constructors(an, d, slots)
    nodes = [an.node(constructor, scope) for _, constructor in constructors]
    layout = _layout(d, slots)

    def define(_: Value) -> Value:
        kind = _register(d, slots)
        _define_accessors(m, d, slots, kind, layout)
        return d.name

    accessors = Define(Constant(NIL), define, form)
    makers = [_maker(m, name, node, form) for (name, _), node in zip(constructors, nodes)]
    steps: list[Node] = [accessors, *_printer(an, d, scope, form), *makers, Constant(d.name)]
    return progn(steps, [False] * len(steps))


def _all_slots(d: Definition) -> list[SlotSpec]:
    """Slots of the included structure, with their overrides, then its own."""
    if d.include is None:
        inherited: list[SlotSpec] = []
    elif d.include in _SPECS:
        inherited = _SPECS[d.include]
    else:
        raise problem("E-FORM-SHAPE", f"defstruct: no structure is named {d.include!r}")
    over = {spec.name.name: spec for spec in d.overrides}
    found = [over.get(spec.name.name, spec) for spec in inherited] + d.slots
    names = [spec.name.name for spec in found]
    for name in names:
        if names.count(name) > 1:
            raise problem("E-FORM-SHAPE", f"defstruct: the slot {name.lower()} stands twice")
    return found


_SPECS: OfSymbols[list[SlotSpec]] = OfSymbols()
_ACCESSORS: OfSymbols[set[Symbol]] = OfSymbols()
_LAYOUTS: OfSymbols[list[Any]] = OfSymbols()


def _layout(d: Definition, slots: list[SlotSpec]) -> list[Any]:
    """Of a :type structure: what each element is: a slot's name, the structure's name, None."""
    if d.representation is NIL:
        return []
    before = list(_LAYOUTS.get(d.include) or ()) if d.include is not None else []
    own = slots[len(slots) - len(d.slots) :]
    return [*before, *[None] * d.offset, *([d.name] if d.named else []), *own]


def _register(d: Definition, slots: list[SlotSpec]) -> StructureClass | None:
    _SPECS[d.name] = slots
    if d.representation is not NIL:
        _LAYOUTS[d.name] = _layout(d, slots)
        return None
    parent = structure_class(d.include) or STRUCTURE_OBJECT
    rows = [Slot(s.name, kind=s.kind, read_only=s.read_only) for s in slots]
    kind = StructureClass(d.name, parent, rows)
    define_class(kind)
    return kind


def _intern(d: Definition, name: str) -> Symbol:
    found: Symbol = current().module.intern(name)
    return found


def _maker(m: Machine, name: Symbol, node: Node, form: Cons) -> Node:
    """Defines a constructor."""

    def define(function: Value) -> Value:
        function.name = repr(name)
        m.cell(name).define(function)
        return name

    return Define(node, define, form)


def _constructors(an: Analyzer, d: Definition, slots: list[SlotSpec]) -> list[tuple[Symbol, Value]]:
    """Names of constructors and lambda expressions that make the object."""
    default = _intern(d, "MAKE-" + d.name.name)
    given = d.constructors if d.constructors is not None else [(default, None)]
    found = []
    for name, parameters in given:
        name = default if name is T else name
        an.check_definable(name, "function")
        found.append((name, _constructor(d, slots, parameters)))
    return found


def _constructor(d: Definition, slots: list[SlotSpec], parameters: Value) -> Value:
    if parameters is None:
        keys = [listed(spec.name, spec.default) for spec in slots]
        parameters = Cons(core_symbol("&KEY"), make_list(keys)) if keys else NIL
        names = [spec.name for spec in slots]
        return _making(d, slots, parameters, list(names))
    filled, bound = _with_defaults(parameters, slots)
    values = [spec.name if spec.name.name in bound else spec.default for spec in slots]
    return _making(d, slots, filled, values)


def _with_defaults(parameters: Value, slots: list[SlotSpec]) -> tuple[Value, set[str]]:
    """A BOA lambda list whose parameters without defaults get those of their slots."""
    by_name = {spec.name.name: spec for spec in slots}
    bound: set[str] = set()
    items: list[Value] = []
    mode = ""
    rest = parameters
    while rest.__class__ is Cons:
        item = rest.car
        rest = rest.cdr
        if item.__class__ is Symbol and item.name.startswith("&"):
            mode = item.name
            items.append(item)
            continue
        name = item.car if item.__class__ is Cons else item
        name = name.cdr.car if name.__class__ is Cons else name
        bound.add(name.name)
        bare = item.__class__ is Symbol or item.cdr is NIL
        if bare and mode in ("&OPTIONAL", "&KEY", "&AUX") and name.name in by_name:
            spec = by_name[name.name]
            if mode == "&AUX" and spec.at is None:
                items.append(item)
            else:
                first = item.car if item.__class__ is Cons else item
                items.append(listed(first, spec.default))
        else:
            items.append(item)
    return make_list(items), bound


def _making(d: Definition, slots: list[SlotSpec], parameters: Value, values: list[Value]) -> Value:
    checked = [
        make("%SLOT-VALUE", value, quoted(spec.kind), quoted(spec.name))
        if spec.kind is not T else value
        for spec, value in zip(slots, values)
    ]  # fmt: skip
    if d.representation is NIL:
        body = make("%MAKE-STRUCTURE", quoted(d.name), *checked)
    else:
        by_name = {spec.name.name: value for spec, value in zip(slots, checked)}
        parts = [_element(part, by_name) for part in _layout(d, slots)]
        is_list = d.representation.__class__ is Symbol and d.representation.name == "LIST"
        body = make("LIST" if is_list else "VECTOR", *parts)
    return make("LAMBDA", parameters, body)


def _element(part: Any, values: dict[str, Value]) -> Value:
    if isinstance(part, SlotSpec):
        return values[part.name.name]
    return quoted(part) if part is not None else NIL


def _define_accessors(
    m: Machine, d: Definition, slots: list[SlotSpec], kind: StructureClass | None, layout: list[Any]
) -> None:
    inherited = (_ACCESSORS.get(d.include) if d.include is not None else None) or set()
    own = _ACCESSORS[d.name] = set(inherited)
    for index, spec in enumerate(slots):
        name = _intern(d, d.prefix + spec.name.name)
        if name in inherited:
            continue
        own.add(name)
        if name.home == "":
            raise problem("E-REDEFINE", f"defstruct: the accessor {name!r} is a standard name")
        if kind is not None:
            read, write = _slot_functions(repr(name), kind, index)
        else:
            read, write = _element_functions(repr(name), layout.index(spec), d)
        m.cell(name).define(Function(repr(name), read, "(structure)", 1, 1))
        if not spec.read_only:
            setter = m.setf_cell(name, listed(core_symbol("SETF"), name))
            setter.define(Function(f"(setf {name!r})", write, "(new structure)", 2, 2))
    _define_predicate(m, d, kind, layout)
    if d.copier is not NIL:
        name = d.copier if d.copier is not DEFAULT else _intern(d, "COPY-" + d.name.name)
        m.cell(name).define(Function(repr(name), _copier(repr(name), kind), "(structure)", 1, 1))


def _slot_functions(
    name: str, kind: StructureClass, index: int
) -> tuple[Callable[..., Value], Callable[..., Value]]:
    def read(structure: Any) -> Value:
        if structure.__class__ is not Structure or kind not in structure.type.ancestors:
            raise _wrong_structure(name, structure, kind)
        return structure.values[index]

    def write(new: Value, structure: Any) -> Value:
        if structure.__class__ is not Structure or kind not in structure.type.ancestors:
            raise _wrong_structure(name, structure, kind)
        structure.values[index] = new
        return new

    return read, write


def _wrong_structure(name: str, value: Value, kind: StructureClass) -> Exception:
    error = wrong_type(name, value, f"a {kind.name!r}")
    error.expected = kind.name  # type: ignore[attr-defined]
    return error


def _element_functions(
    name: str, index: int, d: Definition
) -> tuple[Callable[..., Value], Callable[..., Value]]:
    def read(value: Any) -> Value:
        if isinstance(value, Vector) and index < len(value.data):
            return value.data[index]
        cell = _nth_cell(value, index)
        if cell.__class__ is not Cons:
            raise wrong_type(name, value, f"a {d.name!r}")
        return cell.car

    def write(new: Value, value: Any) -> Value:
        if isinstance(value, Vector) and index < len(value.data):
            value.data[index] = new
            return new
        cell = _nth_cell(value, index)
        if cell.__class__ is not Cons:
            raise wrong_type(name, value, f"a {d.name!r}")
        cell.car = new
        return new

    return read, write


def _nth_cell(value: Any, index: int) -> Any:
    while index and value.__class__ is Cons:
        value, index = value.cdr, index - 1
    return value


def _define_predicate(
    m: Machine, d: Definition, kind: StructureClass | None, layout: list[Any]
) -> None:
    if d.predicate is NIL or (kind is None and not d.named):
        return
    name = d.predicate if d.predicate is not DEFAULT else _intern(d, d.name.name + "-P")
    if kind is not None:
        of_type = kind

        def test(value: Any) -> Value:
            inside = value.__class__ is Structure and of_type in value.type.ancestors
            return T if inside else NIL
    else:
        at = max(i for i, part in enumerate(layout) if part is d.name)

        def test(value: Any) -> Value:
            if isinstance(value, Vector):
                return T if at < len(value.data) and value.data[at] is d.name else NIL
            cell = _nth_cell(value, at)
            return T if cell.__class__ is Cons and cell.car is d.name else NIL

    m.cell(name).define(Function(repr(name), test, "(object)", 1, 1))


def _copier(name: str, kind: StructureClass | None) -> Callable[..., Value]:
    def copy(value: Any) -> Value:
        if kind is None:
            return Vector(list(value.data)) if isinstance(value, Vector) else _copy_list(value)
        if value.__class__ is not Structure or kind not in value.type.ancestors:
            raise _wrong_structure(name, value, kind)
        return Structure(value.type, list(value.values))

    return copy


def _copy_list(value: Any) -> Value:
    items = []
    while value.__class__ is Cons:
        items.append(value.car)
        value = value.cdr
    return make_list(items)


def _printer(an: Analyzer, d: Definition, scope: Scope, form: Cons) -> list[Node]:
    if d.printer is NIL:
        return []
    node = an.node(make("FUNCTION", d.printer), scope)

    def define(function: Value) -> Value:
        from .objects.printing import print_with

        more = (0,) if d.printer_takes_depth else ()
        print_with(CLASSES[d.name], lambda value, stream: function.call(value, stream, *more))
        return NIL

    return [Define(node, define, form)]
