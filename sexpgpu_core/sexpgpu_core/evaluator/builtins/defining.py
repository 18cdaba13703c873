"""Rows of tables to builtins: what a decorated function says, in one call."""

from __future__ import annotations

from collections.abc import Callable

from ..definitions import builtin
from ..values import NIL, Staged, T, Value


def define(
    name: str, lambda_list: str, doc: str, call: Callable[..., Value], *, staged: bool = False
) -> None:
    """As `@builtin`, with the docstring given."""
    call.__doc__ = doc
    builtin(name, lambda_list, staged=staged)(call)


def predicate(name: str, lambda_list: str, doc: str, test: Callable[..., object]) -> None:
    """A builtin whose answer is T or NIL, from a Python truth."""
    define(name, lambda_list, doc, lambda *arguments: T if test(*arguments) else NIL)


def staged_operand(arguments: tuple[Value, ...]) -> Staged | None:
    """The first operand that is staged, for `generic`."""
    for x in arguments:
        if isinstance(x, Staged):
            return x
    return None
