"""Comments that keep a warning back: on the form's line, or on the line above."""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Diagnostic, diagnostic
from sexpgpu_core.diagnostics.allow import allowed, not_allowed
from sexpgpu_core.spans import Source, Span


def kept(text: str, code: str, *, complete: bool = True) -> list[str]:
    source = Source("x.lisp", text)
    at = text.index("(f)")
    found: list[Diagnostic] = [diagnostic(code, span=Span(source, at, at + 3))]
    return [d.code for d in allowed(found, source, complete)]


@pytest.mark.parametrize(
    "text",
    ["(f) ; allow W-UNUSED: soon", ";; allow W-UNUSED: soon\n(f)", "(f) ;;allow w-unused"],
)
def test_a_comment_on_the_line_or_above_keeps_a_warning_back(text: str) -> None:
    assert kept(text, "W-UNUSED") == []


def test_a_comment_that_allows_nothing_is_a_warning_once_all_are_known() -> None:
    text = ";; allow W-UNUSED: soon\n\n(f)"
    assert kept(text, "W-UNUSED") == ["W-UNUSED", "W-ALLOW-UNUSED"]
    assert kept(text, "W-UNUSED", complete=False) == ["W-UNUSED"]


def test_no_comment_allows_an_error_or_another_warning() -> None:
    assert kept("(f) ; allow W-UNUSED: soon", "W-SHADOW") == ["W-SHADOW", "W-ALLOW-UNUSED"]
    assert kept("(f) ; allow W-TYPE", "E-TYPE") == ["E-TYPE", "W-ALLOW-UNUSED"]


def test_of_several_files_each_allows_what_stands_in_it() -> None:
    found = []
    for text in ("(f) ; allow W-UNUSED: soon", "(f)"):
        found.append(diagnostic("W-UNUSED", span=Span(Source("x.lisp", text), 0, 3)))
    nowhere = diagnostic("W-UNUSED")
    assert not_allowed([*found, nowhere]) == [found[1], nowhere]
