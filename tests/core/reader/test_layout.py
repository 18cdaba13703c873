"""One layout: what each kind of form looks like, and the laws that hold for every text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.diagnostics import Problems
from sexpgpu_core.reader.layout import layout
from sexpgpu_core.reader.layout_check import checked_layout
from sexpgpu_core.reader.layout_macros import visible_macros
from sexpgpu_core.reader.layout_plans import WIDTH
from sexpgpu_core.spans import Source

CASES = Path(__file__).with_name("layout_cases.lisp")
RULE = re.compile(r"^;;;; (.*)\n", re.M)


def golden() -> Iterator[tuple[str, str, str]]:
    """Title, text and layout of each case: titles have four semicolons, `;;;; =>` parts them."""
    parts = RULE.split(CASES.read_text(encoding="utf-8"))[1:]
    for at in range(0, len(parts), 4):
        title, before, arrow, after = parts[at : at + 4]
        assert arrow == "=>"
        yield title, before.strip("\n") + "\n", after.strip("\n") + "\n"


GOLDEN = list(golden())


def laid(text: str) -> str:
    """The layout of a text, its own macros known; every law that holds for one text is tried."""
    macros = visible_macros(text, lambda name: None)
    found = checked_layout(Source("-", text), macros)
    assert checked_layout(Source("-", found), macros) == found
    assert not found or found.endswith("\n")
    assert "\n\n\n" not in found or "\n\n\n" in text or "\\\n" in text  # a symbol of a line
    return found


@pytest.mark.parametrize(("before", "after"), [c[1:] for c in GOLDEN], ids=[c[0] for c in GOLDEN])
def test_a_form_has_one_layout(before: str, after: str) -> None:
    assert laid(before) == after


@pytest.mark.parametrize(("before", "after"), [c[1:] for c in GOLDEN], ids=[c[0] for c in GOLDEN])
def test_lines_of_a_layout_are_no_wider_than_they_may(before: str, after: str) -> None:
    assert max(map(len, after.split("\n"))) <= WIDTH


@pytest.mark.parametrize(
    "text",
    ["", "\n\n", ";; alone", "#| a\n  b |#", "a", "a b", "'(a . b)", "(#1=(a) #1#)", "`(, @a)"],
)
def test_a_small_text_is_laid_out(text: str) -> None:
    assert laid(text).split() == text.split()


def test_a_text_that_does_not_read_is_refused() -> None:
    with pytest.raises(Problems):
        checked_layout(Source("x.lisp", "(a (b)"))


def test_macros_of_a_required_module_are_known_under_their_prefix() -> None:
    module = "(defmacro with (a &body b) b) (defmacro plain (a b) b)"
    text = '(require "lib/tools" :as tools :import (with))'
    assert visible_macros(text, {"lib/tools": module}.get) == {"tools:with": 1, "with": 1}
    assert visible_macros(text, lambda name: None) == {}


def test_parameters_before_a_body_are_counted_without_their_markers() -> None:
    text = "(progn (defmacro m (&whole w (a b) c &optional d &environment e &body f) f))"
    assert visible_macros(text, lambda name: None) == {"m": 3}


def test_twenty_thousand_brackets_are_laid_out() -> None:
    text = "(" * 20_000 + ")" * 20_000
    assert re.sub(r"\s", "", layout(text)) == text


ATOMS = st.sampled_from(
    [
        *(
            "a",
            "defun",
            "let",
            "if",
            "cond",
            "loop",
            "for",
            "do",
            "when",
            "collect",
            "case",
            "setf",
        ),
        *(":key", ":a", "&body", "&key", "1", "2.5", "-", "#\\(", "#\\;", "#\\ ", "|a b|", "a\\ b"),
        *('"text"', '"two\nlines  "', '"a ; b"', "nil", "handler-case", "with-it", "defknob"),
        *("a-rather-long-name-that-fills-its-line", "stage", "groups", "tagbody", "flet", "quote"),
    ]
)
SPACE = st.sampled_from(
    [" ", "  ", "\n", "\n\n", "\n\n\n ", " ; c\n", "\n;; own\n", "\n;;; far\n", " #| i |# "]
)
PREFIX = st.sampled_from(["", "", "", "'", "#'", "`", "#+sexpgpu ", "#-(or a b) ", "'\n;; c\n"])


def joined(items: list[str], spaces: list[str]) -> str:
    return "".join(s + i for s, i in zip(spaces + [" "] * len(items), items))


def lists(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.builds(joined, st.lists(inner, max_size=7), st.lists(SPACE, max_size=7))
    return st.builds(
        lambda p, o, b, s: f"{p}{o}{b}{s})",
        PREFIX,
        st.sampled_from(["(", "(", "(", "#("]),
        body,
        SPACE,
    )


FORMS = st.recursive(ATOMS, lists, max_leaves=30)
TEXTS = st.builds(joined, st.lists(FORMS, max_size=4), st.lists(SPACE, max_size=4))


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_a_layout_reads_as_its_text_keeps_comments_and_is_its_own(text: str) -> None:
    laid(text)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="()'`,@#|\\\";: \nab1.+-", max_size=40))
def test_whatever_reads_has_a_layout(text: str) -> None:
    try:
        laid(text)
    except Problems:
        return
