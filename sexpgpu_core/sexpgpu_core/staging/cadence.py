"""W-EVAL-NEVER: passes whose :every and :at name no step of the run."""

from __future__ import annotations

from ..diagnostics import Diagnostic, diagnostic
from ..experiment.declarations import Experiment, PassDeclaration


def never_run(experiment: Experiment, steps: int) -> list[Diagnostic]:
    """A warning for each pass that a run of so many steps never makes."""
    return [
        diagnostic(
            "W-EVAL-NEVER",
            f"pass {p.name} never runs in {steps:,} steps: {_cadence(p)}",
            span=p.span,
            hint=f":every {max(1, steps // 10)}, or :at (:end) for a pass after the last step",
            name=p.name,
            steps=steps,
        )
        for p in experiment.passes.values()
        if _never(p, steps)
    ]


def _never(p: PassDeclaration, steps: int) -> bool:
    if p.every is None and not p.at:
        return False  # it runs at the end
    often = p.every is not None and p.every <= steps
    return not often and not any(at == "end" or int(at) <= steps for at in p.at)


def _cadence(p: PassDeclaration) -> str:
    every = [f":every {p.every}"] if p.every is not None else []
    return " ".join(every + [f":at ({' '.join(map(str, p.at))})"] * bool(p.at))
