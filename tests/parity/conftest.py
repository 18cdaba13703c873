"""Beside PyTorch, in `nox -s parity` alone: without exactly this PyTorch nothing is collected."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

TORCH = "2.13.0"


def _there() -> bool:
    found = importlib.util.find_spec("torch") is not None
    return found and version("torch").partition("+")[0] == TORCH


collect_ignore_glob = [] if _there() else ["test_*.py"]
ROOT = Path(__file__).parents[2]
sys.path[:0] = [
    str(ROOT),
    str(ROOT / "tests" / "builtins"),
    str(ROOT / "tests" / "core" / "ir"),
    str(ROOT / "tests" / "optim"),
    str(ROOT / "tests" / "nn"),
]  # twins of models; calls of builtins; the table of shapes; optimizers' problems; layers

_WORST: dict[str, float] = {}


@pytest.fixture
def worst() -> Callable[[str, float], None]:
    """Notes a relative error under a heading; the greatest of each is told at the end."""

    def note(heading: str, error: float) -> None:
        _WORST[heading] = max(error, _WORST.get(heading, 0.0))

    return note


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for heading, error in _WORST.items():
        terminalreporter.write_line(f"worst relative error: {heading}: {error:.2e}")
