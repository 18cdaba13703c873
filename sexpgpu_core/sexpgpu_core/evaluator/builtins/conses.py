"""Conses and their parts: `car` to `cddddr`, `first` to `tenth`, making and changing lists."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from ..definitions import builtin
from ..faults import wrong_type
from ..spending import FIRST_LOOK, look, spend
from ..values import NIL, Cons, T, Value
from .bounds import natural
from .calling import callable_of
from .defining import define, predicate
from .listing import cells, circular, conses, filled, list_from, listed, proper

for _name, _test, _doc in (
    ("consp", lambda x: x.__class__ is Cons, "Whether it is a cons."),
    ("atom", lambda x: x.__class__ is not Cons, "Whether it is no cons."),
    ("listp", lambda x: x.__class__ is Cons or x is NIL, "Whether it is a cons or nil."),
    ("null", lambda x: x is NIL, "Whether it is nil."),
    ("endp", lambda x: listed("endp", x) is NIL, "Whether a list is at its end."),
):
    predicate(_name, "(object)", _doc, _test)


@builtin("cons", "(car cdr)")
def cons(car: Any, cdr: Any) -> Value:
    """A fresh cons."""
    return Cons(car, cdr)


@builtin("car", "(list)")
def car(cell: Any) -> Value:
    """The first of a cons; nil of nil."""
    if cell.__class__ is Cons:
        return cell.car
    if cell is NIL:
        return NIL
    raise wrong_type("car", cell, "a list")


@builtin("cdr", "(list)")
def cdr(cell: Any) -> Value:
    """The rest of a cons; nil of nil."""
    if cell.__class__ is Cons:
        return cell.cdr
    if cell is NIL:
        return NIL
    raise wrong_type("cdr", cell, "a list")


def walk(name: str, path: str, value: Any) -> Value:
    """Follow the letters of a c*r from right to left."""
    for letter in reversed(path):
        if value is NIL:
            return NIL
        if value.__class__ is not Cons:
            raise wrong_type(name, value, "a list")
        value = value.car if letter == "a" else value.cdr
    return value


def _set_part(name: str, path: str) -> Callable[[Any, Any], Value]:
    def call(new: Any, value: Any) -> Value:
        cell = walk(name, path[1:], value)
        if cell.__class__ is not Cons:
            raise wrong_type(f"setf {name}", cell, "a cons")
        if path[0] == "a":
            cell.car = new
        else:
            cell.cdr = new
        return new

    return call


def _define_part(name: str, path: str, doc: str, reader: bool = True) -> None:
    if reader:
        define(name, "(list)", doc, lambda x: walk(name, path, x))
    define(f"(setf {name})", "(new list)", f"Set what {name} reads.", _set_part(name, path))


for _length in (1, 2, 3, 4):
    for _letters in product("ad", repeat=_length):
        _path = "".join(_letters)
        _of = " of the ".join({"a": "car", "d": "cdr"}[c] for c in _path)
        _define_part(f"c{_path}r", _path, f"The {_of}.", reader=_length > 1)
_ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
]
for _n, _name in enumerate(_ORDINALS):
    _define_part(_name, "a" + "d" * _n, f"The {_name} element; nil if there is none.")
_define_part("rest", "d", "The list without its first element.")


@builtin("rplaca", "(cons object)")
def rplaca(cell: Any, value: Any) -> Value:
    """Replace the car; the cons."""
    if cell.__class__ is not Cons:
        raise wrong_type("rplaca", cell, "a cons")
    cell.car = value
    return cell


@builtin("rplacd", "(cons object)")
def rplacd(cell: Any, value: Any) -> Value:
    """Replace the cdr; the cons."""
    if cell.__class__ is not Cons:
        raise wrong_type("rplacd", cell, "a cons")
    cell.cdr = value
    return cell


@builtin("list", "(&rest objects)")
def list_(*objects: Any) -> Value:
    """A fresh list of the objects."""
    result: Value = NIL
    for item in reversed(objects):
        result = Cons(item, result)
    return result


@builtin("list*", "(object &rest objects)")
def list_star(*objects: Any) -> Value:
    """A list of all but the last, which becomes its tail."""
    return list_from(objects[:-1], objects[-1])


@builtin("make-list", "(size &key initial-element)")
def make_list(size: Any, *, initial_element: Any = NIL) -> Value:
    """A list of that many times the element."""
    return filled("make-list", natural("make-list", size), initial_element)


@builtin("append", "(&rest lists)")
def append(*lists: Any) -> Value:
    """The lists joined; all but the last are copied."""
    if not lists:
        return NIL
    result = lists[-1]
    for part in reversed(lists[:-1]):
        result = list_from(proper("append", part), result)
    return result


@builtin("nconc", "(&rest lists)")
def nconc(*lists: Any) -> Value:
    """The lists joined by changing the last cdr of each."""
    result: Value = NIL
    end: Cons | None = None
    for i, part in enumerate(lists):
        if part is NIL:
            continue
        if end is None:
            result = part
        else:
            end.cdr = part
        if i < len(lists) - 1:
            end = cells("nconc", part)[-1]
    return result


@builtin("revappend", "(list tail)")
def revappend(items: Any, tail: Any) -> Value:
    """The list reversed before the tail."""
    for x in proper("revappend", items):
        tail = Cons(x, tail)
    return tail


@builtin("nreconc", "(list tail)")
def nreconc(items: Any, tail: Any) -> Value:
    """The list reversed before the tail, its conses used again."""
    proper("nreconc", items)
    for cell in cells("nreconc", items):
        cell.cdr = tail
        tail = cell
    return tail


def _without_last(name: str, items: Any, n: Any) -> int:
    return max(0, len(cells(name, items)) - natural(name, n))


@builtin("butlast", "(list &optional (n 1))")
def butlast(items: Any, n: Any = 1) -> Value:
    """A copy without the last n elements."""
    kept = cells("butlast", items)[: _without_last("butlast", items, n)]
    return list_from([cell.car for cell in kept])


@builtin("nbutlast", "(list &optional (n 1))")
def nbutlast(items: Any, n: Any = 1) -> Value:
    """The list cut before its last n elements."""
    kept = _without_last("nbutlast", items, n)
    if kept == 0:
        return NIL
    cells("nbutlast", items)[kept - 1].cdr = NIL
    return items


@builtin("last", "(list &optional (n 1))")
def last(items: Any, n: Any = 1) -> Value:
    """The last n conses."""
    found = cells("last", items)
    count = natural("last", n)
    if count == 0:
        return found[-1].cdr if found else items
    return found[max(0, len(found) - count)] if found else items


@builtin("nthcdr", "(n list)")
def nthcdr(n: Any, items: Any) -> Value:
    """The list without its first n elements."""
    count = natural("nthcdr", n)
    if count > FIRST_LOOK and circular(items):
        look("nthcdr", count)
    walked = 0
    while walked < count and items.__class__ is Cons:
        items = items.cdr
        walked += 1
    spend("nthcdr", walked)
    if walked < count and items is not NIL:
        raise wrong_type("nthcdr", items, "a list")
    return items


@builtin("nth", "(n list)")
def nth(n: Any, items: Any) -> Value:
    """The element of that index, from 0; nil beyond the end."""
    return car(nthcdr(natural("nth", n), items))


@builtin("(setf nth)", "(new n list)")
def set_nth(new: Any, n: Any, items: Any) -> Value:
    """Set the element of that index."""
    rplaca(nthcdr(natural("nth", n), items), new)
    return new


@builtin("list-length", "(list)")
def list_length(items: Any) -> Value:
    """The length; nil of a circular list."""
    return NIL if circular(items) else sum(1 for _ in conses("list-length", items))


@builtin("copy-list", "(list)")
def copy_list(items: Any) -> Value:
    """Fresh conses, the same elements; a dotted end is kept."""
    found = cells("copy-list", items)
    return list_from([cell.car for cell in found], found[-1].cdr if found else NIL)


@builtin("copy-alist", "(alist)")
def copy_alist(alist: Any) -> Value:
    """A copy of the list and of its pairs."""
    pairs = proper("copy-alist", alist)
    return list_from([Cons(p.car, p.cdr) if p.__class__ is Cons else p for p in pairs])


@builtin("ldiff", "(list object)")
def ldiff(items: Any, tail: Any) -> Value:
    """A copy of what comes before the tail."""
    listed("ldiff", items)
    kept, rest, asks = [], items, FIRST_LOOK
    while rest.__class__ is Cons and rest is not tail:
        kept.append(rest.car)
        rest = rest.cdr
        if len(kept) > asks:
            asks = look("ldiff", len(kept))
    return list_from(kept, NIL if _same(rest, tail) else rest)


@builtin("tailp", "(object list)")
def tailp(tail: Any, items: Any) -> Value:
    """Whether the object is the list or one of its tails."""
    listed("tailp", items)
    count, asks = 0, FIRST_LOOK
    while items.__class__ is Cons:
        if items is tail:
            return T
        count += 1
        if count > asks:
            asks = look("tailp", count)
        items = items.cdr
    return T if _same(items, tail) else NIL


def _same(a: Any, b: Any) -> bool:
    from ..equality import eql

    return eql(a, b)


_MAPS: tuple[tuple[str, bool, str, str], ...] = (
    ("mapcar", True, "list", "The list of the function's values on the elements."),
    ("maplist", False, "list", "The list of the function's values on the tails."),
    ("mapc", True, "first", "Call the function on the elements; the first list."),
    ("mapl", False, "first", "Call the function on the tails; the first list."),
    ("mapcan", True, "nconc", "The function's lists on the elements, joined by nconc."),
    ("mapcon", False, "nconc", "The function's lists on the tails, joined by nconc."),
)


def _mapper(name: str, elements: bool, result: str) -> Callable[..., Value]:
    def call(function: Any, *lists: Any) -> Value:
        results = _map_lists(name, callable_of(function, len(lists)), elements, lists)
        if result == "first":
            return lists[0]
        return list_from(results) if result == "list" else nconc(*results)

    return call


CALL_CELLS = 8
"""What one call costs, as of a walk."""


def _map_lists(
    name: str, call: Callable[..., Value], elements: bool, lists: tuple[Any, ...]
) -> list[Value]:
    from ..values import first_value

    results = []
    rests = list(lists)
    if len(rests) == 1 and elements:
        for cell in conses(name, rests[0]):
            results.append(first_value(call(cell.car)))
        return results
    while all(listed(name, rest) is not NIL for rest in rests):
        results.append(first_value(call(*([r.car for r in rests] if elements else rests))))
        rests = [rest.cdr for rest in rests]
        if not len(results) & 255:
            spend(name, 256 * CALL_CELLS)
    return results


for _name, _elements, _result, _doc in _MAPS:
    define(
        _name, "(function list &rest lists)", _doc, _mapper(_name, _elements, _result), staged=True
    )
