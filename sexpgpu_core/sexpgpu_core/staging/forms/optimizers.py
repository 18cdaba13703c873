"""defoptimizer, defschedule, select, group, groups: who updates which parameter, and how."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ...evaluator.builtins.listing import proper
from ...evaluator.declarations import DECLARE, items_of
from ...evaluator.definitions import builtin, core_symbol, native_macro
from ...evaluator.printer import brief
from ...evaluator.values import (
    NIL,
    Cons,
    Function,
    String,
    Symbol,
    T,
    Value,
    first_value,
    keyword,
    list_items,
    make_list,
)  # fmt: skip
from ...records import NamedTuple
from ...spans import Span
from ..arguments import choice, kept_in, name_text, of_trained
from ..exact import is_number
from ..faults import describe
from ..host import tracer
from ..origins import called_from_file
from ..selectors import Selector
from ..syntax import Declaration, literal, tails, take_doc
from ..table import tensor_builtin
from ..tensor import StepScalar, is_tensor, tree_of

REST = keyword("REST")
FROZEN = keyword("FROZEN")


class Optimizer(NamedTuple):
    """A value of `defoptimizer`: hyperparameters by name, and the body (param grad) -> param.

    state_dtype: what its own :state-dtype says of states that have no :dtype; None: nothing."""

    name: str
    hyper: tuple[tuple[str, Any], ...]
    body: Function
    span: Span | None
    state_dtype: str | None = None
    defaults: tuple[tuple[str, Any], ...] = ()  # numbers that hyperparameters are by themselves


class GroupValue(NamedTuple):
    """A value of `group`. `optimizer` None: frozen. `selector` None: :rest."""

    selector: Selector | None
    optimizer: Optimizer | None
    dtype: str | None
    loss: str | None
    every: int
    offset: int
    optional: bool
    span: Span | None


class GroupsValue(NamedTuple):
    """A value of `groups`; clip_norm, clip_value, ema are None, a number or a tree."""

    groups: tuple[GroupValue, ...]
    clip_norm: Any
    clip_value: Any
    ema: Any
    ema_state: bool


# Optimizers


@native_macro("defoptimizer")
def defoptimizer(form: Cons, environment: Value) -> Value:
    """(defoptimizer name (&key ..) [doc] (defstate ..)* (optimizer-update (param grad) form..))"""
    d = Declaration(form)
    parts = tails(form.cdr)
    if len(parts) < 3:
        raise d.refuse("name, lambda list and (optimizer-update (param grad) form...)")
    symbol = d.name(form.cdr, "the name of the optimizer")
    doc, rest = take_doc(parts[1].cdr)
    states, update = _split_body(d, rest)
    names = tails(update.car.cdr.car) if update.car.cdr.__class__ is Cons else []
    if len(names) != 2:
        raise problem(
            "E-OPTIMIZER-UPDATE",
            f"{symbol.name.lower()}: optimizer-update takes a parameter and a gradient",
            hint="(optimizer-update (param grad) form...)",
        ).locate(d.span)
    body = Cons(
        core_symbol("LAMBDA"),
        Cons(
            make_list([n.car for n in names]),
            make_list([*states, *items_of(update.car.cdr.cdr, update.car)]),
        ),
    )
    hyper = [Cons(core_symbol("LIST"), make_list(_hyper(d, parts[1])))]
    named = String(symbol.name.lower())
    made = make_list([core_symbol("%MAKE-OPTIMIZER"), named, *hyper, body, _defaults(parts[1])])
    documented = [String(doc)] if doc else []
    return make_list([core_symbol("DEFUN"), symbol, parts[1].car, *documented, made])


def _split_body(d: Declaration, rest: Value) -> tuple[list[Value], Cons]:
    """The defstate forms, and the tail that holds optimizer-update."""
    states: list[Value] = []
    for tail in tails(rest):
        head = tail.car.car if tail.car.__class__ is Cons else None
        word = head.name if head.__class__ is Symbol else ""
        if word == "OPTIMIZER-UPDATE":
            return states, tail
        if word != "DEFSTATE":
            break
        states.append(tail.car)
    raise problem(
        "E-OPTIMIZER-UPDATE",
        "optimizer-update is missing",
        hint="after the states: (optimizer-update (param grad) (- param (* lr grad)))",
    ).locate(d.span)


def _hyper(d: Declaration, tail: Cons) -> list[Value]:
    """:name name for each parameter."""
    found: list[Value] = []
    for at in literal(d, tail, "the lambda list"):
        word = at.car
        if word.__class__ is not Symbol or not word.name.startswith("&"):
            symbol = word.car if word.__class__ is Cons else word
            if symbol.__class__ is Cons and symbol.cdr.__class__ is Cons:
                symbol = symbol.cdr.car
            if symbol.__class__ is not Symbol:
                raise d.refuse(f"{brief(symbol)} is no parameter", at)
            found += [keyword(symbol.name), symbol]
    return found


class Defaults:
    """Numbers that stand as defaults in a lambda list; evaluates to itself."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: tuple[tuple[str, Any], ...]) -> None:
        self.pairs = pairs


def _defaults(tail: Cons) -> Defaults:
    words = [t.car for t in tails(tail.car) if t.car.__class__ is Cons]
    pairs = [(w.car, w.cdr.car) for w in words if w.cdr.__class__ is Cons]
    return Defaults(
        tuple((s.name.lower(), n) for s, n in pairs if s.__class__ is Symbol and is_number(n))
    )


@builtin("%make-optimizer", "(name hyper body defaults)", staged=True)
def make_optimizer(name: String, hyper: Value, body: Function, defaults: Any) -> Optimizer:
    """An optimizer value; a hyperparameter is a number, a step scalar or a plain word. Those of
    an optimizer that is given are its own too."""
    items = list_items(hyper)
    pairs: list[tuple[str, Any]] = []
    for key, value in zip(items[::2], items[1::2]):
        word = key.name.lower()
        if isinstance(value, Optimizer):
            pairs += [pair for pair in value.hyper if pair[0] not in dict(pairs)]
            continue
        none = value is NIL and word in dict(defaults.pairs)
        if none or is_tensor(value) or isinstance(value, (String, Function)):
            raise problem(
                "E-SCHEDULE",
                f":{word} of {name.text()} is {describe(value)}",
                hint="a number or a step scalar, such as (optim:warmup-cosine 1e-3 :warmup 100)",
            )
        pairs.append((word, value))
    given = dict(zip((key.name for key in items[::2]), items[1::2])).get("STATE-DTYPE", NIL)
    kept = None if given is NIL else choice(name.text(), "state-dtype", given, ("f32", "bf16"))
    span = called_from_file()
    return Optimizer(name.text(), tuple(pairs), body, span, kept, defaults.pairs)


@native_macro("defschedule")
def defschedule(form: Cons, environment: Value) -> Value:
    """(defschedule name lambda-list [doc] form...): its value is a step scalar (R17)."""
    d = Declaration(form)
    parts = tails(form.cdr)
    if len(parts) < 3:
        raise d.refuse("name, lambda list and forms")
    symbol = d.name(form.cdr, "the name of the schedule")
    before, rest = _declarations(parts[1].cdr)
    doc, rest = take_doc(rest)
    behind, rest = _declarations(rest)
    body = Cons(core_symbol("LET"), Cons(NIL, rest))
    checked = make_list([core_symbol("%SCHEDULE"), String(symbol.name.lower()), body])
    documented = [String(doc)] if doc else []
    declared = [*documented, *before, *behind]
    return make_list([core_symbol("DEFUN"), symbol, parts[1].car, *declared, checked])


def _declarations(rest: Value) -> tuple[list[Value], Value]:
    """(declare ...) forms, which are of the parameters, and what follows them."""
    found: list[Value] = []
    while rest.__class__ is Cons and rest.car.__class__ is Cons and rest.car.car is DECLARE:
        found.append(rest.car)
        rest = rest.cdr
    return found, rest


@builtin("%schedule", "(name value)", staged=True)
def schedule(name: String, value: Value) -> Value:
    """The value of a schedule; E-SCHEDULE where it is neither a number nor a step scalar."""
    if is_number(value) or value.__class__ is StepScalar:
        return value
    raise problem(
        "E-SCHEDULE",
        f"the schedule {name.text()} gives {describe(value)}",
        hint="arithmetic on (ctx :step) and numbers",
    )


# Groups


@tensor_builtin("group", "(selector optimizer &key loss every offset optional dtype)")
def group(
    selector: Value,
    optimizer: Value,
    *,
    loss: Value = NIL,
    every: Value = NIL,
    offset: Value = NIL,
    optional: Value = NIL,
    dtype: Value = NIL,
) -> GroupValue:
    """Who updates what a selector picks: an optimizer value, or :frozen.

    (group :rest (optim:adamw))"""
    if selector is not REST and not isinstance(selector, Selector):
        text = brief(selector) if isinstance(selector, String) else None
        meant = f"(select :path {text})" if text else None
        raise problem("E-CONTRACT", f"group: {describe(selector)} is no selector", written=text,
                      hint=meant or "(select :rank 2), or :rest", nearest=meant)  # fmt: skip
    if optimizer is not FROZEN and not isinstance(optimizer, Optimizer):
        raise problem(
            "E-CONTRACT",
            f"group: {describe(optimizer)} is no optimizer",
            hint="(optim:adamw :lr 1e-3), or :frozen",
        )
    of_trained(optimizer is FROZEN, every=every, offset=offset, loss=loss)
    if optional is not NIL and optional is not T:
        told = f":optional of group is {describe(optional)}"
        raise problem("E-OPTION-VALUE", told, hint="give t or nil", option=":optional")
    return GroupValue(
        selector if isinstance(selector, Selector) else None,
        optimizer if isinstance(optimizer, Optimizer) else None,
        kept_in(optimizer is FROZEN, dtype),
        name_text(loss),
        *_cadence(every, offset),
        optional is not NIL,
        called_from_file(),
    )


def _cadence(every: Value, offset: Value) -> tuple[int, int]:
    """Steps between updates, and the first; E-OPTION-VALUE."""
    from ..promote import integer

    period = 1 if every is NIL else integer("group", "every", every)
    first = 0 if offset is NIL else integer("group", "offset", offset)
    if period < 1 or not 0 <= first < period:
        raise problem(
            "E-OPTION-VALUE",
            f"group :every {period} :offset {first}",
            hint="steps t with t mod :every = :offset: :every from 1, :offset below it",
        )
    return period, first


GROUPS_OPTIONS = ("clip-norm", "clip-value", "ema", "ema-state")


@tensor_builtin("groups", "(&rest options-and-groups)")
def groups(*arguments: Value) -> GroupsValue:
    """All groups, the first that matches wins; :clip-norm, :clip-value, :ema before them.

    (groups :clip-norm 1.0 (group :rest (optim:adamw :lr 1e-3)))"""
    options: dict[str, Any] = {}
    at = 0
    while at < len(arguments) and arguments[at].__class__ is Symbol and arguments[at].keyword:
        name = arguments[at].name.lower()
        if name not in GROUPS_OPTIONS:
            from ..option_habits import meant

            near, elsewhere = meant(name, GROUPS_OPTIONS)
            hint = f"did you mean :{near}?" if near else elsewhere
            hint = hint or "options: :" + " :".join(GROUPS_OPTIONS)
            raise problem(
                "E-OPTION", f"groups has no option :{name}", hint=hint, option=":" + name,
                written=f":{name}", nearest=f":{near}" if near else None,
            )  # fmt: skip
        if at + 1 >= len(arguments):
            raise problem("E-CALL-KEYWORD", f"groups: :{name} has no value")
        if name in options:
            raise problem("E-TWICE", f"groups: :{name} stands twice", name=name)
        options[name] = arguments[at + 1]
        at += 2
    found = _flat(arguments[at:])
    ema_state = options.pop("ema-state", NIL) is not NIL
    values = {key: _option(key, value) for key, value in options.items()}
    if ema_state and values.get("ema") is None:
        told = "groups: :ema-state t without :ema"
        raise problem("E-OPTION-VALUE", told, hint=":ema 0.999 :ema-state t")
    return GroupsValue(
        tuple(found),
        values.get("clip-norm"),
        values.get("clip-value"),
        values.get("ema"),
        ema_state,
    )


_GROUP = "(group :rest (optim:adamw))"
_ORDER = "options stand before the groups: (groups :clip-norm 1.0 (group ...))"


def _option_name(value: Value) -> bool:
    return value.__class__ is Symbol and value.name.lower() in GROUPS_OPTIONS


def _flat(values: tuple[Value, ...]) -> list[GroupValue]:
    found: list[GroupValue] = []
    for value in values:
        if isinstance(value, GroupValue):
            found.append(value)
        elif value.__class__ is Cons or value is NIL:
            found += _flat(tuple(proper("groups", value)))
        else:
            told = f"groups: {describe(value)} is no group"
            raise problem("E-CONTRACT", told, hint=_ORDER if _option_name(value) else _GROUP)
    return found


def _option(key: str, value: Value) -> Any:
    if value is NIL:
        return None
    if is_number(value) and not (0 <= value <= 1 if key == "ema" else value > 0):
        wanted = "from 0 to 1" if key == "ema" else "above 0"
        raise problem(
            "E-OPTION-VALUE", f":{key} of groups is {describe(value)}", hint=f"a number {wanted}"
        )
    if is_number(value) or value.__class__ is StepScalar:
        return tree_of(value)
    raise problem(
        "E-SCHEDULE", f":{key} of groups is {describe(value)}", hint="a number or a step scalar"
    )


@tensor_builtin("optimizer-apply", "(optimizer param grad)")
def optimizer_apply(optimizer: Value, param: Value, grad: Value) -> Value:
    """The parameter as another optimizer would update it, whose states join those of the body.

    (optimizer-apply inner param grad)"""
    at = tracer("optimizer-apply").optimizer
    if at is None:
        raise problem("E-STAGE-OUTSIDE", "optimizer-apply stands outside optimizer-update")
    if not isinstance(optimizer, Optimizer):
        raise problem(
            "E-CONTRACT",
            f"optimizer-apply: {describe(optimizer)} is no optimizer",
            hint="(optim:adamw :lr 1e-3)",
        )
    with at.keeping(optimizer.state_dtype):
        return first_value(optimizer.body.call(param, grad))


@tensor_builtin("param-path", "(param)")
def param_path(param: Value) -> String:
    """The path of the parameter whose update is traced. (param-path param)"""
    t = tracer("param-path")
    if t.optimizer is None:
        raise problem("E-STAGE-OUTSIDE", "param-path stands outside optimizer-update")
    return String(t.optimizer.asked_path())


@tensor_builtin("group-updates", "()")
def group_updates() -> StepScalar:
    """The group's committed updates, 0 at the first: what bias corrections use. (group-updates)"""
    t = tracer("group-updates")
    if t.optimizer is None:
        raise problem("E-STAGE-OUTSIDE", "group-updates stands outside optimizer-update")
    return StepScalar(("ctx", t.optimizer.updates_key))
