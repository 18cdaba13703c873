"""dotimes, dolist, do, prog: loops as nodes, with a block nil and a tagbody around their bodies."""

from __future__ import annotations

from typing import Any

from ..reader import span_of
from . import raising
from .analyzer import Analyzer
from .binding_nodes import store_code
from .control_nodes import BlockNode
from .declarations import items_of, parse_body
from .definitions import core_symbol, native_macro
from .exits import Jump
from .machine import Machine
from .made_forms import form as make
from .made_forms import form_with, fresh, listed
from .mistakes import shape
from .nodes import Code, Constant, Node, value_code
from .printer import brief
from .scope import Block, Scope, Tail, Variable
from .special_forms import check_size, special_form, variable_name
from .typed_nodes import wrong_type
from .values import NIL, Cons, Staged, Symbol, Value, make_list

TAGBODY = core_symbol("TAGBODY")
INTEGER = core_symbol("INTEGER")
LIST = core_symbol("LIST")


class Repeat(Node):
    """`body` for each item that `items` of the value gives, then `result`."""

    __slots__ = ("body", "form", "kind", "result", "scope", "value", "variable", "weight")

    def __init__(
        self, kind: str, variable: Variable, value: Node, body: Node, result: Node, form: Value,
        scope: Any, weight: int,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.variable = variable
        self.value = value
        self.body = body
        self.result = result
        self.form = form
        self.scope = scope
        self.weight = weight  # steps of one turn

    def compile(self, m: Machine) -> Code:
        value, body = value_code(self.value, m), self.body.compile(m)
        result = self.result.compile(m)
        make_loop = _times if self.kind == "dotimes" else _list
        return make_loop(m, self, value, body, result)


def _times(m: Machine, node: Repeat, value: Code, body: Code, result: Code) -> Code:
    slot, boxed, form = node.scope.slot(node.variable), node.variable.boxed, node.form
    weight = node.weight

    def run(f: list[Any]) -> Value:
        count = value(f)
        if count.__class__ is not int:
            raise _not_a(m, count, "dotimes", INTEGER, form)
        box = f
        at = slot
        if boxed:
            box = f[slot] = [0]
            at = 0
        box[at] = 0
        while box[at] < count:
            m.fuel -= weight
            if m.fuel < 0:
                m.add_fuel("dotimes", span_of(form))
            done = body(f)
            if done.__class__ is Jump:
                return done
            box[at] += 1
        return result(f)

    return run


def _not_a(m: Machine, value: Value, name: str, kind: Symbol, form: Value) -> BaseException:
    if isinstance(value, Staged):
        return raising.refused(m, value, name, form)
    return raising.raised(m, wrong_type(value, kind), form)


def _list(m: Machine, node: Repeat, value: Code, body: Code, result: Code) -> Code:
    store, form, weight = store_code(node.variable, node.scope), node.form, node.weight

    def run(f: list[Any]) -> Value:
        rest = value(f)
        while rest.__class__ is Cons:
            m.fuel -= weight
            if m.fuel < 0:
                m.add_fuel("dolist", span_of(form))
            store(f, rest.car)
            done = body(f)
            if done.__class__ is Jump:
                return done
            rest = rest.cdr
        if rest is not NIL:
            raise _not_a(m, rest, "dolist", LIST, form)
        store(f, NIL)
        return result(f)

    return run


def _repeat(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    kind = form.car.name.lower()
    wants = f"({kind} (variable {'count' if kind == 'dotimes' else 'list'} [result]) form...)"
    if form.cdr.car.__class__ is not Cons:
        raise shape(kind, wants)
    head = items_of(form.cdr.car, form)
    if not 2 <= len(head) <= 3:
        raise shape(kind, wants)
    name = variable_name(head[0], form)
    body = parse_body(form.cdr.cdr)
    if name.special or name in body.declared.special:
        return an.node(_over_special(form, name), scope, tail)
    at = form.cdr.car.cdr
    function = scope.function
    block = Block(NIL, function.local(NIL))
    value = an.node(at.car, scope.with_block(block), None, at)
    variable = function.local(name)
    variable.assigned = kind == "dotimes"
    inner = scope.with_block(block).with_variables({name: variable})
    if body.declared.special:
        inner = inner.with_variables(an.specials(body.declared))
    exits = (*tail.exits, block) if tail is not None else (block,)
    before = an.weight
    statements = an.node(Cons(TAGBODY, body.forms, form.span), inner, Tail(exits))
    weight = 1 + an.weight - before
    result: Node = Constant(NIL)
    if len(head) == 3:
        result = an.node(head[2], inner, Tail(exits), at.cdr)
    function.top -= 2
    repeat = Repeat(kind, variable, value, statements, result, form, function, weight)
    return BlockNode(block, repeat, function)


special_form("dotimes", "(dotimes (variable count [result]) form...)", 1)(_repeat)
special_form("dolist", "(dolist (variable list [result]) form...)", 1)(_repeat)


def _over_special(form: Cons, name: Symbol) -> Value:
    """The same loop over a lexical variable that sets the special one."""
    own = fresh("ITEM")
    head = form.cdr.car
    setting = Cons(make("SETQ", name, own), form.cdr.cdr)
    loop = form_with(form.car.name, Cons(own, head.cdr), setting)
    return make("LET", listed(listed(name, NIL)), loop)


class Until(Node):
    """Runs `body` and `step` until `test` holds."""

    __slots__ = ("body", "form", "step", "test", "weight")

    def __init__(self, test: Node, body: Node, step: Node, form: Value, weight: int) -> None:
        self.test = test
        self.body = body
        self.step = step
        self.form = form
        self.weight = weight  # steps of one turn

    def compile(self, m: Machine) -> Code:
        test, body, step = value_code(self.test, m), self.body.compile(m), self.step.compile(m)
        form, weight = self.form, self.weight

        def run(f: list[Any]) -> Value:
            while True:
                found = test(f)
                if found is not NIL:
                    if isinstance(found, Staged):
                        raise raising.refused(m, found, "do", form)
                    return NIL
                m.fuel -= weight
                if m.fuel < 0:
                    m.add_fuel("do", span_of(form))
                done = body(f)
                if done.__class__ is Jump:
                    return done
                step(f)

        return run


@special_form("%until", "(%until test body step)", 3, 3)
def _until(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    test, body, step = form.cdr, form.cdr.cdr, form.cdr.cdr.cdr
    before = an.weight
    nodes = (
        an.node(test.car, scope, None, test),
        an.node(body.car, scope, tail.statement() if tail is not None else None, body),
        an.node(step.car, scope, None, step),
    )
    return Until(*nodes, form, 1 + an.weight - before)


def _do(form: Cons, environment: Any) -> Value:
    name = form.car.name
    wants = f"({name.lower()} ((variable init step) ...) (end-test result...) form...)"
    if form.cdr.__class__ is not Cons or form.cdr.cdr.__class__ is not Cons:
        raise shape(name.lower(), wants)
    end = form.cdr.cdr.car
    if end.__class__ is not Cons:
        raise shape(name.lower(), wants, f"{brief(end)} is no (end-test result...)")
    bindings, steps = [], []
    for item in items_of(form.cdr.car, form):
        parts = items_of(item, form) if item.__class__ is Cons else [item]
        if not 1 <= len(parts) <= 3:
            raise shape(name.lower(), wants, f"{brief(item)} is no (variable init step)")
        bindings.append(listed(*parts[:2]) if len(parts) > 1 else parts[0])
        steps += [parts[0], parts[2]] if len(parts) == 3 else []
    declarations, rest = _declarations(form.cdr.cdr.cdr)
    step = form_with("PSETQ" if name == "DO" else "SETQ", make_list(steps))
    loop = make("%UNTIL", end.car, form_with("TAGBODY", rest), step)
    result = form_with("PROGN", end.cdr)
    let = form_with(
        "LET" if name == "DO" else "LET*",
        make_list(bindings),
        make_list([*declarations, loop, result]),
    )
    return make("BLOCK", NIL, let)


native_macro("do")(_do)
native_macro("do*")(_do)


def _declarations(forms: Value) -> tuple[list[Value], Value]:
    declarations = []
    while forms.__class__ is Cons and forms.car.__class__ is Cons and _declares(forms.car):
        declarations.append(forms.car)
        forms = forms.cdr
    return declarations, forms


def _declares(form: Cons) -> bool:
    return form.car.__class__ is Symbol and form.car.name == "DECLARE"


def _prog(form: Cons, environment: Any) -> Value:
    name = form.car.name
    if form.cdr.__class__ is not Cons:
        raise shape(name.lower(), f"({name.lower()} (binding...) tag-or-form...)")
    declarations, rest = _declarations(form.cdr.cdr)
    let = "LET" if name == "PROG" else "LET*"
    body = make_list([*declarations, form_with("TAGBODY", rest)])
    return make("BLOCK", NIL, form_with(let, form.cdr.car, body))


native_macro("prog")(_prog)
native_macro("prog*")(_prog)


@native_macro("psetq")
def _psetq(form: Cons, environment: Any) -> Value:
    pairs = items_of(form.cdr, form)
    if len(pairs) % 2:
        raise shape("psetq", "(psetq variable value ...)")
    if len(pairs) <= 2:
        return make("PROGN", form_with("SETQ", form.cdr), NIL) if pairs else NIL
    return form_with("PSETF", form.cdr)


@native_macro("return")
def _return(form: Cons, environment: Any) -> Value:
    check_size(form, "return", "(return [value])", 0, 1)
    return form_with("RETURN-FROM", NIL, form.cdr)


@native_macro("loop")
def _loop(form: Cons, environment: Any) -> Value:
    """Repeat forms; with clauses: iterate, test, gather, return."""
    from .loop_macro import expand_loop  # four modules, and few files loop so

    return expand_loop(form)


@native_macro("loop-finish")
def _loop_finish(form: Cons, environment: Any) -> Value:
    """Go to the end of the innermost loop: its finally clauses run."""
    from .loop_state import FINISH

    return FINISH
