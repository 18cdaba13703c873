"""Mistakes of configuration are found by check, before anything runs, each at its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from code_cases import found, whole
from configuration_mistakes import MISTAKES

from sexpgpu_core.diagnostics.example import Example


@pytest.mark.parametrize(
    ("code", "forms"), MISTAKES, ids=[f"{c}-{i}" for i, (c, _) in enumerate(MISTAKES)]
)
def test_a_mistake_is_found_by_check(code: str, forms: str, tmp_path: Path) -> None:
    said = found(whole(Example(code, "file", forms, forms, {}), forms + "\n"), tmp_path)
    mine = [d for d in said if d.code == code]
    assert mine, [(d.code, d.message) for d in said]
    assert len(mine) <= 2
    assert mine[0].span is not None
    assert mine[0].hint


def test_the_table_holds_sixty() -> None:
    assert len(MISTAKES) >= 60
    assert len(set(MISTAKES)) == len(MISTAKES)
