"""How the parts of a form are placed when it does not fit a line: one table by operator."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..records import NamedTuple
from .layout_tree import Node


class Style(NamedTuple):
    """`kind` names a plan of `layout_plans`. `beside`: arguments that stand with the operator.

    `least`: from so many parts behind them on, the form always breaks (0: never). `first` are the
    styles of the arguments, `rest` that of the parts behind them; None goes by the operator.
    """

    kind: str
    beside: int = 0
    least: int = 0
    first: tuple[Style | None, ...] = ()
    rest: Style | None = None


CALL = Style("call")
DATA = Style("data")
"""A lambda list, names: what heads a list in it is no operator."""

QUOTED = Style("quoted")
"""Data whose lists may be forms."""

BINDING = Style("aligned")
BINDINGS = Style("rows", rest=BINDING)
CLAUSE = Style("rows")
LOCAL = Style("body", 1, 2, (DATA,))
"""`(name (parameter...) form...)`"""

ROWS = Style("rows", rest=DATA)


def body(count: int, least: int = 2, *first: Style | None, rest: Style | None = None) -> Style:
    """Arguments that stand with the operator, then forms below it."""
    return Style("body", count, least, first, rest)


DEFINITION = body(2, 1, None, DATA)
LET = body(1, 1, BINDINGS)
FUNCTIONS = body(1, 1, Style("rows", rest=LOCAL))
CASE = body(1, 2, rest=CLAUSE)
HANDLERS = body(1, 1, rest=LOCAL)
ITERATION = body(1, 2, DATA)
DECLARATION = Style("declaration")
ASSIGNMENT = Style("assignment")
ONE, TWO = body(1), body(2)
METHOD = body(2, 1, None, DATA)
"""Without qualifiers; each stands with the operator too."""

_ROWS: tuple[tuple[str, Style], ...] = (
    (
        "defun defmacro defmodel defschedule defoptimizer deftype defoutput defdiagnostic",
        DEFINITION,
    ),
    ("defsetf define-setf-expander", DEFINITION),
    ("optimizer-update", body(1, 1, DATA)),
    ("define-condition defclass", body(2, 1, None, DATA, rest=ROWS)),
    ("defgeneric define-method-combination", DEFINITION),
    ("defmethod", METHOD),
    ("with-slots with-accessors", body(2, 1, DATA)),
    ("defstruct", body(1, 0, DATA, rest=DATA)),
    ("defknob defvariant defsweep defeval deftarget defrun require", DECLARATION),
    ("defparam defstate load-params defvar defparameter defconstant", DECLARATION),
    ("define-symbol-macro define-modify-macro", DECLARATION),
    ("defloader", body(1, 1)),
    ("groups", Style("options", least=2)),
    ("let let* symbol-macrolet let-values compiler-let", LET),
    ("flet labels macrolet", FUNCTIONS),
    ("lambda", body(1, 2, DATA)),
    ("dolist dotimes", ITERATION),
    ("do do*", body(2, 1, BINDINGS, CLAUSE)),
    ("prog prog*", Style("tags", 1, 1, (BINDINGS,))),
    ("tagbody", Style("tags", 0, 2)),
    ("when unless block catch eval-when unwind-protect prog1 multiple-value-prog1", ONE),
    ("print-unreadable-object with-simple-restart once-only with-gensyms", ONE),
    ("prog2 progv", TWO),
    ("multiple-value-bind destructuring-bind bind-shape", body(2, 1, DATA)),
    ("handler-bind", body(1, 1, BINDINGS)),
    ("handler-case restart-case", HANDLERS),
    ("case ecase ccase typecase etypecase ctypecase", CASE),
    ("cond", Style("aligned", 0, 2, rest=CLAUSE)),
    ("progn locally ignore-errors", body(0, 0)),
    ("with-standard-io-syntax", body(0)),
    ("if and or", Style("aligned")),
    ("format", Style("call", 2)),
    ("setf setq psetf psetq", ASSIGNMENT),
    ("loop", Style("loop")),
    ("declare declaim", QUOTED),
)

TABLE: Mapping[str, Style] = {name: style for names, style in _ROWS for name in names.split()}

COLUMNS = {"defknob": 3, "defvariant": 1, "stage": 1, "group": 1}
"""Operators whose neighbours are aligned, and how many of their arguments."""

ATOM = re.compile(r'[":#&|]|[+-]?\.?\d[\d./]*(?:[eEsSfFdDlL][+-]?\d+)?$')
"""What heads a list that is no call."""

WORDS = ("default", "defer", "defined", "definit", "deflat")
"""Beginnings of names that have a def without defining anything."""


def style_of(node: Node, given: Style | None, macros: Mapping[str, int]) -> Style:
    """The style of a list: as its place says, else by its operator, else data."""
    if given is DATA:
        return DATA
    if not (node.text == "(" and node.items):
        return QUOTED
    if given is not None and given is not QUOTED:
        return given
    name = node.operator
    known = TABLE.get(name.removeprefix("cl:"))
    if known is METHOD:
        return _method(node)
    if known is not None:
        return known
    if given is QUOTED or (node.prefix.endswith("'") and not node.prefix.endswith("#'")):
        return QUOTED
    return _by_name(name, macros)


def _method(node: Node) -> Style:
    """As many arguments as there are up to the lambda list stand with the operator."""
    items = node.items or []
    lists = [at for at, item in enumerate(items) if at > 1 and item.text == "("]
    count = lists[0] if lists else 2
    return body(count, 1, *[None] * (count - 1), DATA)


def _by_name(name: str, macros: Mapping[str, int]) -> Style:
    if name in macros:
        return body(macros[name])
    own = name.rsplit(":", 1)[-1]
    if own.startswith(("with-", "do-")) or (own.startswith("def") and not own.startswith(WORDS)):
        return ONE
    return DATA if not name or ATOM.match(name) else CALL


def style_parts(style: Style, node: Node) -> list[Style | None]:
    """What styles the items of a list are given, its operator's first."""
    assert node.items is not None
    size = len(node.items)
    if style.kind in ("data", "quoted"):
        return [style] * size
    if style.kind == "rows":
        return [style.rest] * size
    first = [None, *style.first[: style.beside]]
    first += [None] * (style.beside + 1 - len(first))
    return (first + [style.rest] * size)[:size]
