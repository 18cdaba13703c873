"""What is said of a file that is wrong: code, place, hint and edit; several at once, without
cascades.
"""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Diagnostic, Problems
from sexpgpu_core.evaluator.evaluator import Evaluator, ModuleText
from sexpgpu_core.spans import Source

MODULES = {
    "lib/nn": ModuleText("nn.lisp", "(provide linear)\n(defun linear (x y) (list x y))\n"),
    "lib/wrong": ModuleText("wrong.lisp", "(provide nothing)\n"),
    "lib/a": ModuleText("a.lisp", '(require "lib/b")\n'),
    "lib/b": ModuleText("b.lisp", '(require "lib/a")\n'),
    "lib/run": ModuleText("run.lisp", "(defrun :steps 1)\n"),
}


def load(text: str) -> tuple[list[Diagnostic], Evaluator]:
    evaluator = Evaluator(modules=MODULES)
    try:
        evaluator.load(Source("f.lisp", text))
    except Problems as problems:
        return problems.diagnostics + evaluator.diagnostics, evaluator
    return list(evaluator.diagnostics), evaluator


def golden(text: str) -> list[str]:
    """`line:column code` of all that is said."""
    return [f"{d.span.line}:{d.span.column} {d.code}" if d.span else d.code for d in load(text)[0]]


def only(text: str) -> Diagnostic:
    found, _ = load(text)
    assert len(found) == 1, [(d.code, d.message) for d in found]
    return found[0]


def fixed(text: str, found: Diagnostic) -> str:
    assert found.edit is not None
    for change in sorted(found.edit.changes, key=lambda c: -c.span.start):
        text = text[: change.span.start] + change.new + text[change.span.end :]
    return text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("(car 1)", "1:1 E-TYPE"),
        ("(list (car 1))", "1:7 E-TYPE"),
        ("(fooo 1)", "1:1 E-NAME-FUNCTION"),
        ("(print nope)", "1:8 E-NAME-UNBOUND"),
        ("(setq nope 1)", "1:7 E-NAME-UNBOUND"),
        ("(get-universal-time)", "1:1 E-UNSUPPORTED"),
        ("(defun car (x) x)", "1:1 E-REDEFINE"),
        ("(defparameter pi 3)", "1:1 E-REDEFINE"),
        ("(setq t 1)", "1:1 E-REDEFINE"),
        ("(flet ((list (x) x)) (list 1))", "1:1 E-REDEFINE"),
        ("(car)", "1:1 E-CALL-ARGUMENTS"),
        ("(defun f (a) a) (defun g () (f))", "1:29 E-CALL-ARGUMENTS"),
        ("(defun f (&key size) size) (f :sise 1)", "1:31 E-CALL-KEYWORD"),
        ("(if)", "1:1 E-FORM-SHAPE"),
        ("(let x 1)", "1:1 E-FORM-SHAPE"),
        ("((f) 1)", "1:1 E-FORM-SHAPE"),
        ("(lambda (x &optionl y) (list x y))", "1:9 E-FORM-SHAPE"),
        ("(cond (else 1))", "1:1 E-FORM-SHAPE"),
        ("(defmacro m (x) (car x)) (m 5)", "1:26 E-FORM-MACRO"),
        ("(defmacro m (x) `(m ,x)) (m 5)", "1:26 E-FORM-MACRO"),
        ("(defmacro m (x) x) (m)", "1:20 E-CALL-ARGUMENTS"),
        ("(/ 1 0)", "1:1 E-ARITHMETIC"),
        ("(aref #(1) 5)", "1:1 E-INDEX"),
        ("(return 1)", "1:1 E-CONTROL"),
        ("(go x)", "1:1 E-CONTROL"),
        ("(throw 'x 1)", "1:1 E-CONTROL"),
        ("(funcall (block b (lambda () (return-from b 1))))", "1:30 E-CONTROL"),
        ("(setf (fooo 1) 2)", "1:1 E-PLACE"),
        ("(incf 5)", "1:1 E-PLACE"),
        ('(error "a ~a" 1)', "1:1 E-CONDITION"),
        ('(warn "careful")', "1:1 W-CONDITION"),
        ("(the string 5)", "1:1 E-TYPE"),
        ("(let ((x 5)) (check-type x string))", "1:14 E-TYPE"),
        ("(defun f (x y) x)", "1:13 W-UNUSED"),
        ("(case 1 ('a 1))", "1:10 W-CASE-NEVER"),
        ('(case 1 ("a" 1))', "1:10 W-CASE-NEVER"),
        ('(require "lib/nm")', "1:10 E-REQUIRE-MISSING"),
        ('(require "lib/run")', "1:1 E-REQUIRE-RUN"),
        ('(require "lib/nn") (nn:linera 1 2)', "1:21 E-IMPORT-NAME"),
        ('(require "lib/nn") (nn::linear 1 2)', "1:21 E-IMPORT-NAME"),
        ('(require "lib/nn" :import (nope))', "1:28 E-IMPORT-NAME"),
        ('(require "lib/nn" :import (linear))\n(defun linear (x) x)', "1:1 E-IMPORT-CLASH"),
        ('(require "lib/nn") (defun nn:linear (x) x)', "1:20 E-REDEFINE"),
        ("(nn:linear 1 2)", "1:2 E-READ-MODULE"),
        ("(let () (require \"lib/nn\"))", "1:9 E-FORM-SHAPE"),
    ],
)  # fmt: skip
def test_each_mistake_has_its_code_and_place(text: str, says: str) -> None:
    assert golden(text) == [says]


def test_mistakes_of_several_forms_are_all_found_in_order() -> None:
    text = '(car 1)\n(defun f (x) (fooo x) (+ 1 "a"))\n(print nope)\n(f 1 2)\n'
    assert golden(text) == [
        "1:1 E-TYPE",
        "2:14 E-NAME-FUNCTION",
        "3:8 E-NAME-UNBOUND",
        "4:1 E-CALL-ARGUMENTS",
    ]


def test_what_a_failed_definition_would_have_defined_causes_no_cascade() -> None:
    text = "(defparameter *n* (car 1))\n(print *n*)\n(defun f (x) (if))\n(f 1)\n(print (f *n*))\n"
    assert [line for line in golden(text) if "W-" not in line] == [
        "1:19 E-TYPE",
        "3:14 E-FORM-SHAPE",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "(defun block (x y) (+ x y))\n(defun f (x) (block (list x) x))\n",
        "(defun position (x) (* 2 x))\n(defun f (y) (position y))\n",
    ],
)
def test_calls_of_a_name_that_cannot_be_defined_cause_no_cascade(text: str) -> None:
    found = next(d for d in load(text)[0] if d.is_error)
    assert [line for line in golden(text) if "W-" not in line] == ["1:1 E-REDEFINE"]
    assert f"such as my-{found.facts['name']}" in (found.hint or "")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("(defn f (x) x)", "defun"),
        ("(defun sinusoidal-positions (n) n) (sinusoidal 3)", "sinusoidal-positions"),
        ("(null? nil)", "null"),
        ("(print True)", "write t"),
        ("(lenght '(1))", "length"),
        ("(defun f (fn) (fn 1))", "(funcall fn ...)"),
        ("(print car)", "#'car"),
        ("(defun f (&key size) size) (f :sise 1)", ":size"),
        ("(car)", "(list)"),
        ('(require "lib/nm")', "lib/nn"),
        ('(require "lib/nn") (linear 1 2)', "nn:linear"),
        ('(require "lib/nn") (nn:linera 1 2)', "linear"),
    ],
)
def test_the_hint_names_the_word_that_was_meant(text: str, hint: str) -> None:
    assert any(hint in str(d.hint) for d in load(text)[0] if d.is_error)


@pytest.mark.parametrize(
    "text",
    [
        "(lenght '(1))",
        "(defun f (fn) (fn 1))",
        "(defun f (x y) x)",
        "(null? nil)",
        '(require "lib/nn") (linear 1 2)',
    ],
)
def test_an_edit_makes_its_diagnostic_go_away(text: str) -> None:
    found = next(d for d in load(text)[0] if d.edit is not None)
    assert found.code not in [d.code for d in load(fixed(text, found))[0]]


def test_a_form_made_by_macros_is_told_at_the_call_with_the_chain() -> None:
    text = (
        "(defmacro inside (x) `(car ,x))\n(defmacro outside (x) `(progn (inside ,x)))\n"
        "(defun f ()\n  (outside 5))\n(f)\n"
    )
    error = only(text)
    assert error.code == "E-TYPE"
    assert error.span is not None
    assert error.span.text == "(outside 5)"
    assert [link.macro for link in error.expansion] == ["inside", "outside"]


def test_a_users_form_inside_a_macro_keeps_its_own_place() -> None:
    error = only("(defmacro wrap (&body b) `(progn ,@b))\n(wrap\n  (car 5))")
    assert error.span is not None
    assert (error.span.text, error.expansion) == ("(car 5)", ())


def test_a_cycle_of_modules_is_shown() -> None:
    error = only('(require "lib/a")')
    assert error.code == "E-REQUIRE-CYCLE"
    assert error.facts["cycle"] == ["lib/a", "lib/b", "lib/a"]


def test_a_module_that_does_not_define_what_it_provides() -> None:
    error = only('(require "lib/wrong")')
    assert (error.code, error.span.source.name if error.span else "") == ("E-PROVIDE", "wrong.lisp")


def test_a_file_may_take_the_name_of_a_tensor_builtin(monkeypatch: pytest.MonkeyPatch) -> None:
    from sexpgpu_core.evaluator.definitions import CORE_SYMBOLS, TENSOR_NAMES, core_symbol

    monkeypatch.setitem(CORE_SYMBOLS, "TENSOR-MEAN", core_symbol("TENSOR-MEAN"))
    TENSOR_NAMES.add("TENSOR-MEAN")
    try:
        found, evaluator = load("(defun tensor-mean (x) (* x 2))\n(print (tensor-mean 4))")
    finally:
        TENSOR_NAMES.discard("TENSOR-MEAN")
    assert [d.code for d in found] == ["W-SHADOW"]
    assert "8" in "".join(evaluator.output)


def test_ignored_variables_and_those_of_macros_are_not_warned_of() -> None:
    text = (
        "(defun f (x) (declare (ignore x)) 1)\n(defmacro m () `(let ((y 1)) 2))\n"
        "(defun g () (m))\n(dotimes (i 3) (print 1))\n"
    )
    assert golden(text) == []


def test_calls_of_a_definition_that_was_refused_use_their_variables() -> None:
    text = "(defun block (x n) (* x n))\n(defun net (x) (block x 32))\n(defun f (y) (+ 1 2))\n"
    assert golden(text) == ["1:1 E-REDEFINE", "3:11 W-UNUSED"]


def test_a_required_module_that_nothing_uses_is_told_when_asked() -> None:
    evaluator = Evaluator(modules=MODULES)
    unused = evaluator.load(Source("f.lisp", '(require "lib/nn")\n(print 1)'))
    used = evaluator.load(Source("g.lisp", '(require "lib/nn")\n(print (nn:linear 1 2))'))
    assert [d.facts["name"] for d in evaluator.unused_modules(unused)] == ["lib/nn"]
    assert evaluator.unused_modules(used) == []
