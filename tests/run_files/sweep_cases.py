"""Sweeps that are right, and each that is wrong in its own way (docs/sweep.md).

The file has the knobs a, an integer; b, a float; n, one of :x and :y; and the pass val."""

from __future__ import annotations

from typing import NamedTuple

FILE = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defknob a 1)
(defknob b 2.0)
(defknob n :x :choices (:x :y))
@SWEEP
(defloader d (source (digits)) (stage :train :split (0 0.8)) (stage :val :split (0.8 1)) (batch 16))
(defmodel net (x) (progn a b n (nn:linear x 10)))
(defun objective (&key image label) (metric "loss" (nn:cross-entropy (net image) label)))
(defeval val :loader (d :val) :every 2)
(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-3))))
(defrun :steps 4)
"""


class Wrong(NamedTuple):
    form: str
    code: str
    marked: str
    told: str


def of(options: str) -> str:
    return f"(defsweep s {options})"


GRID = ":grid ((a (1 2)))"

RIGHT = [
    of(GRID),
    of(f'"Of a." {GRID}'),
    of(":grid ((a (1 2)) (b (1 2.0)) (n (:x :y)))"),
    of(":grid ((a (:form (list 1 2))))"),
    of(":zip ((a (1 2)) (b (1.0 2.0)))"),
    of(":random ((b (uniform 0 1)) (a (choice 1 2))) :n 3"),
    of(":random ((b (log-uniform 1e-3 1))) :n 3"),
    of(f"{GRID} :where (< a b)"),
    of(f"{GRID} :where t"),
    of(f"{GRID} :where (find a '(1 3))"),
    f"(defmacro small () '(< a 2)) {of(f'{GRID} :where (small)')}",
    of(f"{GRID} :seeds 2"),
    of(":seeds 3"),
    of(f"{GRID} :over (a)"),
    f"(defvariant v :b 3.0) {of(f'{GRID} :variant v')}",
    of(f'{GRID} :rank ("val/loss" :min)'),
    of(f'{GRID} :rank ("val/loss" :max :at :best)'),
    of(f'{GRID} :rank ("val/loss" :min :at 2)'),
]

SHAPE, FORM, VALUE = "E-SWEEP-SHAPE", "E-FORM-SHAPE", "E-KNOB-VALUE"


def w(options: str, code: str, marked: str, told: str) -> Wrong:
    return Wrong(of(options), code, marked, told)


def more(options: str, code: str, marked: str, told: str) -> Wrong:
    return Wrong(of(f"{GRID} {options}"), code, marked, told)


def drawn(draw: str, code: str, marked: str, told: str, knob: str = "b") -> Wrong:
    return Wrong(of(f":random (({knob} {draw})) :n 3"), code, marked, told)


WRONG = [
    Wrong("(defsweep)", FORM, "(defsweep)", "the name of the sweep is missing"),
    Wrong(f'(defsweep "s" {GRID})', FORM, '"s"', "the name of the sweep is missing"),
    Wrong("(defsweep s)", SHAPE, "(defsweep s)", "it varies nothing"),
    Wrong(f"{of(GRID)} {of(GRID)}", "E-TWICE", "(defsweep s", "declared twice"),
    w(f'"Doc." "b" {GRID}', FORM, '"b"', "where an option"),
    w(":grd ((a (1 2)))", "E-OPTION", ":grd", "did you mean :grid?"),
    w(f"{GRID} {GRID}", "E-TWICE", ":grid", "stands twice"),
    w(":grid ()", SHAPE, "()", "it varies nothing"),
    w(":grid 3", FORM, "3", ":grid is a list"),
    w(":grid '((a (1 2)))", "E-OPTION-VALUE", "'((a (1 2)))", "neither quoted nor made"),
    w(":grid (a (1 2))", FORM, "a", "a row, (knob (value...)), is a list"),
    w(":grid ((a))", FORM, "(a)", "has 2 elements, and here 1"),
    w(":grid ((a 1 2))", FORM, "(a 1 2)", "has 2 elements, and here 3"),
    w(":grid ((a ()))", SHAPE, "()", "a has no values"),
    w(":zip ((a ()))", SHAPE, "()", "a has no values"),
    w(":grid ((a (:form nil)))", SHAPE, "nil", "a has no values"),
    w(":grid ((a (:form 3)))", "E-TYPE", "3", "(:form ...) of a got 3, wants a list"),
    w(":zip ((a (:form (cons 1 2))))", "E-TYPE", "(cons 1 2)", "a proper list"),
    w(":grid ((a (:form (list 1 2.5))))", VALUE, "(list 1 2.5)", "not of type integer"),
    w(':grid (("a" (1 2)))', FORM, '"a"', "a name is missing"),
    w(":grid ((:a (1 2)))", FORM, ":a", "a name is missing"),
    w(":grid ((c (1 2)))", "E-KNOB-UNKNOWN", "c", "sweep s names no knob: c"),
    w(':grid ((a (1 "x")))', VALUE, '"x"', "not of type integer"),
    w(":grid ((b (1.0)) (a (1 1.5)))", VALUE, "1.5", "not of type integer"),
    w(":grid ((n (:x :z)))", VALUE, ":z", "choices: :x :y"),
    w(":grid ((a (1 2)) (a (3)))", "E-KNOB-TWICE", "a", "a stands twice"),
    w(":grid ((a (1 2))) :zip ((a (3)))", "E-KNOB-TWICE", "a", "a stands twice"),
    w(":grid ((a (:form (list 1) 2)))", FORM, "(:form (list 1) 2)", "(:form FORM) has one form"),
    w(":zip ((a (1 2)) (b (1.0)))", SHAPE, "((a (1 2)) (b (1.0)))", "unlike length: a 2, b 1"),
    w(":random ((b (uniform 0 1)))", SHAPE, "((b (uniform 0 1)))", "go together"),
    w(f"{GRID} :n 3", SHAPE, "3", "go together"),
    w(":random (b (uniform 0 1)) :n 3", FORM, "b", "is a list"),
    w(":random ((a (choice 1 2))) :n 0", SHAPE, "0", ":n is a number of at least 1"),
    w(":random ((a (choice 1 2))) :n 1.5", SHAPE, "1.5", ":n is a number of at least 1"),
    drawn("(unform 0 1)", SHAPE, "unform", "uniform, log-uniform or choice"),
    drawn("(uniform 0)", SHAPE, "((b (uniform 0)))", "uniform has two bounds"),
    drawn("(uniform 1 0)", SHAPE, "((b (uniform 1 0)))", "the lower, then the higher"),
    drawn('(uniform "0" 1)', SHAPE, '((b (uniform "0" 1)))', "are numbers"),
    drawn("(log-uniform 0 1)", SHAPE, "((b (log-uniform 0 1)))", "are above 0"),
    drawn("(choice)", SHAPE, "((b (choice)))", "names no values"),
    drawn("(uniform 0 5)", VALUE, "(uniform 0 5)", "not of type integer", "a"),
    drawn("(choice 1 2.5)", VALUE, "2.5", "not of type integer", "a"),
    more(":where (> a 5)", SHAPE, "(> a 5)", "its :where leaves nothing"),
    more(":where (< q 5)", "E-NAME-UNBOUND", "q", "no variable is named q"),
    more(':where (< a "x")', "E-TYPE", '(< a "x")', "wants a real number"),
    more(":where 3", SHAPE, "3", ":where gives 3 and never t or nil"),
    more(":where :a", SHAPE, ":a", ":where gives :a and never t or nil"),
    more(":where '(< a 5)", SHAPE, "'(< a 5)", ":where reads no knob that it varies"),
    more(":where (< b 5)", SHAPE, "(< b 5)", ":where reads no knob that it varies"),
    more(":where (mod a 2)", SHAPE, "(mod a 2)", ":where gives 1 and never t or nil"),
    more(":where (if (< a 2) :yes :no)", SHAPE, "(if (< a 2) :yes :no)", "gives :yes and never"),
    more(":where", FORM, ":where", ":where has no value"),
    more(":seeds 0", SHAPE, "0", ":seeds is a number of at least 1"),
    more(':seeds "2"', SHAPE, '"2"', ":seeds is a number of at least 1"),
    more(":over a", FORM, "a", ":over is a list"),
    more(":over (b)", SHAPE, "(b)", "which the sweep does not vary"),
    more(":over (q)", "E-KNOB-UNKNOWN", "q", ":over no knob: q"),
    more(":over (a a)", "E-KNOB-TWICE", "a", ":over a twice"),
    more(":variant v", "E-VARIANT-UNKNOWN", "v", "there are: none"),
    more(':variant "v"', FORM, '"v"', "the variant is missing"),
    more(':rank "val/loss"', FORM, '"val/loss"', ":rank is a list"),
    more(':rank ("val/loss")', FORM, '("val/loss")', ':rank is ("val/loss" :min)'),
    more(":rank (3 :min)", "E-OPTION-VALUE", "3", "wants a string"),
    more(':rank ("val/los" :min)', "E-SERIES", '"val/los"', 'did you mean "val/loss"?'),
    more(':rank ("val/loss" :mim)', "E-OPTION", ":mim", "did you mean :min?"),
    more(':rank ("val/loss" :min :ta 1)', "E-OPTION", ":ta", "did you mean :at?"),
    more(':rank ("val/loss" :min :at :bset)', SHAPE, '("val/loss"', ":last, :best or a step"),
    more(':rank ("val/loss" :min :at -1)', SHAPE, '("val/loss"', ":last, :best or a step"),
    more(':rank ("val/loss" :min :at 3)', SHAPE, '("val/loss"', "val does not run"),
]
