"""What `(ctx key)` answers in each place (contracts/ctx.md), and what no place answers."""

from __future__ import annotations

from typing import NamedTuple

FILE = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d (source (digits))
  (stage :train :split (0 0.8) :steps 8) (stage :val :split (0.8 1) :batch 8)
  (batch 16) (counter :seen @L))
(defun prepare (&key image label) (batch :image (* @P image) :label label))
(defmodel net (x) (nn:linear x 10))
(defun objective (&key image label) (metric "loss" (* @O (nn:cross-entropy (net image) label))))
(defun evaluate (&key image label) (metric "loss" (* @E (nn:cross-entropy (net image) label))))
(defeval val :loader (d :val) :every 2)
(defun optimizer () (groups (group :rest (optim:adamw :lr (* 1e-3 @G)))))
(defun curriculum () @C)
(defoutput o (&key image) (* @U (net image)))
(defrun :steps 4 :seed 3 :checkpoint (:every 4) :log-every 1)
"""

PLACES = {
    "P": "prepare", "O": "objective", "E": "evaluate", "G": "optimizer", "C": "curriculum",
    "U": "an output", "L": "a counter",
}  # fmt: skip


def filled(**forms: str) -> str:
    """The file with a form at each place that is named, 1 at others."""
    text = FILE
    for place in PLACES:
        text = text.replace("@" + place, forms.get(place, ":train" if place == "C" else "1"))
    return text


def asking(place: str, form: str) -> str:
    """The file that evaluates a form at a place and takes no notice of its value."""
    return filled(**{place: f"(progn {form} {':train' if place == 'C' else 1})"})


class Key(NamedTuple):
    kind: str
    places: str


KEYS = {
    "mode": Key("text", "POEGU"),
    "stage": Key("text", "POEGCLU"),
    "loader": Key("text", "POEGL"),
    "pass": Key("text", "POEU"),
    "steps": Key("number", "POEGC"),
    "seed": Key("number", "POEGCU"),
    "batch": Key("number", "POEGL"),
    "window": Key("number", "POEGL"),
    "microbatches": Key("number", "POG"),
    "world": Key("number", "POEG"),
    "step": Key("step scalar", "POEGC"),
    "updates": Key("step scalar", "POEGC"),
    "progress": Key("step scalar", "POEGC"),
    "stage-step": Key("step scalar", "POGC"),
    "stage-progress": Key("step scalar", "POGC"),
    "epoch": Key("step scalar", "POEGC"),
    "epoch-progress": Key("step scalar", "POEGC"),
    "examples": Key("step scalar", "POEGC"),
    "seen": Key("step scalar", "POEGC"),
    "metric": Key("number", "C"),
}
"""The contract's table; `seen` stands for a counter's name."""

VALUES = [
    ("P", "(ctx :stage)", ":train :val nil"),
    ("O", "(ctx :mode)", ":train"),
    ("O", "(ctx :stage)", ":train"),
    ("O", "(ctx :loader)", "'d"),
    ("O", "(ctx :pass)", "nil"),
    ("O", "(ctx :steps)", "4"),
    ("O", "(ctx :seed)", "3"),
    ("O", "(ctx :batch)", "16"),
    ("O", "(ctx :window)", "nil"),
    ("O", "(ctx :microbatches)", "1"),
    ("O", "(ctx :world)", "1"),
    ("O", "(with-mode :eval (ctx :mode))", ":eval"),
    ("E", "(ctx :mode)", ":eval"),
    ("E", "(with-mode :train (ctx :mode))", ":train"),
    ("E", "(ctx :stage)", ":val"),
    ("E", "(ctx :loader)", "'d"),
    ("E", "(ctx :pass)", '"val"'),
    ("E", "(ctx :steps)", "4"),
    ("E", "(ctx :seed)", "3"),
    ("E", "(ctx :batch)", "8"),
    ("E", "(ctx :window)", "nil"),
    ("E", "(ctx :world)", "1"),
    ("G", "(ctx :mode)", ":train"),
    ("G", "(ctx :stage)", ":train"),
    ("G", "(ctx :steps)", "4"),
    ("G", "(ctx :batch)", "16"),
    ("G", "(ctx :microbatches)", "1"),
    ("U", "(ctx :mode)", ":eval"),
    ("U", "(ctx :stage)", "nil"),
    ("U", "(ctx :pass)", "nil"),
    ("U", "(ctx :seed)", "3"),
    ("L", "(ctx :stage)", ":train"),
    ("L", "(ctx :loader)", "'d"),
    ("L", "(ctx :batch)", "16"),
    ("L", "(ctx :window)", "nil"),
    ("C", "(ctx :steps)", "4"),
    ("C", "(ctx :seed)", "3"),
    ("C", "(ctx :step)", "0 1 2 3"),
    ("C", "(ctx :updates)", "0 1 2 3"),
    ("C", "(ctx :progress)", "0 0.25 0.5 0.75"),
    ("C", "(ctx :stage)", "nil :train"),
    ("C", "(ctx :stage-step)", "0 1 2 3"),
    ("C", "(ctx :stage-progress)", "0 0.125 0.25 0.375"),
    ("C", "(ctx :epoch)", "0"),
    ("C", "(ctx :epoch-progress)", f"0 {1 / 89} {2 / 89} {3 / 89}"),
    ("C", "(ctx :examples)", "0 16 32 48"),
    ("C", "(ctx :seen)", "0 1 2 3"),
]
"""Place, form, and the values that it has there, each of them."""


class Wrong(NamedTuple):
    """A form at a place: what is told of it, and of which words."""

    place: str
    form: str
    code: str
    marked: str
    told: str


KEY = "E-CTX-KEY"
SHAPE, VALUE = "E-FORM-SHAPE", "E-OPTION-VALUE"


def key(place: str, form: str, told: str, marked: str | None = None) -> Wrong:
    return Wrong(place, form, KEY, form if marked is None else marked, told)


def series(form: str, told: str, marked: str | None = None) -> Wrong:
    return key("C", form, told, marked)


WRONG = [
    Wrong("O", "(ctx)", "E-CALL-ARGUMENTS", "(ctx)", "(key &rest more)"),
    key("O", '(ctx "step")', 'a keyword, not "step"'),
    key("O", "(ctx 'step)", "a keyword, not step"),
    key("O", "(ctx nil)", "a keyword, not nil"),
    Wrong("O", "(ctx step)", "E-NAME-UNBOUND", "step", "no variable is named step"),
    key("O", "(ctx :stepp)", "did you mean :steps?", ":stepp"),
    key("E", "(ctx :epochs)", "did you mean :epoch?", ":epochs"),
    key("G", "(ctx :progres)", "did you mean :progress?", ":progres"),
    key("C", '(ctx :metrc "val/loss")', "did you mean :metric?", ":metrc"),
    key("U", "(ctx :modes)", "did you mean :mode?", ":modes"),
    key("L", "(ctx :windows)", "did you mean :window?", ":windows"),
    key("O", "(ctx :sen)", "did you mean :seen?", ":sen"),
    key("O", "(ctx :xyzzy)", "keys here: :mode :stage", ":xyzzy"),
    key("L", "(ctx :seen)", "keys here: :stage :loader :batch :window", ":seen"),
    key("O", "(ctx :step :best)", "takes nothing more"),
    key("O", "(ctx :steps 3)", "takes nothing more"),
    key("E", "(ctx :seen 1)", "takes nothing more"),
    key("C", "(ctx :step 1)", "takes nothing more"),
    key("L", "(ctx :batch 1)", "takes nothing more"),
    series("(ctx :metric)", '(ctx :metric "val/loss")'),
    series("(ctx :metric :loss)", "takes the name of a series"),
    series("(ctx :metric 'loss)", "takes the name of a series"),
    series('(ctx :metric "val/loss" :best :count)', "takes the name of a series"),
    series('(ctx :metric "val/loss" :bset)', "did you mean :best?", ":bset"),
    series('(ctx :metric "val/loss" :since-bst)', "did you mean :since-best?", ":since-bst"),
    series('(ctx :metric "val/loss" :last)', "not :last", ":last"),
    series('(ctx :metric "val/loss" 3)', "not 3"),
    series('(ctx :metric "val/loss" "best")', 'not "best"'),
    series('(ctx :metric "val/loss" nil)', "not nil"),
    Wrong("C", '(ctx :metric "val/los")', "E-SERIES", '"val/los"', '"val/loss"?'),
    Wrong("C", '(ctx :metric "")', "E-SERIES", '(ctx :metric "")', "reported: train/loss val/loss"),
]

STAGELESS = [
    key(place, "(ctx :stage-progress)", "(stage :train :steps 100 ...)") for place in "OGC"
]
"""Of stages that do not say how long they are."""

COUNTERS = [
    Wrong("L", "(counter :step 1)", "E-TWICE", ":step", "a key of ctx"),
    Wrong("L", "(counter :metric 1)", "E-TWICE", ":metric", "a key of ctx"),
    Wrong("L", "(counter :seen 1) (counter :seen 2)", "E-TWICE", ":seen", "a counter already"),
    Wrong("L", "(counter seen 1)", SHAPE, "(counter seen 1)", "(counter :tokens form)"),
    Wrong("L", '(counter "seen" 1)', SHAPE, '(counter "seen" 1)', "(counter :tokens form)"),
    Wrong("L", "(counter :seen)", SHAPE, "(counter :seen)", "(counter :tokens form)"),
    Wrong("L", "(counter)", SHAPE, "(counter)", "(counter :tokens form)"),
    Wrong("L", "(counter :seen 1 2)", SHAPE, "(counter :seen 1 2)", "(counter :tokens form)"),
    Wrong("L", "(counter :seen 1.5)", VALUE, "1.5", "an integer from 0"),
    Wrong("L", "(counter :seen -1)", VALUE, "-1", "an integer from 0"),
    Wrong("L", '(counter :seen "a")', VALUE, '"a"', "an integer from 0"),
    Wrong("L", "(counter :seen (ctx :window))", VALUE, "(ctx :window)", "without (windows n)"),
    Wrong("L", "(counter :seen (ctx :step))", KEY, "(ctx :step)", "not known in a counter"),
    Wrong("L", "(contre :seen 1)", "E-OPTION", "contre", "counter"),
]
"""Clauses in the place of the counter's."""

NOWHERE = [
    ("(defloader", "(defparameter *x* (ctx :step))\n(defloader"),
    ("(defloader", "(defknob k (ctx :seed))\n(defloader"),
    ("(defloader", "(defknob k 2 :type (integer 1 (ctx :steps)))\n(defloader"),
    ("(defloader", "(defknob k 1)\n(defsweep s :grid ((k (1 2))) :where (< k (ctx :steps)))\n"
     "(defloader"),
    ("(batch 16)", "(batch (ctx :batch))"),
    (":split (0.8 1)", ":split (0.8 (ctx :seed))"),
    ("(batch 16)", "(batch 16) (map label (lambda (x) (+ x (ctx :seed))))"),
    (":steps 4", ":steps (ctx :seed)"),
    (":every 2", ":every (ctx :steps)"),
]  # fmt: skip
"""What stands where no key is known: the file's words, and what is written for them."""
