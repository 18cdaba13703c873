"""`print-object`: how objects, classes and generic functions print, which a file may say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..classes import CLASS_OF, TOP, Class, Instance
from ..definitions import core_symbol
from ..machine import current
from ..printed_objects import printed_by_method
from ..printer import COMPOUNDS, Parts, Settings, current_settings, print_text
from ..streams import write_text
from ..values import Value
from .methods import Method, Shape
from .standard_generics import standard_generic


@standard_generic("print-object", "(object stream)")
def print_object(value: Any, stream: Value) -> Value:
    """Write an object as it prints where the file says nothing else."""
    write_text("print-object", stream, print_text(value, current_settings()._replace(asking=value)))
    return value


def print_with(cls: Class, call: Callable[..., Value]) -> None:
    """Let objects of a class be printed by a function of the object and a stream."""
    generic: Any = current().cell(core_symbol("PRINT-OBJECT")).function

    def body(following: Any, has_next: Any, value: Value, stream: Value) -> Value:
        return call(value, stream)

    method = Method((), (cls, TOP), Shape(2, 0, False, None, False), body)
    method.lambda_list = "(object stream)"
    generic.add(method)


def _cased(text: str, settings: Settings) -> str:
    return text.upper() if settings.case == "UPCASE" else text


def _instance(value: Instance, settings: Settings) -> Parts | str:
    own = printed_by_method(value, settings)
    return own if own is not None else _cased(f"#<{value.type.shown}>", settings)


def _class(cls: Class, settings: Settings) -> Parts | str:
    return _cased(f"#<{cls.meta.lower()} {cls.shown}>", settings)


COMPOUNDS[Instance] = _instance
COMPOUNDS[Class] = _class
CLASS_OF[Instance] = lambda value: value.type
