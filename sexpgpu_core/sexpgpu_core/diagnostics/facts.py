"""Which facts a code's diagnostics may have, and of which type each is: `facts.tsv`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

TYPES = ("text", "integer", "number", "boolean", "list", "object")
"""`null` beside one of these where it may be not known: text|null."""


@cache
def _table() -> dict[str, dict[str, str]]:
    text = (Path(__file__).parent / "facts.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    return {code: dict(fact.split(":") for fact in facts) for code, *facts in rows}


def facts_of(code: str) -> dict[str, str]:
    """Name -> type of what `facts` of a code may hold; not every diagnostic has all."""
    return _table().get(code, {})


def facts_line(code: str) -> str:
    """They, as a code's page says them; empty where there are none."""
    told = ", ".join(f"{name} ({kind})" for name, kind in facts_of(code).items())
    return f"Facts: {told}." if told else ""
