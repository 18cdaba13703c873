"""Every directive of format, the printer's variables, and faults that name their column."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.evaluator import words
from sexpgpu_core.evaluator.format_flow import format_text
from sexpgpu_core.evaluator.values import Cons, String, make_list

Evaluate = Callable[[str], str]
assert words


@pytest.mark.parametrize(
    ("control", "arguments", "wanted"),
    [
        ("~a ~s", '\'foo "x"', 'foo "x"'),
        ("~5a|~5@a|", "1 2", "1    |    2|"),
        ("~d ~:d ~@d ~5,'0d", "12 1234567 3 42", "12 1,234,567 +3 00042"),
        ("~b ~o ~x ~3r", "5 8 255 10", "101 10 FF 101"),
        ("~r ~:r ~@r", "21 3 14", "twenty-one third XIV"),
        ("~,2f ~6,1f ~f", "3.14159 2.55 1/2", "3.14    2.6 0.5"),
        ("~e ~,2e", "12345.678 0.00123", "1.2345678e+4 1.23e-3"),
        ("~g|~$", "1.5 2.5", "1.5    |2.50"),
        ("~c ~@c ~:c", "#\\a #\\Tab #\\Space", "a #\\Tab Space"),
        ("a~%b~~~&c", "", "a\nb~\nc"),
        ("a~6tb~2,3@tc", "", "a     b  c"),
        ("~{~a~^, ~}", "'(1 2 3)", "1, 2, 3"),
        ("~:{<~a ~a>~}", "'((1 2) (3 4))", "<1 2><3 4>"),
        ("~@{~a~}", "1 2 3", "123"),
        ("~2{~a~}", "'(1 2 3)", "12"),
        ("~[zero~;one~:;many~]", "1", "one"),
        ("~:[no~;yes~]", "nil", "no"),
        ("~@[got ~a~]", "5", "got 5"),
        ("~(ABC~) ~:(two words~) ~@(one TWO~) ~:@(up~)", "", "abc Two Words One two UP"),
        ("~a~*~a ~:*~a", "1 2 3", "13 3"),
        ("~a ~@*~a", "1 2", "1 1"),
        ("~? ~a", '"~a-~a" (list 1 2) 3', "1-2 3"),
        ("~d item~:p ~d fox~:@p", "1 2", "1 item 2 foxies"),
        ("~10<a~;b~;c~>|", "", "a   b    c|"),
        ("a~\n   b", "", "ab"),
        ("~va|~#a", "4 1 2", "1   |2"),
    ],
)
def test_directives_write_what_the_standard_says(
    lisp: Evaluate, control: str, arguments: str, wanted: str
) -> None:
    lisp_control = control.replace('"', '\\"')
    shown = lisp(f'(format nil "{lisp_control}" {arguments})')
    assert shown[1:-1].replace('\\"', '"').replace("\\\\", "\\") == wanted


@pytest.mark.parametrize(
    ("control", "column"),
    [("abc~q", 4), ("~a", 1), ("~{~a", 1), ("x~]", 2), ("~:[a~]", 1), ("a~", 2)],
)
def test_a_bad_control_string_names_its_column(control: str, column: int) -> None:
    with pytest.raises(Problem) as caught:
        format_text(String(control), [])
    assert caught.value.diagnostic.code == "E-FORMAT"
    assert caught.value.diagnostic.facts["column"] == column


@given(st.text(alphabet="~{}[]()<>^*?:;@,#vad1 5'%&$fegrpcstx|\n", max_size=30))
def test_no_control_string_leaks_a_python_error(control: str) -> None:
    arguments = [1, 2.5, make_list([1, 2]), String("~a"), make_list([make_list([1])])]
    with suppress(Problem):
        format_text(String(control), arguments)


def test_control_strings_that_contain_themselves_are_refused() -> None:
    control = String("~?")
    arguments = Cons(control, Cons(None, make_list([])))
    arguments.cdr.car = arguments
    with pytest.raises(Problem):
        format_text(control, [control, arguments])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(let ((*print-case* :upcase)) (prin1-to-string '(a |b| :c)))", '"(A |b| :C)"'),
        ("(let ((*print-base* 2) (*print-radix* t)) (prin1-to-string 5))", '"#b101"'),
        ("(let ((*print-length* 2)) (prin1-to-string '(1 2 3)))", '"(1 2 ...)"'),
        ("(let ((*print-level* 1)) (prin1-to-string '(1 (2))))", '"(1 #)"'),
        ("(let ((x (list 1))) (write-to-string (list x x) :circle t))", '"(#1=(1) #1#)"'),
        ('(princ-to-string \'("a" #\\b))', '"(a b)"'),
        ('(prin1-to-string "a\\"b")', '"\\"a\\\\\\"b\\""'),
    ],
)
def test_the_printer_variables_are_respected(lisp: Evaluate, text: str, wanted: str) -> None:
    assert lisp(text) == wanted


def test_a_circular_list_prints_with_labels(lisp: Evaluate) -> None:
    text = "(let ((x (list 1 2))) (rplacd (cdr x) x) (write-to-string x :circle t))"
    assert lisp(text) == '"#1=(1 2 . #1#)"'
