"""`docs TOPIC`: a page of the documentation, offline, as markdown."""

from __future__ import annotations

import click

from sexpgpu_core.diagnostics import catalogue

from ..answer import Answer, document
from ..flags import verb
from ..invocation import Invocation
from .explain import page

PART_BYTES = 8192


@verb("docs")
@click.argument("topic", metavar="TOPIC|CODE", required=False)
@click.option("--part", type=click.IntRange(1), default=1, help="Of a page longer than 8 KB.")
def docs(invocation: Invocation, topic: str | None, part: int) -> Answer:
    """Print the page of TOPIC; without one, list the topics."""
    registry = invocation.registry
    if topic is None:
        rows = [registry.get("docs", name) for name in registry.names("docs")]
        told = [{"topic": row.topic, "title": row.title} for row in rows]
        listed = "\n".join(f"{row.topic:<14} {row.title}" for row in rows)
        return Answer(document("docs", topics=told), listed)
    if topic.upper() in catalogue():
        return page(invocation, catalogue()[topic.upper()])
    _path, text = registry.text("docs", topic)
    parts = split(text)
    shown = parts[min(part, len(parts)) - 1]
    if part < len(parts):
        shown += f"\n... more: sexpgpu docs {topic} --part {part + 1}"
    return Answer(document("docs", topic=topic, part=part, parts=len(parts), text=shown), shown)


def split(text: str) -> list[str]:
    """A page in parts of at most 8 KB, cut between lines."""
    parts, size = [""], 0
    for line in text.splitlines(keepends=True):
        size += len(line.encode())
        if size > PART_BYTES and parts[-1]:
            parts.append("")
            size = len(line.encode())
        parts[-1] += line
    return parts
