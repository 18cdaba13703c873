"""Knobs and variants that are right, and each that is wrong in its own way (docs/knobs.md)."""

from __future__ import annotations

from typing import NamedTuple

FILE = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
@KNOBS
(defloader d (source (digits)) (stage :train :split (0 0.8)) (batch 16))
(defmodel net (x) (progn depth (nn:linear x 10)))
(defun objective (&key image label) (metric "loss" (nn:cross-entropy (net image) label)))
(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-3))))
(defrun :steps 4)
"""
KNOB = "(defknob depth 4)"


class Wrong(NamedTuple):
    forms: str
    code: str
    marked: str
    told: str


RIGHT = [
    '(defknob depth 4 "Blocks." :type (integer 1 96))',
    "(defknob depth 4 :type integer)",
    "(defknob depth 4 :type (integer * 4))",
    "(defknob depth 4 :choices (2 4))",
    "(defknob depth 4 :type (integer 1 8) :choices (4 8))",
    "(defknob heads 2) (defknob depth (* 2 heads) :type (integer heads 96))",
    "(defknob depth 0.5 :type (float (0) 1))",
    "(defknob depth 1 :type (float (0) 1))",
    "(defknob depth 1.5)",
    '(defknob depth "text")',
    "(defknob depth nil)",
    "(defknob depth nil :type (or null string))",
    "(defknob depth t :choices (t nil))",
    "(defknob depth :a :choices (:a :b))",
    "(defknob depth (list 1 2))",
    "(defknob labels 3) (defknob depth labels)",
    f"{KNOB} (defun depth () 1)",
    f"{KNOB} (defparameter twice (* 2 depth))",
    f"{KNOB} (let ((depth 3)) depth)",
    f"{KNOB} (defvariant v)",
    f'{KNOB} (defvariant v "Small." :depth 5)',
    f"{KNOB} (defvariant v :depth 5) (defvariant w :from v)",
    f"{KNOB} (defvariant w :from v) (defvariant v :depth 5)",
    f"(defvariant v :depth 5) {KNOB}",
]

SHAPE, VALUE, REDEFINE = "E-FORM-SHAPE", "E-KNOB-VALUE", "E-REDEFINE"
TYPE, LISTED = "(integer 1 96)", "E-OPTION-VALUE"

WRONG = [
    Wrong("(defknob)", SHAPE, "(defknob)", "a name and a default"),
    Wrong("(defknob depth)", SHAPE, "(defknob depth)", "a name and a default"),
    Wrong("(defknob 3 4)", SHAPE, "3", "the name of the knob is missing"),
    Wrong('(defknob "depth" 4)', SHAPE, '"depth"', "the name of the knob is missing"),
    Wrong("(defknob :depth 4)", SHAPE, ":depth", "the name of the knob is missing"),
    Wrong("(defknob (depth 4))", SHAPE, "(defknob (depth 4))", "a name and a default"),
    Wrong("(defknob depth 4 5)", SHAPE, "5", "5 where an option :name value stands"),
    Wrong('(defknob depth 4 "a" "b")', SHAPE, '"b"', "where an option"),
    Wrong("(defknob depth 4 :type)", SHAPE, ":type", ":type has no value"),
    Wrong("(defknob depth 4 :typ integer)", "E-OPTION", ":typ", "did you mean :type?"),
    Wrong("(defknob depth 4 :type (integer 1) :type real)", "E-TWICE", ":type", "stands twice"),
    Wrong(f"{KNOB} (defknob depth 5)", "E-TWICE", "(defknob depth 5)", "declared twice"),
    Wrong("(defknob pi 4)", REDEFINE, "pi", "such as my-pi"),
    Wrong("(defknob t 4)", REDEFINE, "t", "such as my-t"),
    Wrong("(defknob nil 4)", REDEFINE, "nil", "such as my-nil"),
    Wrong("(defknob *random-state* 4)", REDEFINE, "*random-state*", "of core"),
    Wrong(f"{KNOB} (setq depth 5)", REDEFINE, KNOB, "it is 5, and 4 was chosen"),
    Wrong(f"{KNOB} (defparameter depth 5)", REDEFINE, KNOB, "it is 5, and 4 was chosen"),
    Wrong("(defknob depth 4 :type (integer 5 96))", VALUE, "4", "not of type (integer 5 96)"),
    Wrong("(defknob depth 4 :type (float (0) 1))", VALUE, "4", "not of type"),
    Wrong("(defknob depth 0 :type (float (0) 1))", VALUE, "0", "not of type"),
    Wrong("(defknob depth 4 :type (intger 1 9))", "E-TYPE", "(intger 1 9)", "mean integer?"),
    Wrong("(defknob depth 4 :type strng)", "E-TYPE", "strng", "did you mean string?"),
    Wrong('(defknob depth 4 :type "integer")', "E-TYPE", '"integer"', "as in (integer 1 96)"),
    Wrong("(defknob depth 4 :type 3)", "E-TYPE", "3", "as in (integer 1 96)"),
    Wrong("(defknob depth 4 :choices (1 2))", VALUE, "4", "choices: 1 2"),
    Wrong("(defknob depth :c :choices (:a :b))", VALUE, ":c", "choices: :a :b"),
    Wrong(
        "(defknob depth 4 :type (integer 1 8) :choices (4 16))", VALUE, "16", "(integer 1 8)"
    ),
    Wrong("(defknob depth 4 :choices 4)", SHAPE, "4", ":choices is a list"),
    Wrong("(defknob depth 4 :choices ())", SHAPE, "()", ":choices has none"),
    Wrong("(defknob depth 4 :choices '(4 5))", LISTED, "'(4 5)", "neither quoted nor made"),
    Wrong("(defknob depth 4 :choices (list 4))", LISTED, "(list 4)", "neither quoted nor made"),
    Wrong("(defknob depth #'car)", LISTED, "#'car", "what can be written"),
    Wrong("(defknob depth (make-hash-table))", LISTED, "(make-hash-table)", "can be written"),
    Wrong("(defknob depth (zeros (list 2)))", "E-STAGE-OUTSIDE", "(zeros", "nothing is traced"),
    Wrong("(defvariant)", SHAPE, "(defvariant)", "the name of the variant is missing"),
    Wrong('(defvariant "v" :depth 5)', SHAPE, '"v"', "the name of the variant is missing"),
    Wrong("(defvariant v depth 5)", SHAPE, "depth", "knobs are written flat"),
    Wrong("(defvariant v (:depth 5))", SHAPE, "(:depth 5)", "knobs are written flat"),
    Wrong("(defvariant v :depth)", SHAPE, ":depth", ":depth has no value"),
    Wrong('(defvariant v :depth 2 "late")', SHAPE, '"late"', "knobs are written flat"),
    Wrong('(defvariant v :from "w")', SHAPE, '"w"', "the variant of :from is missing"),
    Wrong("(defvariant v :from w)", "E-VARIANT-UNKNOWN", "w", "variants: none"),
    Wrong(
        "(defvariant small :depth 1) (defvariant v :from smal)",
        "E-VARIANT-UNKNOWN", "smal", "did you mean small?",
    ),
    Wrong("(defvariant v :from v)", "E-VARIANT-CYCLE", "(defvariant v", "v from v"),
    Wrong(
        "(defvariant a :from b) (defvariant b :from a)",
        "E-VARIANT-CYCLE", "(defvariant a", "a from b from a",
    ),
    Wrong("(defvariant v :depth 5) (defvariant v :depth 6)", "E-TWICE", "(defvariant v :depth 6)",
          "declared twice"),
    Wrong("(defvariant v :depth 5 :depth 6)", "E-KNOB-TWICE", ":depth", "stands twice"),
    Wrong("(defvariant v :depht 5)", "E-KNOB-UNKNOWN", ":depht", "did you mean depth?"),
    Wrong('(defvariant v :depth "a")', VALUE, '"a"', "not of type integer"),
    Wrong("(defvariant v :depth 2.5)", VALUE, "2.5", "not of type integer"),
]  # fmt: skip
"""Of variants the file has the knob `depth` before."""
