"""`check --deep`: a file examined, its table as text and as the document has it."""

from __future__ import annotations

import os
from typing import Any

from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.spans import Source


def examine(
    source: Source, device: str | None, selection: dict[str, Any]
) -> tuple[dict[str, Any], list[Diagnostic]]:
    """The key `deep` of a file's report, and what is wrong."""
    from sexpgpu_core import api
    from sexpgpu_core.deep import examined

    given = [tuple(pair) for pair in selection.get("sets", ())]
    rest = {k: v for k, v in selection.items() if k != "sets"}
    found = examined(
        lambda sets: api.load(source, sets=[*given, *sets.items()], **rest),
        api.device_of(api.plugins(), device),
        api.operations,
        fixed=[name for name, _ in given],
        threads=min(2, os.cpu_count() or 1),
    )
    told = {"set": dict(found.sets), "checks": [row._asdict() for row in found.rows]}
    return {"deep": told}, found.diagnostics


def lines(deep: dict[str, Any]) -> str:
    """A row a check: what, verdict, numbers."""
    said = " ".join(f"{name}={text}" for name, text in deep["set"].items())
    head = f"  examined with {said}" if said else "  examined as it is"
    rows = [f"  {r['what']:<40} {r['verdict']:<15} {r['told']}" for r in deep["checks"]]
    return "\n".join([head, *rows])
