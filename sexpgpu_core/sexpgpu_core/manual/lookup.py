"""A word of the language by its name: from a chapter, a docstring, or a module of a distribution.

Law: what `names` lists, `find` finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..evaluator import definitions
from ..evaluator import words as _words
from ..evaluator.definitions import BODY_MACROS, BUILTINS, NATIVE_MACROS, TENSOR_NAMES
from ..evaluator.places import PLACES, has_setter
from ..staging import builtins as _builtins
from ..staging import forms as _forms
from .chapter import CHAPTERS, Chapter, entries
from .module_words import module_word, module_words
from .source_words import source_names, source_word
from .word import Word

if TYPE_CHECKING:
    from ..registry import Registry

DEFINING = (_words, _builtins, _forms)
"""What fills the tables when it is imported."""
for _module in set(definitions.CHAPTERS.values()):
    definitions.load_chapter(_module)


def find(name: str, registry: Registry | None = None) -> Word | None:
    """The word of a name in lower case, or of `prefix:name`."""
    for chapter in CHAPTERS:
        if name in entries(chapter):
            return _listed(name, chapter)
    upper = name.upper()
    if upper in BUILTINS and "%" not in name and " " not in name:
        return _builtin(name)
    if name in _told_macros():
        return _macro(name)
    if registry is None:
        return None
    return module_word(name, registry) or source_word(name, registry)


def names(registry: Registry | None = None) -> Iterator[str]:
    """All names that `find` knows: chapters, tensor builtins, macros, what modules provide."""
    seen = [name for chapter in CHAPTERS for name in entries(chapter)]
    seen += [name.lower() for name in BUILTINS if name[0] not in "%("]
    yield from dict.fromkeys([*seen, *_told_macros()])
    if registry is not None:
        yield from module_words(registry)
        yield from source_names(registry)


def _listed(name: str, chapter: Chapter) -> Word:
    entry = entries(chapter)[name]
    builtin = BUILTINS.get(name.upper())
    usage = entry.usage or (call_of(name, builtin.lambda_list) if builtin is not None else name)
    doc = entry.doc or (sentence(builtin.doc) if builtin is not None else "")
    kind = "tensor builtin" if name.upper() in TENSOR_NAMES else chapter.kind
    if chapter.name == "run-file" and builtin is not None:
        kind = "function of the run file"
    place = name.upper() in PLACES or has_setter(name.upper())
    return Word(name, kind, usage, doc, entry.examples, place, entry.page)


def _builtin(name: str) -> Word:
    """A builtin that is in no chapter: of tensors, with the example in its docstring."""
    function = BUILTINS[name.upper()]
    text, example = cut_example(name, sentence(function.doc))
    shown = ((example, ""),) if example else ()
    usage = call_of(name, function.lambda_list)
    return Word(name, "tensor builtin", usage, text, shown, False, "tensors")


def _told_macros() -> dict[str, tuple[str, str]]:
    """Usage and doc of the macros whose docstrings begin with a call of them."""
    found = {}
    for table in (NATIVE_MACROS, BODY_MACROS):
        for name, expander in table.items():
            usage, mark, doc = sentence(expander.__doc__ or "").partition("): ")
            if mark and usage.startswith(f"({name.lower()} "):
                found[name.lower()] = (usage + ")", doc)
    return found


def _macro(name: str) -> Word:
    usage, doc = _told_macros()[name]
    return Word(name, "form of the run file", usage, doc, (), False, "run-file")


def call_of(name: str, lambda_list: str) -> str:
    """A lambda list as a call."""
    return f"({name} {lambda_list[1:]}".replace(" )", ")")


def sentence(doc: str) -> str:
    """A docstring on one line, without what refers to pages of the design."""
    return re.sub(r" \((?:R\d+|45[\d.]+|contracts/\S+)\)", "", " ".join(doc.split()))


def cut_example(name: str, text: str) -> tuple[str, str]:
    """What a tensor builtin is, and the example in which its docstring ends."""
    at = text.rfind(f"({name}")
    return (text[:at].rstrip(), text[at:].removesuffix(".")) if at > 0 else (text, "")
