"""How control leaves a form: as a returned `Jump` where the way is straight, else as an `Exit`
raised.

`Exit` is no Exception, so nothing that handles errors ever stops one.
"""

from __future__ import annotations

from typing import Any

from .values import Value


class Jump:
    """The value of a form in tail position that means: go on at `target` with `value`."""

    __slots__ = ("target", "value")

    def __init__(self, target: Any, value: Value) -> None:
        self.target = target
        self.value = value


class Tag:
    """Identity of one activation of a block, tagbody, catch or handler; dead once it is left."""

    __slots__ = ("live", "name")

    def __init__(self, name: Value) -> None:
        self.name = name
        self.live = True


class Exit(BaseException):
    """A transfer of control to the activation whose tag this is."""

    def __init__(self, tag: Tag, value: Value) -> None:
        self.tag = tag
        self.value = value
