"""Imports every file that defines words, so that the tables of `definitions` are filled."""

from . import builtins, definition_forms, function_forms, loop_macro, quasiquote, special_forms, standard_syntax

__all__ = ["builtins", "definition_forms", "function_forms", "loop_macro", "quasiquote", "special_forms", "standard_syntax"]
