"""Blocks, tagbodies, catch, unwind-protect: by returned Jumps where the way is straight, else by
Exits.
"""

from __future__ import annotations

from typing import Any

from ..reader import span_of
from . import raising
from .exits import Exit, Jump, Tag
from .machine import Machine
from .nodes import Code, Node, value_code
from .scope import Block, FunctionScope, Tags
from .values import NIL, Value


class BlockNode(Node):
    """`(block name form...)`."""

    __slots__ = ("block", "body", "scope", "single")

    def __init__(self, block: Block, body: Node, scope: FunctionScope) -> None:
        self.block = block
        self.body = body
        self.scope = scope
        self.single = body.single and not block.light and not block.heavy

    def compile(self, m: Machine) -> Code:
        code = self.body.compile(m)
        if self.block.light:
            code = _light_block(self.block, code)
        if self.block.heavy:
            code = _heavy_block(m, self.block.name, self.scope.slot(self.block.tag), code)
        return code


def _light_block(block: Block, code: Code) -> Code:
    def run(f: list[Any]) -> Value:
        value = code(f)
        if value.__class__ is Jump and value.target is block:
            return value.value
        return value

    return run


def _heavy_block(m: Machine, name: Value, slot: int, code: Code) -> Code:
    def run(f: list[Any]) -> Value:
        tag = f[slot] = Tag(name)
        depth = m.depth
        try:
            return code(f)
        except Exit as leaving:
            if leaving.tag is not tag:
                raise
            m.depth = depth
            return leaving.value
        finally:
            tag.live = False

    return run


class LightReturn(Node):
    """`return-from` in tail position of its block."""

    __slots__ = ("block", "value")

    def __init__(self, block: Block, value: Node) -> None:
        self.block = block
        self.value = value

    def compile(self, m: Machine) -> Code:
        block, code = self.block, self.value.compile(m)
        return lambda f: Jump(block, code(f))


class HeavyReturn(Node):
    """`return-from` that unwinds."""

    __slots__ = ("block", "form", "scope", "value")
    single = True

    def __init__(self, block: Block, value: Node, scope: FunctionScope, form: Value) -> None:
        self.block = block
        self.value = value
        self.scope = scope
        self.form = form

    def compile(self, m: Machine) -> Code:
        slot, code, form = self.scope.slot(self.block.tag), self.value.compile(m), self.form

        def run(f: list[Any]) -> Value:
            tag = f[slot]
            value = code(f)
            if not tag.live:
                raise raising.left(m, tag, form)
            raise Exit(tag, value)

        return run


class TagbodyNode(Node):
    """`(tagbody ...)`: statements in order, from tag to tag."""

    __slots__ = ("form", "scope", "statements", "tags", "weight")

    def __init__(
        self, tags: Tags, statements: list[Node], scope: FunctionScope, weight: int, form: Value
    ) -> None:
        self.tags = tags
        self.weight = weight  # steps of one turn
        self.form = form
        self.statements = statements
        self.scope = scope

    def compile(self, m: Machine) -> Code:
        codes = [node.compile(m) for node in self.statements]
        run = _statements(m, self, codes)
        if self.tags.heavy:
            return _heavy_tagbody(m, self, self.scope.slot(self.tags.tag), run)
        return lambda f: run(f, 0)


def _statements(m: Machine, node: TagbodyNode, codes: list[Code]) -> Any:
    size, tags, weight = len(codes), node.tags, node.weight

    def run(f: list[Any], at: int) -> Value:
        while at < size:
            value = codes[at](f)
            at += 1
            if value.__class__ is Jump:
                if value.target is not tags:
                    return value
                if value.value < at:
                    m.fuel -= weight
                    if m.fuel < 0:
                        m.add_fuel("a loop", span_of(node.form))
                at = value.value
        return NIL

    return run


def _heavy_tagbody(m: Machine, node: TagbodyNode, slot: int, body: Any) -> Code:
    def run(f: list[Any]) -> Value:
        tag = f[slot] = Tag(NIL)
        depth, at = m.depth, 0
        try:
            while True:
                try:
                    return body(f, at)
                except Exit as leaving:
                    if leaving.tag is not tag:
                        raise
                    m.depth = depth
                    at = leaving.value
                    m.spend(node.weight, "a loop", span_of(node.form))
        finally:
            tag.live = False

    return run


class LightGo(Node):
    """`go` in tail position of a statement of its tagbody."""

    __slots__ = ("place", "tags")

    def __init__(self, tags: Tags, place: int) -> None:
        self.tags = tags
        self.place = place

    def compile(self, m: Machine) -> Code:
        jump = Jump(self.tags, self.place)
        return lambda f: jump


class HeavyGo(Node):
    """`go` that unwinds."""

    __slots__ = ("form", "place", "scope", "tags")
    single = True

    def __init__(self, tags: Tags, place: int, scope: FunctionScope, form: Value) -> None:
        self.tags = tags
        self.place = place
        self.scope = scope
        self.form = form

    def compile(self, m: Machine) -> Code:
        slot, place, form = self.scope.slot(self.tags.tag), self.place, self.form

        def run(f: list[Any]) -> Value:
            tag = f[slot]
            if not tag.live:
                raise raising.left(m, tag, form)
            raise Exit(tag, place)

        return run


class Again(Node):
    """A call of the function it stands in, in tail position: the body is run anew."""

    __slots__ = ("arguments", "function")

    def __init__(self, function: Any, arguments: list[Node]) -> None:
        self.function = function
        self.arguments = arguments

    def compile(self, m: Machine) -> Code:
        function = self.function
        codes = [value_code(node, m) for node in self.arguments]
        return lambda f: Jump(function, [code(f) for code in codes])


class CatchNode(Node):
    """`(catch tag form...)`."""

    __slots__ = ("body", "tag")

    def __init__(self, tag: Node, body: Node) -> None:
        self.tag = tag
        self.body = body

    def compile(self, m: Machine) -> Code:
        tag_code, code = value_code(self.tag, m), self.body.compile(m)

        def run(f: list[Any]) -> Value:
            tag = Tag(tag_code(f))
            depth = m.depth
            m.catchers.append(tag)
            try:
                return code(f)
            except Exit as leaving:
                if leaving.tag is not tag:
                    raise
                m.depth = depth
                return leaving.value
            finally:
                m.catchers.pop()

        return run


class ThrowNode(Node):
    """`(throw tag form)`."""

    __slots__ = ("form", "tag", "value")
    single = True

    def __init__(self, tag: Node, value: Node, form: Value) -> None:
        self.tag = tag
        self.value = value
        self.form = form

    def compile(self, m: Machine) -> Code:
        tag_code, code, form = value_code(self.tag, m), self.value.compile(m), self.form

        def run(f: list[Any]) -> Value:
            name = tag_code(f)
            value = code(f)
            for tag in reversed(m.catchers):
                if tag.name is name or (type(name) is int and tag.name == name):
                    raise Exit(tag, value)
            raise raising.no_catch(m, name, form)

        return run


class UnwindProtect(Node):
    """`(unwind-protect form cleanup...)`: the cleanup runs however the form is left."""

    __slots__ = ("body", "cleanup", "single")

    def __init__(self, body: Node, cleanup: Node) -> None:
        self.body = body
        self.cleanup = cleanup
        self.single = body.single

    def compile(self, m: Machine) -> Code:
        code, cleanup = self.body.compile(m), self.cleanup.compile(m)

        def run(f: list[Any]) -> Value:
            depth = m.depth
            left: BaseException | None = None
            try:
                value = code(f)
            except BaseException as error:
                left = error
            if left is None:
                cleanup(f)
                return value
            m.depth = depth
            try:  # outside of the except: errors of many cleanups would be chained to each other
                cleanup(f)
                raise left
            finally:
                left = None

        return run
