"""Classes of data that cost little to make: a check makes 160 of them before its first form.

`NamedTuple` is typing's to checkers of types and a namedtuple with methods when it runs: typing's
own compiles every annotation's text, 0.15 ms a class. A dataclass takes 0.5 ms.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _Records(type):
        """Makes of a class body a namedtuple: annotations are its fields, values their defaults."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            fields = body.pop("__annotations__", {})
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body.pop("__module__"))
            made.__annotations__ = fields
            for key, value in body.items():
                setattr(made, key, value)
            return made

    NamedTuple = type.__new__(_Records, "NamedTuple", (), {})


class Record:
    """A class with slots that is equal and prints by them; a subclass writes its own __init__."""

    __slots__: tuple[str, ...] = ()
    __hash__ = None  # type: ignore[assignment]  # its slots may change

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{self.__class__.__name__}({listed})"


__all__ = ["NamedTuple", "Record"]
