"""Each sentence of the design's page of the runtime is held by tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from runtime_rules import BUNDLES, held_here, rules

ROOT = Path(__file__).parents[2]
RULES = rules()
PAGE = ROOT.parent / "shared" / "design" / "50-runtime.md"


def test_each_rule_of_the_runtime_is_held_by_tests_that_exist() -> None:
    here = held_here(ROOT / "tests")
    for words, held in RULES.items():
        assert held, words
        assert set(held) <= here, words


@pytest.mark.skipif(not PAGE.exists(), reason="the design's pages are not beside the checkout")
def test_the_rules_are_those_of_the_page_and_each_of_its_paragraphs_has_some() -> None:
    page = PAGE.read_text(encoding="utf-8").partition(BUNDLES)[0]
    flat = " ".join(page.split())
    places = [flat.find(words) for words in RULES]
    assert -1 not in places, list(RULES)[places.index(-1)]
    assert places == sorted(places)
    for section in page.split("\n## ")[1:]:
        for part in re.split(r"\n\n|\n- ", section.partition("\n")[2].strip()):
            told = " ".join(part.split())
            assert any(words in told for words in RULES), told
