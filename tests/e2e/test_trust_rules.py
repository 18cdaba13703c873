"""Each sentence of the page of trust that is the runtime's is held by tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from runtime_rules import held_here, rules
from trust_rules import ELSEWHERE, ITEMS, TABLE

ROOT = Path(__file__).parents[2]
RULES = rules(TABLE)
PAGE = ROOT.parent / "shared" / "design" / "80-trust.md"


def items() -> dict[int, str]:
    """Those of the runtime, each in one line."""
    text = PAGE.read_text(encoding="utf-8")
    parts = re.findall(r"^(\d+)\. (.*?)(?=^\d+\. |\n\n|\Z)", text, re.M | re.S)
    return {int(n): " ".join(part.split()) for n, part in parts if int(n) in ITEMS}


def test_each_promise_is_held_by_tests_that_exist() -> None:
    here = held_here(ROOT / "tests")
    for words, held in RULES.items():
        assert held, words
        assert set(held) <= here, words


@pytest.mark.skipif(not PAGE.exists(), reason="the design's pages are not beside the checkout")
def test_the_promises_are_those_of_the_page_and_each_of_its_sentences_has_some() -> None:
    found = items()
    assert tuple(found) == ITEMS
    flat = " ".join(found.values())
    places = [flat.find(words) for words in RULES]
    assert -1 not in places, list(RULES)[places.index(-1)]
    assert places == sorted(places)
    assert all(words in flat for words in ELSEWHERE)
    for text in found.values():
        for told in re.split(r"(?<=\.)\s+(?=[A-Z`])", text):
            assert any(words in told for words in RULES), told
