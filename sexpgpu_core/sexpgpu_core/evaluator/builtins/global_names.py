"""What names mean now: values and functions of symbols, interning, reading text."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Problem, problem
from ...reader import Reader
from ...spans import Source
from ..definitions import CORE_SYMBOLS, builtin
from ..faults import wrong_type
from ..machine import current
from ..values import (
    KEYWORDS,
    NIL,
    UNBOUND,
    Cons,
    Function,
    MultipleValues,
    String,
    Symbol,
    T,
    Value,
    keyword,
)
from .bounds import bounds
from .characters import text_of
from .symbols import symbol_of

_TEMPORARY = iter(range(1, 1 << 62))


@builtin("symbol-value", "(symbol)")
def symbol_value(symbol: Any) -> Value:
    """The value of the variable of that name."""
    found = symbol_of("symbol-value", symbol)
    if found.value is UNBOUND:
        name = found.name.lower()
        raise problem("E-NAME-UNBOUND", f"the variable {name} has no value", name=name)
    return found.value


@builtin("(setf symbol-value)", "(new symbol)")
def set_symbol_value(new: Any, symbol: Any) -> Value:
    """Set the variable of that name."""
    _changeable("setf symbol-value", symbol).value = new
    return new


@builtin("set", "(symbol value)")
def set_(symbol: Any, value: Any) -> Value:
    """Set the variable of that name."""
    _changeable("set", symbol).value = value
    return value


def _changeable(name: str, symbol: Any) -> Symbol:
    found = symbol_of(name, symbol)
    if found.constant:
        raise problem("E-REDEFINE", f"{name}: {found!r} is a constant")
    return found


@builtin("boundp", "(symbol)")
def boundp(symbol: Any) -> Value:
    """Whether the variable of that name has a value."""
    return NIL if symbol_of("boundp", symbol).value is UNBOUND else T


@builtin("makunbound", "(symbol)")
def makunbound(symbol: Any) -> Value:
    """Take the value of a variable away."""
    _changeable("makunbound", symbol).value = UNBOUND
    return symbol


def _cell(name: str, function_name: Any) -> Any:
    """The function cell of a symbol or (setf symbol)."""
    m = current()
    if function_name.__class__ is Symbol:
        return m.cell(function_name)
    rest = function_name.cdr if function_name.__class__ is Cons else NIL
    if rest.__class__ is Cons and getattr(function_name.car, "name", "") == "SETF":
        return m.setf_cell(symbol_of(name, rest.car), function_name)
    raise wrong_type(name, function_name, "a function name")


def _function(name: str, function_name: Any) -> Value:
    cell = _cell(name, function_name)
    if cell.function is None:
        cell.call()
    return cell.function


@builtin("fdefinition", "(name)")
def fdefinition(name: Any) -> Value:
    """The global function of a name."""
    return _function("fdefinition", name)


@builtin("symbol-function", "(symbol)")
def symbol_function(symbol: Any) -> Value:
    """The global function of a symbol."""
    return _function("symbol-function", symbol_of("symbol-function", symbol))


def _set_function(name: str, new: Any, function_name: Any) -> Value:
    if not isinstance(new, Function):
        raise wrong_type(name, new, "a function")
    if function_name.__class__ is Symbol:
        current().analyzer.check_definable(function_name, "function")
    _cell(name, function_name).define(new)
    return new


@builtin("(setf fdefinition)", "(new name)")
def set_fdefinition(new: Any, name: Any) -> Value:
    """Define the global function of a name."""
    return _set_function("setf fdefinition", new, name)


@builtin("(setf symbol-function)", "(new symbol)")
def set_symbol_function(new: Any, symbol: Any) -> Value:
    """Define the global function of a symbol."""
    return _set_function("setf symbol-function", new, symbol_of("setf symbol-function", symbol))


@builtin("fboundp", "(name)")
def fboundp(name: Any) -> Value:
    """Whether a name has a global function, or is a macro or special operator."""
    if name.__class__ is Symbol and (current().macro(name) or special_operator_p(name) is T):
        return T
    return T if _cell("fboundp", name).function is not None else NIL


@builtin("fmakunbound", "(name)")
def fmakunbound(name: Any) -> Value:
    """Take the global function or macro of a name away."""
    if name.__class__ is Symbol:
        current().analyzer.check_definable(name, "function")
        current().macros.pop(name, None)
    _cell("fmakunbound", name).clear()
    return name


_OPERATORS = frozenset(
    """
    BLOCK CATCH EVAL-WHEN FLET FUNCTION GO IF LABELS LET LET* LOAD-TIME-VALUE LOCALLY MACROLET
    MULTIPLE-VALUE-CALL MULTIPLE-VALUE-PROG1 PROGN PROGV QUOTE RETURN-FROM SETQ SYMBOL-MACROLET
    TAGBODY THE THROW UNWIND-PROTECT
    """.split()  # noqa: SIM905
)


@builtin("special-operator-p", "(symbol)")
def special_operator_p(symbol: Any) -> Value:
    """Whether it names a special form of the standard."""
    found = symbol_of("special-operator-p", symbol)
    return T if found.home == "" and found.name in _OPERATORS else NIL


def _string(name: str, x: Any) -> str:
    if not isinstance(x, String):
        raise wrong_type(name, x, "a string")
    return x.text()


def _status(name: str, module: Any) -> Value:
    """How a name is known: :internal, :inherited (the standard's), or nil."""
    if name in module.symbols:
        return keyword("INTERNAL")
    return keyword("INHERITED") if name in CORE_SYMBOLS else NIL


def _is_keyword_package(package: Any) -> bool:
    return package is not None and text_of("intern", package).upper() == "KEYWORD"


@builtin("intern", "(name &optional module)")
def intern(name: Any, module: Any = None) -> Value:
    """The symbol of a name in this module (a keyword with :keyword), and how it was known."""
    text = _string("intern", name)
    if _is_keyword_package(module):
        status = keyword("EXTERNAL") if text in KEYWORDS else NIL
        return MultipleValues((keyword(text), status))
    here = current().module
    status = _status(text, here)
    return MultipleValues((here.intern(text), status))


@builtin("find-symbol", "(name &optional module)")
def find_symbol(name: Any, module: Any = None) -> Value:
    """The symbol of a name if this module has it, and how it is known."""
    text = _string("find-symbol", name)
    if _is_keyword_package(module):
        found = KEYWORDS.get(text)
        return MultipleValues((NIL, NIL) if found is None else (found, keyword("EXTERNAL")))
    here = current().module
    status = _status(text, here)
    return MultipleValues((NIL if status is NIL else here.intern(text), status))


@builtin("symbol-package", "(symbol)")
def symbol_package(symbol: Any) -> Value:
    """The name of the module that owns a symbol: :common-lisp, :keyword, a string; nil if none."""
    found = symbol_of("symbol-package", symbol)
    if found.home is None:
        return NIL
    if found.keyword or found.home == "":
        return keyword("KEYWORD" if found.keyword else "COMMON-LISP")
    return String(found.home)


@builtin("gentemp", "(&optional prefix)")
def gentemp(prefix: Any = None) -> Value:
    """A fresh symbol of this module."""
    stem = "T" if prefix is None else _string("gentemp", prefix)
    here = current().module
    for number in _TEMPORARY:
        name = f"{stem}{number}"
        if _status(name, here) is NIL:
            return here.intern(name)
    return NIL


@builtin(
    "read-from-string",
    "(string &optional eof-error-p eof-value &key (start 0) end preserve-whitespace)",
)
def read_from_string(
    string: Any,
    eof_error_p: Any = T,
    eof_value: Any = NIL,
    *,
    start: Any = 0,
    end: Any = NIL,
    preserve_whitespace: Any = NIL,
) -> Value:
    """The first form that a string spells, and the index after it."""
    text = _string("read-from-string", string)
    first, last = bounds("read-from-string", start, end, len(text))
    reader = Reader(Source("-", text[first:last]), current().module)
    for form in reader.forms():
        after = first + reader.end
        if preserve_whitespace is NIL and after < last and text[after].isspace():
            after += 1
        return MultipleValues((form, after))
    if reader.diagnostics:
        raise Problem(reader.diagnostics[0]._replace(span=None))
    if eof_error_p is NIL:
        return MultipleValues((eof_value, last))
    raise problem("E-READ-EOF", "read-from-string: the string holds no form")
