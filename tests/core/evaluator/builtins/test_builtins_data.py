"""Strings, characters, symbols, arrays, hash tables and types."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sexpgpu_core.evaluator import words
from sexpgpu_core.evaluator.definitions import BUILTINS
from sexpgpu_core.evaluator.unsupported import HINTS, unsupported

Evaluate = Callable[[str], str]
assert words


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('(string-upcase "abc" :start 1)', '"aBC"'),
        ('(string-capitalize "hello wORLD")', '"Hello World"'),
        ('(string-trim " " " a ")', '"a"'),
        ('(string< "abc" "abd")', "2"),
        ('(string-equal "ABC" "abc")', "t"),
        ('(string= "abc" "xbc" :start1 1 :start2 1)', "t"),
        ('(char "abc" 1)', "#\\b"),
        ("(char-code #\\A)", "65"),
        ("(digit-char-p #\\f 16)", "15"),
        ('(name-char "Newline")', "#\\Newline"),
        ("(char< #\\a #\\b #\\c)", "t"),
        ("(symbol-name 'foo)", '"FOO"'),
        ('(eq (make-symbol "A") \'a)', "nil"),
        ("(keywordp :a)", "t"),
        ("(progn (make-array '(2 2) :initial-contents '((1 2) (3 4))))", "#2A((1 2) (3 4))"),
        ("(aref (make-array '(2 2) :initial-contents '((1 2) (3 4))) 1 0)", "3"),
        ("(array-dimensions (make-array '(2 3)))", "(2 3)"),
        ("(let ((v (make-array 2 :fill-pointer 0))) (vector-push 5 v) v)", "#(5)"),
        (
            "(let ((v (make-array 0 :fill-pointer t :adjustable t)))"
            " (vector-push-extend 1 v) (vector-push-extend 2 v) v)",
            "#(1 2)",
        ),
        ("(make-array 3 :element-type 'bit :initial-element 1)", "#*111"),
        ("(bit-and (make-array 1 :element-type 'bit) (make-array 1 :element-type 'bit))", "#*0"),
        ("(gethash 1.0 (make-hash-table))", "nil; nil"),
        ('(equalp "Ab" "aB")', "t"),
        ('(equal "Ab" "aB")', "nil"),
        ("(equalp #(1 2.0) #(1.0 2))", "t"),
        ("(typep 3 '(integer 1 5))", "t"),
        ("(typep 3 '(or string (not integer)))", "nil"),
        ("(typep '(1 . a) '(cons integer symbol))", "t"),
        ("(typep 2 '(satisfies evenp))", "t"),
        ('(typep "ab" \'(string 2))', "t"),
        ("(subtypep 'fixnum 'integer)", "t; t"),
        ("(subtypep '(integer 0 3) '(or (integer 0 1) (integer 2 9)))", "t; t"),
        ("(subtypep 'list 'vector)", "nil; t"),
        ("(type-of 1/2)", "ratio"),
        ("(coerce '(1 2) 'vector)", "#(1 2)"),
        ("(coerce 1 'float)", "1.0"),
        ('(coerce "a" \'character)', "#\\a"),
        ('(read-from-string "(a . b) c")', "(a . b); 8"),
    ],
)
def test_data_follows_the_standard(lisp: Evaluate, text: str, wanted: str) -> None:
    assert lisp(text) == wanted


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(aref #(1 2) 2)", "E-INDEX"),
        ('(svref "a" 0)', "E-TYPE"),
        ("(make-array 100000000000)", "E-LIMIT-CELLS"),
        ("(make-array 2 :initial-contents '(1))", "E-CALL-ARGUMENTS"),
        ("(vector-pop (make-array 1 :fill-pointer 0))", "E-INDEX"),
        ("(typep 1 'no-such-type)", "E-TYPE"),
        ("(coerce 'abc 'float)", "E-TYPE"),
        ("(char-code 1)", "E-TYPE"),
        ("(symbol-name 1)", "E-TYPE"),
        ('(string-upcase "abc" :start 5)', "E-INDEX"),
        ("(make-hash-table :test 'car)", "E-CALL-ARGUMENTS"),
    ],
)
def test_wrong_data_is_a_coded_problem(fault: Evaluate, text: str, code: str) -> None:
    assert fault(text) == code


@pytest.mark.parametrize("test", ["eql", "equal", "equalp"])
def test_an_integer_and_a_float_are_one_key_only_in_equalp(lisp: Evaluate, test: str) -> None:
    text = (
        f"(let ((h (make-hash-table :test '{test})))"
        " (funcall #'(setf gethash) 'x 1 h) (multiple-value-list (gethash 1.0 h)))"
    )
    assert lisp(text) == ("(x t)" if test == "equalp" else "(nil nil)")


def test_equal_tables_find_strings_and_trees(lisp: Evaluate) -> None:
    text = (
        "(let ((h (make-hash-table :test #'equal)))"
        ' (funcall #\'(setf gethash) 1 (list "a" \'b) h) (gethash (list "a" \'b) h))'
    )
    assert lisp(text) == "1; t"


def test_what_is_left_out_names_what_stands_in() -> None:
    assert unsupported("DEFPACKAGE")
    assert unsupported("CAR") is None
    assert all(hint for hint in HINTS.values())


def test_every_builtin_has_a_first_line_that_says_what_it_does() -> None:
    for name, function in BUILTINS.items():
        if name.startswith(("(", "%")):
            continue
        assert function.doc, name
        assert function.doc.splitlines()[0].strip(), name
        assert function.lambda_list.startswith("("), name


@pytest.mark.parametrize(
    ("base", "text", "value"),
    [
        (16, "ff", "255"),
        (16, "-1A/b", "-26/11"),
        (2, "101", "5"),
        (2, "12", "|12|"),
        (8, "1.5", "1.5"),
        (8, "17.", "17"),
        (36, "z", "35"),
        (10, "ff", "ff"),
        (16, "fg", "fg"),
    ],
)
def test_integers_and_ratios_are_read_in_the_base_of_the_reader(
    lisp: Callable[[str], str], base: int, text: str, value: str
) -> None:
    form = f'(let ((*read-base* {base})) (nth-value 0 (read-from-string "{text}")))'
    assert lisp(form) == value


def test_a_base_of_the_reader_that_is_none_is_a_type_error(fault: Callable[[str], str]) -> None:
    assert fault('(let ((*read-base* 1)) (read-from-string "1"))') == "E-TYPE"
