"""The manual's examples of modules check, each in the smallest run file."""

from __future__ import annotations

from pathlib import Path

import pytest
from code_cases import found, whole

from sexpgpu_core import api
from sexpgpu_core.diagnostics.example import Example
from sexpgpu_core.manual.module_words import definitions, module_examples, provided

REGISTRY = api.plugins()
EXAMPLES = [
    (prefix, name, entry.examples[0][0])
    for prefix in ("nn", "optim")
    for name, entry in module_examples(REGISTRY, f"sexpgpu/{prefix}").items()
]
MEANT = {"E-GROUP-EMPTY", "E-PARAM-UNREACHED", "W-BATCH-DEPENDENCE"}
"""Said of a file whose model is a metric, has no parameter, or means over its rows."""


@pytest.mark.parametrize(("prefix", "name", "text"), EXAMPLES, ids=lambda v: str(v)[:20])
def test_an_example_of_a_module_checks(prefix: str, name: str, text: str, tmp_path: Path) -> None:
    assert f"{prefix}:{name}" in text
    assert [d for d in found(framed(prefix, text), tmp_path) if d.code not in MEANT] == []


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
    _, text = REGISTRY.text("modules", f"sexpgpu/{prefix}")
    defined = {d.name for d in definitions(text)} & provided(text)
    assert {name for of, name, _ in EXAMPLES if of == prefix} == defined
