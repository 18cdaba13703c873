"""Mistakes with classes and methods: the code, the place in the user's text, the nearest name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sexpgpu_core.diagnostics import Diagnostic, Problem, Problems
from sexpgpu_core.evaluator.evaluator import Evaluator, Limits
from sexpgpu_core.evaluator.printer import print_text
from sexpgpu_core.spans import Source

CLASS = "(defclass point () ((x :initarg :x :accessor px) (y :initarg :y)))\n"


def fault(text: str, limits: Limits = Limits()) -> Diagnostic:  # noqa: B008 - immutable
    with pytest.raises(Problems) as caught:
        Evaluator(limits=limits).load(Source("a.lisp", text))
    return caught.value.diagnostics[0]


def place(found: Diagnostic) -> str:
    assert found.span is not None
    return found.span.text


MISTAKES = [
    ("(print (make-instance 'pont))", "E-NAME-CLASS", "pont", "point"),
    ("(make-instance 'point :xx 1)", "E-CALL-KEYWORD", ":xx", ":x"),
    ("(slot-value (make-instance 'point) 'yy)", "E-NAME-SLOT", "yy", "y"),
    ("(px (make-instance 'point))", "E-SLOT-UNBOUND", "(px (make-instance 'point))", ":x"),
    ("(print (px 3))", "E-CALL-METHOD", "(px 3)", "point"),
    ("(px)", "E-CALL-ARGUMENTS", "(px)", "(object)"),
    ("(defmethod f ((x pointt)) x)", "E-NAME-CLASS", "pointt", "point"),
    ("(defclass p2 (point) ((z :initfrom 1)))", "E-FORM-SHAPE", ":initfrom", ":initform"),
    ("(defmethod f :befor (x) x)\n(f 1)", "E-CALL-METHOD", "(f 1)", ":before"),
    ("(defgeneric f (x))\n(defmethod f (x y) y)", "E-FORM-SHAPE", "(defmethod f (x y) y)", "(x)"),
    ("(defgeneric f (x) (:method-combination ad))", "E-FORM-SHAPE",
     "(defgeneric f (x) (:method-combination ad))", "and"),
    ("(defmethod f ((x integer)) (call-next-method))\n(f 1)", "E-CALL-METHOD",
     "(call-next-method)", "next-method-p"),
    ("(defclass c (point integer) ())", "E-CLASS-ORDER", "(defclass c (point integer) ())",
     "defclass"),
    ("(defmethod length ((x point)) 1)", "E-REDEFINE", "(defmethod length ((x point)) 1)", "name"),
    ("(defmethod print-object ((x integer) s) s)", "E-REDEFINE",
     "(defmethod print-object ((x integer) s) s)", "class"),
    ("(defun f (x) x)\n(defmethod f ((x integer)) x)", "E-REDEFINE",
     "(defmethod f ((x integer)) x)", "name"),
    ("(with-slots (x yy) (make-instance 'point :x 1) (list x yy))", "E-NAME-SLOT",
     "yy", "y"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "at", "hint"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_placed_and_names_what_was_meant(
    text: str, code: str, at: str, hint: str
) -> None:
    found = fault(CLASS + text)
    assert (found.code, place(found)) == (code, at)
    assert hint in (found.hint or "")


def test_a_value_of_another_type_than_its_slot_is_refused() -> None:
    found = fault('(defclass a () ((n :type integer :initarg :n)))\n(make-instance \'a :n "1")')
    assert (found.code, place(found)) == ("E-TYPE", '(make-instance \'a :n "1")')
    assert "the slot n" in found.message


def test_endless_recursion_in_a_method_is_a_limit() -> None:
    text = "(defgeneric f (x))\n(defmethod f ((x integer)) (1+ (f (1+ x))))\n(f 1)"
    assert fault(text).code == "E-LIMIT-DEPTH"


def test_endless_calls_of_a_reader_are_counted() -> None:
    text = (
        "(defclass a () ((n :initform 1 :reader n)))\n(let ((o (make-instance 'a))) (loop (n o)))"
    )
    assert fault(text, Limits(steps=50_000)).code == "E-LIMIT-STEPS"


def test_a_specialized_parameter_counts_as_used_and_another_does_not() -> None:
    evaluator = Evaluator()
    text = "(defmethod f ((x integer) unused) 1)\n(defmethod f ((x bignum) y) (call-next-method))"
    evaluator.load(Source("a.lisp", text))
    assert [d.code for d in evaluator.diagnostics] == ["W-UNUSED"]
    assert "unused" in evaluator.diagnostics[0].message


def test_an_evaluation_does_not_see_the_methods_of_another() -> None:
    define = '(defclass a () ()) (defmethod print-object ((o a) s) (write-string "mine" s))'
    first, second = Evaluator(), Evaluator()
    shown = first.evaluate(define + "(prin1-to-string (make-instance 'a))")
    assert print_text(shown) == '"mine"'
    shown = second.evaluate("(defclass a () ()) (prin1-to-string (make-instance 'a))")
    assert print_text(shown) == '"#<a>"'


def test_a_message_about_an_object_calls_no_method_of_the_file() -> None:
    text = (
        "(defclass a () ())\n(defmethod print-object ((o a) s) (car o))\n(car (make-instance 'a))"
    )
    found = fault(text)
    assert (found.code, place(found)) == ("E-TYPE", "(car (make-instance 'a))")


def test_a_tensor_builtins_name_can_be_a_generic_function_of_the_file() -> None:
    evaluator = Evaluator()
    evaluator.load(
        Source("a.lisp", "(defgeneric norm (x))\n(defmethod norm ((x integer)) (abs x))")
    )
    with pytest.raises(Problem):
        evaluator.evaluate("(norm 'a)")


def test_the_chapter_is_not_loaded_for_a_file_that_does_not_name_it() -> None:
    code = (
        "import sys\n"
        "from sexpgpu_core.evaluator.evaluator import Evaluator\n"
        "evaluator = Evaluator()\n"
        'evaluator.evaluate("(defstruct s x) (define-condition c (error) ()) (make-s :x 1)")\n'
        "assert not [m for m in sys.modules if 'evaluator.objects' in m]\n"
        "evaluator.evaluate('(class-of 1)')\n"
        "assert [m for m in sys.modules if 'evaluator.objects' in m]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_class_that_failed_is_reported_once() -> None:
    text = (
        "(defclass a () ((n :reader n :initfrom 1)))\n"
        "(defmethod f ((x a)) (n x))\n(f (make-instance 'a))\n(defclass b (a) ())\n"
        "(make-instance 'b)"
    )
    with pytest.raises(Problems) as caught:
        Evaluator().load(Source("a.lisp", text))
    assert [d.code for d in caught.value.diagnostics] == ["E-FORM-SHAPE"]


def test_a_reader_may_take_the_name_of_a_tensor_builtin() -> None:
    evaluator = Evaluator()
    text = (
        "(defclass box () ((size :initform 3 :reader size)))\n(print (size (make-instance 'box)))"
    )
    evaluator.load(Source("a.lisp", text))
    assert "".join(evaluator.output).split() == ["3"]
    assert {d.code for d in evaluator.diagnostics} <= {"W-SHADOW"}


def test_values_from_outside_print_as_methods_of_the_file_say() -> None:
    evaluator = Evaluator()
    define = '(defclass a () ()) (defmethod print-object ((o a) s) (write-string "mine" s))'
    assert evaluator.shown(evaluator.evaluate(define + "(make-instance 'a)")) == [("mine", "a")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(make-array 3 :element-type '(integer 0 2) :initial-element 5)", "E-TYPE"),
        ("(setf (aref (make-array 3 :element-type '(integer 0 2)) 0) 3)", "E-TYPE"),
        ("(setf (svref (make-array 3 :element-type 'symbol) 0) 3)", "E-TYPE"),
        ("(let ((v (make-array 3 :element-type '(mod 9)))) (fill v 9))", "E-TYPE"),
        ("(logical-pathname \"host:name\")", "E-TYPE"),
        ("(find-symbol \"X\" \"NO-SUCH\")", "E-TYPE"),
        ("(print *)", "E-NAME-UNBOUND"),
    ],
)  # fmt: skip
def test_what_the_standard_leaves_open_is_refused_here(text: str, code: str) -> None:
    assert fault(text).code == code


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("(funcall (compile nil '(lambda (x) (* 2 x))) 4)", "8"),
        ("(progn (defun f (x) x) (compile 'f) (compile 'f '(lambda (x) (list x))) (f 1))", "(1)"),
        ("(progn (define-compiler-macro g (x) x) (defun g (x) (list x)) (g 1))", "(1)"),
        ("(boundp '*)", "t"),
        ("(list (fboundp 'open) (macro-function 'open) (fboundp 'no-such))", "(t nil nil)"),
        ("(handler-case (funcall #'open) (undefined-function () :left-out))", ":left-out"),
        ("(progn (defun open-it (open) open) (open-it 1))", "1"),
        ("(list (find-package \"CL\") (symbol-package 'car) (symbol-package :a))",
         "(:common-lisp :common-lisp :keyword)"),
        ("(eq (symbol-package 'mine) *package*)", "t"),
        ("(eq 'mine 'cl-user::mine)", "t"),
        ("(package-name (symbol-package 'car))", '"COMMON-LISP"'),
        ("(let ((*features* '(x))) (values (read-from-string \"#+cl-user::x 1 2\")))", "1"),
        ("(let ((*features* '(x))) (values (read-from-string \"#+x 1 2\")))", "2"),
        ("(let ((*features* '(:x))) (values (read-from-string \"#+(and x) x x\")))", "x"),
        ("(symbol-package (let ((*features* '(:x))) (values (read-from-string \"#+x x x\"))))",
         ":common-lisp-user"),
    ],
)  # fmt: skip
def test_names_of_packages_and_compiling(text: str, printed: str) -> None:
    assert print_text(Evaluator().evaluate(text)) == printed
