"""defstate: values that live from step to step, read as variables and proposed by setf (45.3)."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ...evaluator.definitions import body_macro, builtin, core_symbol
from ...evaluator.values import Cons, Symbol, Value, make_list
from ...ir.types import FLOATS, Type
from ..arguments import dtype as dtype_of
from ..exact import is_number, round_to
from ..host import tracer
from ..initialize import Initializer, initializer_of
from ..syntax import Declaration, Slot, keyword_pairs, tails
from ..tensor import Tensor
from .models import shape_slots, shape_value

COMBINES = ("mean", "delta", "sum", "max", "min", "concat")


class StateReference:
    """What the variable of a state stands for: its path in a model, or its name in an optimizer."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key


@body_macro("defstate")
def defstate(form: Cons, rest: Value) -> Value:
    """(defstate name shape &key init dtype combine per), bound over the rest of the body.

    In an optimizer (defstate m :like param) too."""
    d = Declaration(form)
    parts = tails(form.cdr)
    symbol = d.name(form.cdr, "the name of the state")
    like = len(parts) > 2 and getattr(parts[1].car, "name", "") == "LIKE"
    if len(parts) < 2:
        raise d.refuse("a state has a name and a shape", hint="(defstate mean (d) :init 0)")
    shape = d.slot(parts[2], ":like") if like else shape_slots(d, parts[1])
    rest_options = parts[2].cdr if like else parts[1].cdr
    options = keyword_pairs(d, rest_options, ("init", "dtype", "combine", "per"))
    slots = {key: d.slot(tail, f":{key}") for key, tail in options.items()}
    d.finish = lambda: _make_state(symbol.name.lower(), shape, like, slots)
    return _bound(symbol, d.expansion(), rest)


def _bound(symbol: Symbol, value: Value, rest: Value) -> Value:
    """(let ((r value)) (symbol-macrolet ((symbol (%state r))) rest...))"""
    reference = Symbol("STATE", None)
    read = make_list([core_symbol("%STATE"), reference])
    inner = Cons(core_symbol("SYMBOL-MACROLET"), Cons(make_list([make_list([symbol, read])]), rest))
    return make_list([core_symbol("LET"), make_list([make_list([reference, value])]), inner])


def _make_state(name: str, shape: Any, like: bool, slots: dict[str, Slot]) -> StateReference:
    t = tracer("defstate")
    template: Any = shape.value if like else None
    if like and not isinstance(template, Tensor):
        raise shape.refuse("a tensor, as :like param", "E-STAGE-VALUE")
    sizes = template.shape if like else shape_value(shape)
    default = template.dtype if like and template.dtype in FLOATS else "f32"
    kind = dtype_of("defstate", slots["dtype"].value if "dtype" in slots else _nil(), default)
    given = slots.get("init")
    if t.optimizer is not None:
        return StateReference(t.optimizer.state(name, Type(kind, sizes), _number(given, kind)))
    if "per" in slots:
        raise problem(
            "E-UNSUPPORTED", "a state :per :row is not there yet", hint="carry it in the batch"
        ).locate(slots["per"].span)
    default_combine = "mean" if kind in FLOATS else "delta"
    combine = slots["combine"].choice(COMBINES) if "combine" in slots else default_combine
    init = (
        Initializer("number", (0.0,))
        if given is None
        else initializer_of(given.value, name, given.span)
    )
    return StateReference(t.state(name, Type(kind, sizes), init, combine))


def _nil() -> Value:
    from ...evaluator.values import NIL

    return NIL


def _number(slot: Slot | None, dtype: str) -> float:
    if slot is None:
        return 0.0
    if not is_number(slot.value):
        raise slot.refuse("a number: an optimizer's state begins as one everywhere")
    return float(round_to(slot.value, dtype))


@builtin("%state", "(reference)", staged=True)
def state(reference: StateReference) -> Value:
    """A state's value: the last one set in this trace."""
    t = tracer("a state")
    return (
        t.optimizer.read(reference.key) if t.optimizer is not None else t.read_state(reference.key)
    )


@builtin("%set-state", "(reference value)", staged=True)
def set_state(reference: StateReference, value: Value) -> Value:
    """Proposes a state's next value."""
    from ..promote import operands

    t = tracer("a state")
    if t.optimizer is not None:
        t.optimizer.write(reference.key, value)
    else:
        dtype = t.states[reference.key].type.dtype
        node = operands("setf", (value,), dtype=dtype)[1][0]
        t.set_state(reference.key, node)
    return value
