"""Diagnostics as a person sees them."""

from __future__ import annotations

from sexpgpu_core.diagnostics import Change, Edit, Expansion, Related, diagnostic
from sexpgpu_core.diagnostics.render_text import counts, render, render_all
from sexpgpu_core.spans import Source, Span

SOURCE = Source("chars.lisp", "(defparam wte (256 width))\n\n(matmul x\n  wte)\n(f\ty é漢 z)\n")


def span(text: str) -> Span:
    start = SOURCE.text.index(text)
    return Span(SOURCE, start, start + len(text))


def test_message_place_underline_note_expansion_scope_help_and_edit_are_all_shown() -> None:
    start = SOURCE.text.index("wte)\n(f")
    wte = Span(SOURCE, start, start + 3)
    edit = Edit("transpose wte", (Change(wte, "(transpose wte)"),))
    d = diagnostic(
        "E-SHAPE-MATMUL",
        "the inner sizes are 64 and 256",
        span=span("(matmul x"),
        hint="multiply by the transpose",
        edit=edit,
        related=(Related("wte is (256 width) here", span("wte (256 width)")),),
        expansion=(Expansion("layer", span("(f")),),
        scope="gpt/h/0",
        left="f32 (12 64)",
        left_inner=64,
    )
    assert render(d).split("\n") == [
        "error[E-SHAPE-MATMUL]: the inner sizes are 64 and 256",
        " --> chars.lisp:3:1",
        "  |",
        "3 | (matmul x",
        "  | ^^^^^^^^^",
        "  = left: f32 (12 64)",
        "note: wte is (256 width) here",
        " --> chars.lisp:1:11",
        "  |",
        "1 | (defparam wte (256 width))",
        "  |           ---------------",
        "  = in the expansion of layer at chars.lisp:5:1",
        "  = in gpt/h/0",
        "help: multiply by the transpose",
        "4 - wte)",
        "4 + (transpose wte))",
    ]


def test_changes_of_one_line_are_shown_as_one() -> None:
    at = SOURCE.text.index("wte (256")
    changes = (Change(Span(SOURCE, at + 4, at + 4), "'"), Change(Span(SOURCE, at, at + 3), "w"))
    d = diagnostic("E-TYPE", "no", span=span("wte"), hint="", edit=Edit("two", changes))
    assert render(d).split("\n")[-2:] == [
        "1 - (defparam wte (256 width))",
        "1 + (defparam w '(256 width))",
    ]


def test_a_span_of_several_lines_marks_the_first_and_says_the_last() -> None:
    d = diagnostic("E-READ-EOF", "open", span=span("(matmul x\n  wte)"), hint="")
    assert render(d).split("\n")[4] == "  | ^^^^^^^^^ to line 4"


def test_wide_characters_and_tabs_keep_the_mark_under_its_text() -> None:
    line, under = render(diagnostic("E-TYPE", "no", span=span("漢"), hint="")).split("\n")[3:5]
    assert line == "5 | (f    y é漢 z)"
    assert under == "  |          ^^"


def test_an_empty_span_at_the_end_still_has_a_mark() -> None:
    end = len(SOURCE.text)
    d = diagnostic("E-READ-EOF", "open", span=Span(SOURCE, end, end), hint="")
    assert render(d).endswith(" | ^")


def test_a_long_line_is_cut_around_the_mark() -> None:
    source = Source("long.lisp", "x" * 5000 + "(bad)" + "y" * 5000)
    text = render(diagnostic("E-TYPE", "no", span=Span(source, 5000, 5005)))
    assert "(bad)" in text
    assert all(len(line) < 150 for line in text.split("\n"))


def test_control_characters_reach_no_terminal() -> None:
    source = Source("a.lisp", "(f \x1b[31m)")
    text = render(diagnostic("E-TYPE", "a \x1b[2J b", span=Span(source, 0, 9)))
    assert "\x1b" not in text


def test_colour_is_only_added_text() -> None:
    import re

    d = diagnostic("E-TYPE", "no", span=span("wte"), hint="yes")
    assert re.sub("\x1b\\[[0-9;]*m", "", render(d, color=True)) == render(d)


def test_lists_are_cut_and_say_how_to_see_the_rest() -> None:
    many = [diagnostic("E-TYPE", str(i)) for i in range(23)] + [diagnostic("W-UNUSED", "x")]
    text = render_all(many, limit=20, more="sexpgpu check --limit 0")
    assert text.endswith("\n\n... 4 more: sexpgpu check --limit 0")
    assert counts(many) == "23 errors, 1 warning"
