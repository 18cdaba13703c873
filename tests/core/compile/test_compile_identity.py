"""What an experiment is does not depend on comments and layout, functions on the host included."""

from __future__ import annotations

from sexpgpu_core import api
from sexpgpu_core.reader.words import words
from sexpgpu_core.spans import Source

FILE = """;;; a head
(require "sexpgpu/nn")
(defun scaled (x) "A text." (* 2 x)) ; twice
(defloader d
  (source (synthetic (lambda (i) (list :x (float (mod i 3)))) :examples 12))
  (map x #'scaled)
  (stage :train) (batch 2))
(defmodel net (x) (nn:linear (reshape x '(2 1)) 1))
(defun objective (&key x) (metric "loss" (mean (square (net x)))))
(defun optimizer () (groups (group :rest :frozen)))
(defrun :steps 1)
"""


def identity(text: str) -> str:
    return api.identity(api.load(Source("a.lisp", text)))


def test_comments_and_layout_are_no_part_of_a_mapped_experiment() -> None:
    bare = "\n".join(line.partition(";")[0].strip() for line in FILE.splitlines())
    assert identity(bare) == identity(FILE)
    assert identity(FILE.replace("(* 2 x)", "(* #| not |# 2\n   x)")) == identity(FILE)


def test_what_the_functions_may_call_is() -> None:
    assert identity(FILE.replace("(* 2 x)", "(* 3 x)")) != identity(FILE)
    assert identity(FILE.replace("(mod i 3)", "(mod i 4)")) != identity(FILE)


def test_words_keep_texts_and_apart_what_is_apart() -> None:
    assert words('(a "; no  comment") ; one\n #| two\n |# b') == '( a "; no  comment" ) b'
    assert words("(ab)") != words("(a b)")
