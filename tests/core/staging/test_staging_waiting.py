"""The installed modules of layers and optimizers, whose definitions wait for their first use."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexpgpu_core import api

CHARS = Path(__file__).parents[3] / "examples" / "chars.lisp"


def test_every_definition_of_the_installed_modules_can_be_asked_for() -> None:
    registry = api.plugins()
    if not {"sexpgpu/nn", "sexpgpu/optim"} <= set(registry.names("modules")):
        pytest.skip("needs sexpgpu-nn and sexpgpu-optim")
    at = api.load(CHARS, registry=registry).evaluator
    defined = [m.own(name) for m in at.library.loaded.values() for name in m.defined]
    functions = [symbol for symbol in defined if not symbol.name.startswith("*")]
    assert len(functions) > 90
    assert [s for s in functions if at.cell(s).function is None] == []
