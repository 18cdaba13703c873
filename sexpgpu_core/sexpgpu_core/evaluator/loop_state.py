"""What a `loop` form has said so far, and the forms its expansion is built from."""

from __future__ import annotations

from ..diagnostics import Problem, problem
from ..records import NamedTuple
from .definitions import core_symbol
from .printer import brief
from .values import NIL, Cons, Symbol, Value, make_list

END = core_symbol("%LOOP-END")
"""The tag where a loop ends; `(loop-finish)` goes to the innermost one."""


def form(head: str, *parts: Value) -> Value:
    """A form with a standard operator."""
    return Cons(core_symbol(head.upper()), make_list(parts))


def fresh(name: str) -> Symbol:
    """A symbol nobody else has."""
    made = Symbol(name.upper())
    made.plist = NIL
    return made


FINISH = form("go", END)


def malformed(why: str) -> Problem:
    return problem("E-FORM-SHAPE", f"loop: {why}")


class Step(NamedTuple):
    """Set a variable or destructuring pattern."""

    target: Value
    value: Value


class Iteration(NamedTuple):
    """One for clause: bindings, then what is done in the first round and in later ones.

    Each round: `before` (tests that end the loop), `steps`, `after` (tests), `advance`.
    """

    bindings: list[tuple[Value, Value]]
    first: Round
    later: Round


class Round(NamedTuple):
    before: list[Value]
    steps: list[Step]
    after: list[Value]
    advance: list[Step]


class Accumulator(NamedTuple):
    """Where collect, sum, maximize put things. `kind`: list, number or extreme."""

    kind: str
    variable: Symbol
    named: bool
    head: Symbol | None
    tail: Symbol | None


class Cursor:
    """The tokens of the form from left to right."""

    def __init__(self, items: list[Value]) -> None:
        self.items = items
        self.at = 0

    def done(self) -> bool:
        return self.at >= len(self.items)

    def word(self) -> str:
        """The name of the next token if it is a symbol, else ""."""
        if self.done() or self.items[self.at].__class__ is not Symbol:
            return ""
        return str(self.items[self.at].name)

    def take(self, what: str) -> Value:
        if self.done():
            raise malformed(f"ends where {what} is expected")
        self.at += 1
        return self.items[self.at - 1]

    def accept(self, *words: str) -> str:
        """Take the next token if it is one of the words; which, else ""."""
        word = self.word()
        if word not in words:
            return ""
        self.at += 1
        return word

    def compound(self) -> list[Value]:
        """The compound forms that follow."""
        found = []
        while not self.done() and self.items[self.at].__class__ is Cons:
            found.append(self.items[self.at])
            self.at += 1
        return found


class Loop:
    """The sections of a loop's expansion."""

    def __init__(self, items: list[Value]) -> None:
        self.cursor = Cursor(items)
        self.name: Value = NIL
        self.groups: list[list[tuple[Value, Value]]] = []  # bindings; a group binds in parallel
        self.first: list[Value] = []
        self.later: list[Value] = []
        self.initially: list[Value] = []
        self.body: list[Value] = []
        self.finally_: list[Value] = []
        self.accumulators: dict[Symbol | None, Accumulator] = {}
        self.default: Value = NIL  # the result when nothing is accumulated
        self.decides = False  # always, never or thereis gives the result
        self.bound: set[Symbol] = set()

    def returning(self, value: Value) -> Value:
        return form("return-from", self.name, value)

    def bind(self, bindings: list[tuple[Value, Value]]) -> None:
        """A group of bindings; a name may be bound once in a loop."""
        for name, _ in bindings:
            if name in self.bound:
                raise malformed(f"{brief(name)} is bound twice")
            self.bound.add(name)
        if bindings:
            self.groups.append(bindings)


def variables(pattern: Value) -> list[Symbol]:
    """The variables of a destructuring pattern; nil skips a place."""
    found: list[Symbol] = []
    stack = [pattern]
    while stack:
        x = stack.pop()
        if x.__class__ is Cons:
            stack += [x.cdr, x.car]
        elif x is not NIL:
            if x.__class__ is not Symbol or x.constant:
                raise malformed(f"{brief(x)} is no variable")
            found.append(x)
    return found


def assign(target: Value, value: Value) -> list[Value]:
    """Forms that set a variable or the variables of a pattern."""
    if target.__class__ is Symbol and target is not NIL:
        return [form("setq", target, value)]
    if target is NIL:
        return [value]
    whole = fresh("parts")
    return [
        form("let", make_list([make_list([whole, value])]), *_spread(target, whole)),
    ]


def _spread(pattern: Value, access: Value) -> list[Value]:
    found: list[Value] = []
    while pattern.__class__ is Cons:
        if pattern.car.__class__ is Cons:
            found += _spread(pattern.car, form("car", access))
        elif pattern.car is not NIL:
            found.append(form("setq", pattern.car, form("car", access)))
        pattern, access = pattern.cdr, form("cdr", access)
    if pattern is not NIL:
        found.append(form("setq", pattern, access))
    return found


def assign_all(steps: list[Step]) -> list[Value]:
    """Set several at once: all values first."""
    if len(steps) <= 1:
        return [f for s in steps for f in assign(s.target, s.value)]
    names = [fresh("new") for _ in steps]
    bindings = make_list([make_list([n, s.value]) for n, s in zip(names, steps)])
    sets = [f for n, s in zip(names, steps) for f in assign(s.target, n)]
    return [form("let", bindings, *sets)]


def start_value(kind: Value) -> Value:
    """What a variable of a declared type holds before it is set."""
    name = kind.car if kind.__class__ is Cons else kind
    text = name.name if name.__class__ is Symbol else ""
    if text.endswith("FLOAT"):
        return 0.0
    numeric = "FIXNUM INTEGER NUMBER REAL RATIONAL BIT UNSIGNED-BYTE SIGNED-BYTE MOD"
    return 0 if text in numeric.split() else NIL
