"""`(ctx key)`, `(loader-info loader key)`, and macros that change a setting over forms."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...diagnostics import nearest, problem
from ...evaluator.definitions import core_symbol, native_macro
from ...evaluator.values import NIL, Cons, Symbol, Value, keyword, make_list
from ...ir.policy import CHOICES
from ...ir.types import Type, numpy_dtype
from ..collector import asked
from ..context import NAMES, SCALED, Context, lisp_value
from ..faults import describe
from ..host import host, tracer, warn
from ..syntax import Declaration, Slot, keyword_pairs, tails
from ..table import tensor_builtin
from ..tensor import FileTensor


@tensor_builtin("ctx", "(key &rest more)")
def ctx(key: Value, *more: Value) -> Value:
    """What a place knows of the run (contracts/ctx.md): numbers, texts and step scalars.

    (ctx :step)"""
    if key.__class__ is not Symbol or not key.keyword:
        raise problem("E-CTX-KEY", f"ctx takes a keyword, not {describe(key)}", hint="(ctx :step)")
    at = host()
    name = key.name.lower()
    if at.tracer is not None:
        context = at.tracer.context
        if name == "mode" and context.place in "POEGU":
            return keyword(at.tracer.mode[1:].upper())
        found = context.ask(name, more)
        _warn_of_layout(context, name)
        return found
    if at.context is None:
        raise problem(
            "E-CTX-KEY",
            f"(ctx :{name}) where no key is known",
            hint="ask inside prepare, objective, evaluate, optimizer, curriculum, an output "
            "or a counter",
            key=name,
        )
    found = at.context.ask(name, more)
    _warn_of_layout(at.context, name)
    return found


def _warn_of_layout(context: Context, key: str) -> None:
    """W-CTX-SCALE: what is traced with these numbers depends on how the batch is cut."""
    if context.place in SCALED.get(key, ""):
        warn(
            "W-CTX-SCALE",
            f"(ctx :{key}) in {NAMES[context.place]}: what is computed depends on how the batch "
            "is cut",
            key=key,
        )


@native_macro("loader-info")
def loader_info(form: Cons, environment: Value) -> Value:
    """(loader-info loader key): a number of the loader's header, :vocab :examples :classes."""
    d = Declaration(form)
    loader = d.name(form.cdr, "the loader")
    if form.cdr.cdr.__class__ is not Cons:
        raise d.refuse("a loader and a key", hint="(loader-info text :vocab)")
    key = d.slot(form.cdr.cdr, "the key of loader-info")
    d.finish = lambda: _info(loader.name.lower(), key)
    return d.expansion()


def _known(loader: str) -> None:
    """E-LOADER-STAGE of a loader that is none."""
    loaders = host().collector.loaders
    if loader not in loaders:
        near = nearest(loader, loaders)
        raise problem(
            "E-LOADER-STAGE",
            f"no loader {loader}",
            hint=f"did you mean {near}?" if near else "declare it by (defloader ...) before this",
        )


@native_macro("loader-batch")
def loader_batch(form: Cons, environment: Value) -> Value:
    """(loader-batch loader stage number): a batch in training order, fields by keywords, in `eval`
    only: `sexpgpu eval FILE --run '(loader-batch text :train 17)'` shows its numbers."""
    d = Declaration(form)
    loader, parts = d.name(form.cdr, "the loader"), tails(form.cdr)
    if len(parts) != 3:
        raise d.refuse("it takes a loader, a stage and a number")
    stage, number = (d.slot(p, f"the {w} of a batch") for p, w in zip(parts[1:], WORDS))
    d.finish = lambda: _batch(loader.name.lower(), stage, number)
    return d.expansion()


WORDS = ("stage", "number")


def _cast(array: Any, dtype: str) -> Any:
    return array.astype(numpy_dtype(dtype), copy=False)


def _batch(name: str, stage: Slot, number: Slot) -> Value:
    at = host()
    _known(name)
    if at.batches is None:
        raise problem(
            "E-STAGE-OUTSIDE",
            "loader-batch stands outside of `sexpgpu eval` of a run file",
            hint="prepare, objective and evaluate take the fields of a batch as keywords",
        )
    loader, step = at.batches[name], number.integer(0)
    of = stage.choice(list(at.collector.loaders[name].stages))
    found: list[Value] = []
    types = loader.fields(of)
    for field, array in loader.batch(of, step).items():
        told = Type(types[field].dtype, tuple(map(int, array.shape)))
        source = f"{name}:{of}:{step}:{field}"
        found += [keyword(field.upper()), FileTensor(told, source, partial(_cast, array), {})]
    return make_list(found)


def _info(loader: str, key: object) -> Value:
    assert isinstance(key, Slot)
    collector = host().collector
    _known(loader)
    name = key.value.name.lower() if key.value.__class__ is Symbol else ""
    facts = collector.header(loader)
    facts["examples"], unread = facts.pop("count", None), facts.pop("unread", None)
    if facts.get(name) is None and unread is not None:
        raise asked(unread)
    if name not in facts or facts[name] is None:
        known = [k for k, v in facts.items() if isinstance(v, int)]
        near, listed = nearest(name, known), " ".join(f":{k}" for k in known)
        raise problem(
            "E-OPTION",
            f"loader-info {loader} has no :{name}",
            hint=f"did you mean :{near}?" if near else f"known: {listed or 'none'}",
            option=":" + name,
            written=":" + name,
            nearest=":" + near if near else None,
        )
    return lisp_value(facts[name])


def _with(what: str, value: Value, forms: Value) -> Value:
    body = Cons(core_symbol("LAMBDA"), Cons(NIL, forms))
    return make_list([core_symbol("%WITH"), what, value, body])


@native_macro("f32")
def f32(form: Cons, environment: Value) -> Value:
    """(f32 form...): a precision island."""
    return _with("policy", "f32", form.cdr)


@native_macro("checkpoint")
def checkpoint(form: Cons, environment: Value) -> Value:
    """(checkpoint form...): what the forms compute is computed again in the backward pass rather
    than kept. A checkpoint inside another is part of it."""
    return _with("copy", Checkpoint(), form.cdr)


class Checkpoint:
    """The number of a new checkpoint, or of the one around."""

    __slots__ = ()

    def __call__(self, before: int) -> int:
        if before:
            return before
        t = tracer("checkpoint")
        t.checkpoints += 1
        return t.checkpoints


class Toggle:
    """A change of a setting, applied to the value before."""

    __slots__ = ("by",)

    def __init__(self, by: int) -> None:
        self.by = by

    def __call__(self, before: int) -> int:
        return before + self.by


@native_macro("with-frozen")
def with_frozen(form: Cons, environment: Value) -> Value:
    """(with-frozen form...): gradients go to inputs only (R34)."""
    return _with("frozen", Toggle(1), form.cdr)


@native_macro("with-mode")
def with_mode(form: Cons, environment: Value) -> Value:
    """(with-mode :eval form...): (ctx :mode) in the forms (R36)."""
    mode = form.cdr.car if form.cdr.__class__ is Cons else NIL
    name = mode.name.lower() if mode.__class__ is Symbol and mode.keyword else ""
    if name not in ("eval", "train"):
        raise problem("E-OPTION-VALUE", "with-mode is (with-mode :eval form...) or :train")
    return _with("mode", ":" + name, form.cdr.cdr)


@native_macro("with-weights")
def with_weights(form: Cons, environment: Value) -> Value:
    """(with-weights :ema form...): parameters are their averages of the step's start; no gradient
    flows to them (R36)."""
    which = form.cdr.car if form.cdr.__class__ is Cons else NIL
    name = which.name.lower() if which.__class__ is Symbol and which.keyword else ""
    if name not in ("ema", "live"):
        raise problem(
            "E-OPTION-VALUE", "with-weights is (with-weights :ema form...) or :live", value=name
        )
    return _with("weights", name, form.cdr.cdr)


@native_macro("with-numerics")
def with_numerics(form: Cons, environment: Value) -> Value:
    """(with-numerics (:matmul :f32 :accumulate :f32 :tf32 nil) form...): a policy for the scope."""
    d = Declaration(form)
    if form.cdr.__class__ is not Cons:
        raise d.refuse("options in a list, then forms")
    words = []
    for key, tail in sorted(keyword_pairs(d, form.cdr.car, tuple(CHOICES)).items()):
        name = tail.car.name.lower() if tail.car.__class__ is Symbol else describe(tail.car)
        if name not in CHOICES[key]:
            near = nearest(name, CHOICES[key])
            raise problem(
                "E-OPTION-VALUE",
                f"with-numerics: :{key} is one of {' '.join(CHOICES[key])}, not {name}",
                hint=f"did you mean {near}?" if near else None,
                option=":" + key,
                value=name,
            )
        words.append(f"{key}={name}")
    return _with("policy", " ".join(words), form.cdr.cdr)


@native_macro("per-block")
def per_block(form: Cons, environment: Value) -> Value:
    """(per-block form): meant over the b rows of a block (R2)."""
    return Cons(core_symbol("%PER-BLOCK"), form.cdr)


@tensor_builtin("%per-block", "(x)")
def mark_per_block(x: Value) -> Value:
    """Notes that the value is meant over the rows of a block: the loss is the mean over blocks."""
    from ..mixing import BY_BLOCK
    from ..promote import node_of

    t = tracer("per-block")
    t.in_step("per-block")
    node = node_of("per-block", x, t)
    t.per_block.add((node.node.id, node.result))
    what = f"a value is meant over the {t.rows} rows of a block"
    warn("W-BATCH-DEPENDENCE", what, hint=BY_BLOCK, rows=t.rows)
    return x
