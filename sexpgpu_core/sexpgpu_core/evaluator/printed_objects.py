"""Objects printed by `print-object` methods of the file, under the printer variables as they are
asked for."""

from __future__ import annotations

from typing import Any

from .definitions import CORE_SYMBOLS
from .machine import current, running
from .printer import Settings
from .standard_variables import VARIABLES
from .values import NIL, T, Value, keyword


def printed_by_method(value: Value, settings: Settings) -> str | None:
    """The text that a method of the file writes for an object; None if it has none, or if it is
    that method which asks."""
    name = CORE_SYMBOLS.get("PRINT-OBJECT")  # there once some text has named it
    if name is None or settings.plain or settings.asking is value or not running():
        return None
    cell = current().cells.get(name)
    if cell is None or not getattr(cell.function, "extended", False):
        return None
    return _written(cell.call, value, settings)


def _written(call: Any, value: Value, settings: Settings) -> str:
    from .streams import StringOutputStream

    stream = StringOutputStream()
    said = _variables(settings)
    saved = {name: VARIABLES[name].value for name in said}
    try:
        for name, new in said.items():
            VARIABLES[name].value = new
        call(value, stream)
    finally:
        for name, old in saved.items():
            VARIABLES[name].value = old
    return stream.text()


def _variables(settings: Settings) -> dict[str, Value]:
    """The printer variables that say what the settings say."""
    return {
        "*PRINT-ESCAPE*": T if settings.escape else NIL,
        "*PRINT-BASE*": settings.base,
        "*PRINT-RADIX*": T if settings.radix else NIL,
        "*PRINT-CASE*": keyword(settings.case),
        "*PRINT-LENGTH*": NIL if settings.length is None else settings.length,
        "*PRINT-LEVEL*": NIL if settings.level is None else settings.level,
        "*PRINT-CIRCLE*": T if settings.circle else NIL,
    }
