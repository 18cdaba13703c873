"""A defstruct form taken apart: its options and slots as data."""

from __future__ import annotations

from ..diagnostics import Problem, nearest, problem
from ..records import NamedTuple
from .declarations import items_of
from .printer import brief
from .type_specifiers import typep
from .values import NIL, Cons, String, Symbol, T, Value

OPTIONS = ("conc-name", "constructor", "copier", "include", "predicate", "print-function",
           "print-object", "type", "named", "initial-offset")  # fmt: skip


class SlotSpec(NamedTuple):
    """A slot as written. `at`: the cons that holds its default, None if it has none."""

    name: Symbol
    default: Value
    at: Value
    kind: Value
    read_only: bool


class Definition(NamedTuple):
    """Names are None where the option says so. `constructors`: (name, lambda list or None)."""

    name: Symbol
    prefix: str
    constructors: list[tuple[Symbol, Value]] | None
    copier: Value
    predicate: Value
    include: Symbol | None
    overrides: list[SlotSpec]
    representation: Value  # NIL, or what :type says
    named: bool
    offset: int
    printer: Value
    printer_takes_depth: bool
    slots: list[SlotSpec]
    doc: str


DEFAULT = object()
NAME = Symbol("NAME", None)


def parse_defstruct(form: Cons) -> Definition:
    """The parts of `(defstruct name-and-options [doc] slot...)`."""
    head = form.cdr.car
    name = head.car if head.__class__ is Cons else head
    if name.__class__ is not Symbol or name.constant:
        raise problem("E-FORM-SHAPE", f"defstruct: {brief(name)} is no name")
    rows = _options(head, form)
    rest = form.cdr.cdr
    doc = ""
    if rest is not NIL and rest.car.__class__ is String:
        doc, rest = rest.car.text(), rest.cdr
    slots = [slot_spec(item) for item in items_of(rest, form)]
    include = rows.get("include")
    base = include[0][0] if include else None
    printer = rows.get("print-function") or rows.get("print-object")
    kind = rows["type"][0][0] if rows.get("type", [[]])[0] else NIL
    _check_together(rows, kind)
    return Definition(
        name,
        _prefix(name, rows),
        _constructors(rows),
        _one(rows, "copier"),
        _one(rows, "predicate"),
        base,
        [slot_spec(item) for item in include[0][1:]] if include else [],
        kind,
        "named" in rows,
        rows["initial-offset"][0][0] if "initial-offset" in rows else 0,
        printer[0][0] if printer and printer[0] else NIL,
        "print-function" in rows,
        slots,
        doc,
    )


def _check_together(rows: dict[str, list[list[Value]]], kind: Value) -> None:
    """Options that contradict each other."""
    named, name = "named" in rows, _one(rows, "predicate")
    if kind is NIL:
        if "initial-offset" in rows:
            raise _contradiction(":initial-offset is for structures with a :type")
        return
    if name not in (DEFAULT, NIL) and not named:
        raise _contradiction("a :predicate of a :type structure needs :named")
    if "print-function" in rows or "print-object" in rows:
        raise _contradiction("a :type structure prints as what it is made of")
    head = kind.car if kind.__class__ is Cons else kind
    if head.__class__ is not Symbol or head.name not in ("LIST", "VECTOR"):
        raise _contradiction(f":type is list or vector, not {brief(kind)}")
    if head is kind or kind.cdr.__class__ is not Cons or not named:
        return
    element = kind.cdr.car
    if not (element.__class__ is Symbol and element.name == "*") and not typep(NAME, element):
        raise _contradiction(f"{brief(kind)} cannot hold the name that :named puts in")


def _contradiction(why: str) -> Problem:
    return problem("E-FORM-SHAPE", f"defstruct: {why}", kind="simple-error")


def _options(head: Value, form: Cons) -> dict[str, list[list[Value]]]:
    rows: dict[str, list[list[Value]]] = {}
    if head.__class__ is not Cons:
        return rows
    for item in items_of(head.cdr, form):
        parts = items_of(item, form) if item.__class__ is Cons else [item]
        key = parts[0].name.lower() if parts and parts[0].__class__ is Symbol else ""
        if key not in OPTIONS:
            near = nearest(key, OPTIONS)
            raise problem(
                "E-FORM-SHAPE",
                f"defstruct has no option {brief(parts[0] if parts else NIL)}",
                hint=f"did you mean :{near}?" if near else None,
            )
        rows.setdefault(key, []).append(parts[1:])
    return rows


def _prefix(name: Symbol, rows: dict[str, list[list[Value]]]) -> str:
    if "conc-name" not in rows:
        return name.name + "-"
    given = rows["conc-name"][0]
    if not given or given[0] is NIL:
        return ""
    return str(given[0].text() if given[0].__class__ is String else given[0].name)


def _one(rows: dict[str, list[list[Value]]], key: str) -> Value:
    """A name given by an option: DEFAULT if not said, NIL if refused."""
    given = rows.get(key)
    return given[0][0] if given and given[0] else DEFAULT


def _constructors(rows: dict[str, list[list[Value]]]) -> list[tuple[Symbol, Value]] | None:
    """None: the default one."""
    given = rows.get("constructor")
    if given is None:
        return None
    found: list[tuple[Symbol, Value]] = []
    for row in given:
        if not row:
            found.append((T, None))
        elif row[0] is not NIL:
            found.append((row[0], row[1] if len(row) > 1 else None))
    return found


def slot_spec(item: Value) -> SlotSpec:
    """`name`, or `(name default :type type :read-only flag)`."""
    if item.__class__ is Symbol and item is not NIL:
        return SlotSpec(item, NIL, None, T, False)
    parts = items_of(item, item) if item.__class__ is Cons else []
    if not parts or parts[0].__class__ is not Symbol or (len(parts) > 2 and len(parts) % 2):
        raise problem(
            "E-FORM-SHAPE",
            f"defstruct: {brief(item)} is no slot",
            hint="as name, (name default) or (name default :type type :read-only t)",
        )
    options = dict(zip([brief(key) for key in parts[2::2]], parts[3::2]))
    unknown = set(options) - {":type", ":read-only"}
    if unknown:
        raise problem("E-FORM-SHAPE", f"defstruct: a slot has no option {sorted(unknown)[0]}",
                      hint="a slot takes :type and :read-only")  # fmt: skip
    at = item.cdr if len(parts) > 1 else None
    return SlotSpec(
        parts[0],
        parts[1] if len(parts) > 1 else NIL,
        at,
        options.get(":type", T),
        options.get(":read-only", NIL) is not NIL,
    )
