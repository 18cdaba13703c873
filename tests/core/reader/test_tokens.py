"""Tokens are lossless: with the white space between them they are the text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_core.reader import tokens
from sexpgpu_core.reader.tokens import COMMENT


@given(st.text(alphabet="()'`,@#|\\\";: \nab1.+-", max_size=60))
def test_tokens_and_gaps_give_back_the_text(text: str) -> None:
    at = 0
    for token in tokens(text):
        assert text[at : token.start].strip() == ""
        assert token.end > token.start
        at = token.end
    assert text[at:].strip() == ""


def test_comments_are_tokens() -> None:
    text = "(a) ; one\n;; two\nb"
    found = [text[t.start : t.end] for t in tokens(text) if t.kind == COMMENT]
    assert found == ["; one", ";; two"]
