"""What `optimizer` may return, and each that is wrong in its own way (docs/optimizer-groups.md)."""

from __future__ import annotations

from typing import NamedTuple

ADAM = "(optim:adamw :lr 1e-3)"
REST = f"(group :rest {ADAM})"
FILE = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d (source (digits)) (stage :train :split (0 0.8)) (batch 16))
(defmodel net (x) (nn:linear x 10))
(defun objective (&key image label) (metric "loss" (nn:cross-entropy (net image) label)))
(defun optimizer () @GROUPS)
(defrun :steps 4)
"""


class Wrong(NamedTuple):
    form: str
    code: str
    marked: str
    told: str


def rest(selector: str, more: str = "") -> str:
    return f"(groups (group {selector} {ADAM}{more}) {REST})"


RIGHT = [
    f"(groups {REST})",
    f"(groups (list {REST}))",
    f"(apply #'groups :clip-norm 1.0 (list {REST}))",
    f"(groups :clip-norm 1.0 :clip-value 2 :ema 0.9 :ema-state t {REST})",
    f"(groups :clip-norm nil {REST})",
    f"(groups :ema (* 0.9 (ctx :progress)) {REST})",
    rest("(select :rank 2)"),
    rest("(select :rank (<= 1))"),
    rest("(select :size (> 100))"),
    rest('(select :path "**/w")'),
    rest('(select :path "net/*/{w,v}")'),
    rest('(select :path "nothing")', " :optional t"),
    rest("(select :not (:rank 2))"),
    rest("(select :and ((:rank 2) (:size (> 9))))"),
    rest("(select :rank 2 :stage :train)"),
    rest("(select :where (lambda (p) (eql (length (getf p :shape)) 2)))"),
    rest('(select :where (lambda (p) (string= (getf p :path) "net/linear/w")))'),
    f"(groups (group (select :or ((:rank 2) (:rank 1))) {ADAM}))",
    f"(groups (group (select :dtype :f32) {ADAM}))",
    f"(groups (group (select :rank 2) :frozen) {REST})",
    f"(groups (group (select :rank 2) :frozen :dtype :bf16) {REST})",
    f"(groups (group :rest {ADAM} :every 2 :offset 1))",
]

CONTRACT, VALUE, OPTION, SHAPE = "E-CONTRACT", "E-OPTION-VALUE", "E-OPTION", "E-FORM-SHAPE"


def option(form: str, told: str, code: str = VALUE, marked: str = "(groups") -> Wrong:
    """Of an option of `groups` itself."""
    return Wrong(f"(groups {form} {REST})", code, marked, told)


def selected(selector: str, code: str, marked: str, told: str) -> Wrong:
    return Wrong(rest(selector), code, marked, told)


def group(form: str, code: str, told: str, marked: str | None = None) -> Wrong:
    """Of the arguments of one group."""
    return Wrong(f"(groups {form})", code, form if marked is None else marked, told)


WRONG = [
    Wrong("nil", CONTRACT, "(defun optimizer", "optimizer returns nil"),
    Wrong(ADAM, CONTRACT, "(defun optimizer", "optimizer returns #<optimizer>"),
    Wrong(REST, CONTRACT, "(defun optimizer", "wants a groups value"),
    Wrong("(groups)", "E-GROUP-UNMATCHED", "(defun optimizer", "(group :rest ...)"),
    Wrong(f"(groups {ADAM})", CONTRACT, "(groups", "is no group"),
    Wrong(f"(groups {REST} :clip-norm 1.0)", CONTRACT, "(groups", "stand before the groups"),
    Wrong(f"(groups {REST} {REST})", "E-GROUP-EMPTY", REST, "group 1, which stands before it"),
    Wrong(f"(groups (group (select :rank 2) {ADAM}))", "E-GROUP-UNMATCHED", "(defun optimizer",
          "net/linear/b"),
    option(":clip-norm 0", "above 0"),
    option(":clip-norm -1", "above 0"),
    option(':clip-norm "1"', "a number or a step scalar", "E-SCHEDULE"),
    option(":clip-norm 1 :clip-norm 2", ":clip-norm stands twice", "E-TWICE"),
    option(":clip-value 0", "above 0"),
    option(":clip-vlue 1", "did you mean :clip-value?", OPTION, ":clip-vlue"),
    option(":ema 1.5", "from 0 to 1"),
    option(":ema -0.1", "from 0 to 1"),
    option(":ema t", "a number or a step scalar", "E-SCHEDULE"),
    option(":ema-state t", ":ema 0.999 :ema-state t"),
    group("(group :rest)", "E-CALL-ARGUMENTS", "got 1"),
    group(f"(group {ADAM})", "E-CALL-ARGUMENTS", "got 1"),
    group(f"(group :rset {ADAM})", CONTRACT, ":rset is no selector"),
    group(f'(group "**" {ADAM})', CONTRACT, '(select :path "**")', '"**"'),
    group("(group :rest 3)", CONTRACT, "3 is no optimizer"),
    group("(group :rest :frozn)", CONTRACT, ":frozn is no optimizer"),
    group("(group :rest #'optim:adamw)", CONTRACT, "is no optimizer"),
    group(f"(group :rest {ADAM} {ADAM})", "E-CALL-ARGUMENTS", "where a keyword does"),
    group(f"(group :rest {ADAM} :evry 2)", "E-CALL-KEYWORD", "did you mean :every?", ":evry"),
    group(f"(group :rest {ADAM} :every 0)", VALUE, ":every from 1"),
    group(f"(group :rest {ADAM} :every 2 :offset 2)", VALUE, ":offset below it"),
    group(f"(group :rest {ADAM} :every 2 :offset -1)", VALUE, ":offset below it"),
    group(f"(group :rest {ADAM} :offset 1)", VALUE, ":offset below it"),
    group(f"(group :rest {ADAM} :optional 3)", VALUE, "give t or nil"),
    group(f"(group :rest {ADAM} :loss :x)", "E-GROUP-LOSS", "no loss is named :x", ":x"),
    group(f"(group :rest {ADAM} :dtype :bf16)", VALUE, "this one is trained"),
    group("(group :rest :frozen :every 2)", VALUE, "leave :every out"),
    group("(group :rest :frozen :loss :x)", VALUE, "leave :loss out"),
    group("(group :rest :frozen :dtype :i32)", "E-TYPE", "did you mean :f32?"),
    Wrong('(groups (group :rest (optim:adamw :lr "1")))', "E-SCHEDULE", "(optim:adamw", ":lr of"),
    Wrong("(groups (group :rest (optim:adamw :lr nil)))", "E-SCHEDULE", "(optim:adamw", "is nil"),
    Wrong("(groups (group :rest (optim:sgd :momentum nil)))", "E-SCHEDULE", "(optim:sgd", "nil"),
    Wrong("(groups (group :rest (optim:adamw :lr (tensor 1.0))))", "E-SCHEDULE", "(optim:adamw",
          "a number or a step scalar"),
    Wrong("(groups (group :rest (optim:adamw :bta1 0.9)))", "E-CALL-KEYWORD", ":bta1",
          "did you mean :beta1?"),
    selected("(select)", SHAPE, "(select)", "says what to select"),
    selected('(select :pth "**")', OPTION, ":pth", "did you mean :path?"),
    selected("(select :path 3)", VALUE, "3", "wants a string"),
    selected('(select :path "a" "b")', SHAPE, '"a"', ":path is one glob"),
    selected('(select :path "nothing")', "E-GROUP-EMPTY", "(group", '(select :path "nothing")'),
    selected("(select :rank -1)", VALUE, "-1", "an integer from 0"),
    selected('(select :rank "2")', VALUE, '"2"', "an integer from 0"),
    selected("(select :rank 7)", "E-GROUP-EMPTY", "(group", "(select :rank 7)"),
    selected("(select :size (> -1))", VALUE, "-1", "an integer from 0"),
    selected("(select :dtype :f33)", VALUE, ":f33", "did you mean :f32?"),
    selected("(select :stage :trian)", VALUE, ":trian", "did you mean :train?"),
    selected("(select :where 3)", VALUE, "3", "wants a function"),
    selected("(select :where (lambda () t))", "E-CALL-ARGUMENTS", "(lambda () t)", "got 1"),
    selected("(select :where (lambda (p) (not p)))", "E-GROUP-EMPTY", "(group", "(lambda ...)"),
    selected("(select :and (:rank 2))", SHAPE, "(:rank 2)", ":and is a list of lists"),
    selected("(select :or 3)", SHAPE, "3", ":or is a list"),
    selected("(select :not 3)", SHAPE, "3", ":not is a list"),
    selected("(select :not (:rnk 2))", OPTION, ":rnk", "did you mean :rank?"),
    selected("(select :rank 2 :rank 1)", "E-TWICE", ":rank", "stands twice"),
]  # fmt: skip
