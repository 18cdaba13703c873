"""Documents against their schemas, closed: a key that no schema has is a misspelling."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from cli_program import Api, Program

from sexpgpu_core.diagnostics import Change, Edit, Related, diagnostic
from sexpgpu_core.spans import Source, Span

jsonschema = pytest.importorskip("jsonschema")
FOLDER = files("sexpgpu_core").joinpath("schemas")


def schema(name: str) -> dict[str, Any]:
    return closed(json.loads(FOLDER.joinpath(f"{name}.json").read_text(encoding="utf-8")))


def closed(part: Any) -> Any:
    """A schema without its permission for keys of tomorrow."""
    if isinstance(part, list):
        return [closed(item) for item in part]
    if not isinstance(part, dict):
        return part
    made = {key: closed(value) for key, value in part.items()}
    if isinstance(part.get("properties"), dict) and part.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


@pytest.mark.parametrize(
    "argv",
    [
        ("doctor",),
        ("plugins",),
        ("explain", "E-TYPE"),
        ("chek",),
        ("eval", "x.lisp"),
        ("check", "none.lisp"),
        ("plugins", "--frobnicate"),
    ],
)
def test_documents_are_what_their_schema_says(program: Program, argv: tuple[str, ...]) -> None:
    document = program(*argv, "--json").document
    jsonschema.validate(document, schema(document["document"]))


@pytest.mark.parametrize("sound", [True, False])
def test_checks_are_what_their_schema_says(
    program: Program, api: Api, tmp_path: Any, sound: bool
) -> None:
    (tmp_path / "x.lisp").write_text("(f x)")
    span = Span(Source("x.lisp", "(f x)"), 1, 2)
    if not sound:
        edit = Edit("say g", (Change(span, "g"),), True)
        related = (Related("here", span), Related("nowhere", None))
        many = [
            diagnostic("E-TYPE", str(i), span=span, edit=edit, related=related, at=(1, 2.5))
            for i in range(30)
        ]
        api.report.diagnostics, api.report.summary, api.report.complete = many, None, False
        api.report.output = "hello"
    document = program("check", "x.lisp", "--json").document
    jsonschema.validate(document, schema("check"))
    assert document["exit"] == int(not sound)


@pytest.mark.parametrize("name", sorted(f.name for f in FOLDER.iterdir()))
def test_a_schema_stands_alone_and_is_printed(program: Program, name: str) -> None:
    stem = name.removesuffix(".json")
    printed = json.loads(program("docs", "--schema", stem).out)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert printed["$id"] == f"urn:sexpgpu:schema:{stem}:1"
    refs = set(re.findall(r'"\$ref": "([^"]*)"', json.dumps(printed)))
    assert refs <= {f"#/$defs/{name}" for name in printed.get("$defs", ())}


UNITS = (
    (r"time|heartbeat|.*_at", {"$ref": "#/$defs/time"}),
    (r"elapsed|eta|.*(?<!per)_s", {"type": "number"}),
    (r"bytes|.*_bytes", {"type": "integer", "minimum": 0}),
    (r"progress", {"type": "number", "minimum": 0, "maximum": 1}),
    (r"share|mfu|.*_per_s", {"type": "number"}),
)
"""Names of keys and what they hold: times, seconds, bytes, fractions and rates (65 A2)."""


@pytest.mark.parametrize("name", sorted(f.name for f in FOLDER.iterdir()))
def test_a_key_that_is_named_by_its_unit_holds_that(name: str) -> None:
    for key, part in keys(json.loads(FOLDER.joinpath(name).read_text("utf-8"))):
        found = next((of for words, of in UNITS if re.fullmatch(words, key)), {})
        given = [p for p in part.get("anyOf", [part]) if p != {"type": "null"}]
        assert all(found.items() <= p.items() for p in given), (key, part)


def keys(part: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key of every object of a schema, and its part."""
    if isinstance(part, dict):
        if isinstance(part.get("properties"), dict):
            yield from part["properties"].items()
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from keys(inner)


def test_a_time_is_of_utc_in_milliseconds() -> None:
    time = json.loads(FOLDER.joinpath("event.json").read_text("utf-8"))["$defs"]["time"]
    jsonschema.validate("2026-12-01T18:20:03.412Z", time)
    for wrong in ("2026-12-01T18:20:03Z", "2026-12-01T18:20:03.412+01:00", 1796149203.4):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, time)
