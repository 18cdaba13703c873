"""What was chosen, written into a file's text: the same experiment without the choice."""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.preset import preset
from sexpgpu_core.spans import Source

FILE = """; a comment stays
(defknob width  16  "Units.")
(defknob sizes (list 1 2) "Several." :type (list integer))
(defrun :epochs 3 ; of the data
        :log-every 5)
"""


def test_only_what_was_chosen_is_another() -> None:
    made = preset(Source("x.lisp", FILE), {"width": "8", "sizes": "(4 5)"}, {})
    assert made == FILE.replace("width  16", "width  8").replace("(list 1 2)", "(4 5)")
    assert preset(Source("x.lisp", FILE), {}, {}) == FILE


def test_steps_stand_for_epochs_and_a_seed_that_is_not_there_is_added() -> None:
    made = preset(Source("x.lisp", FILE), {}, {"steps": 20, "seed": 4})
    assert made == FILE.replace(":epochs 3", ":steps 20").replace("every 5)", "every 5 :seed 4)")


def test_a_knob_without_a_place_is_told() -> None:
    with pytest.raises(Problem) as raised:
        preset(Source("x.lisp", FILE), {"nn:rate": "1"}, {})
    assert raised.value.diagnostic.code == "E-USAGE-VALUE"
    assert "-s nn:rate=1" in (raised.value.diagnostic.hint or "")
