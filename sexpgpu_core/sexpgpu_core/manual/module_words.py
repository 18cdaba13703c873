"""What the Lisp modules of distributions provide, by their texts: `prefix:name` with its docs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..evaluator.values import Cons, String, Value, list_items
from ..reader import read_all
from ..records import NamedTuple
from ..spans import Source
from ..staging.lisp_text import DataNames
from .chapter import Entry, read_entries
from .word import Word

if TYPE_CHECKING:
    from ..registry import Registry

DEFINING = {
    "DEFMODEL": "model",
    "DEFUN": "function",
    "DEFOPTIMIZER": "optimizer",
    "DEFSCHEDULE": "schedule",
    "DEFMACRO": "macro",
}


class Definition(NamedTuple):
    """One definition of a module's text."""

    name: str
    kind: str
    lambda_list: str
    doc: str


def provided(text: str) -> set[str]:
    """The names of a text's provide form."""
    found = re.search(r"^\(provide ([^()]*)\)", text, re.M)
    return set(found[1].split()) if found else set()


def definitions(text: str) -> Iterator[Definition]:
    """Name, lambda list and docstring of each definition of a text."""
    forms, _ = read_all(Source("-", text), DataNames())
    for form in forms:
        parts = list_items(form) if isinstance(form, Cons) else []
        head = getattr(parts[0], "name", "") if parts else ""
        if len(parts) > 3 and head in DEFINING:
            doc = " ".join(parts[3].text().split()) if isinstance(parts[3], String) else ""
            yield Definition(parts[1].name.lower(), DEFINING[head], _text(parts[2], text), doc)


def _text(form: Value, text: str) -> str:
    span = form.span if isinstance(form, Cons) else None
    return " ".join(text[span.start : span.end].split()) if span else "()"


def module_word(name: str, registry: Registry) -> Word | None:
    """The word of `prefix:name`; None if no module provides it."""
    prefix, colon, own = name.partition(":")
    for module in registry.names("modules") if colon else ():
        if module.rpartition("/")[2] != prefix or is_part(module, registry):
            continue
        for d in _shown(registry, module):
            if d.name == own:
                usage = f"({name} {d.lambda_list[1:]}".replace(" )", ")")
                page = prefix if registry.get("docs", prefix) is not None else "require"
                examples = module_examples(registry, module)
                shown = examples[own].examples if own in examples else ()
                return Word(name, f"{d.kind} of {module}", usage, d.doc, shown, False, page)
    return None


def is_part(module: str, registry: Registry) -> bool:
    """Whether a module is a part of another, which provides its words: `sexpgpu/nn/norms`."""
    return registry.get("modules", module.rpartition("/")[0]) is not None


def whole(registry: Registry, module: str) -> list[tuple[str, str]]:
    """Path and text of a module and of its parts."""
    parts = [name for name in registry.names("modules") if name.startswith(f"{module}/")]
    return [registry.text("modules", name) for name in (module, *parts)]


def module_examples(registry: Registry, module: str) -> dict[str, Entry]:
    """Examples of what a module provides: `NAME-examples.lisp` beside each `NAME.lisp`."""
    found: dict[str, Entry] = {}
    for path, _ in whole(registry, module):
        beside = Path(path).with_name(f"{Path(path).stem}-examples.lisp")
        if beside.exists():
            found |= read_entries(beside, "require", False)
    return found


def module_words(registry: Registry) -> Iterator[str]:
    """`prefix:name` of all that the modules of distributions provide and define."""
    for module in [m for m in registry.names("modules") if not is_part(m, registry)]:
        for d in _shown(registry, module):
            yield f"{module.rpartition('/')[2]}:{d.name}"


def _shown(registry: Registry, module: str) -> Iterator[Definition]:
    texts = [text for _, text in whole(registry, module)]
    names = provided(texts[0])
    return (d for text in texts for d in definitions(text) if d.name in names)
