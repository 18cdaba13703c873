"""Imports every file that defines words, so that the tables of `definitions` are filled."""

from . import (
    branch_forms,
    builtins,
    condition_builtins,
    condition_definitions,
    definition_forms,
    defstruct,
    evaluation_builtins,
    function_forms,
    handler_forms,
    iteration_forms,
    modify_macros,
    quasiquote,
    setf_definitions,
    special_forms,
    value_macros,
)

__all__ = [
    "branch_forms",
    "builtins",
    "condition_builtins",
    "condition_definitions",
    "definition_forms",
    "defstruct",
    "evaluation_builtins",
    "function_forms",
    "handler_forms",
    "iteration_forms",
    "modify_macros",
    "quasiquote",
    "setf_definitions",
    "special_forms",
    "value_macros",
]
