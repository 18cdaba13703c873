"""defstate: values that live from step to step, read as variables and proposed by setf (45.3)."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Problem, problem
from ...evaluator.definitions import body_macro, builtin, core_symbol
from ...evaluator.values import Cons, Symbol, Value, first_value, make_list
from ...ir.types import FLOATS, Type
from ...reader import element_span
from ..arguments import dtype as dtype_of
from ..exact import is_number, round_to
from ..host import host, tracer, warn
from ..init_program import init_of
from ..initialize import Initializer
from ..promote import operands
from ..syntax import Declaration, Slot, keyword_pairs, lambda_of, tails, unknown_option
from ..table import tensor_builtin
from ..tensor import Tensor
from ..tracer import Tracer
from .models import check_shape_stands_second, shape_slots, shape_value

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
    check_shape_stands_second(d, symbol, parts)
    shape = d.slot(parts[2], ":like") if like else shape_slots(d, parts[1])
    rest_options = parts[2].cdr if like else parts[1].cdr
    options = keyword_pairs(d, rest_options, ("init", "dtype", "combine", "per"))
    slots = {key: d.slot(tail, f":{key}") for key, tail in options.items() if key != "init"}
    if "init" in options:
        at = options["init"]
        slots["init"] = d.made_slot(lambda_of(at.car), element_span(at), ":init")
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
    said = slots["dtype"].value if "dtype" in slots else _nil()
    kind = t.wide(dtype_of("defstate", said, default))
    given = slots.get("init")
    type = Type(kind, sizes)
    if t.optimizer is not None:
        for key in ("combine", "per"):
            if key in slots:
                known, of = (":init", ":dtype"), "an optimizer's state"
                raise unknown_option(of, f":{key}", known, slots[key].span)
        made = t.optimizer.state(name, type, _number(given, kind), "dtype" in slots)
        return StateReference(made)
    default_combine = "mean" if kind in FLOATS else "delta"
    combine = slots["combine"].choice(COMBINES) if "combine" in slots else default_combine
    init = Initializer("number", (0.0,)) if given is None else init_of(t, given, name, type)
    if "per" in slots:
        slots["per"].choice(("row",))
        if given is not None and (init.__class__ is not Initializer or init.kind != "number"):
            raise _no_number(name, given)
        sizes = (_rows_of_their_own(t, slots["per"]), *sizes)
    if combine == "concat":
        _queue(t, name, sizes)
    return StateReference(t.state(name, Type(kind, sizes), init, combine, "per" in slots))


def _no_number(name: str, slot: Slot) -> Problem:
    """E-OPTION-VALUE of what begins anew in each row, in the step's own program."""
    return problem(
        "E-OPTION-VALUE",
        f":init of the state {name}, which is :per :row, is no number",
        hint="give a number: each row begins with it, in each epoch anew",
    ).locate(slot.span)


def _rows_of_their_own(t: Tracer, slot: Slot) -> int:
    """b, the rows in front of a state :per :row (R3); E-OUTPUT where an output takes none."""
    output = host().collector.outputs.get(str(t.context.values.get("output")))
    if output is not None and not output.state:
        raise problem(
            "E-OUTPUT",
            f"output {output.name} reaches a state :per :row, and takes none",
            hint="with (:state t) it takes them, from :init where none is given, and returns them",
            edit=output.other_state,
            output=output.name,
        ).locate(output.span)
    if t.rows is None:
        raise problem("E-STAGE-OUTSIDE", "a state :per :row: there are no rows here").locate(
            slot.span
        )
    if t.order != "streams" and not t.fed:
        warn(
            "W-STATE-ROWS",
            f"rows of :{t.stage} do not continue from batch to batch: its order is :{t.order}",
            hint="(stage ... :order :streams)",
        )
    return t.rows


def _queue(t: Tracer, name: str, sizes: tuple[int, ...]) -> None:
    """E-STATE-ROWS where rows of a batch do not fill a queue evenly (R37)."""
    rows = t.context.values.get("batch") or 1
    if not sizes or sizes[0] % rows:
        raise problem(
            "E-STATE-ROWS",
            f"the state {name} holds {sizes[0] if sizes else 1} rows, no multiple of the batch's "
            f"{rows}",
            rows=rows,
        )


@tensor_builtin("push-rows", "(queue x)")
def push_rows(queue: Value, x: Value) -> Tensor:
    """The rows of a queue without the oldest, and those of x behind them (R37). A, gradient 0.

    (setf queue (push-rows queue key))"""
    t, (kept, new) = operands("push-rows", (queue, x))
    if not kept.shape or kept.shape[1:] != new.shape[1:] or kept.shape[0] < new.shape[0]:
        raise problem(
            "E-SHAPE-ARGUMENT", f"push-rows of {new.type} to a queue of {kept.type}: rows differ"
        )
    b, rest = t.builder, kept.shape[1:]
    starts, zeros = (new.shape[0], *(0 for _ in rest)), (1,) * len(kept.shape)
    younger = b("slice", kept, starts=starts, stops=kept.shape, steps=zeros)
    return t.tensor(b("stop-gradient", b("concat", younger, new, axis=0)))


def _nil() -> Value:
    from ...evaluator.values import NIL

    return NIL


def _number(slot: Slot | None, dtype: str) -> float:
    if slot is None:
        return 0.0
    slot.value = first_value(slot.function().call())
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
    t = tracer("a state")
    if t.optimizer is not None:
        t.optimizer.write(reference.key, value)
    else:
        dtype = t.states[reference.key].type.dtype
        node = operands("setf", (value,), dtype=dtype)[1][0]
        t.set_state(reference.key, node)
    return value
