"""Function objects out of analyzed lambda expressions: counts, frame, fuel and depth at each
call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import Problem, problem
from .binders import Binder
from .exits import Jump
from .machine import Machine
from .nodes import Code, Node
from .scope import FunctionScope, Variable
from .values import Function, Value

CALL_STEPS = 2
"""What a call costs besides its forms."""

TOO_DEEP_STEPS = 6_000
Entry = Callable[[tuple[Any, ...], Function], Callable[..., Value]]


class LambdaNode(Node):
    """A lambda expression. `again`: some tail call runs the body anew."""

    __slots__ = (
        "again", "binder", "body", "doc", "name", "outer", "scope", "span", "text", "weight",
    )  # fmt: skip
    single = True

    def __init__(self, name: str, binder: Binder, scope: FunctionScope, text: str) -> None:
        self.name = name
        self.binder = binder
        self.scope = scope
        self.outer = scope.outer
        self.text = text
        self.body: Node = None  # type: ignore[assignment]
        self.doc = ""
        self.span: Any = None
        self.again = False
        self.weight = CALL_STEPS  # steps of one call

    def compile(self, m: Machine) -> Code:
        entry = self._entry(m)
        outer = self.outer
        closed = [outer.slot(v) for v in self.scope.captures] if outer is not None else []
        blank = (None,) * self.scope.locals
        form, name, text, doc, span = self.binder.form, self.name, self.text, self.doc, self.span
        least, most = form.least, form.most

        def make(f: list[Any]) -> Value:
            function = Function(name, entry, text, least, most, doc, False, span)
            function.call = entry((*[f[slot] for slot in closed], *blank), function)
            return function

        return make

    def _entry(self, m: Machine) -> Entry:
        body = self.body.compile(m)
        binder = self.binder
        count = len(binder.required)
        boxes = [v.index for v in binder.required if isinstance(v, Variable) and v.boxed]
        if not binder.form.plain or binder.specials:
            skip = 0 if binder.specials else count
            bind = binder.compile(m, self.name, skip)
            return _general(m, binder, bind, boxes if skip else [], body, self.weight)
        if self.again:
            body = _loop(m, self, body, boxes)
        elif boxes:
            body = _boxing(boxes, body)
        return _plain(m, count, body, self.weight)


def _boxing(boxes: list[int], body: Code) -> Code:
    def run(f: list[Any]) -> Value:
        for slot in boxes:
            f[slot] = [f[slot]]
        return body(f)

    return run


def _loop(m: Machine, node: LambdaNode, body: Code, boxes: list[int]) -> Code:
    count, name, weight, span = len(node.binder.required), node.name, node.weight, node.span
    inner = _boxing(boxes, body) if boxes else body

    def run(f: list[Any]) -> Value:
        tail = f[count:]
        while True:
            value = inner(f)
            if value.__class__ is not Jump or value.target is not node:
                return value
            m.fuel -= weight
            if m.fuel < 0:
                m.add_fuel(name, span)
            f = [*value.value, *tail]

    return run


def _plain(m: Machine, count: int, body: Code, weight: int) -> Entry:
    def entry(tail: tuple[Any, ...], function: Function) -> Callable[..., Value]:
        def call(*arguments: Value) -> Value:
            if len(arguments) != count:
                raise wrong_count(function, len(arguments))
            fuel = m.fuel = m.fuel - weight
            if fuel < 0:
                m.add_fuel(function.name, function.span)
            depth = m.depth = m.depth + 1
            if depth > m.depth_limit:
                raise too_deep(m)
            value = body([*arguments, *tail])
            m.depth = depth - 1
            return value

        return call

    return entry


def _general(
    m: Machine, binder: Binder, bind: Any, boxes: list[int], body: Code, weight: int
) -> Entry:
    form = binder.form
    count, most = form.least, form.most
    positional = count + len(form.optional)
    specials = binder.specials
    run = _restoring(specials, bind, body) if specials else _binding(bind, body)

    def entry(tail: tuple[Any, ...], function: Function) -> Callable[..., Value]:
        def call(*arguments: Value) -> Value:
            size = len(arguments)
            if size < count or (most is not None and size > most):
                raise wrong_count(function, size)
            fuel = m.fuel = m.fuel - weight
            if fuel < 0:
                m.add_fuel(function.name, function.span)
            depth = m.depth = m.depth + 1
            if depth > m.depth_limit:
                raise too_deep(m)
            f = [*arguments[:count], *tail]
            for slot in boxes:
                f[slot] = [f[slot]]
            value = run(f, arguments[:positional], arguments[positional:])
            m.depth = depth - 1
            return value

        return call

    return entry


def _binding(bind: Any, body: Code) -> Any:
    def run(f: list[Any], items: Any, extra: Any) -> Value:
        bind(f, items, extra, None)
        return body(f)

    return run


def _restoring(specials: list[Any], bind: Any, body: Code) -> Any:
    def run(f: list[Any], items: Any, extra: Any) -> Value:
        saved = [symbol.value for symbol in specials]
        try:
            bind(f, items, extra, None)
            return body(f)
        finally:
            for symbol, value in zip(specials, saved):
                symbol.value = value

    return run


LISTS = frozenset(("shape", "axes", "sizes", "counts", "list", "parts"))
"""Parameters of builtins that are lists, which others take as arguments one by one."""


def last_is_list(function: Function) -> bool:
    """Whether the last required parameter is one of LISTS."""
    return function.lambda_list.strip("()").split(" &")[0].rpartition(" ")[2] in LISTS


def wrong_count(function: Function, given: int) -> Problem:
    """E-CALL-ARGUMENTS with the lambda list."""
    least, most = function.least, function.most
    if most == least:
        wants = f"{least} argument" + "s" * (least != 1)
    elif most is None:
        wants = f"at least {least} argument" + "s" * (least != 1)
    else:
        wants = f"{least} to {most} arguments"
    more = "; a list is one argument: '(2 3), (list a b)" if last_is_list(function) else ""
    return problem(
        "E-CALL-ARGUMENTS",
        f"{function.name} takes {wants}, got {given}",
        hint=f"its lambda list is {function.lambda_list}{more}",
        function=function.name,
        given=given,
        lambda_list=function.lambda_list,
    )


def too_deep(m: Machine) -> Problem:
    """E-LIMIT-DEPTH, with the cycle of calls read off the Python stack."""
    import sys

    m.depth_limit = m.limits.depth + 200  # room for cleanups
    m.fuel -= TOO_DEEP_STEPS  # or each cleanup could recurse anew
    names: list[str] = []
    frame = sys._getframe(1)
    while frame is not None and len(names) < 40:
        function = frame.f_locals.get("function") if frame.f_code.co_name == "call" else None
        if isinstance(function, Function):
            names.append(function.name)
        frame = frame.f_back  # type: ignore[assignment]
    cycle = _cycle(names)
    return problem(
        "E-LIMIT-DEPTH",
        f"recursion deeper than {m.limits.depth:,} calls: " + " calls ".join([*cycle, cycle[0]]),
        limit=m.limits.depth,
        cycle=cycle,
    )


def _cycle(names: list[str]) -> list[str]:
    """The shortest cycle that the innermost calls go through, outermost first."""
    for length in range(1, len(names) // 2 + 1):
        if names[:length] == names[length : 2 * length]:
            return names[:length][::-1]
    return names[:3][::-1] or ["a function"]
