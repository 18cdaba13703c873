"""The Problems builtins raise, each naming the function, what it got and what it wants."""

from __future__ import annotations

from ..diagnostics import Problem, problem
from .printer import brief
from .spending import limits, spend
from .values import Staged, Value


def wrong_type(function: str, value: Value, wanted: str) -> Exception:
    """E-TYPE, or E-STAGE-TENSOR when the value is staged. `wanted` is a type or a few words."""
    if isinstance(value, Staged):
        return value.refuse(f"an argument of {function}")
    shown = brief(value)
    found = problem(
        "E-TYPE", f"{function} got {shown}, wants {wanted}", function=function, wanted=wanted
    )
    return _about(found, value, _SPECIFIERS.get(wanted, "nil"))


_SPECIFIERS = {
    "a list": "list",
    "a proper list": "list",
    "a list that ends": "list",
    "a cons": "cons",
    "a pair": "cons",
    "a number": "number",
    "a real number": "real",
    "a rational": "rational",
    "an integer": "integer",
    "a float": "float",
    "a non-negative integer": "(integer 0)",
    "an index": "(integer 0)",
    "0 or 1": "bit",
    "a string": "string",
    "a string, symbol or character": "(or string symbol character)",
    "a character": "character",
    "a symbol": "symbol",
    "a sequence": "sequence",
    "an array": "array",
    "a vector with a fill pointer": "(and vector (satisfies array-has-fill-pointer-p))",
    "a simple vector": "simple-vector",
    "a hash table": "hash-table",
    "a stream": "stream",
    "a random state": "random-state",
    "a function": "function",
    "a function name": "(or symbol (cons (eql setf) (cons symbol null)))",
}
"""What `type-error-expected-type` says for the words of a message."""


def _about(found: Problem, datum: Value, expected: str) -> Problem:
    """Keep the object itself for `type-error-datum`: facts hold only text."""
    found.datum = datum  # type: ignore[attr-defined]
    found.expected = expected  # type: ignore[attr-defined]
    return found


def bad_index(function: str, index: Value, size: int) -> Problem:
    """E-INDEX: `index` is not below `size`."""
    shown = brief(index)
    where = f"is not in 0 to {size - 1}" if size else "is outside: there are no elements"
    found = problem("E-INDEX", f"{function}: index {shown} {where}", index=shown, size=size)
    return _about(found, index, f"(integer 0 {size - 1})")


def bad_bounds(function: str, start: Value, end: Value, size: int) -> Problem:
    """E-INDEX: start and end do not bound a part of a sequence of that length."""
    shown = f"{brief(start)} to {brief(end)}"
    found = problem(
        "E-INDEX", f"{function}: {shown} are no bounds of a sequence of {size}", size=size
    )
    return _about(found, start, f"(integer 0 {size})")


def bad_arithmetic(function: str, why: str, *operands: Value) -> Problem:
    """E-ARITHMETIC; `facts.kind` is "division-by-zero", "overflow" or "domain"."""
    kind = {"division by zero": "division-by-zero", "floating-point overflow": "overflow"}
    found = problem("E-ARITHMETIC", f"{function}: {why}", kind=kind.get(why, "domain"))
    found.operation = function  # type: ignore[attr-defined]
    found.operands = operands  # type: ignore[attr-defined]
    return found


def too_big(function: str) -> Problem:
    """E-LIMIT-INTEGER."""
    return problem(
        "E-LIMIT-INTEGER", f"{function}: the result would have over {limits().bits:,} bits"
    )


def claim_cells(function: str, count: int) -> None:
    """Refuse to make more than the limit of cells, before making them; else pay for them."""
    most = limits().cells
    if count > most:
        raise problem(
            "E-LIMIT-CELLS", f"{function} asks for {count:,} cells", size=count, limit=most
        )
    spend(function, count)


def bad_argument(function: str, why: str) -> Problem:
    """A call whose arguments contradict each other."""
    return problem("E-CALL-ARGUMENTS", f"{function}: {why}")


def bad_number_text(text: str) -> Problem:
    """A string that spells no integer: a parse error."""
    shown = text if len(text) <= 40 else text[:37] + "..."
    return problem("E-TYPE", f'parse-integer: "{shown}" is no integer', kind="parse-error")
