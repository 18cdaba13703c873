"""The manual's examples of modules check, each in the smallest run file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from code_cases import found, whole

from sexpgpu_core import api
from sexpgpu_core.diagnostics.example import Example
from sexpgpu_core.manual.module_words import (
    definitions,
    module_examples,
    module_word,
    module_words,
    provided,
)
from sexpgpu_core.manual.module_words import whole as whole_of
from sexpgpu_core.reader import read_all
from sexpgpu_core.spans import Source
from sexpgpu_core.staging.lisp_text import DataNames

REGISTRY = api.plugins()
EXAMPLES = [
    (prefix, name, entry.examples[0][0])
    for prefix in ("nn", "optim")
    for name, entry in module_examples(REGISTRY, f"sexpgpu/{prefix}").items()
]
MEANT = {
    *("E-GROUP-EMPTY", "E-PARAM-UNREACHED", "W-BATCH-DEPENDENCE", "W-METRIC-BATCHWISE"),
    *("W-PARAM-RANK", "W-SMOOTHED-METRIC"),
}
"""Said of a file whose model is a metric, has no parameter, or means over or joins its rows, whose
decay reaches its bias, whose loss is smoothed."""


@pytest.mark.parametrize(("prefix", "name", "text"), EXAMPLES, ids=lambda v: str(v)[:20])
def test_an_example_of_a_module_checks(prefix: str, name: str, text: str, tmp_path: Path) -> None:
    assert f"{prefix}:{name}" in text
    told = found(framed(prefix, text), tmp_path)
    assert [d for d in told if d.code not in MEANT] == []
    assert [d for d in told if d.span is not None and "sexpgpu_" in d.span.source.name] == []


def framed(prefix: str, text: str) -> str:
    """A model's value, an optimizer, or whole forms."""
    if prefix == "nn":
        made = whole(Example("", "body", text, text, {}), text)
        return made.replace("(groups))", "(groups (group :rest (optim:sgd))))")
    if not text.startswith("(def"):
        text = f"(defun optimizer ()\n  (groups (group :rest {text})))\n"
    return whole(Example("", "file", text, text, {}), text + "\n")


@pytest.mark.parametrize("prefix", ["nn", "optim"])
def test_all_that_a_module_provides_has_an_example(prefix: str) -> None:
    texts = [text for _, text in whole_of(REGISTRY, f"sexpgpu/{prefix}")]
    defined = {d.name for text in texts for d in definitions(text)} & provided(texts[0])
    assert {name for of, name, _ in EXAMPLES if of == prefix} == defined == provided(texts[0])


@pytest.mark.parametrize("prefix", ["nn", "optim"])
def test_each_line_with_a_parenthesis_first_begins_a_form(prefix: str) -> None:
    for path, text in whole_of(REGISTRY, f"sexpgpu/{prefix}"):
        forms, found = read_all(Source(path, text), DataNames())
        assert not found
        assert len(re.findall(r"^\(", text, re.M)) == len(list(forms)), path


def test_the_words_of_parts_are_those_of_the_module_alone() -> None:
    words = set(module_words(REGISTRY))
    assert {"nn:layer-norm", "optim:adamw"} <= words
    assert not [w for w in words if w.startswith(("norms:", "adaptive:"))]
    assert module_word("nn:layer-norm", REGISTRY) is not None
    assert module_word("norms:layer-norm", REGISTRY) is None
