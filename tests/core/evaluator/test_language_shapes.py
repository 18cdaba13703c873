"""Forms that are not of their shape show it; edits of unused names stand where declarations do."""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Diagnostic, Problem, Problems
from sexpgpu_core.evaluator.definitions import NATIVE_MACROS
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.evaluator.expansion import SPECIAL_FORMS
from sexpgpu_core.evaluator.printer import print_text
from sexpgpu_core.spans import Source


def said(text: str) -> list[Diagnostic]:
    evaluator = Evaluator()
    try:
        evaluator.load(Source("f.lisp", text))
    except Problems as problems:
        return [*problems.diagnostics, *evaluator.diagnostics]
    return evaluator.diagnostics


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("(let (width 64) width)", "(let ((name value) ...) form...)"),
        ("(let* (a 1 b 2) a)", "(let* ((name value) ...) form...)"),
        ("(list (progn (let (a 1) a)))", "(let ((name value) ...) form...)"),
        ("(multiple-value-bind q (floor 3 2) q)", "(multiple-value-bind (name...) "),
        ("(defun f x x)", "(defun name (parameter...) [doc] form...)"),
        ("(labels ((f x x)) 1)", "(labels ((name (parameter...) form...) ...) form...)"),
        ("(symbol-macrolet (a 1) a)", "(symbol-macrolet ((name expansion) ...) form...)"),
    ],
)
def test_a_form_that_is_not_of_its_shape_shows_it(text: str, shape: str) -> None:
    (error,) = said(text)
    assert error.code == "E-FORM-SHAPE"
    assert f"write it as {shape}" in (error.hint or "")


def test_what_is_wrong_inside_of_a_form_is_not_told_as_its_shape() -> None:
    (error,) = said("(let ((a 1)) (print a) (go))")
    assert "(go tag)" in (error.hint or "")


@pytest.mark.parametrize(
    "text",
    [
        "(multiple-value-bind (a b) (floor 3 2) a)",
        "(destructuring-bind (a b) (list 1 2) a)",
        "(destructuring-bind (a (b &key c)) (list 1 (list 2 :c 3)) (list a b))",
        "(let ((a 1) (b 2)) a)",
        "(funcall (lambda (a b) a) 1 2)",
        "(flet ((f (a b) a)) (f 1 2))",
        "(multiple-value-bind (a b) 1 a)",
    ],
)
def test_what_is_not_used_is_declared_where_declarations_stand(text: str) -> None:
    (warning,) = said(text)
    assert warning.code == "W-UNUSED"
    assert warning.edit is not None
    ((span, new),) = warning.edit.changes
    mended = text[: span.start] + new + text[span.end :]
    assert said(mended) == []
    values = [print_text(Evaluator().evaluate(each)) for each in (text, mended)]
    assert values[0] == values[1]


def test_a_variable_that_is_called_as_a_function_is_not_told_to_be_unused() -> None:
    assert [d.code for d in said("(let ((f #'car)) (f '(1)))")] == ["E-NAME-FUNCTION"]


@pytest.mark.parametrize("form", ["(defparameter {} 1)", "(defun {} () 1)"])
def test_a_name_interned_in_lower_case_is_told(form: str) -> None:
    name = "(intern (format nil \"~a-~a\" 'w 'left))"
    use = "w-left" if "parameter" in form else "(w-left)"
    text = f"(defmacro make () `{form.format(',' + name)})\n(make)\n(print {use})"
    (error,) = said(text)
    assert "|w-left| in lower case: make symbols by (intern (string-upcase ...))" in error.hint


def test_no_setter_is_proposed_for_a_name_of_the_standard() -> None:
    (error,) = said("(setf (+ 1 2) 3)")
    assert error.code == "E-PLACE"
    assert "(defun (setf +)" not in (error.hint or "")


@pytest.mark.parametrize(
    ("form", "operation", "operands"),
    [
        ("(/ 1 0)", "/", "(1 0)"),
        ("(floor 7 0)", "floor", "(7 0)"),
        ("(mod 7 0)", "mod", "(7 0)"),
        ("(expt 0 -1)", "expt", "(0 -1)"),
        ("(let ((a 3) (b 0)) (/ a b))", "/", "(3 0)"),
        ("(log 5 1)", "log", "(5 1)"),
    ],
)
def test_an_arithmetic_error_has_its_operation_and_operands(
    form: str, operation: str, operands: str
) -> None:
    text = (
        f"(handler-case {form} (arithmetic-error (c)"
        " (list (arithmetic-error-operation c) (arithmetic-error-operands c))))"
    )
    assert print_text(Evaluator().evaluate(text)) == f"({operation} {operands})"


def test_an_end_of_file_has_its_stream() -> None:
    text = (
        '(with-input-from-string (s "") (eq s (handler-case (read-char s)'
        " (end-of-file (c) (stream-error-stream c)))))"
    )
    assert print_text(Evaluator().evaluate(text)) == "t"


def test_an_error_of_a_macros_own_is_not_told_to_be_handled() -> None:
    with pytest.raises(Problem) as raised:
        Evaluator().evaluate('(progn (defmacro m (x) (error "no ~a" x)) (m 1))')
    assert raised.value.diagnostic.code == "E-FORM-MACRO"
    assert "handler-case" not in (raised.value.diagnostic.hint or "")


MACRO = (
    "(defmacro times (&whole call n form)\n"
    '  (unless (integerp n) (syntax-error call n "wants a number, not ~s" n))\n'
    "  `(progn ,@(loop repeat n collect form)))\n"
)


@pytest.mark.parametrize(
    ("use", "place"),
    [("(times x 1)", "x"), ("(list (times (f) 1))", "(f)"), ("(times 2 (times y 1))", "y")],
)
def test_what_a_macro_refuses_is_told_at_its_part_of_the_call(use: str, place: str) -> None:
    error, *_ = said(MACRO + use)
    assert error.code == "E-FORM-SHAPE"
    assert error.message == f"times: wants a number, not {place}"
    assert error.span is not None
    assert (error.span.text, error.span.line) == (place, 4)


def test_what_a_macro_refuses_is_a_program_error() -> None:
    text = MACRO + "(print (handler-case (macroexpand '(times x 1)) (program-error () :refused)))"
    evaluator = Evaluator()
    evaluator.load(Source("f.lisp", text))
    assert "".join(evaluator.output).split() == [":refused"]


MALFORMED = ("", "1", "(1)", "((1)) 2", ". 2", "() 1", "a (b)", "(a . b) 1", "(()) 1", "a 1 . 3")


@pytest.mark.parametrize("operands", MALFORMED)
def test_no_malformed_form_is_an_internal_error_to_expand_or_to_evaluate(operands: str) -> None:
    heads = [name.lower() for name in [*NATIVE_MACROS, *SPECIAL_FORMS] if name[0] != "%"]
    for head in heads:
        for form in ("(macroexpand '({} {}))", "(eval '({} {}))"):
            assert code_of(form.format(head, operands)) != "E-INTERNAL", (head, operands)


def code_of(text: str) -> str | None:
    """The code that a text ends in, or None."""
    try:
        Evaluator().evaluate(text)
    except Problem as error:
        return error.diagnostic.code
    return None
