"""Macros with a &body that a text defines or requires, and how many parameters stand before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ..records import NamedTuple
from .layout_tree import Node, tree


class Required(NamedTuple):
    """What a require form brings. `imports`: names that need no prefix, None for all."""

    name: str
    prefix: str
    imports: frozenset[str] | None


def visible_macros(text: str, module: Callable[[str], str | None]) -> dict[str, int]:
    """Macros by the lower-case names under which a text may call them.

    `module`: the text of what is required, None where there is none; it is then passed over.
    """
    root = tree(text)
    found: dict[str, int] = {}
    for wanted in _requires(root):
        inner = module(wanted.name)
        for name, count in (own_macros(tree(inner)) if inner is not None else {}).items():
            found[f"{wanted.prefix}:{name}"] = count
            if wanted.imports is None or name in wanted.imports:
                found[name] = count
    return {**found, **own_macros(root)}


def own_macros(root: Node) -> Mapping[str, int]:
    """Macros that top-level forms define."""
    found: dict[str, int] = {}
    pending = list(reversed(root.items or ()))
    while pending:
        form = pending.pop()
        items = form.items or []
        if form.operator in ("progn", "eval-when"):
            pending += reversed(items)
        elif form.operator == "defmacro" and len(items) > 2 and not form.prefix:
            count = _before_body(items[2])
            if count is not None:
                found[items[1].text.lower()] = count
    return found


def _before_body(parameters: Node) -> int | None:
    """Parameters before the &body of a lambda list; None if it has none."""
    words = [item.text.lower() for item in parameters.items or ()]
    if "&body" not in words:
        return None
    count = 0
    for place, word in enumerate(words[: words.index("&body")]):
        taken = place and words[place - 1] in ("&whole", "&environment")
        count += not word.startswith("&") and not taken
    return count


def _requires(root: Node) -> Iterator[Required]:
    for form in root.items or ():
        items = form.items or []
        if form.operator != "require" or len(items) < 2 or items[1].text[0] != '"':
            continue
        name = items[1].text[1:-1]
        prefix = name.rsplit("/", 1)[-1].removesuffix(".lisp").lower()
        bare: frozenset[str] | None = frozenset()
        for key, value in zip(items[2::2], items[3::2]):
            if key.text.lower() == ":as":
                prefix = value.text.lower()
            elif value.text.lower() == ":all":
                bare = None
            else:
                bare = frozenset(item.text.lower() for item in value.items or ())
        yield Required(name, prefix, bare)
