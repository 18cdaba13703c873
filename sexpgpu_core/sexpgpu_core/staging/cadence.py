"""When passes run: W-EVAL-NEVER where :every and :at name no step of the run, W-TEST-OFTEN of those
over what is held out that are run again and again; and whether the best weights are kept for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..diagnostics import Change, Diagnostic, Edit, diagnostic
from ..experiment.declarations import Experiment, PassDeclaration
from ..spans import Span
from .faults import option_span


def never_run(experiment: Experiment, steps: int) -> list[Diagnostic]:
    """A warning for each pass that a run of so many steps never makes."""
    return [
        diagnostic(
            "W-EVAL-NEVER",
            f"pass {p.name} never runs in {steps:,} steps: {_cadence(p)}",
            span=option_span(p.span, "every") or option_span(p.span, "at") or p.span,
            hint=f":every {max(1, steps // 10)}, or :at (:end) for a pass after the last step",
            name=p.name,
            steps=steps,
        )
        for p in experiment.passes.values()
        if _never(p, steps)
    ]


def never_due(experiment: Experiment, steps: int) -> list[Diagnostic]:
    """W-EVAL-NEVER of cadences of `defrun` that come after its end: they say nothing."""
    run = experiment.run
    saved = run.checkpoint
    late = [("checkpoint", "every", f"{saved.every}")] if (saved.every or 0) > steps else []
    after = [at for at in saved.at if isinstance(at, int) and at > steps]
    late += [("checkpoint", "at", f"({at})") for at in after]
    if run.diagnostics.select and run.diagnostics.every > steps:
        late.append(("diagnostics", "every", f"{run.diagnostics.every}"))
    return [
        diagnostic(
            "W-EVAL-NEVER",
            f":{option} (:{key} {value}) never falls due in {steps:,} steps",
            span=option_span(run.span, option, key) or run.span,
            hint=f":every {max(1, steps // 10)}; the end is saved in any case",
            name=f":{option} (:{key} {value})",
            steps=steps,
        )
        for option, key, value in late
    ]


def unselected(experiment: Experiment) -> Iterator[Diagnostic]:
    """W-OPTION-UNUSED of a cadence of diagnostics where none is selected."""
    span = option_span(experiment.run.span, "diagnostics", "every")
    if span is not None and not experiment.run.diagnostics.select:
        yield diagnostic(
            "W-OPTION-UNUSED",
            f":diagnostics (:every {span.text}) selects no number, so none is sampled",
            span=span,
            hint=':diagnostics (:every n :select ("grad/norm")), or run --diagnostics GLOB',
            option=":every",
        )


def tested_often(experiment: Experiment) -> list[Diagnostic]:
    """A warning for each pass over a stage :test that runs more than once (R16)."""
    return [
        diagnostic(
            "W-TEST-OFTEN",
            f"pass {p.name} looks at :test again and again: {_cadence(p)}",
            span=p.span,
            hint="choose by a stage of its own, :val, and look at :test once: :at (:end)",
            edit=_at_the_end(p),
            name=p.name,
        )
        for p in experiment.passes.values()
        if p.stage == "test" and (p.every is not None or len(p.at) > 1)
    ]


def not_kept(experiment: Experiment) -> list[Diagnostic]:
    """E-OPTION-VALUE of each pass that reads a best checkpoint which none is kept of."""
    best = experiment.run.checkpoint.best
    kept = best[0] if best is not None else None
    return [
        diagnostic(
            "E-OPTION-VALUE",
            f'pass {p.name} reads the checkpoint of the best "{p.weights[1]}", and none is kept',
            span=option_span(p.span, "weights") or p.span,
            hint=f'(defrun ... :checkpoint (:best ("{p.weights[1]}" :min)))',
            option=":weights",
        )
        for p in experiment.passes.values()
        if isinstance(p.weights, tuple) and p.weights[1] != kept
    ]


def _at_the_end(p: PassDeclaration) -> Edit | None:
    """`:at (:end)` in place of `:every n`, where nothing else says when."""
    found = None if p.span is None or p.at else re.search(r":every\s+[^\s()]+", p.span.text)
    if p.span is None or found is None:
        return None
    start = p.span.start + found.start()
    span = Span(p.span.source, start, start + len(found[0]))
    return Edit("run it at the end", (Change(span, ":at (:end)"),))


def _never(p: PassDeclaration, steps: int) -> bool:
    if p.every is None and not p.at:
        return False  # it runs at the end
    often = p.every is not None and p.every <= steps
    return not often and not any(at == "end" or int(at) <= steps for at in p.at)


def _cadence(p: PassDeclaration) -> str:
    every = [f":every {p.every}"] if p.every is not None else []
    return " ".join(every + [f":at ({' '.join(map(str, p.at))})"] * bool(p.at))
