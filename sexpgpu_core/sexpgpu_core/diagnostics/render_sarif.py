"""Diagnostics to SARIF 2.1.0, which code hosts and editors read: a rule a code, a region a span, a
fix an edit. Columns are code points, from 1."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from ..spans import Span
from .catalogue import lookup
from .diagnostic import Change, Diagnostic, Edit
from .places import shown_path
from .render_json import value_json

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def sarif(found: Iterable[Diagnostic], version: str) -> str:
    """One log of one run. `version`: of the program."""
    listed = list(found)
    codes = list(dict.fromkeys(d.code for d in listed))
    driver = {"name": "sexpgpu", "version": version, "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(d, codes.index(d.code)) for d in listed],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, allow_nan=False, ensure_ascii=False, indent=1)


def _rule(code: str) -> dict[str, Any]:
    row = lookup(code)
    return {
        "id": code,
        "shortDescription": {"text": row.title},
        "fullDescription": {"text": row.meaning},
        "help": {"text": row.fix},
        "defaultConfiguration": {"level": row.severity},
        "properties": {"phase": row.phase},
    }


def _result(d: Diagnostic, rule: int) -> dict[str, Any]:
    told = d.message if d.hint is None else f"{d.message}\nhelp: {d.hint}"
    result: dict[str, Any] = {
        "ruleId": d.code,
        "ruleIndex": rule,
        "level": d.severity,
        "message": {"text": told},
        "locations": _locations(d),
    }
    related = [
        {"id": at, "message": {"text": r.message}, "physicalLocation": _place(r.span)}
        for at, r in enumerate(d.related)
        if r.span is not None
    ]
    said = {
        "relatedLocations": related,
        "fixes": [_fix(d.edit)] if d.edit is not None and d.edit.changes else [],
        "properties": {name: value_json(value) for name, value in d.facts.items()},
    }
    return {**result, **{key: value for key, value in said.items() if value}}


def _locations(d: Diagnostic) -> list[dict[str, Any]]:
    if d.span is not None:
        return [{"physicalLocation": _place(d.span)}]
    if d.file is not None:
        return [{"physicalLocation": {"artifactLocation": {"uri": _uri(d.file)}}}]
    return []


def _place(span: Span) -> dict[str, Any]:
    return {"artifactLocation": {"uri": _uri(span.source.name)}, "region": _region(span)}


def _region(span: Span) -> dict[str, int]:
    at = span.json()
    return {
        "startLine": at["line"],
        "startColumn": at["column"],
        "endLine": at["end_line"],
        "endColumn": at["end_column"],
        "charOffset": at["offset"],
        "charLength": at["end_offset"] - at["offset"],
    }


def _uri(name: str) -> str:
    """A path below the working directory stays relative: hosts take it from the checkout's root."""
    shown = shown_path(name)
    return PurePath(name).as_uri() if PurePath(shown).is_absolute() else quote(shown)


def _fix(edit: Edit) -> dict[str, Any]:
    """All changes of an edit, by file."""
    files: dict[str, list[Change]] = {}
    for change in edit.changes:
        files.setdefault(change.span.source.name, []).append(change)
    return {
        "description": {"text": edit.title},
        "artifactChanges": [_changes(name, made) for name, made in files.items()],
        "properties": {"safe": edit.safe},
    }


def _changes(name: str, made: Iterable[Change]) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(c.span), "insertedContent": {"text": c.new}} for c in made
    ]
    return {"artifactLocation": {"uri": _uri(name)}, "replacements": replacements}
