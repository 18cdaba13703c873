"""(stage-stat (loader :stage) field kind): a constant of a training split (R49)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...diagnostics import Change, Diagnostic, Edit, Problem, diagnostic, nearest, problem
from ...evaluator import machine
from ...evaluator.definitions import native_macro
from ...evaluator.values import Cons, Value
from ...reader import element_span
from ...spans import Span
from ..arguments import integers
from ..host import host
from ..host_calls import HostCalls
from ..syntax import Declaration, Slot, keyword_pairs, option_name, tails
from ..tensor import FileTensor
from .runs import read_stage

KINDS = ("mean", "std", "min", "max", "count-by")
WANTED = "(stage-stat (digits :train) image :mean :axis 0)"


@native_macro("stage-stat")
def stage_stat(form: Cons, environment: Value) -> Value:
    """(stage-stat (loader :stage) field kind &key axis): a number of a stage's own examples, a
    constant in f32 that is computed in f64 once before the run. `kind`: :mean :std :min :max, over
    everything or over the axes of `:axis`, 0 among them, the axis of the examples; or
    :count-by n, how often each of 0 to n - 1 stands in a field of integers. The hash of the
    experiment covers the data and what is asked, the manifest names it, and no checkpoint holds it.

    (stage-stat (digits :train) image :mean)"""
    d = Declaration(form)
    parts = tails(form.cdr)
    if len(parts) < 3:
        raise d.refuse("a stage, a field and a kind", hint=WANTED)
    loader, stage, _ = read_stage(d, parts[0])
    if loader is None:
        raise d.refuse("the stage is (loader :stage)", parts[0], hint=WANTED)
    field = d.name(parts[1], "the field").name.lower()
    kind = option_name(d, parts[2], KINDS, "the kind of stage-stat")
    rest, count = parts[2].cdr, None
    if kind == "count-by":
        if rest.__class__ is not Cons:
            raise d.refuse(":count-by has a count", parts[2], hint=":count-by 10")
        count, rest = d.slot(rest, ":count-by"), rest.cdr
    options = keyword_pairs(d, rest, () if count else ("axis",))
    axis = d.slot(options["axis"], ":axis") if "axis" in options else None
    d.finish = lambda: _made(d, (loader, stage, field, kind), count, axis, parts[0])
    return d.expansion()


def _made(
    d: Declaration,
    asked: tuple[str, str, str, str],
    count: Slot | None,
    axis: Slot | None,
    written: Cons,
) -> FileTensor:
    loader, stage, field, kind = asked
    collector = host().collector
    declared = collector.loaders.get(loader)
    if declared is None:
        near = nearest(loader, collector.loaders)
        raise problem(
            "E-LOADER-STAGE",
            f"no loader {loader}",
            hint=f"did you mean {near}?" if near else "declare it by (defloader ...) before this",
        ).locate(d.span)
    assert collector.statistic is not None
    try:
        axes = None if axis is None else integers("stage-stat", "axis", axis.value)
        number = count.integer(1) if count is not None else None
        found = collector.statistic(
            declared, (stage, field, kind, number, axes), HostCalls(machine.current())
        )
    except Problem as fault:
        raise fault.locate(d.span) from None
    row = (loader, stage, element_span(written))
    if row not in collector.statistics:
        collector.statistics.append(row)
    return FileTensor(found.type, found.name, found.load, found.facts)


def leaking(
    read: Sequence[tuple[str, str, Span | None]], training: Sequence[tuple[str, str]]
) -> Iterator[Diagnostic]:
    """W-STAT-LEAK for each stage that stage-stat reads and that does not train."""
    for loader, stage, span in read:
        if (loader, stage) in training:
            continue
        own = [s for n, s in training if n == loader]
        edit = None
        if span is not None and len(own) == 1:
            edit = Edit(f"read :{own[0]}", (Change(span, f"({loader} :{own[0]})"),))
        yield diagnostic(
            "W-STAT-LEAK",
            f"stage-stat reads {loader} :{stage}, which does not train",
            span=span,
            edit=edit,
            stage=stage,
        )
