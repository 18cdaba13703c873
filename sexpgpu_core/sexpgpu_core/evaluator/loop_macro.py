"""`loop` as one expander: clauses are read left to right into the sections of one tagbody.

block: bindings: tagbody: initially, first steps; again: body, later steps; end: finally, result.
"""

from __future__ import annotations

from collections.abc import Callable

from ..diagnostics import nearest
from .loop_accumulation import KINDS, accumulation, result_of
from .loop_iteration import for_clause, repeat_clause, with_clause
from .loop_state import END, FINISH, Loop, form, fresh, malformed
from .printer import brief
from .values import NIL, Cons, Symbol, T, Value, list_items, make_list


def expand_loop(whole: Value) -> Value:
    """What a loop form is."""
    try:
        items = list_items(whole.cdr)
    except TypeError:
        raise malformed("the form is not a proper list") from None
    if all(item.__class__ is Cons for item in items):
        again = fresh("again")
        return form("block", NIL, form("tagbody", again, *items, form("go", again)))
    loop = Loop(items)
    _read(loop)
    return _assemble(loop)


def _read(loop: Loop) -> None:
    cursor = loop.cursor
    if cursor.accept("NAMED"):
        loop.name = cursor.take("a name")
        if loop.name.__class__ is not Symbol:
            raise malformed(f"{brief(loop.name)} is no name")
    while not cursor.done():
        word = cursor.word()
        head = _HEADS.get(word)
        if head is not None:
            cursor.at += 1
            head(loop)
        elif word in _ACTIONS or word in KINDS:
            loop.body += action(loop, None)
        else:
            raise unknown(cursor.items[cursor.at])


def unknown(token: Value) -> Exception:
    words = [w.lower() for w in (*_HEADS, *_ACTIONS, *KINDS)]
    near = nearest(brief(token), words)
    hint = f": did you mean {near}?" if near else ""
    return malformed(f"{brief(token)} begins no clause{hint}")


def action(loop: Loop, it: Symbol | None) -> list[Value]:
    """The forms of one clause that may stand in a conditional; `it` is the test's value there."""
    word = loop.cursor.take("a clause")
    name = word.name if word.__class__ is Symbol else ""
    if name in KINDS:
        return accumulation(loop, name, _value(loop, it))
    maker = _ACTIONS.get(name)
    if maker is None:
        raise unknown(word)
    return maker(loop, name, it)


def _value(loop: Loop, it: Symbol | None) -> Value:
    value = loop.cursor.take("a form")
    if it is not None and value.__class__ is Symbol and value.name == "IT":
        return it
    return value


def _do(loop: Loop, word: str, it: Symbol | None) -> list[Value]:
    forms = loop.cursor.compound()
    if not forms:
        raise malformed(f"{word.lower()} is followed by forms in parentheses")
    return forms


def _return(loop: Loop, word: str, it: Symbol | None) -> list[Value]:
    return [loop.returning(_value(loop, it))]


def _conditional(loop: Loop, word: str, it: Symbol | None) -> list[Value]:
    test = loop.cursor.take("a test")
    held = fresh("it")
    then = _clauses(loop, held)
    other = _clauses(loop, None) if loop.cursor.accept("ELSE") else []
    loop.cursor.accept("END")
    if word == "UNLESS":
        then, other = other, then
    chosen = form("if", held, form("progn", *then), form("progn", *other))
    return [form("let", make_list([make_list([held, test])]), chosen)]


def _clauses(loop: Loop, it: Symbol | None) -> list[Value]:
    forms = action(loop, it)
    while loop.cursor.accept("AND"):
        forms += action(loop, None)
    return forms


def _initially(loop: Loop) -> None:
    loop.initially += _do(loop, "initially", None)


def _finally(loop: Loop) -> None:
    if loop.cursor.accept("RETURN"):
        loop.finally_.append(loop.returning(loop.cursor.take("a form")))
        return
    loop.cursor.accept("DO", "DOING")
    loop.finally_ += _do(loop, "finally", None)


def _while(loop: Loop) -> None:
    loop.body.append(form("if", loop.cursor.take("a test"), NIL, FINISH))


def _until(loop: Loop) -> None:
    loop.body.append(form("if", loop.cursor.take("a test"), FINISH))


def _always(loop: Loop) -> None:
    loop.default, loop.decides = T, True
    loop.body.append(form("if", loop.cursor.take("a test"), NIL, loop.returning(NIL)))


def _never(loop: Loop) -> None:
    loop.default, loop.decides = T, True
    loop.body.append(form("if", loop.cursor.take("a test"), loop.returning(NIL)))


def _thereis(loop: Loop) -> None:
    loop.decides = True
    found = fresh("found")
    binding = make_list([make_list([found, loop.cursor.take("a test")])])
    loop.body.append(form("let", binding, form("if", found, loop.returning(found))))


_HEADS: dict[str, Callable[[Loop], None]] = {
    "FOR": for_clause,
    "AS": for_clause,
    "WITH": with_clause,
    "REPEAT": repeat_clause,
    "INITIALLY": _initially,
    "FINALLY": _finally,
    "WHILE": _while,
    "UNTIL": _until,
    "ALWAYS": _always,
    "NEVER": _never,
    "THEREIS": _thereis,
}
_ACTIONS: dict[str, Callable[[Loop, str, Symbol | None], list[Value]]] = {
    "DO": _do,
    "DOING": _do,
    "RETURN": _return,
    "IF": _conditional,
    "WHEN": _conditional,
    "UNLESS": _conditional,
}


def _assemble(loop: Loop) -> Value:
    unnamed = loop.accumulators.get(None)
    if unnamed is not None and loop.decides:
        raise malformed("always, never and thereis do not go with a clause that gathers")
    result = loop.default if unnamed is None else result_of(unnamed)
    again = fresh("again")
    code = form(
        "tagbody",
        *map(_statement, [*loop.initially, *loop.first]),
        again,
        *map(_statement, [*loop.body, *loop.later]),
        form("go", again),
        END,
        *map(_statement, loop.finally_),
        loop.returning(result),
    )
    for group in reversed(loop.groups):
        code = form("let", make_list([make_list(pair) for pair in group]), code)
    return form("block", loop.name, code)


def _statement(code: Value) -> Value:
    """An atom would be a tag."""
    return code if code.__class__ is Cons else form("progn", code)
