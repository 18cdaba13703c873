"""defrun, defeval, deftarget: the length of the run, its passes and its goals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...diagnostics import Problem, problem
from ...evaluator.definitions import native_macro
from ...evaluator.values import NIL, Cons, Symbol, T, Value, list_items
from ...experiment.declarations import (
    PRECISIONS,
    CheckpointDeclaration,
    DiagnosticsChoice,
    LoaderDeclaration,
    PassDeclaration,
    RunDeclaration,
    TargetDeclaration,
)  # fmt: skip
from ...reader import element_span
from ..faults import option_span
from ..host import host
from ..syntax import (
    LARGEST,
    Declaration,
    Slot,
    each,
    is_literal_list,
    keyword_pairs,
    literal,
    option_name,
    tails,
    take_doc,
)  # fmt: skip

RUN_OPTIONS = (
    "steps", "epochs", "until", "seed", "precision", "microbatches", "deterministic", "device",
    "checkpoint", "diagnostics", "log-every", "deadline", "finite-guard",
)  # fmt: skip
CHECKPOINT_OPTIONS = ("every", "at", "keep", "best", "staging", "frozen")
PASS_OPTIONS = ("loader", "output", "every", "at", "batches", "weights", "save")


def read_steps(d: Declaration, tail: Cons) -> list[Any]:
    """`:at (FORM | :end ...)`"""
    if not is_literal_list(tail.car):
        return [d.slot(tail, ":at")]
    return [d.slot(t, "a step of :at") for t in literal(d, tail, ":at")]


def made_steps(slots: list[Slot]) -> tuple[int | str, ...]:
    """Steps and "end"."""
    found: list[int | str] = []
    for s in _steps_of(slots):
        if s.value.__class__ is Symbol and s.value.keyword and s.value.name == "END":
            found.append("end")
        else:
            found.append(s.integer(0))
    return tuple(found)


def _steps_of(slots: list[Slot]) -> Iterator[Slot]:
    """Those that were written, and of a variable's list each element."""
    for s in slots:
        if s.value.__class__ is not Cons:
            yield s
            continue
        for item in list_items(s.value):
            each_of = Slot(s.form, s.span, "a step of :at")
            each_of.value = item
            yield each_of


@native_macro("defrun")
def defrun(form: Cons, environment: Value) -> Value:
    """(defrun :steps n | :epochs n | :until (KEY n) option...): the run; last, once."""
    d = Declaration(form)
    written = keyword_pairs(d, form.cdr, RUN_OPTIONS)
    read = {k: _run_option(d, k, t) for k, t in each(d, written)}
    lengths = [k for k in written if k in ("steps", "epochs", "until")]
    if len(lengths) != 1:
        again = [t for t in tails(form.cdr) if lengths and t.cdr is written[lengths[-1]]]
        raise problem(
            "E-OPTION-VALUE" if lengths else "E-MISSING",
            "defrun says one of :steps, :epochs and :until",
            hint="(defrun :steps 1000)",
        ).locate(element_span(again[0]) if again else d.span)
    d.finish = lambda: _finish_run(d, read)
    return d.expansion()


def _run_option(d: Declaration, key: str, tail: Cons) -> Any:
    if key == "until":
        parts = literal(d, tail, ":until")
        if len(parts) != 2 or not getattr(parts[0].car, "keyword", False):
            raise d.refuse(":until is (KEY n), as (:tokens 1e9)", tail)
        return parts[0].car.name.lower(), d.slot(parts[1], ":until")
    if key == "checkpoint":
        return _checkpoint(d, tail)
    if key == "diagnostics":
        return _diagnostics(d, tail)
    if key == "finite-guard" and is_literal_list(tail.car):
        parts = literal(d, tail, ":finite-guard")
        if len(parts) != 2:
            raise d.refuse(":finite-guard is :halt, :off or (:skip n)", tail)
        option_name(d, parts[0], ("skip",), ":finite-guard")
        return [d.slot(parts[1], ":skip")]
    return d.slot(tail, f":{key}")


def _checkpoint(d: Declaration, tail: Cons) -> dict[str, Any]:
    parts = literal(d, tail, ":checkpoint")
    options = keyword_pairs(d, parts[0] if parts else NIL, CHECKPOINT_OPTIONS, ":checkpoint")
    read: dict[str, Any] = {}
    for key, at in options.items():
        if key == "at":
            read[key] = read_steps(d, at)
        elif key == "best":
            series, goal = _goal(d, at)
            read[key] = (series, goal)
        else:
            read[key] = d.slot(at, f":{key} of :checkpoint")
    return read


def _goal(d: Declaration, tail: Cons) -> tuple[Slot, str]:
    parts = literal(d, tail, ":best")
    if len(parts) != 2:
        raise d.refuse(':best is ("val/loss" :min)', tail)
    return d.slot(parts[0], "the series of :best"), option_name(
        d, parts[1], ("min", "max"), ":best"
    )


def _diagnostics(d: Declaration, tail: Cons) -> dict[str, Any]:
    parts = literal(d, tail, ":diagnostics")
    options = keyword_pairs(d, parts[0] if parts else NIL, ("every", "select"), ":diagnostics")
    read: dict[str, Any] = {}
    if "every" in options:
        read["every"] = d.slot(options["every"], ":every")
    if "select" in options:
        read["select"] = [d.slot(t, "a glob") for t in literal(d, options["select"], ":select")]
    return read


def _finish_run(d: Declaration, read: dict[str, Any]) -> Value:
    collector = host().collector
    if collector.run is not None:
        raise problem("E-TWICE", "defrun stands twice").locate(d.span)

    def number(key: str, default: int | None) -> Any:
        return read[key].integer(1) if key in read else default

    until = read.get("until")
    precision = read["precision"].choice(PRECISIONS) if "precision" in read else "f32"
    _check_stages(collector.loaders.values(), precision)
    collector.run = RunDeclaration(
        number("steps", None),
        number("epochs", None),
        (until[0], _counted(until[1])) if until else None,
        read["seed"].integer(0, None) if "seed" in read else 0,
        precision,
        number("microbatches", 1),
        read["deterministic"].flag() if "deterministic" in read else True,
        _device(read["device"]) if "device" in read else None,
        _made_checkpoint(read.get("checkpoint", {})),
        _made_diagnostics(read.get("diagnostics", {})),
        number("log-every", 10),
        read["deadline"].above(0) if "deadline" in read else None,
        _guard(read.get("finite-guard")),
        d.span,
    )
    return T


def _check_stages(loaders: Iterable[LoaderDeclaration], precision: str) -> None:
    """E-OPTION-VALUE of a stage that is of f64, or of less, alone: parameters are f64 in all."""
    for loader in loaders:
        for stage in loader.stages.values():
            own = stage.precision or precision
            if own != precision and "f64" in (own, precision):
                told = f"the stage :{stage.name} is of :{own}, and the run of :{precision}"
                raise problem(
                    "E-OPTION-VALUE",
                    told,
                    hint="parameters are f64 in all stages or in none: defrun's :precision says it",
                    option=":precision",
                ).locate(loader.place(stage.name, ("precision",)))


def _counted(slot: Slot) -> int:
    """What a counter is to reach: a number, as 1e9."""
    found = slot.above(0)
    if not 1 <= found <= LARGEST:
        raise slot.refuse(f"a number from 1 to {LARGEST:,}")
    return int(found)


def _device(slot: Slot) -> str:
    name = slot.python()
    if not isinstance(name, str):
        raise slot.refuse("a device's name, as :cpu")
    return name.lstrip(":")


def _guard(read: Any) -> Any:
    if read is None:
        return "halt"
    if isinstance(read, list):
        return ("skip", read[0].integer(0))
    return read.choice(("halt", "off"))


def _made_checkpoint(read: dict[str, Any]) -> CheckpointDeclaration:
    best = read.get("best")
    return CheckpointDeclaration(
        read["every"].optional(lambda s: s.integer(1)) if "every" in read else None,
        made_steps(read["at"]) if "at" in read else (),
        read["keep"].optional(lambda s: s.integer(1)) if "keep" in read else None,
        (best[0].text(), best[1]) if best else None,
        read["staging"].flag() if "staging" in read else True,
        read["frozen"].choice(("copy",)) if "frozen" in read else None,
    )


def _made_diagnostics(read: dict[str, Any]) -> DiagnosticsChoice:
    made = DiagnosticsChoice()
    if "select" in read:
        globs: list[Slot] = read["select"]
        try:
            made = made.joined([s.text() for s in globs])
        except Problem as first:
            raise first.locate(globs[0].span) from None
    return made._replace(every=read["every"].integer(1)) if "every" in read else made


@native_macro("defeval")
def defeval(form: Cons, environment: Value) -> Value:
    """(defeval name [doc] &key loader output every at batches weights save): a pass."""
    d = Declaration(form)
    name = d.name(form.cdr, "the name of the pass").name.lower()
    doc, rest = take_doc(form.cdr.cdr)
    read = {k: _pass_option(d, k, t) for k, t in each(d, keyword_pairs(d, rest, PASS_OPTIONS))}
    if "loader" not in read and "output" not in read:
        raise problem(
            "E-MISSING", f"pass {name} has neither :loader nor :output", hint=":loader (text :val)"
        ).locate(d.span)
    d.finish = lambda: _finish_pass(d, name, doc, read)
    return d.expansion()


def read_stage(d: Declaration, tail: Cons) -> tuple[str | None, str, Any]:
    """STAGE: KEY or (NAME KEY)."""
    form = tail.car
    if form.__class__ is Symbol and form.keyword:
        return None, form.name.lower(), tail
    parts = literal(d, tail, "a stage")
    if len(parts) != 2 or not getattr(parts[1].car, "keyword", False):
        raise d.refuse("a stage is (loader :stage)", tail, hint="(text :val)")
    return d.name(parts[0], "the loader").name.lower(), parts[1].car.name.lower(), tail


def _pass_option(d: Declaration, key: str, tail: Cons) -> Any:
    if key == "loader":
        return read_stage(d, tail)
    if key == "output":
        return d.name(tail, "the output").name.lower()
    if key == "at":
        return read_steps(d, tail)
    if key == "weights" and is_literal_list(tail.car):
        parts = literal(d, tail, ":weights")
        if parts:
            option_name(d, parts[0], ("best",), ":weights")
        if len(parts) != 2:
            raise d.refuse(':weights is :live, :ema or (:best "val/loss")', tail)
        return [d.slot(t, "the series of :best") for t in parts[1:]]
    if key == "save" and is_literal_list(tail.car) and tail.car is not NIL:
        parts = literal(d, tail, ":save")
        option_name(d, parts[0], ("png",), ":save")
        options = keyword_pairs(d, parts[0].cdr, ("columns",), ":save (:png ...)")
        return {k: d.slot(t, f":{k} of :save") for k, t in options.items()}
    return d.slot(tail, f":{key}")


def _finish_pass(d: Declaration, name: str, doc: str, read: dict[str, Any]) -> Value:
    collector = host().collector
    collector.claim("pass", name, d.span)
    loader, stage, _ = read.get("loader", (None, None, None))
    _check_pass(d, name, read)
    collector.passes[name] = PassDeclaration(
        name,
        doc,
        loader,
        stage,
        read.get("output"),
        read["every"].integer(1) if "every" in read else None,
        made_steps(read["at"]) if "at" in read else (),
        read["batches"].integer(1) if "batches" in read else None,
        _weights(read.get("weights")),
        _save(read.get("save")),
        d.span,
    )
    return T


def _check_pass(d: Declaration, name: str, read: dict[str, Any]) -> None:
    """E-OPTION-VALUE of an option that would say nothing beside the others."""
    for key, needs in (("save", "output"), ("batches", "loader")):
        if key in read and needs not in read:
            raise problem(
                "E-OPTION-VALUE",
                f"pass {name} says :{key} and no :{needs}, so it says nothing",
                hint=f"leave :{key} out, or give :{needs}",
                option=":" + key,
            ).locate(option_span(d.span, key) or d.span)
    if isinstance(read.get("weights"), list) and ("every" in read or _steps(read) != ["end"]):
        raise problem(
            "E-OPTION-VALUE",
            f"pass {name} reads the best weights, which are known at the end",
            hint=":at (:end), and no :every",
            option=":weights",
        ).locate(option_span(d.span, "weights") or d.span)


def _steps(read: dict[str, Any]) -> list[int | str]:
    return list(made_steps(read["at"])) if "at" in read else ["end"]


def _weights(read: Any) -> Any:
    if read is None:
        return "live"
    if isinstance(read, list):
        return "best", read[0].text()
    return read.choice(("live", "ema"))


def _save(read: Any) -> Any:
    if isinstance(read, dict):
        return "png", read["columns"].integer(1) if "columns" in read else None
    return True if read is not None and read.flag() else None


@native_macro("deftarget")
def deftarget(form: Cons, environment: Value) -> Value:
    """(deftarget SERIES :below x | :above x [:stop t]): a goal."""
    d = Declaration(form)
    parts = tails(form.cdr)
    if not parts:
        raise d.refuse('a target names a series, "val/loss"')
    series = d.slot(parts[0], "the series of a target")
    options = keyword_pairs(d, parts[0].cdr, ("below", "above", "stop"))
    slots = {k: d.slot(t, f":{k}") for k, t in options.items()}
    goals = [k for k in ("below", "above") if k in slots]
    if len(goals) != 1:
        raise d.refuse("a target has :below or :above", hint='(deftarget "val/loss" :below 1.9)')

    def finish() -> Value:
        collector = host().collector
        collector.claim("target", series.text(), d.span)
        stop = slots["stop"].flag() if "stop" in slots else False
        bound = slots[goals[0]].number()
        collector.targets.append(TargetDeclaration(series.text(), goals[0], bound, stop, d.span))
        return T

    d.finish = finish
    return d.expansion()
