"""Forms to nodes: each form is expanded once and every name resolved before anything runs.

A form that is wrong becomes a `Fail` node, which raises when it is reached; `errors` holds them
all.
"""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

from ..diagnostics import Diagnostic, Problem, problem
from ..reader import MadeSpan, element_span, place, span_of
from ..spans import Span
from . import raising
from .binders import analyze_parameters
from .call_costs import COSTS
from .call_lints import LINTS
from .calls import Call, CallValue
from .closures import CALL_STEPS, LambdaNode
from .control_nodes import Again, BlockNode
from .declarations import Body, Declarations, parse_body
from .definitions import BODY_MACROS, core_symbol
from .expansion import MOST_EXPANSIONS, SPECIAL_FORMS, Expander, copied, endless, over_rest, spliced
from .inline_calls import InlineCall, is_inline
from .lambda_lists import LambdaList, parse_lambda_list
from .machine import Cell, Machine
from .mistakes import (
    call_mistake,
    is_foreign,
    is_method,
    no_function_form,
    unbound_variable,
    unsupported,
)
from .nodes import Constant, Fail, GlobalRef, LocalRef, Node, progn
from .printer import brief
from .scope import (
    Block,
    FunctionScope,
    LocalMacro,
    Scope,
    SymbolMacro,
    Tail,
    Variable,
)
from .single_valued import SINGLE_VALUED
from .standard_variables import TYPED_FORMS
from .unused_variables import misread, touched, unused
from .values import NIL, UNBOUND, Cons, Function, Symbol, Value

LAMBDA = core_symbol("LAMBDA")


class Analyzer(Expander):
    """Analyzes the forms of one machine."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.errors: list[Diagnostic] = []
        self.weight = 0  # steps of one run of the forms analyzed so far
        self.loading = False  # a file, whose forms are compiled and loaded at once
        self.watching: list[list[Variable]] = []
        self.calls: list[tuple[Cell, int, Cons]] = []  # of user functions, checked after loading
        self.references: list[GlobalRef] = []
        self.assignments: list[tuple[Symbol, Cons]] = []
        self.refused: set[str] = set()  # names whose definitions were

    # Forms

    def node(self, form: Value, scope: Scope, tail: Tail | None = None, at: Value = None) -> Node:
        """Analyze a form. `at`: the cons whose car it is, which places atoms."""
        if form.__class__ is Cons:
            return self._compound(form, scope, tail)
        if form.__class__ is Symbol:
            return self._symbol(form, scope, tail, at)
        return Constant(form)

    def _symbol(self, name: Symbol, scope: Scope, tail: Tail | None, at: Value) -> Node:
        found = scope.variables.get(name)
        if found.__class__ is Variable:
            found.used = True
            scope.function.reach(found)
            return LocalRef(found, scope.function)
        if found.__class__ is SymbolMacro:
            return self._expansion(found.expansion, scope, tail, at)
        if name.constant:
            return Constant(name.value)
        if found is None and name in self.m.symbol_macros:
            return self._expansion(self.m.symbol_macros[name], scope, tail, at)
        if name.home == "" and name.name in TYPED_FORMS and not name.special:
            raise unbound_variable(self.m, name)
        reference = GlobalRef(name, at)
        if not name.special and found is None:
            self.references.append(reference)
        return reference

    def _expansion(self, form: Value, scope: Scope, tail: Tail | None, at: Value) -> Node:
        """A symbol macro's expansion, placed where its name stands."""
        self.enter()
        if form.__class__ is Cons:
            form = place(copied(form), element_span(at))
        node = self.node(form, scope, tail, at)
        self.depth -= 1
        return node

    def _compound(self, form: Cons, scope: Scope, tail: Tail | None) -> Node:
        self.enter()
        self.weight += 1
        node = self._analyzed(form, scope, tail)
        self.depth -= 1
        return node

    def _analyzed(self, form: Cons, scope: Scope, tail: Tail | None) -> Node:
        try:
            head = form.car
            count = 0
            while head.__class__ is Symbol:
                local = scope.functions.get(head)
                if local.__class__ is Variable:
                    return self._local_call(local, form, scope, tail)
                if local is not None:
                    expander = local.expander
                elif head.home == "" and (handler := SPECIAL_FORMS.get(head.name)):
                    return handler(self, form, scope, tail)
                else:
                    found = self.m.macro(head)
                    if found is None:
                        return self._global_call(head, form, scope, tail)
                    expander = found
                expansion = self.expand(form, expander, scope)
                if expansion.__class__ is not Cons:
                    return self.node(expansion, scope, tail, form)
                form = expansion
                count += 1
                if count > MOST_EXPANSIONS:
                    raise endless(form)
                head = form.car
            return self._computed_call(form, scope)
        except Problem as error:
            if error.diagnostic.code.startswith("E-LIMIT"):
                raise raising.at_form(error, form) from None
            return self.failed(error, form)

    def failed(self, error: Problem, form: Value) -> Node:
        """Note what is wrong with a form."""
        raising.at_form(error, form)
        self.errors.append(error.diagnostic)
        for variable in chain.from_iterable(self.watching):
            variable.used = True  # perhaps: what is wrong was not looked through
        return Fail(error)

    # Calls

    def arguments(self, form: Cons, scope: Scope) -> list[Node]:
        """The operands of a call."""
        nodes = []
        rest = form.cdr
        while rest.__class__ is Cons:
            nodes.append(self.node(rest.car, scope, None, rest))
            rest = rest.cdr
        if rest is not NIL:
            raise problem("E-FORM-SHAPE", "a call ends in a dot")
        return nodes

    def _local_call(self, variable: Variable, form: Cons, scope: Scope, tail: Tail | None) -> Node:
        arguments = self.arguments(form, scope)
        again = self._again(variable, arguments, tail)
        if again is not None:
            return again
        variable.used = True
        scope.function.reach(variable)
        return CallValue(LocalRef(variable, scope.function), arguments, form)

    def _again(self, callee: Any, arguments: list[Node], tail: Tail | None) -> Node | None:
        if tail is None or tail.again is None or tail.again[0] is not callee:
            return None
        node: LambdaNode = tail.again[1]
        if len(arguments) != len(node.binder.required):
            return None
        node.again = True
        return Again(node, arguments)

    def _global_call(self, name: Symbol, form: Cons, scope: Scope, tail: Tail | None) -> Node:
        cell = self.m.cell(name)
        function = cell.function
        if function is None and (name.home == "" or self._is_habit(name)):
            raise unsupported(self.m, cell, form, scope)
        arguments = self.arguments(form, scope)
        if name.home == "":
            assert function is not None
            self.weight += COSTS.get(name.name, 0)
            if not function.least <= len(arguments) <= _most(function):
                raise call_mistake(function, len(arguments), form)
            if name.name in LINTS:
                LINTS[name.name](self.m, name.name, form)
            if is_inline(name.name, len(arguments)):
                return InlineCall(name.name, cell, arguments, form)
            return Call(cell, arguments, form, name.name in SINGLE_VALUED)
        again = self._again(cell, arguments, tail)
        if again is not None:
            return again
        if function is None and (name in scope.variables or is_method(name.name, scope.variables)):
            raise unsupported(self.m, cell, form, scope)
        self.calls.append((cell, len(arguments), form))
        return Call(cell, arguments, form, False)

    def _is_habit(self, name: Symbol) -> bool:
        """A word of another language or a name that is left out; this file does not define it."""
        return name.name not in self.m.module.defined and is_foreign(name.name)

    def _computed_call(self, form: Cons, scope: Scope) -> Node:
        head = form.car
        if head.__class__ is Cons and head.car is LAMBDA:
            function = self.node(head, scope)
            return CallValue(function, self.arguments(form, scope), form)
        raise no_function_form(form)

    # Bodies

    def forms(self, forms: Value, scope: Scope, tail: Tail | None) -> Node:
        """A body without declarations: forms in order, the value of the last."""
        nodes: list[Node] = []
        leaves: list[bool] = []
        before = tail.statement() if tail is not None else None
        while forms.__class__ is Cons:
            forms = self._expanded(forms, scope)
            if forms.__class__ is not Cons:
                break
            last = forms.cdr is NIL
            node = self.node(forms.car, scope, tail if last else before, forms)
            nodes.append(node)
            leaves.append(not last and tail is not None and bool(tail.exits) and not node.single)
            forms = forms.cdr
        return progn(nodes, leaves)

    def _expanded(self, forms: Cons, scope: Scope) -> Value:
        """The same forms, where the first is no macro call whose expansion binds over the rest."""
        for _ in range(MOST_EXPANSIONS):
            form = forms.car
            if form.__class__ is not Cons or form.car.__class__ is not Symbol:
                return forms
            head: Symbol = form.car
            if head in scope.functions:
                local = scope.functions[head]
                expander = local.expander if local.__class__ is LocalMacro else None
            elif head.home == "":
                if head.name in BODY_MACROS:
                    return over_rest(head, form, forms, self.failed)
                return forms
            else:
                expander = self.m.macro(head)
            if expander is None:
                return forms
            try:
                expansion = self.expand(form, expander, scope)
            except Problem as error:
                self.failed(error, form)
                expansion = NIL
            forms = spliced(expansion, forms)
            if forms.__class__ is not Cons:
                return forms
        raise endless(forms.car)

    def body(self, body: Body, scope: Scope, tail: Tail | None) -> Node:
        """The forms of a body whose declarations are known."""
        if body.declared.special:
            scope = scope.with_variables(self.specials(body.declared))
        return self.forms(body.forms, scope, tail)

    def specials(self, declared: Declarations) -> dict[Symbol, Any]:
        """Names that a body declares special, as bindings of a scope."""
        from .scope import SPECIAL

        return dict.fromkeys(declared.special, SPECIAL)

    # Functions

    def function(
        self,
        name: str,
        lambda_list: Value,
        forms: Value,
        scope: Scope,
        block: Symbol | None = None,
        callee: Any = None,
    ) -> LambdaNode:
        """A lambda expression. `callee`: what a call of the function itself resolves to."""
        form = parse_lambda_list(lambda_list)
        return self.parsed_function(name, form, parse_body(forms, True), scope, block, callee)

    def parsed_function(
        self,
        name: str,
        form: LambdaList,
        body: Body,
        scope: Scope,
        block: Symbol | None,
        callee: Any = None,
        local: dict[Symbol, Symbol] | None = None,
    ) -> LambdaNode:
        """`local`: names that call what parameters hold, as local functions."""
        function = FunctionScope(scope.function, name)
        inner = scope.inside(function)
        before = self.weight
        self.watching.append([])
        binder, inner = analyze_parameters(self, form, inner, body.declared, True)
        if local is not None:
            found = {f: inner.variables[p] for f, p in local.items()}
            inner = inner.with_functions(found)
            for variable in found.values():
                variable.used = False
        node = LambdaNode(
            name, binder, function, brief(form.form) if form.form is not NIL else "()"
        )
        node.doc = body.doc
        own = (callee, node) if callee is not None and form.plain and not binder.specials else None
        node.body = self.in_block(block, body, inner, Tail((), own))
        self.check_used(self.watching.pop(), body.forms)
        node.weight = CALL_STEPS + self.weight - before
        self.weight = before  # to make a function is not to run it
        return node

    def dearest(self, weights: list[int]) -> None:
        """One of some branches is run: `weights` are those before the first and after each."""
        costs = [after - before for before, after in pairwise(weights)]
        self.weight = weights[0] + max(costs, default=0)

    def in_block(self, name: Symbol | None, body: Body, scope: Scope, tail: Tail | None) -> Node:
        """A body inside the block of its function's name, if it has one."""
        if name is None:
            return self.body(body, scope, tail)
        block = Block(name, scope.function.local(name))
        exits = (*tail.exits, block) if tail is not None else (block,)
        again = tail.again if tail is not None else None
        node = self.body(body, scope.with_block(block), Tail(exits, again))
        scope.function.top -= 1
        return BlockNode(block, node, scope.function)

    # Definitions

    def check_definable(self, name: Symbol, kind: str) -> None:
        """E-REDEFINE for a name of the standard, of core or of another module."""
        if name.home == "" and not self.m.may_redefine:
            self.refused.add(repr(name))
            raise problem(
                "E-REDEFINE",
                f"{name!r} is a name of the standard or of core",
                hint=f"give your own another name, such as my-{name!r}",
                name=repr(name),
                kind=kind,
            )
        module = self.m.module
        other = name.home is not None and module is not None and name.home not in ("", module.home)
        if other and self.m.is_defined(name):  # type: ignore[attr-defined]
            raise problem(
                "E-REDEFINE", f"{name!r} is a name of the module {name.home}", name=repr(name)
            )

    def assigned_global(self, name: Symbol, at: Cons) -> None:
        """A setq of a name that nothing binds: checked after loading."""
        if name.value is UNBOUND:
            self.m.keep(name)
            self.assignments.append((name, at))

    def evaluate_now(self, form: Value) -> Value:
        """A form's value at analysis, in the null lexical environment."""
        value: Value = self.m.evaluate_form(form)  # type: ignore[attr-defined]
        return value

    # Variables of the user

    def user_span(self, form: Value) -> Span | None:
        """The span of what a person wrote; None for what a macro made."""
        span = span_of(form)
        return None if isinstance(span, MadeSpan) else span

    def bound(self, variable: Variable, declared: Declarations) -> None:
        """A variable was bound: watch whether it is used."""
        if variable.name in declared.ignored or variable.span is None or variable.name.home is None:
            variable.used = True
        elif self.watching:
            self.watching[-1].append(variable)

    def check_used(self, variables: list[Variable], forms: Value) -> None:
        """W-UNUSED for each that is not. `forms`: what the body that binds them does."""
        for variable in variables:
            if not (variable.used or misread(variable, self.refused) or touched(variable, self)):
                self.m.warn(unused(variable, forms))


def _most(function: Function) -> float:
    return function.most if function.most is not None else float("inf")
