"""`check --data`: the data of a file read, a line a stage as text and as the document has it."""

from __future__ import annotations

from typing import Any

from sexpgpu_core.diagnostics import Diagnostic, Problem, Problems
from sexpgpu_core.spans import Source


def read(source: Source, selection: dict[str, Any]) -> tuple[dict[str, Any], list[Diagnostic]]:
    """The key `data` of a file's report, and what is wrong."""
    from sexpgpu_core import api
    from sexpgpu_core.surveyed import surveyed

    try:
        stages, found = surveyed(api.load(source, **selection))
    except (Problem, Problems) as error:
        found = [error.diagnostic] if isinstance(error, Problem) else error.diagnostics
        stages = []
    return {"data": {"stages": stages}}, found


def lines(data: dict[str, Any]) -> str:
    """A line a stage, with the ranges of its first fields."""
    return "\n".join(_line(stage) for stage in data["stages"])


def _line(stage: dict[str, Any]) -> str:
    fields = [_field(name, said) for name, said in list(stage["fields"].items())[:4]]
    more = len(stage["fields"]) - len(fields)
    told = ", ".join(fields) + (f", {more} more" if more > 0 else "")
    named = f"{stage['loader']} :{stage['stage']}"
    return f"  read        {named}: {stage['examples']:,} examples; {told}"


def _field(name: str, said: dict[str, Any]) -> str:
    if said["least"] is None:
        return f"{name} has no number"
    values = f" ({said['values']} values)" if "values" in said else ""
    bad = f", {said['not_finite']:,} not finite" if "not_finite" in said else ""
    return f"{name} {said['least']:.5g} to {said['most']:.5g}{values}{bad}"
