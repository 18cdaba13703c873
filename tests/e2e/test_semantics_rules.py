"""Each item of the page of semantics, of steps, bits and programs, is held by tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from runtime_rules import held_here, rules
from semantics_rules import ELSEWHERE, OPEN, SECTIONS, TABLE

from sexpgpu_core.diagnostics.catalogue import lookup

ROOT = Path(__file__).parents[2]
RULES = rules(TABLE)
PAGE = ROOT.parent / "shared" / "design" / "45-semantics.md"


def items() -> dict[int, str]:
    """Number -> text, in one line."""
    page = PAGE.read_text(encoding="utf-8").partition("# The semantics")[2]
    parts = re.split(r"^## ", page, flags=re.M)
    kept = "\n".join(p for p in parts if p.startswith(SECTIONS))
    found = re.findall(r"^\*\*(\d+)\.(.*?)(?=^\*\*\d+\.|^[A-E]\. |\Z)", kept, re.M | re.S)
    return {int(n): " ".join(text.replace("> ", "").split()) for n, text in found}


def test_each_item_is_held_by_tests_and_codes_that_exist() -> None:
    here = held_here(ROOT / "tests")
    pages = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    for words, held in RULES.items():
        assert held, words
        codes = [word for word in held if not word.startswith("test_")]
        assert set(held) - set(codes) <= here, words
        assert all(lookup(c).code == c and f"### {c}\n" in pages for c in codes), words


@pytest.mark.skipif(not PAGE.exists(), reason="the design's pages are not beside the checkout")
def test_the_items_are_those_of_the_page() -> None:
    found = items()
    assert list(found) == [*range(1, 20), *range(33, 44)]
    numbered = {
        int(n): part for n, part in re.findall(r"# (\d+)\n(.*?)(?=# \d+\n|\Z)", TABLE, re.S)
    }
    assert set(numbered) | set(ELSEWHERE) == set(found)
    for number, part in numbered.items():
        lines = [line for line in part.splitlines() if line and not line.startswith("  ")]
        places = [found[number].find(words) for words in lines]
        assert -1 not in places, (number, lines[places.index(-1)])
        assert places == sorted(places), number
    whole = " ".join(found.values())
    assert all(words in whole for words in OPEN)
