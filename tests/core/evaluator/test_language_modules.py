"""Modules, hooks and limits of the evaluator: what others build on."""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Problem, Problems, problem
from sexpgpu_core.evaluator import machine
from sexpgpu_core.evaluator.definitions import BODY_MACROS, CORE_SYMBOLS, body_macro
from sexpgpu_core.evaluator.evaluator import Evaluator, Limits, ModuleText
from sexpgpu_core.evaluator.made_forms import form_with, listed
from sexpgpu_core.evaluator.printer import print_text
from sexpgpu_core.evaluator.values import Function, Staged, Value
from sexpgpu_core.spans import Source


def test_a_module_is_named_by_prefix_imported_and_evaluated_once() -> None:
    library = "(provide twice)\n(print 1)\n(defun twice (x) (h x))\n(defun h (x) (* 2 x))"
    texts = {"lib/nn": ModuleText("nn.lisp", library)}
    evaluator = Evaluator(modules=texts)
    text = (
        '(require "lib/nn" :as n :import (twice))\n(require "lib/nn")\n'
        "(defun h (x) x)\n(print (list (n:twice 1) (nn:twice 2) (twice 3)))"
    )
    evaluator.load(Source("f.lisp", text))
    assert "".join(evaluator.output).split("\n")[1:] == ["1 ", "(2 4 6) "]


def test_files_are_required_relative_to_the_requiring_file() -> None:
    files = {
        "a/b.lisp": '(provide f)(require "./c.lisp")(defun f () (c:g))',
        "a/c.lisp": "(provide g)(defun g () 7)",
    }
    evaluator = Evaluator(read_file=files.__getitem__)
    module = evaluator.load(Source("x/run.lisp", '(require "../a/b.lisp")'))
    assert evaluator.evaluate("(b:f)", module) == 7
    assert [source.name for source in evaluator.library.sources] == ["a/b.lisp", "a/c.lisp"]


@pytest.mark.parametrize(
    ("names", "why"),
    [("f g f", "f stands twice"), (":f", ":f is no name"), ("f 3", "3 is no name")],
)
def test_what_a_module_provides_is_names_each_once(names: str, why: str) -> None:
    part = f"(provide {names})\n(defun f () 1)\n(defun g () 2)"
    evaluator = Evaluator(modules={"lib/part": ModuleText("part.lisp", part)})
    with pytest.raises((Problem, Problems)) as raised:
        evaluator.load(Source("f.lisp", '(require "lib/part")'))
    told = raised.value
    found = told.diagnostic if isinstance(told, Problem) else told.diagnostics[0]
    assert (found.code, found.message) == ("E-FORM-SHAPE", f"provide: {why}")


@pytest.mark.parametrize("tried", [False, True])
@pytest.mark.parametrize("provided_first", [False, True])
def test_a_module_provides_what_it_imports(provided_first: bool, tried: bool) -> None:
    heads = ['(require "lib/part" :import (twice relu))\n', "(provide twice relu thrice)\n"]
    whole = "".join(reversed(heads) if provided_first else heads)
    texts = {
        "lib": ModuleText("lib.lisp", whole + "(defun thrice (x) (+ x (twice x)))", tried),
        "lib/part": ModuleText(
            "part.lisp",
            "(provide twice relu)\n(defun twice (x) (* 2 x))\n(defun relu (x) (max x 0))",
            tried,
        ),
    }
    evaluator = Evaluator(modules=texts)
    text = '(require "lib" :import (twice))\n(print (list (lib:twice 1) (twice 2) (lib:thrice 1)'
    evaluator.load(Source("f.lisp", text + " (lib:relu -1)))"))
    assert "".join(evaluator.output).strip() == "(2 4 3 0)"


def test_what_nothing_imports_or_defines_is_not_provided() -> None:
    texts = {"lib": ModuleText("lib.lisp", "(provide twice)\n")}
    with pytest.raises(Problems) as raised:
        Evaluator(modules=texts).load(Source("f.lisp", '(require "lib")'))
    assert [d.code for d in raised.value.diagnostics] == ["E-PROVIDE"]


def test_each_top_level_form_is_announced_in_order() -> None:
    seen: list[tuple[str, int]] = []
    evaluator = Evaluator(
        on_form=lambda head, span, _: seen.append((head, span.line if span else 0))
    )
    evaluator.load(Source("f.lisp", "(defun f () 1)\n(defparameter *x* (f))\n5\n"))
    assert seen == [("defun", 1), ("defparameter", 2), ("", 0)]


def test_python_defines_functions_variables_and_macros_of_a_module() -> None:
    evaluator = Evaluator()
    module = evaluator.module
    evaluator.define_function(module, "twice", Function("twice", lambda x: x * 2, "(x)", 1, 1))
    evaluator.define_variable(module, "*n*", 21)
    evaluator.define_macro(
        module, "call-it", lambda whole, env: listed(module.intern("TWICE"), module.intern("*N*"))
    )
    assert evaluator.evaluate("(call-it)") == 42


def test_a_body_macro_binds_over_the_rest_of_its_body() -> None:
    @body_macro("test-bind")
    def _bind(whole: Value, rest: Value) -> Value:
        return form_with("LET", listed(listed(whole.cdr.car, whole.cdr.cdr.car)), rest)

    try:
        evaluator = Evaluator()
        evaluator.evaluate("(defmacro bind-five (n) `(test-bind ,n 5))")
        text = "(let ((y 1)) (test-bind a 2) (bind-five b) (list a b y))"
        assert print_text(evaluator.evaluate(text)) == "(2 5 1)"
    finally:
        BODY_MACROS.pop("TEST-BIND")
        CORE_SYMBOLS.pop("TEST-BIND")


class Tensor(Staged):
    def refuse(self, place: str) -> Exception:
        return problem("E-STAGE-TENSOR", f"a tensor in {place}")

    def describe(self) -> str:
        return "#<tensor>"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("(if x 1 2)", "if"),
        ("(when x 1)", "when"),
        ("(cond (x 1))", "cond"),
        ("(and x 1)", "and"),
        ("(or x 1)", "or"),
        ("(case x (1 2))", "case"),
        ("(dotimes (i x) i)", "dotimes"),
        ("(dolist (i x) i)", "dolist"),
        ("(do () (x) 1)", "do"),
    ],
)
def test_a_staged_value_where_an_ordinary_one_is_needed_is_refused(text: str, place: str) -> None:
    evaluator = Evaluator()
    evaluator.define_variable(evaluator.module, "x", Tensor())
    with pytest.raises(Problem) as caught:
        evaluator.evaluate(text)
    found = caught.value.diagnostic
    assert (found.code, found.message) == ("E-STAGE-TENSOR", f"a tensor in {place}")
    assert found.span is not None


def test_a_staged_call_knows_its_span() -> None:
    spans: list[str] = []

    def note(*_: Value) -> Value:
        span = machine.current().call_span
        spans.append(span.text if span else "")
        return 0

    evaluator = Evaluator()
    function = Function("op", note, "(&rest xs)", staged=True)
    evaluator.define_function(evaluator.module, "op", function)
    evaluator.evaluate("(op 1 (op 2))")
    assert spans == ["(op 2)", "(op 1 (op 2))"]


def test_a_call_from_outside_runs_under_the_same_limits() -> None:
    evaluator = Evaluator(limits=Limits(steps=2500))
    function = evaluator.evaluate("(lambda (n) (dotimes (i n) i) n)")
    assert evaluator.call(function, 500) == 500
    with pytest.raises(Problem) as caught:
        evaluator.call(function, 5000)
    assert caught.value.diagnostic.code == "E-LIMIT-STEPS"


def failure(text: str, **limits: int) -> str:
    with pytest.raises((Problem, Problems)) as caught:
        Evaluator(limits=Limits(**limits)).evaluate(text)
    error = caught.value
    return error.diagnostic.code if isinstance(error, Problem) else error.diagnostics[0].code


@pytest.mark.parametrize(
    "text",
    [
        "(loop)",
        "(labels ((f () (f))) (f))",
        "(do () (nil))",
        "(tagbody a (go a))",
        "(handler-case (loop) (t () 1))",
        "(ignore-errors (loop))",
        "(unwind-protect (loop) (loop))",
    ],
)
def test_a_loop_without_end_stops_at_the_limit_and_nothing_catches_it(text: str) -> None:
    assert failure(text, steps=5000) == "E-LIMIT-STEPS"


@pytest.mark.parametrize(
    "text",
    [
        "(labels ((f (n) (+ 1 (f n)))) (f 1))",
        "(labels ((f (n) (mapcar #'f (list n)) 1)) (f 1))",
        "(labels ((f (n) (ignore-errors (f n)) 1)) (f 1))",
    ],
)
def test_a_recursion_without_end_is_a_diagnostic_never_a_recursion_error(text: str) -> None:
    assert failure(text) == "E-LIMIT-DEPTH"


def test_ten_thousand_calls_deep_is_allowed() -> None:
    evaluator = Evaluator()
    evaluator.evaluate("(defun f (n) (if (= n 0) 0 (+ 1 (car (mapcar #'f (list (- n 1)))))))")
    assert evaluator.evaluate("(f 9000)") == 9000


def test_after_a_limit_the_evaluator_can_be_used_again() -> None:
    evaluator = Evaluator(limits=Limits(steps=1000, depth=50))
    evaluator.evaluate("(defun f (n) (+ 1 (f n)))")
    for text in ("(f 1)", "(loop)"):
        with pytest.raises(Problem):
            evaluator.evaluate(text)
    assert evaluator.evaluate("(+ 1 2)") == 3


def test_an_exception_of_ours_is_an_internal_error_at_its_place() -> None:
    def broken() -> Value:
        raise KeyError("oops")

    evaluator = Evaluator()
    evaluator.define_function(evaluator.module, "broken", Function("broken", broken, "()", 0, 0))
    with pytest.raises(Problem) as caught:
        evaluator.evaluate("(list (broken))")
    found = caught.value.diagnostic
    assert (found.code, found.span.text if found.span else "") == ("E-INTERNAL", "(broken)")


def test_settings_of_one_evaluator_are_not_seen_by_the_next() -> None:
    Evaluator().evaluate("(setf *print-case* :upcase)")
    assert print_text(Evaluator().evaluate("(princ-to-string 'a)")) == '"a"'
