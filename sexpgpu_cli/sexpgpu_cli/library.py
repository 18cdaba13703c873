"""The pages as one text: an index of them, all of them, and which of them words are in."""

from __future__ import annotations

from typing import Any

from sexpgpu_core import manual
from sexpgpu_core.diagnostics import catalogue
from sexpgpu_core.registry import Registry

SHOWN = 90
"""Characters of a line that is shown as a match."""


def pages(registry: Registry) -> list[tuple[str, str, str]]:
    """Topic, title and text of every page."""
    rows = [registry.get("docs", name) for name in registry.names("docs")]
    return [(row.topic, row.title, registry.text("docs", row.topic)[1]) for row in rows]


def index(registry: Registry) -> str:
    """The index that language models are given (llms.txt): a line a page with its first words."""
    lines = ["# SexpGPU", ""]
    for topic, title, text in pages(registry):
        lines.append(f"- [{title}]({topic}.md): {_opening(text)}")
    return "\n".join(lines) + "\n"


def whole(registry: Registry) -> str:
    """Every page, one after another."""
    return "\n\n".join(text.rstrip("\n") for _, _, text in pages(registry)) + "\n"


def _opening(text: str) -> str:
    """The first sentence of a page's prose."""
    for paragraph in text.split("\n\n")[1:]:
        first = " ".join(paragraph.split())
        if first and first[0] not in "`#|-<":
            return first.partition(". ")[0].rstrip(".:") + "."
    return ""


def search(registry: Registry, words: str) -> list[dict[str, Any]]:
    """Pages, words of the language and codes in which all the words are, those most often first.

    `name` is what `docs` takes; `line` the first line that has one of the words.
    """
    wanted = words.lower().split()
    found = [_match(topic, text, wanted) for topic, _, text in pages(registry)]
    for name in manual.names(registry):
        entry = manual.find(name, registry)
        if entry is not None:
            found.append(_match(name, f"{entry.usage}\n{entry.doc}", wanted))
    for code, row in catalogue().items():
        found.append(_match(code, f"{code} {row.title}\n{row.meaning} {row.fix}", wanted))
    kept = [one for one in found if one is not None]
    return sorted(kept, key=lambda one: -one["count"])


def _match(name: str, text: str, wanted: list[str]) -> dict[str, Any] | None:
    lower = f"{name}\n{text}".lower()
    counts = [lower.count(word) for word in wanted]
    if not counts or not all(counts):
        return None
    lines = [line.strip() for line in text.splitlines()]
    line = next((x for x in lines if any(word in x.lower() for word in wanted)), lines[0])
    # a name that is one of the words stands before pages that only use it
    named = 1000 * sum(word in name.lower().split(":") for word in wanted)
    return {"name": name, "count": sum(counts) + named, "line": line[:SHOWN]}
