"""The chapter of objects: classes, generic functions, methods. Importing this defines its words."""

from ..chapters import OBJECTS
from ..definitions import core_symbol
from . import (
    accessors,
    class_builtins,
    class_forms,
    combination_forms,
    construction,
    generic_builtins,
    generic_forms,
    printing,
    slot_builtins,
    slot_macros,
)

for _word in OBJECTS.upper().split():
    core_symbol(_word)

__all__ = [
    "accessors",
    "class_builtins",
    "class_forms",
    "combination_forms",
    "construction",
    "generic_builtins",
    "generic_forms",
    "printing",
    "slot_builtins",
    "slot_macros",
]
