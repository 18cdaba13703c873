"""`with-call`: a call of a model inside other people's models, done by another function (R41).

The replacement runs in the scope of the call that it replaces, so the parameters of both keep
their paths.
"""

from __future__ import annotations

from ...diagnostics import nearest, problem
from ...evaluator.definitions import builtin, core_symbol, native_macro
from ...evaluator.designators import function_of
from ...evaluator.values import NIL, Cons, Function, String, Value, make_list
from ..faults import describe
from ..host import tracer
from ..scopes import Scope
from ..selectors import glob_pattern
from ..syntax import Declaration, keyword_pairs, literal, tails
from .models import Model, model_of


@native_macro("with-call")
def with_call(form: Cons, environment: Value) -> Value:
    """(with-call (model [:path glob]) function form...): calls of a model in the forms are done by
    a function of the same arguments; called in it once, the model is the original."""
    d = Declaration(form)
    parts = tails(form.cdr)
    if len(parts) < 3:
        raise d.refuse("which calls, a function and forms", hint=HINT)
    head = literal(d, parts[0], "which calls")
    name = d.name(parts[0].car, "the model")
    path = keyword_pairs(d, head[0].cdr, ("path",), "with-call").get("path")
    body = Cons(core_symbol("LAMBDA"), Cons(NIL, parts[1].cdr))
    model = make_list([core_symbol("FUNCTION"), name])
    glob = path.car if path is not None else String("**")
    return make_list([core_symbol("%WITH-CALL"), model, glob, parts[1].car, body])


HINT = '(with-call (nn:linear :path "**/attention/*") #\'lora-linear (net x))'


class Replacement:
    """Calls of `model` below the paths of `glob`, while the forms of a with-call run."""

    __slots__ = ("_pattern", "done", "function", "glob", "model", "open", "seen")

    def __init__(self, model: Model, glob: str, function: Function) -> None:
        self.model, self.glob, self.function = model, glob, function
        self._pattern = glob_pattern(glob)
        self.open: Scope | None = None  # of the call that is being replaced
        self.done = False  # whether the original was called in it
        self.seen: dict[str, bool] = {}  # paths of the model's calls: whether they were replaced

    def takes(self, model: Model, scope: Scope) -> bool:
        """Whether a call in its scope is one to replace; inside of a replacement none is."""
        if model is not self.model or self.open is not None:
            return False
        found = self._pattern.match(scope.path) is not None
        self.seen[scope.path] = found
        return found

    def call(self, scope: Scope, arguments: tuple[Value, ...]) -> Value:
        """The replacement's value, in the scope of the call."""
        own = model_of(self.function)
        function = own.function if own is not None else None
        self.open, self.done = scope, False
        try:
            return (function or self.function).call(*arguments)
        finally:
            self.open = None

    def stands_in(self, model: Model, scope: Scope) -> bool:
        """Whether a call without a name is the original's: once, in the scope of the call."""
        if model is not self.model or scope is not self.open:
            return False
        if self.done:
            raise problem(
                "E-PARAM-DUPLICATE",
                f"the replacement of {scope.path} calls {model.name} twice",
                hint="the original is called once; give another call a :name of its own",
                path=scope.path,
            )
        self.done = True
        return True


@builtin("%with-call", "(model glob function body)", staged=True)
def call_with_replacement(model: Value, glob: Value, function: Value, body: Function) -> Value:
    """Calls body with a replacement; E-OPTION-VALUE where it replaces no call."""
    t = tracer("with-call")
    of = model_of(model)
    if of is None:
        raise problem("E-TYPE", f"with-call takes a model, not {describe(model)}", wanted="model")
    if not isinstance(glob, String):
        raise problem("E-OPTION-VALUE", f":path of with-call is {describe(glob)}, wants a string")
    made = Replacement(of, glob.text(), function_of(function))
    t.replacements.append(made)
    try:
        found = body.call()
    finally:
        t.replacements.remove(made)
    if not any(made.seen.values()):
        raise _nothing(made)
    return found


def _nothing(made: Replacement) -> Exception:
    near = nearest(made.glob, made.seen)
    calls = " ".join(list(made.seen)[:6])
    hint = f"did you mean {near}?" if near else f"its calls here: {calls or 'none'}"
    return problem(
        "E-OPTION-VALUE",
        f'with-call: no call of {made.model.name} has a path like "{made.glob}"',
        hint=hint,
        path=made.glob,
    )
