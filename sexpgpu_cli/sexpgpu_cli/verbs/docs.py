"""`docs TOPIC`: a page of the documentation, offline, as markdown."""

from __future__ import annotations

import json
from importlib.resources import files

import click

from sexpgpu_core.diagnostics import catalogue, nearest, problem

from ..answer import Answer, document
from ..flags import verb
from ..invocation import Invocation
from .explain import page

PART_BYTES = 8192


@verb("docs")
@click.argument("topic", metavar="TOPIC|CODE", required=False)
@click.option("--schema", metavar="NAME", help="The JSON Schema of a document, or event.")
@click.option("--part", type=click.IntRange(1), default=1, help="Of a page longer than 8 KB.")
def docs(invocation: Invocation, topic: str | None, schema: str | None, part: int) -> Answer:
    """Print the page of TOPIC; without one, list the topics."""
    if schema is not None:
        return schema_of(schema)
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


def schema_of(name: str) -> Answer:
    """The schema of a document; the whole answer in text and in JSON."""
    folder = files("sexpgpu_core").joinpath("schemas")
    known = sorted(f.name.removesuffix(".json") for f in folder.iterdir())
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {near}?" if near else f"known: {' '.join(known)}"
        raise problem("E-USAGE-VALUE", f"no schema is named {name}", hint=hint, nearest=near)
    text = folder.joinpath(f"{name}.json").read_text(encoding="utf-8")
    return Answer(json.loads(text), text)


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
