"""Reading: every syntax, spans, and what is said of texts that do not read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.evaluator.modules import Module
from sexpgpu_core.evaluator.printer import print_text
from sexpgpu_core.evaluator.values import NIL, Cons, Value
from sexpgpu_core.reader import element_span, read_all, span_of
from sexpgpu_core.spans import Source


def read(text: str) -> tuple[list[Value], list[Diagnostic]]:
    return read_all(Source("f.lisp", text), Module("test"))


def shown(text: str) -> str:
    forms, diagnostics = read(text)
    assert diagnostics == []
    return " ".join(map(print_text, forms))


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("(a . b) (1 2 . 3) ()", "(a . b) (1 2 . 3) nil"),
        ("'x #'car ''a", "(quote x) (function car) (quote (quote a))"),
        ("1 1. -7 +3 1/3 4/2 -1/2", "1 1 -7 3 1/3 2 -1/2"),
        ("1.0 .5 1e-3 1d0 1f0 -0.0", "1.0 0.5 0.001 1.0 1.0 -0.0"),
        ("#b101 #o17 #xFF #3r12 #36rZ", "5 15 255 5 35"),
        (r"#\a #\Space #\newline #\(", r"#\a #\  #\Newline #\("),
        ("#(a 1) #2A((1 2) (3 4))", "#(a 1) #2A((1 2) (3 4))"),
        ("|Foo Bar| a\\B :key :|K|", "|Foo Bar| ab :key :k"),
        ('"a\\"b" "\\\\"', '"a\\"b" "\\\\"'),
        ("1 ; comment\n 2 #| a #| b |# c |# 3", "1 2 3"),
        ("#+sexpgpu a #-sexpgpu b #+(or) c #+(and common-lisp (not x)) d", "a d"),
        ("(1 #+nothing #<unreadable> 2 #-nothing 3)", "(1 2 3)"),
        ("#+(or) #+common-lisp x y", "y"),
        ("+ - 1+ a.b", "+ - 1+ a.b"),
    ],
)
def test_each_syntax_reads_as_the_standard_says(text: str, printed: str) -> None:
    assert shown(text) == printed


def test_three_dots_are_no_symbol() -> None:
    _, (error,) = read("(a ...)")
    assert (error.code, error.span.text if error.span else "") == ("E-READ-SYNTAX", "...")


def test_a_list_spans_from_bracket_to_bracket_and_a_tail_from_its_element() -> None:
    forms, _ = read("(a (b c)\n d)")
    form = forms[0]
    assert span_of(form).text == "(a (b c)\n d)"
    assert span_of(form.cdr.car).text == "(b c)"
    assert element_span(form).text == "a"
    assert element_span(form.cdr.cdr).text == "d"
    assert (element_span(form.cdr.cdr).line, element_span(form.cdr.cdr).column) == (2, 2)


def test_symbols_are_interned_and_uninterned_ones_are_not() -> None:
    (a, b, c, d), _ = read("foo FOO #:g #:g")
    assert a is b
    assert c is not d


def test_a_very_deep_list_reads_without_recursion() -> None:
    forms, diagnostics = read("(" * 100_000 + ")" * 100_000)
    assert diagnostics == []
    depth, form = 0, forms[0]
    while form is not NIL:
        depth, form = depth + 1, form.car
    assert depth == 99_999


def only(text: str) -> Diagnostic:
    _, diagnostics = read(text)
    assert len(diagnostics) == 1, [d.message for d in diagnostics]
    return diagnostics[0]


def test_an_unclosed_list_points_at_its_opening_and_says_where_the_close_is_missing() -> None:
    text = "(defun f (x)\n  (let ((y 1)\n    (g x y)))\n\n(defun g (x) x)\n"
    error = only(text)
    assert error.code == "E-READ-EOF"
    assert error.span is not None
    assert error.span.line == 2
    assert error.facts["likely_line"] == 2
    assert error.edit is not None
    change = error.edit.changes[0]
    fixed = text[: change.span.start] + change.new + text[change.span.end :]
    assert read(fixed)[1] == []


def test_reading_goes_on_after_an_unclosed_form() -> None:
    forms, diagnostics = read("(defun f (x)\n  (g x)\n\n(defun h (x) x)\n#t\n(defun k (x) x")
    assert [print_text(f) for f in forms][:1] == ["(defun h (x) x)"]
    assert [d.code for d in diagnostics] == ["E-READ-EOF", "E-READ-SYNTAX", "E-READ-EOF"]


def test_an_unclosed_string_names_the_line_that_it_opens_on() -> None:
    error = only('(a)\n(b "c\n d)')
    assert error.code == "E-READ-EOF"
    assert "line 2" in error.message


def test_an_extra_close_is_deleted_by_its_edit() -> None:
    error = only("(a))\n(b)")
    assert error.code == "E-READ-CLOSE"
    assert error.edit is not None
    assert (error.edit.changes[0].old, error.edit.changes[0].new) == (")", "")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(a , b)", "E-READ-COMMA"),
        ("`(a ,,b)", "E-READ-COMMA"),
        ("#.(+ 1 2)", "E-READ-EVAL"),
        ("#t", "E-READ-SYNTAX"),
        ("#<thing>", "E-READ-SYNTAX"),
        (r"#\Spce", "E-READ-SYNTAX"),
        ("(a . b c)", "E-READ-SYNTAX"),
        ("( . b)", "E-READ-SYNTAX"),
        ("1/0", "E-READ-SYNTAX"),
        ("#xfg", "E-READ-SYNTAX"),
        ("1e999", "E-READ-SYNTAX"),
        ("(')", "E-READ-SYNTAX"),
        ("|abc", "E-READ-SYNTAX"),
        ("a:b:c:d", "E-READ-SYNTAX"),
        ("nn:linear", "E-READ-MODULE"),
        ("#| open", "E-READ-EOF"),
    ],
)
def test_what_does_not_read_has_a_code(text: str, code: str) -> None:
    assert only(text).code == code


def test_a_character_name_that_is_misspelt_gets_the_nearest() -> None:
    assert "Space" in str(only(r"#\Spce").hint)


def test_backslash_n_in_a_string_is_warned_of() -> None:
    warning = only('"a\\n"')
    assert warning.code == "W-STRING-ESCAPE"
    assert "~%" in str(warning.hint)


def test_a_definition_in_the_first_column_inside_another_is_warned_of() -> None:
    warning = only("(defun f (x)\n  (let ((y 1))\n    (g x y))\n\n(defun g (x) x))\n")
    assert (warning.code, warning.span.line if warning.span else 0) == ("W-READ-INDENT", 5)


ATOMS = st.sampled_from(["a", "42", "1/2", "2.5", '"s t"', ":k", "|A b|", r"#\a", "nil"])
FORMS = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=4).map(lambda xs: "(" + " ".join(xs) + ")"),
    max_leaves=20,
)


@given(FORMS)
def test_what_is_printed_reads_back_the_same(text: str) -> None:
    once = shown(text)
    assert shown(once) == once


@given(st.text(alphabet="()'`,@#|\\\";: \nab1.+-", max_size=40))
def test_no_text_makes_the_reader_fail_in_any_other_way(text: str) -> None:
    forms, diagnostics = read(text)
    assert all(d.span is not None for d in diagnostics)
    for form in forms:
        if form.__class__ is Cons:
            assert span_of(form) is not None
