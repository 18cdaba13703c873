"""defmodel, defparam, with-scope, path, instance: calls that open scopes of parameters."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Change, Edit, Problem, problem
from ...evaluator import machine
from ...evaluator.definitions import body_macro, builtin, core_symbol, native_macro
from ...evaluator.values import (
    NIL,
    QUOTE,
    Cons,
    Function,
    String,
    Symbol,
    Value,
    first_value,
    keyword,
    make_list,
)
from ...ir.types import Type
from ...reader import element_span
from ...spans import Span
from ..arguments import dtype as dtype_of
from ..arguments import name_text, sizes
from ..faults import describe
from ..host import host, tracer
from ..init_program import init_of
from ..initialize import default_initializer
from ..scopes import join, path_text
from ..syntax import (
    Declaration,
    Slot,
    is_literal_list,
    keyword_pairs,
    lambda_of,
    literal,
    tails,
    unquoted,
)  # fmt: skip
from ..table import tensor_builtin

NAME_KEY, SHAPE = keyword("NAME"), keyword("SHAPE")
LAMBDA_KEYWORDS = ("&OPTIONAL", "&REST", "&KEY", "&ALLOW-OTHER-KEYS", "&AUX", "&BODY")


class Model:
    """A `defmodel`: its function and the name of the scope that a call opens."""

    __slots__ = ("function", "name", "required", "span")

    def __init__(self, name: str, span: Any) -> None:
        self.name = name
        self.function: Function | None = None
        self.required = 0
        self.span = span

    def call(self, arguments: tuple[Value, ...], opening: tuple[str, str] | None = None) -> Value:
        """A call: `:name` taken out, a scope opened, the body called."""
        assert self.function is not None
        t = tracer(self.name)
        name, rest = self._name(arguments)
        if name is None and opening is None and t.replacements:
            for replacement in t.replacements:
                if replacement.stands_in(self, t.scope):
                    return self.function.call(*rest)
        if name is None and opening is None and not t.scope.root and host().collector.knobs:
            from ..unnamed import warn_unnamed

            warn_unnamed(t, self.name)
        scope = t.open_path(*opening) if opening else t.open(name, self.name)
        with scope:
            found = self._made(t, rest)
            t.gave(first_value(found))
            return found

    def _made(self, t: Any, arguments: tuple[Value, ...]) -> Value:
        """What the body gives, or what the innermost replacement of this call does (R41)."""
        assert self.function is not None
        for replacement in reversed(t.replacements):
            if replacement.takes(self, t.scope):
                return replacement.call(t.scope, arguments)
        return self.function.call(*arguments)

    def _name(self, arguments: tuple[Value, ...]) -> tuple[str | None, tuple[Value, ...]]:
        for i in range(self.required, len(arguments) - 1):
            if arguments[i] is NAME_KEY:
                found = arguments[i + 1]
                text = None if found is NIL else path_text((found,))
                return text, arguments[:i] + arguments[i + 2 :]
        return None, arguments


@native_macro("defmodel")
def defmodel(form: Cons, environment: Value) -> Value:
    """(defmodel name lambda-list [doc] form...): a function whose call opens a scope."""
    d = Declaration(form)
    parts = tails(form.cdr)
    if len(parts) < 2 or not is_literal_list(parts[1].car):
        raise d.refuse("a model has a name and a lambda list", hint="(defmodel layer (x) form...)")
    symbol = d.name(parts[0], "the name of the model")
    _check_lambda_list(d, parts[1])
    model = Model(symbol.name.lower(), d.span)
    arguments = Symbol("ARGUMENTS", None)
    defined = make_list(
        [
            core_symbol("DEFUN"),
            symbol,
            make_list([core_symbol("&REST"), arguments]),
            arguments,
        ]
    )
    local = Cons(symbol, form.cdr.cdr, form.cdr.span)
    body = make_list(
        [
            core_symbol("FLET"),
            make_list([local]),
            make_list([core_symbol("FUNCTION"), symbol]),
        ]
    )
    made = make_list([core_symbol("%SET-MODEL"), model, make_list([QUOTE, symbol]), body])
    return make_list([core_symbol("PROGN"), defined, made])


def _check_lambda_list(d: Declaration, tail: Cons) -> None:
    """E-CONTRACT where the lambda list holds :name, which belongs to the call (R12)."""
    keys = False
    for part in tails(tail.car):
        word = part.car
        if word.__class__ is Symbol and word.name in LAMBDA_KEYWORDS:
            keys = word.name == "&KEY"
            continue
        named = word.car if word.__class__ is Cons else word
        if keys and named.__class__ is Symbol and named.name == "NAME":
            raise problem(
                "E-CONTRACT",
                f"{d.head}: name may not be a keyword of a model",
                hint=":name belongs to each call: it names the call's scope",
            ).locate(element_span(part) or d.span)


@builtin("%set-model", "(model name body)")
def set_model(model: Model, name: Symbol, body: Function) -> Value:
    """Makes a model's name call its body in a scope.

    The function is Python's, so that a wrong call is told at the call and not in the model."""
    model.function = body
    model.required = body.least
    at = machine.current()
    function = Function(
        repr(name),
        lambda *arguments: model.call(arguments),
        _with_name(body.lambda_list),
        body.least,
        None,
        body.doc,
        staged=True,
        span=model.span,
    )
    at.cell(name).define(function)
    collector = host().collector
    if at.module.home == collector.main:
        collector.claim("model", model.name, model.span)
        collector.models[model.name] = model
    host().models[id(function)] = (function, model)
    return name


def _with_name(lambda_list: str) -> str:
    text = "(" + lambda_list.strip("()") + ")" if not lambda_list.startswith("(") else lambda_list
    return text[:-1] + (" name)" if "&key" in text else " &key name)").replace("( ", "(")


def model_of(function: Value) -> Model | None:
    """The model behind a function object."""
    found = host().models.get(id(function))
    return found[1] if found is not None else None


@tensor_builtin("instance", "(model &key name)")
def instance(model: Value, *, name: Value = NIL) -> Function:
    """A function whose calls share their parameters; the scope is below the one open now.

    (let ((f (instance #'encoder :name "twin"))) (list (funcall f x) (funcall f y)))"""
    from ...evaluator.designators import function_of

    t = tracer("instance")
    found = model_of(function_of(model))
    if found is None:
        raise problem("E-TYPE", f"instance takes a model, not {describe(model)}", wanted="model")
    child = t.scope.child_name(name_text(name), found.name)
    opening = (join(t.scope.path, child), join(t.scope.site, child))
    return Function(
        found.name,
        lambda *arguments: found.call(arguments, opening),
        found.function.lambda_list if found.function else "(&rest arguments)",
        0,
        None,
        f"An instance of {found.name}.",
        staged=True,
    )


@tensor_builtin("path", "(&rest part)")
def path(*part: Value) -> String:
    """Parts joined with `/`: strings, symbols (lower case), integers. (path "h" i) => "h/3" """
    return String(path_text(part))


@native_macro("with-scope")
def with_scope(form: Cons, environment: Value) -> Value:
    """(with-scope name form...): a scope without a model."""
    if form.cdr.__class__ is not Cons:
        raise problem("E-FORM-SHAPE", "with-scope is (with-scope name form...)")
    body = Cons(core_symbol("LAMBDA"), Cons(NIL, form.cdr.cdr))
    return make_list([core_symbol("%WITH-SCOPE"), form.cdr.car, body])


@builtin("%with-scope", "(name body)", staged=True)
def call_with_scope(name: Value, body: Function) -> Value:
    """Calls body in a scope below the one open now."""
    t = tracer("with-scope")
    with t.open(path_text((name,)), "scope"):
        return body.call()


# Parameters


def shape_slots(d: Declaration, tail: Cons) -> Any:
    """A shape: a list of forms, or one form that is no list (R19)."""
    if is_literal_list(tail.car):
        return [d.slot(t, "a size") for t in literal(d, tail, "the shape")]
    return d.slot(tail, "the shape")


def check_shape_stands_second(d: Declaration, name: Symbol, parts: list[Cons]) -> None:
    """E-OPTION where a shape is given by the keyword that other frameworks have, with the edit."""
    at = next((i for i, t in enumerate(parts) if t.car is SHAPE), 0)
    if not 0 < at < len(parts) - 1:
        return
    before, word, shape = parts[1:at], element_span(parts[at]), element_span(parts[at + 1])
    edit, written = None, ""
    if word is not None and shape is not None and len(before) < 2:
        written = unquoted(shape.text)
        first = element_span(before[0]) if before else None
        init = f" :init {first.text}" if first is not None else ""
        start = first.start if first is not None else word.start
        whole = Span(word.source, start, shape.end)
        edit = Edit("give the shape second", (Change(whole, written + init),))
        written = f": ({d.head} {name!r} {written}{init})"
    raise problem(
        "E-OPTION",
        f"{d.head} has no option :shape",
        hint=f"the shape is the second argument{written}",
        edit=edit,
        option=":shape",
    ).locate(word)


def dtype_value(name: str, slot: Slot | None) -> str:
    """The dtype of an option, f32 without; E-DTYPE-ARGUMENT at what was written."""
    try:
        return dtype_of(name, NIL if slot is None else slot.value, "f32")
    except Problem as unknown:
        raise unknown.locate(None if slot is None else slot.span) from None


def shape_value(slots: Any) -> tuple[int, ...]:
    """The sizes that the slots hold."""
    if isinstance(slots, Slot):
        return sizes("a shape", slots.value)
    return tuple(s.integer(0) for s in slots)


@body_macro("defparam")
def defparam(form: Cons, rest: Value) -> Value:
    """(defparam name shape &key init dtype trainable), bound over the rest of the body."""
    d = Declaration(form)
    parts = tails(form.cdr)
    if len(parts) < 2:
        raise d.refuse("a parameter has a name and a shape", hint="(defparam w (in out) :init 0)")
    symbol = d.name(parts[0], "the name of the parameter")
    check_shape_stands_second(d, symbol, parts)
    shape = shape_slots(d, parts[1])
    options = keyword_pairs(d, parts[1].cdr, ("init", "dtype", "trainable"))
    slots = {key: d.slot(tail, f":{key}") for key, tail in options.items() if key != "init"}
    if "init" in options:
        at = options["init"]
        slots["init"] = d.made_slot(lambda_of(at.car), element_span(at), ":init")
    d.finish = lambda: _make_parameter(symbol.name.lower(), shape, slots)
    return bound_over(symbol, d.expansion(), rest)


def bound_over(symbol: Symbol, value: Value, rest: Value) -> Value:
    """(let ((symbol value)) rest...)"""
    body = rest if rest is not NIL else make_list([symbol])
    return Cons(core_symbol("LET"), Cons(make_list([make_list([symbol, value])]), body))


def _make_parameter(name: str, shape: Any, slots: dict[str, Slot]) -> Value:
    t = tracer("defparam")
    found = shape_value(shape)
    kind = dtype_value("defparam", slots.get("dtype"))
    given, type = slots.get("init"), Type(kind, found)
    init = default_initializer(found) if given is None else init_of(t, given, name, type)
    trainable = slots["trainable"].flag() if "trainable" in slots else True
    return t.parameter(name, type, init, trainable)
