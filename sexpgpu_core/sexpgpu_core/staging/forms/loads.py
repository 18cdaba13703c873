"""load-params: weights that a model begins with, of files or of another run's checkpoint (R35)."""

from __future__ import annotations

from typing import Any

from ...evaluator.definitions import native_macro
from ...evaluator.values import Cons, Symbol, T, Value
from ...experiment.declarations import LoadDeclaration
from ..host import host
from ..syntax import Declaration, Slot, keyword_pairs, literal, tails

OPTIONS = ("into", "from", "map", "ignore", "missing", "transpose", "cast")
LISTS = ("ignore", "missing", "transpose")
RUN_OPTIONS = ("at", "weights")


@native_macro("load-params")
def load_params(form: Cons, environment: Value) -> Value:
    """(load-params FROM option...): published weights, or another run's checkpoint (R35)."""
    d = Declaration(form)
    parts = tails(form.cdr)
    if not parts:
        raise d.refuse("it names a file", hint='(load-params "gpt2.safetensors" :into "gpt")')
    source, of_run = _source(d, parts[0])
    read = {k: _option(d, k, at) for k, at in keyword_pairs(d, parts[0].cdr, OPTIONS).items()}

    def finish() -> Value:
        host().collector.loads.append(_made(d, source, of_run, read))
        return T

    d.finish = finish
    return d.expansion()


def _option(d: Declaration, key: str, tail: Cons) -> Any:
    if key in LISTS:
        return [d.slot(t, f"a glob of :{key}") for t in literal(d, tail, f":{key}")]
    if key == "map":
        return [_pair(d, t) for t in literal(d, tail, ":map")]
    return d.slot(tail, f":{key} of load-params")


def _pair(d: Declaration, tail: Cons) -> tuple[Slot, Slot]:
    parts = literal(d, tail, "a pair of :map")
    if len(parts) != 2:
        raise d.refuse("a pair of :map is (theirs ours)", tail, hint='("h/{i}/w" "block/{i}/w")')
    return d.slot(parts[0], "their name"), d.slot(parts[1], "our name")


def _source(d: Declaration, tail: Cons) -> tuple[Slot, dict[str, Slot] | None]:
    """The file's name, or the run's and what is said of its checkpoint."""
    form = tail.car
    head = form.car if form.__class__ is Cons else None
    if head.__class__ is not Symbol or head.name != "RUN-CHECKPOINT":
        return d.slot(tail, "the file of load-params"), None
    parts = tails(form.cdr)
    if not parts:
        raise d.refuse("run-checkpoint names a run", tail)
    options = keyword_pairs(d, parts[0].cdr, RUN_OPTIONS, "run-checkpoint")
    return d.slot(parts[0], "the run"), {k: d.slot(t, f":{k}") for k, t in options.items()}


def _made(
    d: Declaration, source: Slot, of_run: dict[str, Slot] | None, read: dict[str, Any]
) -> LoadDeclaration:
    asked = of_run or {}
    at = asked["at"].python() if "at" in asked else "latest"
    return LoadDeclaration(
        source.text(),
        None if of_run is None else str(at).lstrip(":"),
        asked["weights"].choice(("live", "ema")) if "weights" in asked else "live",
        read["into"].text() if "into" in read else "",
        read["from"].text() if "from" in read else "",
        tuple((theirs.text(), ours.text()) for theirs, ours in read.get("map", ())),
        _texts(read, "ignore"),
        _texts(read, "missing"),
        _texts(read, "transpose"),
        read["cast"].flag() if "cast" in read else True,
        d.span,
    )


def _texts(read: dict[str, Any], key: str) -> tuple[str, ...]:
    return tuple(slot.text() for slot in read.get(key, ()))
