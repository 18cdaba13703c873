"""What is told of keyword arguments that are none: an unknown one, one without its value, and an
argument that is given by its place as other frameworks take it. Nothing of it runs in a right call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..diagnostics import Change, Edit, Problem, nearest, problem
from ..reader import element_span
from ..spans import Span
from . import machine
from .framework_habits import keyword_advice, keyword_habit
from .printer import brief
from .values import Cons, Symbol, Value, keyword

NAME = keyword("NAME")


def unpaired(name: str, names: Sequence[str], extra: Sequence[Value]) -> Problem:
    """E-CALL-ARGUMENTS of what follows the last positional argument and is no list of pairs."""
    found = _by_place(name, names, extra)
    return found or problem(
        "E-CALL-ARGUMENTS",
        f"{name}: {brief(extra[-1])} has no value after it",
        hint=_all(name, names),
    )


def unknown(name: str, key: Value, names: Sequence[str], extra: Sequence[Value]) -> Problem:
    """E-CALL-KEYWORD with the nearest of the known ones."""
    if not _word(key) and (found := _by_place(name, names, extra)) is not None:
        return found
    shown = brief(key)
    near = keyword_habit(shown, list(names)) or nearest(shown, names)
    hint = f"did you mean {near}?" if near else _all(name, names)
    if near is None and (advice := keyword_advice(shown, name)) is not None:
        hint = f"{advice}; {hint}"
    return problem("E-CALL-KEYWORD", f"{name} takes no keyword {shown}", hint=hint, keyword=shown,
                   written=shown, nearest=near)  # fmt: skip


def _all(name: str, names: Sequence[str]) -> str:
    return f"{name} takes " + " ".join(names or ["no keywords"])


def _word(key: Value) -> bool:
    return key.__class__ is Symbol and key.keyword


def _by_place(name: str, names: Sequence[str], extra: Sequence[Value]) -> Problem | None:
    """The first argument that stands where a keyword does, with the keyword that it may be of."""
    bare = _bare(extra)
    if not bare or not names:
        return None
    if (taken := _taken_by_place(name, names, extra)) is not None:
        return taken
    plain = all(extra[at].__class__ in (int, float, str, Cons) for at in bare)
    told = brief(extra[bare[0]]) if plain else "an argument"
    return problem(
        "E-CALL-ARGUMENTS",
        f"{name}: {told} stands where a keyword does",
        hint=f"what follows has a keyword before it: {' '.join(names)}",
        edit=_with_keywords(names, extra, bare) if plain else None,
    )


def _bare(extra: Sequence[Value]) -> list[int]:
    """Which of the arguments are neither a keyword nor the value after one."""
    found, at = [], 0
    while at < len(extra):
        if _word(extra[at]):
            at += 1
        else:
            found.append(at)
        at += 1
    return found


def _taken_by_place(name: str, names: Sequence[str], extra: Sequence[Value]) -> Problem | None:
    """Of a call such as (f x :rate 0.1) where the rate is given by its place: the keyword has been
    taken for the rate, and the rate for a keyword."""
    tails = _arguments(machine.current().call_form, extra)
    if len(tails) <= len(extra):
        return None
    tail = tails[len(tails) - len(extra) - 1]
    word = repr(tail.car)
    if not _word(tail.car) or word in names:
        return None
    return problem(
        "E-CALL-ARGUMENTS",
        f"{name}: {word[1:]} is given by its place, without {word}",
        hint=f"its keywords are {' '.join(names)}",
        edit=without_keyword(tail),
    )


def without_keyword(tail: Value) -> Edit | None:
    """The edit that leaves out a keyword, which stands at a tail of a call before an argument."""
    assert tail.__class__ is Cons
    span = element_span(tail)
    after = element_span(tail.cdr) if tail.cdr.__class__ is Cons else None
    if span.__class__ is not Span or after.__class__ is not Span:
        return None
    cut = Span(span.source, span.start, after.start)
    return Edit(f"leave out {tail.car!r}", (Change(cut, ""),))


def _with_keywords(names: Sequence[str], extra: Sequence[Value], bare: list[int]) -> Edit | None:
    """Keywords before the bare arguments of the call being made: `:axis` before an integer, else
    those of the lambda list, in its order, that the call does not give."""
    given = {repr(key) for key in extra if _word(key)}
    left = [n for n in names if n not in given]
    if ":axis" in left and extra[bare[0]].__class__ is int:
        left = [":axis"]
    elif left[:1] == [":axis"]:
        return None
    places = _places(extra)
    changes, told = [], []
    for at, word in zip(bare, left):
        if not places:
            return None
        place = places[at]
        changes.append(Change(Span(place.source, place.start, place.start), f"{word} "))
        told.append(f"{word} {place.text}")
    return Edit(f"write {' '.join(told)}", tuple(changes)) if len(changes) == len(bare) else None


def _places(extra: Sequence[Value]) -> list[Span]:
    """Where those arguments are written, if the call being made ends with their forms."""
    tails = _arguments(machine.current().call_form, extra)
    last = tails[len(tails) - len(extra) :] if len(tails) >= len(extra) else []
    if any(_word(t.car) and t.car is not value for t, value in zip(last, extra)):
        return []
    spans = [element_span(t) for t in last]
    return [s for s in spans if s.__class__ is Span] if all(spans) else []


def _arguments(call: Any, extra: Sequence[Value]) -> list[Any]:
    """The tails of a call that begin with its arguments, without a :name that its model takes."""
    tails: list[Any] = []
    tail = getattr(call, "cdr", None)
    while tail.__class__ is Cons:
        tails.append(tail)
        tail = tail.cdr
        if tails[-1].car is NAME and NAME not in extra and tail.__class__ is Cons:
            del tails[-1]  # a model's, which its call has taken already
            tail = tail.cdr
    return tails
