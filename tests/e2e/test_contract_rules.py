"""Each item of the page of contracts, sections A to C, is held by tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from contract_rules import ELSEWHERE, ITEMS, TABLE
from runtime_rules import held_here, rules

ROOT = Path(__file__).parents[2]
RULES = rules(TABLE)
PAGE = ROOT.parent / "shared" / "design" / "65-contracts.md"


def items() -> dict[str, str]:
    """A1 to C30, each in one line."""
    found: dict[str, str] = {}
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:4]:
        area = section[0]
        parts = re.findall(
            r"^(?:\*\*A(\d+)\b|(\d+)\.)(.*?)(?=^\*\*A\d|^\d+\. |\Z)", section, re.M | re.S
        )
        found |= {f"{area}{a or b}": " ".join(text.split()) for a, b, text in parts}
    return found


def by_item() -> dict[str, list[str]]:
    """The words of each item, by the table's headings."""
    found: dict[str, list[str]] = {}
    for line in TABLE.strip().splitlines():
        if line.startswith("# "):
            found[line[2:]] = []
        elif not line.startswith("  "):
            found[next(reversed(found))].append(line)
    return found


def test_each_item_is_held_by_tests_that_exist() -> None:
    here = held_here(ROOT / "tests")
    for words, held in RULES.items():
        assert held, words
        assert set(held) <= here, words


@pytest.mark.skipif(not PAGE.exists(), reason="the design's pages are not beside the checkout")
def test_the_items_are_those_of_the_page_and_each_has_some() -> None:
    found, told = items(), by_item()
    assert tuple(found) == ITEMS
    away = [item for item, text in found.items() if any(words in text for words in ELSEWHERE)]
    assert len(away) == len(ELSEWHERE)
    assert [*told] == [item for item in ITEMS if item in told]
    for item, text in found.items():
        assert told.get(item) or item in away, item
        places = [text.find(words) for words in told.get(item, ())]
        assert -1 not in places, (item, told[item][places.index(-1)])
        assert places == sorted(places), item
