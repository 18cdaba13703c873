"""What names mean at a point of a text: variables, functions, blocks, tags; and the frames they
live in.

A frame is one Python list a call: arguments, captured values, locals. Captured variables that are
assigned live in boxes, so that closures share them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..records import NamedTuple
from ..spans import Span
from .values import Symbol, Value


class Variable:
    """A lexical variable (or the tag of a block, or a local function)."""

    __slots__ = ("assigned", "captured", "home", "index", "name", "span", "used")

    def __init__(self, name: Value, home: FunctionScope, index: int, span: Span | None) -> None:
        self.name = name
        self.home = home
        self.index = index  # among arguments, else among locals (negative: -1 is the first)
        self.span = span
        self.captured = False
        self.assigned = False
        self.used = False

    @property
    def boxed(self) -> bool:
        return self.captured and self.assigned


class FunctionScope:
    """The frame of one function: how many slots, and which variables of outer functions it
    captures.
    """

    __slots__ = ("arguments", "captures", "locals", "name", "outer", "top")

    def __init__(self, outer: FunctionScope | None, name: Value = None) -> None:
        self.outer = outer
        self.name = name
        self.arguments = 0
        self.captures: dict[Variable, int] = {}
        self.locals = 0  # most that are alive at once
        self.top = 0  # alive now

    def local(self, name: Value, span: Span | None = None) -> Variable:
        """A new local variable; its slot is free again when `top` goes back below it."""
        self.top += 1
        self.locals = max(self.locals, self.top)
        return Variable(name, self, -self.top, span)

    def argument(self, name: Value, span: Span | None = None) -> Variable:
        """A variable that the frame begins with."""
        self.arguments += 1
        return Variable(name, self, self.arguments - 1, span)

    def reach(self, variable: Variable) -> None:
        """Make an outer function's variable visible here, through all functions between."""
        scope: FunctionScope | None = self
        while scope is not None and scope is not variable.home:
            variable.captured = True
            if variable in scope.captures:
                return
            scope.captures[variable] = len(scope.captures)
            scope = scope.outer

    def slot(self, variable: Variable) -> int:
        """Where a variable stands in the frame; final once the whole function is analyzed."""
        if variable.home is not self:
            return self.arguments + self.captures[variable]
        if variable.index >= 0:
            return variable.index
        return self.arguments + len(self.captures) - variable.index - 1


class SymbolMacro(NamedTuple):
    """What a symbol expands to where symbol-macrolet says so."""

    expansion: Value


class Special:
    """Marks a name that is dynamically bound here."""


SPECIAL = Special()


class LocalMacro(NamedTuple):
    """A macrolet's expander."""

    expander: Callable[[Value, Any], Value]


class Block:
    """A lexical block. `heavy`: some return-from must unwind, through `tag`."""

    __slots__ = ("heavy", "light", "name", "tag")

    def __init__(self, name: Symbol, tag: Variable) -> None:
        self.name = name
        self.tag = tag
        self.heavy = False
        self.light = False


class Tags:
    """A tagbody: where its tags are among its statements."""

    __slots__ = ("heavy", "places", "tag")

    def __init__(self, tag: Variable) -> None:
        self.tag = tag
        self.places: dict[Value, int] = {}
        self.heavy = False


class Tail(NamedTuple):
    """Position of a form whose value is its function's or statement's: `exits` it may leave to by a
    returned Jump, `again` the function that it may call anew as a loop."""

    exits: tuple[Any, ...] = ()
    again: Any = None

    def statement(self) -> Tail:
        """The position of a form before the last."""
        return self._replace(again=None) if self.again is not None else self


class Scope:
    """Meanings of names, extended by copying. Also the environment object that macros receive."""

    __slots__ = ("blocks", "function", "functions", "tags", "variables")

    def __init__(
        self,
        function: FunctionScope,
        variables: dict[Symbol, Any],
        functions: dict[Any, Any],
        blocks: dict[Symbol, Block],
        tags: dict[Value, Tags],
    ) -> None:
        self.function = function
        self.variables = variables
        self.functions = functions
        self.blocks = blocks
        self.tags = tags

    def with_variables(self, added: dict[Symbol, Any]) -> Scope:
        merged = {**self.variables, **added}
        return Scope(self.function, merged, self.functions, self.blocks, self.tags)

    def with_functions(self, added: dict[Any, Any]) -> Scope:
        merged = {**self.functions, **added}
        return Scope(self.function, self.variables, merged, self.blocks, self.tags)

    def with_block(self, block: Block) -> Scope:
        merged = {**self.blocks, block.name: block}
        return Scope(self.function, self.variables, self.functions, merged, self.tags)

    def with_tags(self, tags: Tags) -> Scope:
        merged = {**self.tags, **dict.fromkeys(tags.places, tags)}
        return Scope(self.function, self.variables, self.functions, self.blocks, merged)

    def inside(self, function: FunctionScope) -> Scope:
        """The same meanings inside a function made here."""
        return Scope(function, self.variables, self.functions, self.blocks, self.tags)

    def macros_only(self) -> Scope:
        """What a macrolet's expander may see: macros, no values."""
        variables = {k: v for k, v in self.variables.items() if v.__class__ is not Variable}
        functions = {k: v for k, v in self.functions.items() if v.__class__ is LocalMacro}
        return Scope(FunctionScope(None), variables, functions, {}, {})


def global_scope() -> Scope:
    """Where a top-level form stands: nothing lexical around it."""
    return Scope(FunctionScope(None), {}, {}, {}, {})
