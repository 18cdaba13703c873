"""Diagnostics as a program reads them."""

from __future__ import annotations

import json
import os

from sexpgpu_core.diagnostics import Change, Edit, Expansion, Related, diagnostic
from sexpgpu_core.diagnostics.render_json import diagnostic_json, value_json
from sexpgpu_core.spans import Source, Span

ALWAYS = {"code", "severity", "phase", "message", "file", "span", "hint", "edit", "docs"}


def test_keys_that_are_always_there_are_there_and_others_only_when_they_say_something() -> None:
    assert set(diagnostic_json(diagnostic("E-TYPE", "no"))) == ALWAYS


def test_every_part_has_its_key() -> None:
    source = Source(os.path.join(os.getcwd(), "a.lisp"), "(f x)\n(g y)")
    first, second = Span(source, 0, 5), Span(source, 6, 11)
    found = diagnostic_json(
        diagnostic(
            "E-TYPE",
            "no",
            span=first,
            edit=Edit("do", (Change(second, "z"),), True),
            related=(Related("there", second), Related("nowhere", None)),
            expansion=(Expansion("inner", first), Expansion("outer", second)),
            scope="gpt",
            loss=float("nan"),
        )
    )
    place = {"line": 2, "column": 1, "end_line": 2, "end_column": 6, "offset": 6, "end_offset": 11}
    assert found["file"] == "a.lisp"
    assert found["source"] == "(f x)"
    assert found["facts"] == {"loss": "nan", "notes": ["nowhere"]}
    assert found["related"] == [{"message": "there", "file": "a.lisp", "span": place}]
    assert [x["macro"] for x in found["expansion"]] == ["outer", "inner"]
    assert found["edit"]["changes"] == [
        {"file": "a.lisp", "span": place, "old": "(g y)", "new": "z"}
    ]
    json.dumps(found, allow_nan=False)


def test_a_span_counts_code_points_lines_from_1_and_offsets_from_0_with_its_end_left_out() -> None:
    text = "\u00e9 \U0001f600\n(\U0001f600 bc\n d)"
    found = Span(Source("x.lisp", text), text.index("bc"), text.index(" d)") + 2).json()
    assert found == {
        **{"line": 2, "column": 4, "end_line": 3, "end_column": 3},
        **{"offset": 7, "end_offset": 12},
    }
    assert text[found["offset"] : found["end_offset"]] == "bc\n d"


def test_facts_are_bounded_and_never_not_json() -> None:
    facts = value_json({"a": ("x" * 999, float("inf")), "b": {1: object()}})
    assert len(facts["a"][0]) == 300
    assert facts["a"][1] == "inf"
    json.dumps(facts, allow_nan=False)
