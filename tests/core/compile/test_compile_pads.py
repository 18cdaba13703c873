"""A :pad and a border of documents that are no token of what they are for are told by check."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexpgpu_core import api
from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.spans import Source
from sexpgpu_core.surveyed import surveyed

FILE = """
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d
  (source (text-files "a.txt"))
  (windows 9 :documents {end} :pad {pad})
  (stage :train) (batch 2))
(defmodel net (x) (nn:linear (nn:embedding x {rows} 4) {rows}))
(defun objective (&key tokens weights)
  (metric "loss" (nn:cross-entropy (net tokens) tokens :weights weights)))
(defun optimizer () (groups (group :rest (optim:sgd :lr 1e-2))))
(defrun :steps 1)
"""


def codes(folder: Path, **words: object) -> list[tuple[str, str]]:
    (folder / "a.txt").write_text("ab cd ef gh " * 20)
    said = {"end": 32, "pad": 0, "rows": 256, **words}
    try:
        surveyed(api.load(Source(str(folder / "run.lisp"), FILE.format(**said))))
    except Problem as one:
        return [(one.diagnostic.code, one.diagnostic.message)]
    except Problems as several:
        return [(d.code, d.message) for d in several.diagnostics]
    return []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"pad": 256}, ":pad 256 of d :train is no token that"),
        ({"pad": 300, "rows": 299}, "0 to 298"),
        ({"end": 256}, ":documents 256: the vocabulary has the tokens 0 to 255"),
    ],
)
def test_a_token_beyond_what_it_is_for_is_told(tmp_path: Path, words: dict, told: str) -> None:
    ((code, message),) = codes(tmp_path, **words)
    assert code == "E-DATA-TOKEN"
    assert told in message


@pytest.mark.parametrize("words", [{}, {"pad": 255}, {"pad": 256, "rows": 257}])
def test_a_pad_that_has_a_row_passes(tmp_path: Path, words: dict) -> None:
    assert not codes(tmp_path, **words)
