"""block, tagbody, catch, unwind-protect and what leaves them: form to node."""

from __future__ import annotations

from ..diagnostics import nearest, problem
from .analyzer import Analyzer
from .control_nodes import (
    BlockNode,
    CatchNode,
    HeavyGo,
    HeavyReturn,
    LightGo,
    LightReturn,
    TagbodyNode,
    ThrowNode,
    UnwindProtect,
)
from .mistakes import shape
from .nodes import Constant, Node
from .printer import brief
from .scope import Block, Scope, Tags, Tail
from .special_forms import special_form, without_again
from .values import NIL, Cons, Symbol


@special_form("block", "(block name form...)", 1)
def _block(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = form.cdr.car
    if name.__class__ is not Symbol:
        raise shape("block", "(block name form...)")
    block = Block(name, scope.function.local(name))
    exits = (*tail.exits, block) if tail is not None else (block,)
    again = tail.again if tail is not None else None
    body = an.forms(form.cdr.cdr, scope.with_block(block), Tail(exits, again))
    scope.function.top -= 1
    return BlockNode(block, body, scope.function)


@special_form("return-from", "(return-from name [value])", 1, 2)
def _return_from(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = form.cdr.car
    if name.__class__ is not Symbol:
        raise shape("return-from", "(return-from name [value])")
    block = scope.blocks.get(name)
    if block is None:
        raise no_block(name, scope)
    at = form.cdr.cdr
    value = an.node(at.car, scope, None, at) if at is not NIL else Constant(NIL)
    if tail is not None and block in tail.exits:
        block.light = True
        return LightReturn(block, value)
    block.heavy = True
    scope.function.reach(block.tag)
    return HeavyReturn(block, value, scope.function, form)


def no_block(name: Symbol, scope: Scope) -> Exception:
    """E-CONTROL with the nearest block."""
    if name is NIL:
        hint = "return leaves (block nil ...), dolist, dotimes, do and loop; a function is left by "
        return problem("E-CONTROL", "no block named nil is around this return",
                       hint=hint + "(return-from name value)")  # fmt: skip
    near = nearest(name.name, [b.name for b in scope.blocks])
    return problem(
        "E-CONTROL",
        f"no block named {name!r} is around this return-from",
        hint=f"did you mean {near.lower()}?" if near else None,
    )


@special_form("tagbody", "(tagbody tag-or-form...)")
def _tagbody(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    tags = Tags(scope.function.local(NIL))
    statements: list[Cons] = []
    rest = form.cdr
    while rest is not NIL:
        if rest.car.__class__ is Cons:
            statements.append(rest)
        elif rest.car in tags.places:
            raise problem("E-FORM-SHAPE", f"the tag {brief(rest.car)} stands twice")
        else:
            tags.places[rest.car] = len(statements)
        rest = rest.cdr
    inner = scope.with_tags(tags)
    exits = (*tail.exits, tags) if tail is not None else (tags,)
    before = an.weight
    nodes = [an.node(at.car, inner, Tail(exits), at) for at in statements]
    scope.function.top -= 1
    return TagbodyNode(tags, nodes, scope.function, 1 + an.weight - before, form)


@special_form("go", "(go tag)", 1, 1)
def _go(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = form.cdr.car
    tags = scope.tags.get(name) if name.__class__ is not Cons else None
    if tags is None:
        near = nearest(brief(name), [brief(t) for t in scope.tags])
        hint = f"did you mean {near}?" if near else None
        raise problem("E-CONTROL", f"no tag {brief(name)} is around this go", hint=hint)
    if tail is not None and tags in tail.exits:
        return LightGo(tags, tags.places[name])
    tags.heavy = True
    scope.function.reach(tags.tag)
    return HeavyGo(tags, tags.places[name], scope.function, form)


@special_form("catch", "(catch tag form...)", 1)
def _catch(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    tag = an.node(form.cdr.car, scope, None, form.cdr)
    return CatchNode(tag, an.forms(form.cdr.cdr, scope, without_again(tail)))


@special_form("throw", "(throw tag value)", 2, 2)
def _throw(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    tag, value = form.cdr, form.cdr.cdr
    return ThrowNode(
        an.node(tag.car, scope, None, tag), an.node(value.car, scope, None, value), form
    )


@special_form("unwind-protect", "(unwind-protect form cleanup...)", 1)
def _unwind_protect(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    body = an.node(form.cdr.car, scope, without_again(tail), form.cdr)
    return UnwindProtect(body, an.forms(form.cdr.cdr, scope, None))
