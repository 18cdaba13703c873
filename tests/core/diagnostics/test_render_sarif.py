"""SARIF: a log that its schema takes, in which edits are found again where they belong."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from sexpgpu_core.diagnostics import Change, Diagnostic, Edit, Related, diagnostic
from sexpgpu_core.diagnostics.render_sarif import sarif
from sexpgpu_core.spans import Source, Span

SOURCE = Source("a folder/é.lisp", "(a\n (bé 1) )\n")
TEXT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string"}},
}
BAG = {"type": "object"}
LEVEL = {"enum": ["none", "note", "warning", "error"]}


def shaped(needed: str, **properties: Any) -> dict[str, Any]:
    """A closed object; the words of `needed` must be there."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": needed.split(),
        "properties": properties,
    }


def listed(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "minItems": least, "items": items}


POSITIVE, COUNT = {"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 0}
REGION = shaped(
    "",
    **dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), POSITIVE),
    **dict.fromkeys(("charOffset", "charLength"), COUNT),
)
ARTIFACT = shaped("", uri={"type": "string", "pattern": r"^[!-~]*$"})
PLACE = shaped("artifactLocation", artifactLocation=ARTIFACT, region=REGION)
REPLACEMENT = shaped("deletedRegion", deletedRegion=REGION, insertedContent=TEXT)
CHANGE = shaped(
    "artifactLocation replacements",
    artifactLocation=ARTIFACT,
    replacements=listed(REPLACEMENT, 1),
)
FIX = shaped("artifactChanges", description=TEXT, artifactChanges=listed(CHANGE, 1), properties=BAG)
RULE = shaped(
    "id",
    id={"type": "string"},
    shortDescription=TEXT,
    fullDescription=TEXT,
    help=TEXT,
    defaultConfiguration=shaped("", level=LEVEL),
    properties=BAG,
)
RESULT = shaped(
    "message",
    ruleId={"type": "string"},
    ruleIndex={"type": "integer", "minimum": -1},
    level=LEVEL,
    message=TEXT,
    locations=listed(shaped("", physicalLocation=PLACE)),
    relatedLocations=listed(shaped("", id=COUNT, message=TEXT, physicalLocation=PLACE)),
    fixes=listed(FIX),
    properties=BAG,
)
DRIVER = shaped("name", name={"type": "string"}, version={"type": "string"}, rules=listed(RULE))
RUN = shaped(
    "tool",
    tool=shaped("driver", driver=DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=listed(RESULT),
)
LOG = shaped(
    "version runs",
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs=listed(RUN),
)
"""The part of the standard's schema that we write, closed as the standard's objects are."""


def log(*found: Diagnostic) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(sarif(found, "1.2.3"))
    jsonschema.Draft202012Validator(LOG).validate(read)
    return read["runs"][0]


def renamed() -> Diagnostic:
    span = Span(SOURCE, 5, 7)
    edit = Edit("call b", (Change(span, "b"),), safe=True)
    related = (Related("it is here", Span(SOURCE, 1, 2)), Related("no place", None))
    return diagnostic(
        "E-NAME-FUNCTION", "no bé", span=span, hint="b?", edit=edit, related=related, given="bé"
    )


def test_nothing_found_is_a_run_without_results() -> None:
    assert log()["results"] == []


def test_a_code_is_a_rule_once_and_results_point_at_it() -> None:
    run = log(renamed(), diagnostic("W-KNOB-UNUSED", "k", file="x.lisp"), renamed())
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["E-NAME-FUNCTION", "W-KNOB-UNUSED"]
    assert [result["ruleIndex"] for result in run["results"]] == [0, 1, 0]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "error"]


def test_a_span_is_a_region_in_code_points_of_a_path_as_an_address() -> None:
    (result,) = log(renamed())["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20folder/%C3%A9.lisp"
    assert place["region"] == {
        **{"startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 5},
        **{"charOffset": 5, "charLength": 2},
    }
    assert result["message"]["text"] == "no bé\nhelp: b?"
    assert [r["message"]["text"] for r in result["relatedLocations"]] == ["it is here"]
    assert result["properties"] == {"given": "bé"}


def test_an_edit_is_a_fix_that_gives_the_text() -> None:
    (result,) = log(renamed())["results"]
    (fix,) = result["fixes"]
    assert (fix["description"]["text"], fix["properties"]["safe"]) == ("call b", True)
    (change,) = fix["artifactChanges"]
    (made,) = change["replacements"]
    start = made["deletedRegion"]["charOffset"]
    end = start + made["deletedRegion"]["charLength"]
    text = SOURCE.text[:start] + made["insertedContent"]["text"] + SOURCE.text[end:]
    assert text == "(a\n (b 1) )\n"


def test_a_file_without_a_place_and_nothing_at_all_are_locations_too() -> None:
    run = log(diagnostic("E-READ-ENCODING", "x", file="x.lisp"), diagnostic("E-TYPE", "y"))
    (first, second) = run["results"]
    assert first["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "x.lisp"}}
    assert second["locations"] == []
