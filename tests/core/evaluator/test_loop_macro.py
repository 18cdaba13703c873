"""The clauses of loop, one expansion each; what it cannot read is a malformed form."""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.evaluator.printer import print_text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(loop for x in '(1 2 3) collect (* x x))", "(1 4 9)"),
        ("(loop for x in '(1 2 3 4) by #'cddr collect x)", "(1 3)"),
        ("(loop for x on '(1 2) collect x)", "((1 2) (2))"),
        ('(loop for c across "ab" collect c)', "(#\\a #\\b)"),
        ("(loop for i from 5 downto 1 by 2 collect i)", "(5 3 1)"),
        ("(loop for i below 3 for x = i then (+ x i) collect x)", "(0 1 3)"),
        ("(loop for i from 0 to 2 for j = i collect (list i j))", "((0 0) (1 1) (2 2))"),
        ("(loop for a = 1 then b and b = 2 then (+ a b) repeat 4 collect a)", "(1 2 3 5)"),
        ("(loop for (a . b) in '((1 . 2) (3 . 4)) collect (+ a b))", "(3 7)"),
        ("(loop with x = 1 and y = 2 return (list x y))", "(1 2)"),
        ("(loop repeat 3 collect 'x)", "(x x x)"),
        ("(loop for x in '(1 2 3) while (< x 3) sum x)", "3"),
        ("(loop for x in '(1 2 3) until (= x 2) count t)", "1"),
        ("(loop for x in '(3 1 2) maximize x)", "3"),
        ("(loop for x in '(3 1 2) minimize x into m finally (return m))", "1"),
        ("(loop for x in '((1) (2 3)) append x)", "(1 2 3)"),
        ("(loop for x in '(1 2 3) when (oddp x) collect it)", "(t t)"),
        (
            "(loop for x in '(1 2 3) if (oddp x) collect x into a else collect x into b end"
            " finally (return (list a b)))",
            "((1 3) (2))",
        ),
        ("(loop for x in '(1 3) always (oddp x))", "t"),
        ("(loop for x in '(1 3) never (evenp x))", "t"),
        ("(loop for x in '(1 2) thereis (evenp x))", "t"),
        ("(loop named out for x in '(1 2) do (loop (return-from out x)))", "1"),
        ("(loop for x in '(1 2 3) do (if (= x 2) (loop-finish)) sum x)", "1"),
        ("(loop (return 5))", "5"),
        ("(loop for i from (+ 0 1) to (+ 1 1) collect i)", "(1 2)"),
    ],
)
def test_clauses_do_what_the_standard_says(text: str, wanted: str) -> None:
    assert print_text(Evaluator().evaluate(text)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "(loop for)",
        "(loop for x)",
        "(loop for x over '(1))",
        "(loop colect 1)",
        "(loop for x in '(1) for x in '(2) collect x)",
        "(loop for x in '(1) collect x sum x)",
        "(loop for i upfrom 1 downto 0 collect i)",
        "(loop for 3 in '(1) do (print 1))",
    ],
)
def test_what_loop_cannot_read_is_malformed(text: str) -> None:
    with pytest.raises(Problem) as caught:
        Evaluator().evaluate(text)
    assert caught.value.diagnostic.code == "E-FORM-SHAPE"
