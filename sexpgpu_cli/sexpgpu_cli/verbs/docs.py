"""`docs TOPIC|CODE|NAME`: a page, a code or a word of the language, offline, as markdown."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from importlib.resources import files
from textwrap import fill, indent

import click
from click.shell_completion import CompletionItem

from sexpgpu_core import manual
from sexpgpu_core.diagnostics import Problem, catalogue, nearest, problem
from sexpgpu_core.evaluator.foreign import word_here
from sexpgpu_core.registry import Registry

from .. import library
from ..answer import Answer, cut, document
from ..flags import verb
from ..invocation import Invocation
from ..paragraphs import fitted
from .explain import page

PART_BYTES = 8192
COLUMNS = 80


def known(registry: Registry) -> Iterator[str]:
    """All that `docs` answers: topics, words, codes."""
    yield from registry.names("docs")
    yield from manual.names(registry)
    yield from catalogue()


def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Topics, words and codes that begin so, for the shell."""
    session: Invocation = ctx.find_root().obj
    begun = incomplete.lower()
    found = [n for n in known(session.registry) if n.lower().startswith(begun)]
    return [CompletionItem(name) for name in dict.fromkeys(found)]


@verb("docs")
@click.argument("topic", metavar="TOPIC|CODE|NAME", required=False, shell_complete=complete)
@click.option("--schema", metavar="NAME", help="The JSON Schema of a document, or event.")
@click.option("--search", "words", metavar="WORDS", help="Pages, words and codes that have them.")
@click.option("--for-agent", is_flag=True, help="The page for agents: all that a loop needs.")
@click.option("--llms", is_flag=True, help="An index of the pages.")
@click.option("--full", is_flag=True, help="All pages in one text.")
@click.option("--part", type=click.IntRange(1), default=1, help="Of a page longer than 8 KB.")
def docs(
    invocation: Invocation,
    topic: str | None,
    schema: str | None,
    words: str | None,
    for_agent: bool,
    llms: bool,
    full: bool,
    part: int,
) -> Answer:
    """Print the page of TOPIC, a code or a word; without one, list the topics."""
    if schema is not None:
        return schema_of(schema)
    registry = invocation.registry
    if words is not None:
        return found(invocation, words)
    if llms or full:
        text = library.index(registry) if llms else library.whole(registry)
        return Answer(document("docs", topic="index" if llms else "all", text=text), text)
    topic = "agents" if for_agent else topic
    if topic is None:
        rows = [registry.get("docs", name) for name in registry.names("docs")]
        told = [{"topic": row.topic, "title": row.title} for row in rows]
        listed = "\n".join(f"{row.topic:<17} {row.title}" for row in rows)
        return Answer(document("docs", topics=told), listed)
    if topic.upper() in catalogue():
        return page(invocation, catalogue()[topic.upper()])
    if topic not in registry.names("docs"):
        return word(registry, topic)
    _path, text = registry.text("docs", topic)
    parts = split(text)
    shown = on_terminal(parts[min(part, len(parts)) - 1])
    if part < len(parts):
        shown += f"\n... more: sexpgpu docs {topic} --part {part + 1}"
    return Answer(document("docs", topic=topic, part=part, parts=len(parts), text=shown), shown)


def found(invocation: Invocation, words: str) -> Answer:
    """What `--search` finds, and how to read it."""
    matches = library.search(invocation.registry, words)
    if not matches:
        hint = "fewer words, or a part of one; sexpgpu docs lists the topics"
        raise problem("E-USAGE-VALUE", f"nothing has all of: {words}", hint=hint, given=words)
    shown, left = cut(matches, invocation.limit)
    told = document("docs", search=words, matches=shown)
    lines = [f"{one['name']:<24} {one['line']}".rstrip() for one in shown]
    if left:
        again = invocation.whole()
        told.update(omitted={"matches": left}, more=again)
        lines.append(f"... {left} more: {again}")
    return Answer(told, "\n".join(lines))


def word(registry: Registry, name: str) -> Answer:
    """A word of the language: a call of it, what it is, examples, the topic for more."""
    found = manual.find(name.lower(), registry)
    if found is None:
        raise missing(registry, name)
    examples = [{"form": form, "value": value or None} for form, value in found.examples]
    told = {**document("word"), **found._asdict(), "examples": examples}
    kind = found.kind + (", a place of setf" if found.place else "")
    lines = [found.usage, "", fill(found.doc, COLUMNS), ""]
    lines += [shown(form, value) for form, value in found.examples]
    lines += [""] if found.examples else []
    return Answer(told, "\n".join([*lines, f"{kind}; more: sexpgpu docs {found.page}"]))


def shown(form: str, value: str) -> str:
    """An example, its value behind it or below where the line would be too long."""
    text = indent(form, "    ")
    if not value:
        return text
    last = len(text.splitlines()[-1]) + len(value) + 4
    return f"{text}  ; {value}" if last <= COLUMNS else f"{text}\n    ; {value}"


def missing(registry: Registry, name: str) -> Problem:
    """What to raise for a name that is none of `known`."""
    if registry.get("docs", name) is None and any(c.name == name for c in registry.clashes):
        return registry.missing("docs", name)
    names = {n.lower() if n.isupper() else n for n in known(registry)}
    exported = min((n for n in names if n.partition(":")[2] == name), default=None)
    near = exported or word_here(name) or nearest(name, names)
    hint = f"did you mean {near}?" if near else "sexpgpu docs lists the topics"
    message = f"no topic, code or word is named {name}"
    return problem("E-USAGE-VALUE", message, hint=hint, given=name, nearest=near)


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


def on_terminal(text: str) -> str:
    """A page as a terminal shows it; elsewhere as it is."""
    return fitted(text, shutil.get_terminal_size().columns) if sys.stdout.isatty() else text


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
