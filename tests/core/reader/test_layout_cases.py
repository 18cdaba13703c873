"""Every case of the standard's tests has a layout that keeps the laws."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from sexpgpu_core.reader.layout import layout
from sexpgpu_core.reader.layout_check import checked_layout
from sexpgpu_core.spans import Source

CASES = Path(__file__).parents[4] / "shared" / "lisp" / "ansi-cases.jsonl"
SAMPLE = 400


def cases() -> list[str]:
    """The texts of the cases, with what stands before them and what they give."""
    if not CASES.exists():
        pytest.skip("the cases are beside the repository")
    rows = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    return ["\n".join([*row["preamble"], row["form"], *row["expected"]]) for row in rows]


def hold(texts: list[str]) -> None:
    for text in texts:
        found = checked_layout(Source("-", text))
        assert layout(found) == found


def test_a_sample_of_the_cases_keeps_the_laws() -> None:
    hold(random.Random(3).sample(cases(), SAMPLE))


@pytest.mark.slow
def test_all_cases_keep_the_laws() -> None:
    hold(cases())
