"""eval, macroexpand, fdefinition, boundp and the other builtins that ask the evaluator itself."""

from __future__ import annotations

from typing import Any

from ..diagnostics import problem
from .definitions import builtin
from .designators import function_of
from .expansion import MOST_EXPANSIONS, SPECIAL_FORMS, endless
from .faults import wrong_type
from .function_forms import is_setf_name
from .machine import current
from .macro_functions import MacroFunction
from .mistakes import no_function_named, unbound_variable
from .scope import LocalMacro, Scope, SymbolMacro, global_scope
from .unsupported import MACROS, is_operator
from .values import (
    NIL,
    QUOTE,
    UNBOUND,
    Cons,
    Function,
    MultipleValues,
    Symbol,
    T,
    Value,
)

FUNCTIONS = frozenset({"REQUIRE", "PROVIDE"})
"""Forms here that are functions of the standard."""

OPERATORS = frozenset(
    """block catch eval-when flet function go if labels let let* load-time-value locally macrolet
    multiple-value-call multiple-value-prog1 progn progv quote return-from setq symbol-macrolet
    tagbody the throw unwind-protect""".upper().split()
)
"""Special operators of the standard; other special forms here are macros there."""

MOST_CODE = 200_000
"""Most conses of a form that is evaluated."""


def _symbol(name: str, value: Value) -> Symbol:
    if value.__class__ is not Symbol:
        raise wrong_type(name, value, "a symbol")
    found: Symbol = value
    return found


@builtin("eval", "(form)", staged=True)
def eval_(form: Any) -> Value:
    """The values of a form in the null lexical environment."""
    _refuse_endless(form)
    return current().evaluate_form(form)


def _refuse_endless(form: Value) -> None:
    """E-LIMIT-CELLS for code that contains itself; quoted data may."""
    todo, count = [form], 0
    while todo:
        value = todo.pop()
        if value.__class__ is not Cons or value.car is QUOTE:
            continue
        count += 1
        if count > MOST_CODE:
            raise problem(
                "E-LIMIT-CELLS",
                f"the code has over {MOST_CODE:,} conses: it is circular or too large",
                limit=MOST_CODE,
            )
        todo += (value.cdr, value.car)


def expand_once(form: Value, environment: Value) -> tuple[Value, bool]:
    """One step of expansion, and whether there was one."""
    m = current()
    scope = environment if isinstance(environment, Scope) else global_scope()
    if form.__class__ is Symbol:
        found = scope.variables.get(form)
        if found.__class__ is SymbolMacro:
            return found.expansion, True
        if found is None and form in m.symbol_macros:
            return m.symbol_macros[form], True
        return form, False
    if form.__class__ is not Cons or form.car.__class__ is not Symbol:
        return form, False
    local = scope.functions.get(form.car)
    expander = local.expander if isinstance(local, LocalMacro) else None
    if local is None:
        expander = m.macro(form.car)
    if expander is None:
        return form, False
    return m.analyzer.expand(form, expander, scope), True


@builtin("macroexpand-1", "(form &optional environment)")
def macroexpand_1(form: Any, environment: Any = NIL) -> Value:
    """The form expanded once, and whether it was a macro call."""
    expansion, found = expand_once(form, environment)
    return MultipleValues((expansion, T if found else NIL))


@builtin("macroexpand", "(form &optional environment)")
def macroexpand(form: Any, environment: Any = NIL) -> Value:
    """The form expanded until it is no macro call, and whether it was one."""
    for count in range(MOST_EXPANSIONS):
        form, found = expand_once(form, environment)
        if not found:
            return MultipleValues((form, T if count else NIL))
    raise endless(form)


@builtin("macro-function", "(symbol &optional environment)")
def macro_function(name: Any, environment: Any = NIL) -> Value:
    """The expander of a macro as a function of a form and an environment, or nil."""
    m = current()
    symbol = _symbol("macro-function", name)
    local = environment.functions.get(symbol) if isinstance(environment, Scope) else None
    if local is not None and not isinstance(local, LocalMacro):
        return NIL
    expander = local.expander if local is not None else m.macro(symbol)
    if expander is None:
        special = symbol.home == "" and symbol.name in SPECIAL_FORMS
        if special and symbol.name not in OPERATORS and symbol.name not in FUNCTIONS:
            return Function(
                repr(symbol), lambda form, environment: form, "(form environment)", 2, 2
            )
        return _left_out(symbol) if symbol.name in MACROS and _is_left_out(symbol) else NIL
    found = expander
    return Function(repr(symbol), lambda form, environment: found(form, environment),
                    "(form environment)", 2, 2)  # fmt: skip


@builtin("(setf macro-function)", "(new symbol &optional environment)")
def set_macro_function(new: Any, name: Any, environment: Any = NIL) -> Value:
    """Make a function of a form and an environment the expander of a name."""
    m = current()
    symbol = _symbol("setf macro-function", name)
    m.analyzer.check_definable(symbol, "macro")
    m.macros[symbol] = MacroFunction(repr(symbol), function_of(new).call, "(...)", "")
    return new


@builtin("special-operator-p", "(symbol)")
def special_operator_p(name: Any) -> Value:
    """Whether a symbol names a special operator."""
    symbol = _symbol("special-operator-p", name)
    return T if symbol.home == "" and symbol.name in OPERATORS else NIL


@builtin("fboundp", "(name)")
def fboundp(name: Any) -> Value:
    """Whether a name has a function, macro or special form."""
    m = current()
    if is_setf_name(name):
        return T if m.setf_cell(name.cdr.car, name).function is not None else NIL
    symbol = _function_name("fboundp", name)
    special = symbol.home == "" and symbol.name in SPECIAL_FORMS
    if special or m.macro(symbol) is not None or m.cell(symbol).function is not None:
        return T
    return T if _is_left_out(symbol) else NIL


def _is_left_out(symbol: Symbol) -> bool:
    """Whether a name is an operator of the standard that is left out, and nothing of the file."""
    m = current()
    free = m.cell(symbol).function is None and symbol not in m.macros
    return free and is_operator(symbol.name)


def _left_out(symbol: Symbol) -> Value:
    """What stands for an operator that is left out: calling it is E-UNSUPPORTED."""

    def call(*arguments: Value) -> Value:
        raise no_function_named(current(), current().cell(symbol))

    return Function(repr(symbol), call)


def _function_name(name: str, value: Value) -> Symbol:
    if value.__class__ is not Symbol:
        raise wrong_type(name, value, "a function name")
    found: Symbol = value
    return found


@builtin("fdefinition", "(name)")
def fdefinition(name: Any) -> Value:
    """The function of a name."""
    m = current()
    if is_setf_name(name):
        cell = m.setf_cell(name.cdr.car, name)
    else:
        cell = m.cell(_function_name("fdefinition", name))
    if cell.function is None:
        if cell.name.__class__ is Symbol and fboundp(cell.name) is T:
            return _operator(cell.name)
        raise no_function_named(m, cell)
    return cell.function


def _operator(name: Symbol) -> Value:
    """What stands for a macro or special form, which no call can reach."""
    found = macro_function(name)
    if found is not NIL:
        return found
    if _is_left_out(name):
        return _left_out(name)

    def call(*arguments: Value) -> Value:
        raise problem("E-NAME-FUNCTION", f"{name!r} is a special form, no function")

    return Function(repr(name), call)


@builtin("symbol-function", "(symbol)")
def symbol_function(name: Any) -> Value:
    """The function of a symbol."""
    return fdefinition(_symbol("symbol-function", name))


def _set_function(new: Any, name: Any) -> Value:
    m = current()
    if is_setf_name(name):
        m.setf_cell(name.cdr.car, name).define(function_of(new))
        return new
    symbol = _function_name("setf fdefinition", name)
    m.analyzer.check_definable(symbol, "function")
    m.macros.pop(symbol, None)
    m.cell(symbol).define(function_of(new))
    return new


builtin("(setf fdefinition)", "(new name)")(_set_function)
builtin("(setf symbol-function)", "(new symbol)")(_set_function)


@builtin("fmakunbound", "(name)")
def fmakunbound(name: Any) -> Value:
    """Take the function or macro of a name away."""
    m = current()
    if is_setf_name(name):
        m.setf_cell(name.cdr.car, name).clear()
        return name
    symbol = _function_name("fmakunbound", name)
    m.analyzer.check_definable(symbol, "function")
    m.macros.pop(symbol, None)
    m.cell(symbol).clear()
    return name


@builtin("boundp", "(symbol)")
def boundp(name: Any) -> Value:
    """Whether a symbol has a dynamic value."""
    return T if _symbol("boundp", name).value is not UNBOUND else NIL


@builtin("symbol-value", "(symbol)")
def symbol_value(name: Any) -> Value:
    """The dynamic value of a symbol."""
    symbol = _symbol("symbol-value", name)
    if symbol.value is UNBOUND:
        error = unbound_variable(current(), symbol)
        error.cell = symbol  # type: ignore[attr-defined]
        raise error
    return symbol.value


def _set_value(name: str, symbol: Symbol, new: Value) -> Value:
    if symbol.constant:
        raise problem("E-REDEFINE", f"{name}: {symbol!r} is a constant")
    current().keep(symbol)
    symbol.value = new
    return new


@builtin("(setf symbol-value)", "(new symbol)")
def set_symbol_value(new: Any, name: Any) -> Value:
    """Set the dynamic value of a symbol."""
    return _set_value("setf symbol-value", _symbol("setf symbol-value", name), new)


@builtin("set", "(symbol value)")
def set_(name: Any, new: Any) -> Value:
    """Set the dynamic value of a symbol."""
    return _set_value("set", _symbol("set", name), new)


@builtin("makunbound", "(symbol)")
def makunbound(name: Any) -> Value:
    """Take the dynamic value of a symbol away."""
    symbol = _symbol("makunbound", name)
    _set_value("makunbound", symbol, UNBOUND)
    return symbol


@builtin("constantp", "(form &optional environment)")
def constantp(form: Any, environment: Any = NIL) -> Value:
    """Whether a form always gives the same value."""
    if form.__class__ is Symbol:
        return T if form.constant else NIL
    if form.__class__ is Cons:
        return T if form.car is QUOTE else NIL
    return T


@builtin("function-lambda-expression", "(function)")
def function_lambda_expression(function: Any) -> Value:
    """nil, t, nil: sources are not kept with functions."""
    function_of(function)
    return MultipleValues((NIL, T, NIL))
