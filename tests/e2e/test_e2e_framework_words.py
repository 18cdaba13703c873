"""Words of other frameworks are told by words that are there."""

from __future__ import annotations

import re

import pytest

from sexpgpu_core import config, manual, plugins
from sexpgpu_core.evaluator.framework_habits import (
    ADVICE,
    FRAMEWORKS,
    KEYWORDS,
    keyword_advice,
    keyword_habit,
)
from sexpgpu_core.registry import merge

REGISTRY = merge(plugins.distributions(config.settings().cache)[0])

WORDS = sorted({word for word in FRAMEWORKS.values() if not set(" ,") & set(word)})


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_help_is_in_the_manual(word: str) -> None:
    assert manual.find(word, REGISTRY) is not None


@pytest.mark.parametrize("word", sorted(set(KEYWORDS.values())))
def test_a_keyword_of_help_is_one_that_some_function_takes(word: str) -> None:
    found = (manual.find(name, REGISTRY) for name in manual.names(REGISTRY))
    assert any(one is not None and word in one.usage for one in found)


def test_a_keyword_is_told_only_where_the_function_has_it() -> None:
    assert keyword_habit(":keepdims", [":axis", ":keep"]) == ":keep"
    assert keyword_habit(":KERNEL_SIZE", [":kernel"]) == ":kernel"
    assert keyword_habit(":keepdims", [":axis"]) is None
    assert keyword_habit(":axis", [":axis"]) is None


@pytest.mark.parametrize("keyword", sorted(ADVICE))
def test_advice_for_a_keyword_names_what_there_is(keyword: str) -> None:
    said = keyword_advice(f":{keyword}", "relu")
    assert said is not None
    heads = re.findall(r"\((\D[^\s()]*)", said)
    assert all(manual.find(word, REGISTRY) is not None for word in heads), heads
    assert keyword not in KEYWORDS
