"""A sample of the node tests in the `onnx` wheel; `nox -s onnx` runs all of them."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("onnx", reason="onnx is not installed: nox -s onnx installs it")

from onnx_cases import Case, cases
from onnx_reasons import REASONS
from onnx_verdict import MAPPING, verdict

EVERY = 40
"""One of so many is taken."""


@pytest.mark.parametrize("case", cases()[::EVERY], ids=lambda c: c.name)
def test_a_node_agrees_on_both_devices(case: Case) -> None:
    found = verdict(case)
    if found.reason is not None:
        pytest.skip(found.reason)
    assert not found.differences


def test_an_operation_maps_or_has_a_reason() -> None:
    assert not set(MAPPING) & set(REASONS)


def test_a_difference_is_seen() -> None:
    case: Any = next(c for c in cases() if c.name == "test_add")
    wrong = case._replace(outputs=tuple(o + 1 for o in case.outputs))
    assert set(verdict(wrong).differences) == {"reference", "cpu"}
