"""Lisp's words for lists, numbers and strings where a tensor stands; rows as in mistakes_case."""

from __future__ import annotations

from mistakes_case import Mistake

CODE = "E-STAGE-TENSOR"
VALUE = "E-STAGE-VALUE"
LIST = ("a tensor is no list",)

LISP_WORDS = [
    Mistake("(relu (first x))", CODE, ("(tref x i)", "split", *LIST), None, "(first x)"),
    Mistake("(elt x 0)", CODE, ("argument of elt",), "(tref x 0)"),
    Mistake("(aref x 0)", CODE, ("argument of aref",), "(tref x 0)"),
    Mistake("(reverse x)", CODE, ("reverse order along axis 0",), "(flip x)"),
    Mistake("(append x x)", CODE, ("one after another on axis 0",), "(concat x x)"),
    Mistake("(subseq x 0 2)", CODE, ("(slice x :start 0 :end 2)",)),
    Mistake("(reduce #'+ x)", CODE, ("(sum x)", *LIST)),
    Mistake("(apply #'+ x)", CODE, ("(sum x)", *LIST)),
    Mistake("(first (mapcar #'relu x))", CODE, ("(map-over f x)",), None, "(mapcar #'relu x)"),
    Mistake("(reshape x (list (length x) 8 8))", CODE, ("(dim x axis)",), None, "(length x)"),
    Mistake("(if (member 1 x) x 0)", CODE, ("(= x y) tells",), None, "(member 1 x)"),
    Mistake("(if (evenp x) x 0)", CODE, ("(= (mod x 2) 0)",), None, "(evenp x)"),
    Mistake("(coerce x 'float)", CODE, ("(cast x :f32)",)),
    Mistake("(* x (random x))", CODE, ("(random-uniform shape)",), None, "(random x)"),
    Mistake("(string-upcase x)", CODE, ("(metric name x)",)),
    Mistake("(sum x :axis (mean x))", CODE, ("(dim x axis) is one",)),
    Mistake("(grad #'relu x)", VALUE, ("(grad (f x) x)", "value-and-grad")),
    Mistake("(relu (list x x))", VALUE, ("a list of tensors, f32 (8 64) and", "(stack ...)")),
    Mistake("(relu '(1 2))", VALUE, ("(tensor '(1 2))",)),
    Mistake("(relu #'silu)", VALUE, ("a function is called",)),
    Mistake("(sort x #'<)", "E-CALL-ARGUMENTS", ("sort: an argument", ":axis :descending")),
]
