"""compile, compiler macros and logical-pathname: what there is of them where everything is
compiled when it is read and no host has files.
"""

from __future__ import annotations

from typing import Any

from .analyzer import Analyzer
from .definition_forms import Define
from .definitions import BUILTINS, builtin
from .faults import wrong_type
from .function_forms import block_name, is_setf_name
from .machine import current
from .macro_functions import macro_node
from .made_forms import form as make
from .mistakes import shape
from .nodes import Node
from .printer import brief
from .scope import Scope, Tail
from .special_forms import special_form
from .values import (
    NIL,
    Cons,
    Function,
    MultipleValues,
    OfSymbols,
    String,
    Symbol,
    Value,
    first_value,
)

COMPILER_MACROS: OfSymbols[Function] = OfSymbols()
SETF_COMPILER_MACROS: OfSymbols[Function] = OfSymbols()
"""Compiler macros by function name, and by that of (setf name): to be asked for, never used."""

WANTS = "(define-compiler-macro name (parameter...) form...)"


@builtin("compile", "(name &optional definition)")
def compile_(name: Any, definition: Any = None) -> Value:
    """The function of a definition, or else of a name: it is compiled already."""
    if name is not NIL and not (name.__class__ is Symbol or is_setf_name(name)):
        raise wrong_type("compile", name, "a function name")
    if definition is None or (definition is NIL and name is not NIL):
        function = first_value(BUILTINS["FDEFINITION"].call(name))
        return MultipleValues((name, NIL, NIL)) if isinstance(function, Function) else NIL
    function = definition
    if not isinstance(definition, Function):
        if definition.__class__ is not Cons:
            raise wrong_type("compile", definition, "a function")
        function = first_value(current().evaluate_form(make("FUNCTION", definition)))
    if name is NIL:
        return MultipleValues((function, NIL, NIL))
    BUILTINS["(SETF FDEFINITION)"].call(function, name)
    return MultipleValues((name, NIL, NIL))


def _table(name: Value) -> OfSymbols[Function]:
    return COMPILER_MACROS if name.__class__ is Symbol else SETF_COMPILER_MACROS


@special_form("define-compiler-macro", WANTS, 2)
def _define_compiler_macro(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name, rest = form.cdr.car, form.cdr.cdr
    if not (is_setf_name(name) or (name.__class__ is Symbol and not name.constant)):
        raise shape("define-compiler-macro", WANTS, f"{brief(name)} is no name")
    an.check_definable(block_name(name), "compiler macro")
    node = macro_node(an, block_name(name), rest.car, rest.cdr, scope)
    node.span = form.span

    def define(function: Value) -> Value:
        _table(name)[block_name(name)] = function
        return name

    return Define(node, define, form)


@builtin("compiler-macro-function", "(name &optional environment)")
def compiler_macro_function(name: Any, environment: Any = NIL) -> Value:
    """The compiler macro of a name, or nil."""
    if not (name.__class__ is Symbol or is_setf_name(name)):
        raise wrong_type("compiler-macro-function", name, "a function name")
    found = _table(name).get(block_name(name))
    return NIL if found is None else found


@builtin("logical-pathname", "(pathspec)")
def logical_pathname(text: Any) -> Value:
    """Never a pathname: no host is there that a string could name, so it is a type error."""
    wanted = "a namestring whose host is known"
    raise wrong_type("logical-pathname", text, wanted if isinstance(text, String) else "a string")
