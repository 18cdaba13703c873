"""Evaluation: special forms, functions, exits, places, structures and conditions give the
standard's values.
"""

from __future__ import annotations

import pytest

from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.evaluator.printer import print_text
from sexpgpu_core.evaluator.values import MultipleValues


def value(*texts: str) -> str:
    evaluator = Evaluator()
    for text in texts:
        found = evaluator.evaluate(text)
    values = found if isinstance(found, MultipleValues) else (found,)
    return " ; ".join(map(print_text, values))


BINDING = [
    ("(let ((x 1)) (let ((x 2) (y x)) (list x y)))", "(2 1)"),
    ("(let* ((x 1) (y (+ x 1))) (list x y))", "(1 2)"),
    ("(let (a (b)) (list a b))", "(nil nil)"),
    ("(let ((a 1)) (flet ((f () a)) (setq a 2) (f)))", "2"),
    ("(let (fs) (dotimes (i 3) (push (lambda () i) fs)) (mapcar #'funcall fs))", "(3 3 3)"),
    ("(let (fs) (dolist (i '(1 2)) (push (lambda () i) fs)) (mapcar #'funcall fs))", "(2 1)"),
    ("(labels ((e (n) (or (= n 0) (o (1- n)))) (o (n) (and (/= n 0) (e (1- n))))) (e 9))", "nil"),
    ("(symbol-macrolet ((y (car x))) (let ((x (list 1))) (setq y 5) x))", "(5)"),
    ("(macrolet ((twice (x) `(list ,x ,x))) (twice 3))", "(3 3)"),
    ("(multiple-value-bind (a b c) (values 1 2) (list a b c))", "(1 2 nil)"),
    ("(destructuring-bind (a (b &optional (c 9)) &key k) '(1 (2) :k 3) (list a b c k))",
     "(1 2 9 3)"),
    ("(progv '(p q) '(1) (list (boundp 'p) (boundp 'q)))", "(t nil)"),
    ("(list (values) (values 1 2))", "(nil 1)"),
    ("(multiple-value-list (values))", "nil"),
    ("(multiple-value-call #'list (values 1 2) 3)", "(1 2 3)"),
    ("(let ((x 1)) (declare (special x)) (symbol-value 'x))", "1"),
]  # fmt: skip

LAMBDAS = [
    ("((lambda (a &optional (b (* a 2) bp) &rest r) (list a b bp r)) 1)", "(1 2 nil nil)"),
    ("((lambda (&key (x 1 xp) ((:why y) 2)) (list x xp y)) :why 5)", "(1 nil 5)"),
    ("((lambda (&key x &allow-other-keys) x) :z 1 :x 2)", "2"),
    ("((lambda (&key x) x) :z 1 :allow-other-keys t)", "nil"),
    ("((lambda (a &aux (b (1+ a))) (list a b)) 1)", "(1 2)"),
    ("((lambda (&rest r) r) 1 2)", "(1 2)"),
    ("(let ((n 0)) (flet ((f (&optional (x (incf n))) x)) (list (f) (f) (f 9))))", "(1 2 9)"),
]

EXITS = [
    ("(block b (mapc (lambda (x) (when (= x 2) (return-from b x))) '(1 2 3)))", "2"),
    ("(dolist (x '(1 2 3)) (when (= x 2) (return (* x 10))))", "20"),
    ("(let ((x 0)) (tagbody a (incf x) (when (< x 3) (go a))) x)", "3"),
    ("(let ((n 0)) (tagbody a (incf n) (mapc (lambda (x) x (if (< n 3) (go a))) '(1))) n)", "3"),
    ("(catch 'k (list (throw 'k 1)))", "1"),
    ("(let (log) (catch 'k (unwind-protect (throw 'k 1) (push 'c log))) log)", "(c)"),
    ("(let ((x (block nil (return 5) 6))) (list x))", "(5)"),
    ("(block a (list (block b (return-from a 1))))", "1"),
    ("(do ((i 0 (1+ i)) (acc () (cons i acc))) ((= i 3) acc))", "(2 1 0)"),
    ("(do* ((i 0 (1+ i)) (j i i)) ((= i 2) j))", "2"),
    ("(prog ((x 1)) a (incf x) (if (< x 4) (go a)) (return x))", "4"),
    ("(block nil (dotimes (i (return 1))) 2)", "2"),
    ("(funcall (lambda (n) (dotimes (i n) (if (= i 3) (return i)))) 9)", "3"),
]

PLACES = [
    ("(let ((l (list 1 2)) (i 0)) (incf (nth (incf i) l) 10) (list l i))", "((1 12) 1)"),
    ("(let ((a 1) (b 2)) (rotatef a b) (psetf a 10 b a) (list a b))", "(10 2)"),
    ("(let ((x (list 1))) (push 0 (cdr x)) (pushnew 1 x) (list x (pop x)))", "((1 0) 1)"),
    ("(let ((p (list :a 1))) (setf (getf p :b) 2) (remf p :a) p)", "(:b 2)"),
    ("(let ((x 5)) (setf (ldb (byte 2 0) x) 2) x)", "6"),
    ("(let (a b) (setf (values a b) (floor 7 2)) (list a b))", "(3 1)"),
    ("(let ((a 1) (b 2)) (list (shiftf a b 9) a b))", "(1 2 9)"),
    ("(let ((v (vector 1 2))) (setf (aref v 0) 7 (aref v 1) 8) v)", "#(7 8)"),
    ("(let ((l (list 1 2))) (setf (the integer (car l)) 9) l)", "(9 2)"),
]

BRANCHES = [
    ("(case 2 ((1 2) 'a) (t 'c))", "a"),
    ("(case nil (nil 'never) ((nil) 'yes))", "yes"),
    ("(case 1.0 (1 'int) (1.0 'float))", "float"),
    ('(typecase "s" (integer 1) (string 2))', "2"),
    ("(cond ((assoc 'b '((b . 2)))) (t 'none))", "(b . 2)"),
    ("(list (and) (or) (and 1 2) (or nil 3))", "(t nil 2 3)"),
    ("(multiple-value-list (or nil (values 1 2)))", "(1 2)"),
    ("(list (if '() 1 2) (if 0 1 2) (when nil 1) (unless nil 1 2))", "(2 1 nil 2)"),
    ("(-> 5 (- 1) (list 2))", "(4 2)"),
    ("(->> 5 (- 1) (list 2))", "(2 -4)"),
    ("(as-> 5 x (+ x 1) (* x x))", "36"),
    ("(let-values (((a b) (values 1 2)) ((c) 3)) (list a b c))", "(1 2 3)"),
    ("(prog1 1 2)", "1"),
    ("(nth-value 1 (floor 7 2))", "1"),
]

TEMPLATES = [
    ("`(1 ,@(list 2 3) ,(+ 2 2))", "(1 2 3 4)"),
    ("`(a ,@'(b) . c)", "(a b . c)"),
    ("`(0 ,@'(1 . 2))", "(0 1 . 2)"),
    ("(handler-case `(,@'(1 . 2) . ,(car (list nil))) (type-error () :no-list))", ":no-list"),
    ("`#(1 ,(+ 1 1) ,@(list 3))", "#(1 2 3)"),
    ("(let ((a 1)) (eval (eval ``(list ,,a ',',a))))", "(1 1)"),
    ("(let ((xs '(1 2))) (eval (eval ``(list ,@',xs))))", "(1 2)"),
    ("(let ((xs '(1 2))) (eval ``(list ,,@xs)))", "(list 1 2)"),
]

CONDITIONS = [
    ("(handler-case (error \"boom ~a\" 1) (error (c) (princ-to-string c)))", '"boom 1"'),
    ("(handler-case (/ 1 0) (division-by-zero () 'div))", "div"),
    ("(handler-case (car 1) (type-error (c)"
     " (list (type-error-datum c) (type-error-expected-type c))))",
     "(1 list)"),
    ("(handler-case (eval '(nope 1)) (undefined-function (c) (cell-error-name c)))", "nope"),
    ("(handler-case (eval 'nope) (unbound-variable (c) (cell-error-name c)))", "nope"),
    ("(handler-case (eval '(car)) (program-error () 'program))", "program"),
    ("(handler-case 1 (error () 2) (:no-error (x) (list x)))", "(1)"),
    ("(let (log) (handler-case (handler-bind ((error (lambda (c) c (push 1 log)))) (error \"x\"))"
     " (error () (push 2 log))) log)", "(2 1)"),
    ("(handler-bind ((error #'continue)) (cerror \"go on\" \"bad\") 5)", "5"),
    ("(handler-bind ((warning #'muffle-warning)) (warn \"w\") 3)", "3"),
    ("(with-simple-restart (continue \"x\") (invoke-restart 'continue) 1)", "nil ; t"),
    ("(let ((x 1)) (ignore-errors (unwind-protect (error \"x\") (setq x 2))) x)", "2"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "printed"),
    BINDING + LAMBDAS + EXITS + PLACES + BRANCHES + TEMPLATES + CONDITIONS,
)  # fmt: skip
def test_a_form_has_the_value_of_the_standard(form: str, printed: str) -> None:
    assert value(form) == printed


def test_self_tail_calls_run_as_loops() -> None:
    text = "(defun f (n acc) (if (= n 0) acc (f (1- n) (+ acc n))))"
    assert value(text, "(f 100000 0)") == "5000050000"


def test_a_self_tail_call_gives_closures_variables_of_their_own() -> None:
    text = "(defun f (n fs) (if (= n 0) (mapcar #'funcall fs) (f (1- n) (cons (lambda () n) fs))))"
    assert value(text, "(f 3 nil)") == "(1 2 3)"


def test_special_variables_are_bound_for_the_time_of_a_form() -> None:
    defs = ("(defvar *x* 1)", "(defun f () *x*)", "(defun g (*x*) (f))")
    assert value(*defs, "(list (g 5) (let ((*x* 7)) (f)) (f))") == "(5 7 1)"


def test_functions_may_be_defined_after_what_calls_them() -> None:
    assert value("(defun f (x) (g x))", "(defun g (x) (* x 2))", "(f 4)") == "8"


def test_a_setf_function_is_a_place() -> None:
    defs = "(defun (setf head) (new l) (setf (car l) new))"
    assert value(defs, "(let ((l (list 1))) (setf (head l) 5) l)") == "(5)"


def test_a_defsetf_place_and_a_modify_macro_evaluate_once() -> None:
    defs = (
        "(defun mid (v i) (aref v i))",
        "(defsetf mid (v i) (new) `(setf (aref ,v ,i) ,new))",
        "(define-modify-macro multf (n) *)",
    )
    form = "(let ((v (vector 1 2)) (i 0)) (multf (mid v (incf i)) 5) (list v i))"
    assert value(*defs, form) == "(#(1 10) 1)"


def test_once_only_and_with_gensyms_keep_macros_clean() -> None:
    defs = "(defmacro square (x) (once-only (x) `(* ,x ,x)))"
    assert value(defs, "(let ((i 0)) (list (square (incf i)) i))") == "(1 1)"


STRUCTURES = (
    "(defstruct point x (y 2))",
    "(defstruct (point3 (:include point (y 7))) z)",
    "(defstruct (pair (:constructor pair (left &optional right)) (:conc-name p-)) left right)",
)


@pytest.mark.parametrize(
    ("form", "printed"),
    [
        ("(make-point :x 1)", "#S(point :x 1 :y 2)"),
        (
            "(let ((p (make-point))) (setf (point-x p) 3) (incf (point-y p)) p)",
            "#S(point :x 3 :y 3)",
        ),
        ("(let ((p (make-point3 :z 1))) (list (point-p p) (point-y p) (point3-y p)))", "(t 7 7)"),
        ("(list (typep (make-point3) 'point) (point3-p (make-point)))", "(t nil)"),
        ("(p-right (pair 1 2))", "2"),
        ("(equalp (make-point :x 1) (copy-point (make-point :x 1)))", "t"),
    ],
)
def test_structures(form: str, printed: str) -> None:
    assert value(*STRUCTURES, form) == printed


def test_a_condition_of_the_file_has_slots_and_a_report() -> None:
    define = (
        "(define-condition bad (error) ((code :initarg :code :reader bad-code))"
        ' (:report (lambda (c s) (format s "code ~a" (bad-code c)))))'
    )
    form = "(handler-case (error 'bad :code 5) (bad (c) (list (bad-code c) (princ-to-string c))))"
    assert value(define, form) == '(5 "code 5")'


def test_macros_take_whole_forms_bodies_and_environments() -> None:
    defs = "(defmacro m (&whole w (a &optional (b 2)) &body body) `(list ',w ,a ,b ,@body))"
    assert value(defs, "(m (1) 3 4)") == "((m (1) 3 4) 1 2 3 4)"


def test_output_goes_to_the_evaluator_not_to_the_process() -> None:
    evaluator = Evaluator()
    evaluator.evaluate('(princ "hello")')
    assert "".join(evaluator.output) == "hello"
