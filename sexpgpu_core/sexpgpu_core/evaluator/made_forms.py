"""Making forms in Python: lists with core symbols at their heads, and fresh symbols."""

from __future__ import annotations

from .definitions import CORE_SYMBOLS, core_symbol
from .values import NIL, Cons, Symbol, Value, make_list


def form(head: str, *items: Value) -> Cons:
    """`(head item...)`, head the core symbol of an upper-case name."""
    symbol = CORE_SYMBOLS.get(head) or core_symbol(head)
    return Cons(symbol, make_list(items))


def form_with(head: str, *items: Value) -> Cons:
    """`(head item... . tail)`: the last item is the list of those that follow."""
    result = items[-1]
    for item in reversed(items[:-1]):
        result = Cons(item, result)
    return Cons(CORE_SYMBOLS.get(head) or core_symbol(head), result)


def listed(*items: Value) -> Value:
    """A list."""
    return make_list(items)


def quoted(value: Value) -> Value:
    """`(quote value)`."""
    return form("QUOTE", value)


def fresh(name: str) -> Symbol:
    """An uninterned symbol for a macro's own variable."""
    symbol = Symbol(name)
    symbol.plist = NIL
    return symbol
