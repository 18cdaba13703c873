"""The clauses that drive a loop: `for`/`as`, `repeat`, `with`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .loop_state import (
    FINISH,
    Iteration,
    Loop,
    Round,
    Step,
    assign,
    assign_all,
    form,
    fresh,
    malformed,
    start_value,
    variables,
)
from .printer import brief
from .values import NIL, Cons, Symbol, Value, list_items

_SIMPLE_TYPES = ("FIXNUM", "FLOAT", "T", "NIL")


def declared_type(loop: Loop) -> Value:
    """The type after a variable: `of-type TYPE` or a simple type name; nil if there is none."""
    if loop.cursor.accept("OF-TYPE"):
        return loop.cursor.take("a type")
    if loop.cursor.word() in _SIMPLE_TYPES:
        return loop.cursor.take("a type")
    return NIL


def with_clause(loop: Loop) -> None:
    """`with var [type] [= value] {and var ...}`."""
    bindings: list[tuple[Value, Value]] = []
    spread: list[tuple[Value, Value]] = []
    while True:
        target = loop.cursor.take("a variable")
        kind = declared_type(loop)
        given = bool(loop.cursor.accept("="))
        value = loop.cursor.take("a value") if given else start_value(kind)
        if target.__class__ is Symbol and target is not NIL:
            variables(target)
            bindings.append((target, value))
        else:
            whole = fresh("whole")
            bindings.append((whole, value))
            spread.append((target, whole))
        if not loop.cursor.accept("AND"):
            break
    loop.bind(bindings)
    for pattern, whole in spread:
        _bind_parts(loop, pattern, whole)


def _bind_parts(loop: Loop, pattern: Value, whole: Value) -> None:
    """Bind the variables of a pattern to the parts of a value."""
    while pattern.__class__ is Cons:
        if pattern.car.__class__ is Cons:
            _bind_parts(loop, pattern.car, form("car", whole))
        elif pattern.car is not NIL:
            variables(pattern.car)
            loop.bind([(pattern.car, form("car", whole))])
        pattern, whole = pattern.cdr, form("cdr", whole)
    if pattern is not NIL:
        variables(pattern)
        loop.bind([(pattern, whole)])


def for_clause(loop: Loop) -> None:
    """`for var ... {and var ...}`: a group steps in parallel."""
    group = [_one(loop)]
    while loop.cursor.accept("AND"):
        loop.cursor.accept("FOR", "AS")
        group.append(_one(loop))
    loop.bind([b for iteration in group for b in iteration.bindings])
    _emit(loop.first, [i.first for i in group])
    _emit(loop.later, [i.later for i in group])


def _emit(code: list[Value], rounds: list[Round]) -> None:
    code += [form("if", test, FINISH) for r in rounds for test in r.before]
    code += assign_all([s for r in rounds for s in r.steps])
    code += [form("if", test, FINISH) for r in rounds for test in r.after]
    code += [f for r in rounds for s in r.advance for f in assign(s.target, s.value)]


def repeat_clause(loop: Loop) -> None:
    """`repeat n`."""
    left = fresh("left")
    loop.bind([(left, loop.cursor.take("a count"))])
    each = Round([form("<=", left, 0)], [], [], [Step(left, form("1-", left))])
    _emit(loop.first, [each])
    _emit(loop.later, [each])


def _one(loop: Loop) -> Iteration:
    target = loop.cursor.take("a variable")
    kind = declared_type(loop)
    names = variables(target)
    word = loop.cursor.word()
    maker = _FORS.get(word)
    if maker is None:
        raise malformed(f"for {brief(target)} is followed by {word.lower() or 'no keyword'}")
    if word not in _ARITHMETIC:
        loop.cursor.at += 1
    iteration = maker(loop, target)
    if word in _ARITHMETIC:
        return iteration
    start = start_value(kind)
    return iteration._replace(bindings=iteration.bindings + [(n, start) for n in names])


def _same(each: Round, bindings: list[tuple[Value, Value]]) -> Iteration:
    return Iteration(bindings, each, each)


def _by(loop: Loop, rest: Value, bindings: list[tuple[Value, Value]]) -> Value:
    """How a list is stepped: `by #'function`, cdr by default."""
    if not loop.cursor.accept("BY"):
        return form("cdr", rest)
    function = loop.cursor.take("a function")
    if function.__class__ is Cons and getattr(function.car, "name", "") == "FUNCTION":
        return form("funcall", function, rest)
    step = fresh("by")
    bindings.append((step, function))
    return form("funcall", step, rest)


def _in(loop: Loop, target: Value) -> Iteration:
    rest = fresh("list")
    bindings = [(rest, loop.cursor.take("a list"))]
    step = _by(loop, rest, bindings)
    each = Round([form("endp", rest)], [Step(target, form("car", rest))], [], [Step(rest, step)])
    return _same(each, bindings)


def _on(loop: Loop, target: Value) -> Iteration:
    rest = fresh("list")
    bindings = [(rest, loop.cursor.take("a list"))]
    step = _by(loop, rest, bindings)
    each = Round([form("atom", rest)], [Step(target, rest)], [], [Step(rest, step)])
    return _same(each, bindings)


def _across(loop: Loop, target: Value) -> Iteration:
    items, at = fresh("vector"), fresh("index")
    bindings = [(items, loop.cursor.take("a vector")), (at, 0)]
    each = Round(
        [form(">=", at, form("length", items))],
        [Step(target, form("aref", items, at))],
        [],
        [Step(at, form("1+", at))],
    )
    return _same(each, bindings)


def _equals(loop: Loop, target: Value) -> Iteration:
    start = loop.cursor.take("a value")
    later = loop.cursor.take("a value") if loop.cursor.accept("THEN") else start
    return Iteration(
        [],
        Round([], [Step(target, start)], [], []),
        Round([], [Step(target, later)], [], []),
    )


_TABLE_KEYS = ("HASH-KEY", "HASH-KEYS")
_TABLE_VALUES = ("HASH-VALUE", "HASH-VALUES")


def _being(loop: Loop, target: Value) -> Iteration:
    """`being the hash-keys of table [using (hash-value v)]`."""
    loop.cursor.accept("THE", "EACH")
    what = loop.cursor.accept(*_TABLE_KEYS, *_TABLE_VALUES)
    if not what:
        raise malformed("after being only hash-keys and hash-values are known")
    if not loop.cursor.accept("OF", "IN"):
        raise malformed(f"{what.lower()} is followed by of and a hash table")
    rest = fresh("pairs")
    bindings = [(rest, form("%hash-table-pairs", loop.cursor.take("a hash table")))]
    pair = form("car", rest)
    parts = {"key": form("car", pair), "value": form("cdr", pair)}
    mine, other = ("key", "value") if what in _TABLE_KEYS else ("value", "key")
    steps = [Step(target, parts[mine])]
    if loop.cursor.accept("USING"):
        also = _using(loop)
        bindings += [(name, NIL) for name in variables(also)]
        steps.append(Step(also, parts[other]))
    each = Round([form("null", rest)], steps, [], [Step(rest, form("cdr", rest))])
    return _same(each, bindings)


def _using(loop: Loop) -> Value:
    """The variable of `(hash-value v)`."""
    spec = loop.cursor.take("(hash-value v)")
    if spec.__class__ is not Cons or len(list_items(spec)) != 2:
        raise malformed("using is followed by (hash-value v) or (hash-key k)")
    return spec.cdr.car


_ARITHMETIC = (
    "FROM",
    "UPFROM",
    "DOWNFROM",
    "TO",
    "UPTO",
    "DOWNTO",
    "BELOW",
    "ABOVE",
    "BY",
)
_STARTS = ("FROM", "UPFROM", "DOWNFROM")
_LIMITS = ("TO", "UPTO", "DOWNTO", "BELOW", "ABOVE")
_DOWN = ("DOWNFROM", "DOWNTO", "ABOVE")
_UP = ("UPFROM", "UPTO", "BELOW")


def _arithmetic(loop: Loop, target: Value) -> Iteration:
    """`from a to b by c` in any order; values are computed in the order written."""
    if target.__class__ is not Symbol or target is NIL:
        target = fresh("number") if target is NIL else _no_pattern(target)
    bindings: list[tuple[Value, Value]] = []
    seen: dict[str, Any] = {}
    limit = limit_word = None
    step: Value = 1
    while True:
        word = loop.cursor.accept(*_ARITHMETIC)
        if not word:
            break
        slot = "start" if word in _STARTS else "limit" if word in _LIMITS else "step"
        if slot in seen:
            raise malformed(f"{word.lower()} says again what {seen[slot].lower()} said")
        seen[slot] = word
        value = loop.cursor.take("a number")
        if slot == "start":
            bindings.append((target, value))
            continue
        value = _held(value, bindings, slot)
        if slot == "limit":
            limit, limit_word = value, word
        else:
            step = value
    down = any(word in _DOWN for word in seen.values())
    if down and any(word in _UP for word in seen.values()):
        raise malformed("counts up and down at once")
    if not any(word in _STARTS for word in seen.values()):
        bindings.append((target, 0))
    tests = [] if limit is None else [_passed(target, limit, str(limit_word), down)]
    stepped = form("-" if down else "+", target, step)
    return Iteration(
        bindings, Round(tests, [], [], []), Round([], [Step(target, stepped)], tests, [])
    )


def _no_pattern(target: Value) -> Value:
    raise malformed(f"{brief(target)} cannot count: a number has no parts")


def _held(value: Value, bindings: list[tuple[Value, Value]], slot: str) -> Value:
    """A constant as it is; anything else computed once."""
    if value.__class__ in (int, float):
        return value
    name = fresh(slot)
    bindings.append((name, value))
    return name


def _passed(target: Value, limit: Value, word: str, down: bool) -> Value:
    inclusive = word not in ("BELOW", "ABOVE")
    if down:
        return form("<" if inclusive else "<=", target, limit)
    return form(">" if inclusive else ">=", target, limit)


_FORS: dict[str, Callable[[Loop, Value], Iteration]] = {
    "IN": _in,
    "ON": _on,
    "ACROSS": _across,
    "=": _equals,
    "BEING": _being,
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
}
