"""Lists, sets, trees and sequences as the standard says; nothing goes deep on long or deep data."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.evaluator import words
from sexpgpu_core.evaluator.builtins.sorting import merge_sort
from sexpgpu_core.evaluator.definitions import BUILTINS
from sexpgpu_core.evaluator.equality import equal, equal_key, equalp_key
from sexpgpu_core.evaluator.evaluator import Evaluator, Limits
from sexpgpu_core.evaluator.printer import print_text
from sexpgpu_core.evaluator.values import NIL, Cons, String, T, make_list

Evaluate = Callable[[str], str]
assert words


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(append '(1) '(2 3) 4)", "(1 2 3 . 4)"),
        ("(nconc (list 1) nil (list 2))", "(1 2)"),
        ("(cadr '(1 2 3))", "2"),
        ("(nth 5 '(1))", "nil"),
        ("(last '(1 2 3) 2)", "(2 3)"),
        ("(butlast '(1 2 3))", "(1 2)"),
        ("(member 2 '(1 2 3))", "(2 3)"),
        ('(member "b" \'("a" "b") :test #\'equal)', '("b")'),
        ("(assoc 'b '((a . 1) (b . 2)))", "(b . 2)"),
        ("(rassoc 2 '((a . 1) (b . 2)))", "(b . 2)"),
        ("(union '(1 2) '(2 3))", "(1 2 3)"),
        ("(set-difference '(1 2 3) '(2))", "(1 3)"),
        ("(subsetp '(1 2) '(2 1 3))", "t"),
        ("(subst 'x 'a '(a (b a)))", "(x (b x))"),
        ("(sublis '((a . 1)) '(a (a b)))", "(1 (1 b))"),
        ("(tree-equal '(1 (2)) '(1 (2)))", "t"),
        ("(mapcar #'+ '(1 2) '(10 20 30))", "(11 22)"),
        ("(maplist #'length '(a b))", "(2 1)"),
        ("(mapcan #'list '(1 2))", "(1 2)"),
        ("(getf '(:a 1 :b 2) :b)", "2"),
        ("(sort (list 3 1 2) #'<)", "(1 2 3)"),
        ("(stable-sort (list 3 1 2) #'> :key #'-)", "(1 2 3)"),
        ("(merge 'list (list 1 3) (list 2) #'<)", "(1 2 3)"),
        ("(remove 2 '(1 2 3 2) :count 1 :from-end t)", "(1 2 3)"),
        ("(remove-duplicates '(1 2 1))", "(2 1)"),
        ("(substitute 9 1 #(1 2 1))", "#(9 2 9)"),
        ("(find-if #'evenp '(1 2 3))", "2"),
        ('(position #\\b "abc")', "1"),
        ("(count 1 '(1 2 1))", "2"),
        ('(search "bc" "abcd")', "1"),
        ("(mismatch '(1 2 3) '(1 2 4))", "2"),
        ("(reduce #'+ '(1 2 3) :initial-value 10)", "16"),
        ("(reduce #'list '(1 2 3) :from-end t)", "(1 (2 3))"),
        ("(map 'string #'char-upcase \"ab\")", '"AB"'),
        ("(every #'< '(1 2) '(2 3))", "t"),
        ("(some #'evenp '(1 3))", "nil"),
        ("(concatenate 'vector '(1) #(2))", "#(1 2)"),
        ("(replace (list 1 2 3) '(9 9) :start1 1)", "(1 9 9)"),
        ('(subseq "hello" 1 3)', '"el"'),
    ],
)
def test_lists_and_sequences_follow_the_standard(lisp: Evaluate, text: str, wanted: str) -> None:
    assert lisp(text) == wanted


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(car 1)", "E-TYPE"),
        ("(length '(1 . 2))", "E-TYPE"),
        ("(elt '(1 2) 5)", "E-INDEX"),
        ("(subseq '(1 2) 3)", "E-INDEX"),
        ("(nth -1 '(1))", "E-TYPE"),
        ("(make-list 100000000)", "E-LIMIT-CELLS"),
        ("(let ((x (list 1 2))) (rplacd (cdr x) x) (length x))", "E-TYPE"),
        ("(remove 1 2)", "E-TYPE"),
        ("(find 1 '(1) :no-such 2)", "E-CALL-KEYWORD"),
        ("(concatenate 'integer '(1))", "E-TYPE"),
    ],
)
def test_a_wrong_list_is_a_coded_problem(fault: Evaluate, text: str, code: str) -> None:
    assert fault(text) == code


@given(st.lists(st.tuples(st.integers(0, 5), st.integers())))
def test_merge_sort_is_stable(pairs: list[tuple[int, int]]) -> None:
    assert merge_sort(pairs, lambda a, b: a[0] < b[0]) == sorted(pairs, key=lambda p: p[0])


def test_sorting_ends_with_a_predicate_that_is_no_order() -> None:
    assert len(merge_sort(list(range(100)), lambda a, b: True)) == 100


def deep(n: int) -> object:
    value: object = NIL
    for _ in range(n):
        value = Cons(value, NIL)
    return value


def test_a_list_nested_100000_deep_is_printed_compared_copied_and_hashed() -> None:
    a, b = deep(100_000), deep(100_000)
    assert print_text(a).count("(") == 100_000
    assert equal(a, b)
    assert BUILTINS["EQUALP"].call(a, b) is T
    assert BUILTINS["TREE-EQUAL"].call(a, b) is T
    assert equal(BUILTINS["COPY-TREE"].call(a), a)
    assert hash(equal_key(a)) == hash(equal_key(b))
    assert equalp_key(a) == equalp_key(b)
    assert equal(BUILTINS["SUBST"].call(1, 2, a), a)


@given(st.recursive(st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=20))
def test_equal_values_have_equal_keys(tree: object) -> None:
    def lisp_tree(x: object) -> object:
        if isinstance(x, list):
            return make_list([lisp_tree(y) for y in x])
        return String(x) if isinstance(x, str) else x

    a, b = lisp_tree(tree), lisp_tree(tree)
    assert equal(a, b)
    assert equal_key(a) == equal_key(b)


@pytest.mark.parametrize(
    "text",
    [
        "(member 2 x)",
        "(assoc 2 (let ((y (list '(1 . 1)))) (rplacd y y)))",
        "(mapcar #'identity x)",
        "(copy-list x)",
        "(nthcdr 100000000000 x)",
        "(reverse x)",
    ],
)
def test_a_circular_list_ends_in_a_problem(fault: Evaluate, text: str) -> None:
    code = fault(f"(let ((x (list 1))) (rplacd x x) {text})")
    assert code in ("E-TYPE", "E-LIMIT-CELLS")


def test_walking_long_lists_costs_steps() -> None:
    evaluator = Evaluator(limits=Limits(steps=20_000))
    with pytest.raises(Problem) as caught:
        evaluator.evaluate("(let ((x (make-list 10000))) (loop (length x)))")
    assert caught.value.diagnostic.code == "E-LIMIT-STEPS"


def test_elt_of_a_dotted_list_looks_no_further_than_its_index() -> None:
    evaluator = Evaluator()
    assert evaluator.evaluate("(elt '(1 2 . 3) 1)") == 2
    with pytest.raises(Problem):
        evaluator.evaluate("(elt '(1 2 . 3) 2)")
    with pytest.raises(Problem):
        evaluator.evaluate("(elt '(1 2) 2)")


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        ("(mismatch '(1 2 3 4) '(1 5 3) :key #'note)", "(1 1 2 5)"),
        ("(mismatch #(1 2 3 4) #(1 2) :key #'note)", "(1 1 2 2)"),
        ("(search '(1) '(2 1 3) :key #'note)", "(1 2 1 1)"),
    ],
)
def test_a_key_is_asked_of_what_is_compared_alone(lisp: Evaluate, call: str, asked: str) -> None:
    noted = f"(let ((seen nil)) (flet ((note (x) (push x seen) x)) {call} (reverse seen)))"
    assert lisp(noted) == asked


def test_a_dotted_end_is_the_datum_of_list_length(lisp: Evaluate) -> None:
    form = "(handler-case (list-length '(1 2 . 3)) (type-error (c) (type-error-datum c)))"
    assert lisp(form) == "3"
