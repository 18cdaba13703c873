"""`explain FILE`: every section of a device that plans, chosen by name and by path."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from cli_program import Program

pytest.importorskip("sexpgpu_cpu", reason="a device whose calls are listed is another's")

DIGITS = str(Path(__file__).parents[2] / "examples" / "digits.lisp")
ALL = [
    *("parameters", "groups", "scopes", "memory", "kernels", "numerics", "dependence", "passes"),
]


def test_all_sections_are_there_and_agree_with_each_other(program: Program) -> None:
    done = program("explain", DIGITS, "--json", "--limit", "0")
    assert done.exit == 0, done.err
    found = done.document
    jsonschema = pytest.importorskip("jsonschema")
    schema = files("sexpgpu_core").joinpath("schemas", "explain.json")
    jsonschema.validate(found, json.loads(schema.read_text(encoding="utf-8")))
    assert found["sections"] == ALL
    (whole,) = [s for s in found["scopes"] if "/" not in s["scope"]]
    assert whole["parameters"] == sum(p["count"] for p in found["parameters"])
    assert whole["flops"] <= found["predicted"]["flops_per_step"]
    assert whole["share"] > 0.9
    moved = sum(k["bytes"] for k in found["kernels"])
    assert moved == found["predicted"]["bytes_per_step"]
    taken = sum(k["predicted_s"] for k in found["kernels"])
    assert 0 < taken < found["predicted"]["step_s"]
    assert {g["name"] for g in found["groups"]} == {p["group"] for p in found["parameters"]}
    examples = [d["proved"] for d in found["dependence"] if d["axis"] == 0]
    assert examples == ["independent"]
    assert found["numerics"] == [{"scope": "/", "matmul": "f32", "accumulate": "f32"}]


def test_a_section_alone_and_a_path_alone(program: Program) -> None:
    found = program("explain", DIGITS, "--section", "scopes", "--section", "memory", "--json")
    assert found.document["sections"] == ["scopes", "memory"]
    assert "kernels" not in found.document
    below = program("explain", DIGITS, "--path", "*/linear-2", "--json").document
    assert {p["path"].rpartition("/")[2] for p in below["parameters"]} == {"w", "b"}
    assert len(below["scopes"]) == 1
    text = program("explain", DIGITS, "--section", "kernels", "--limit", "3").out
    assert "more rows: sexpgpu explain" in text
    assert "--section kernels --limit 0" in text
    assert "Parameters" not in text


def test_the_text_is_a_few_rows_of_each_section(program: Program) -> None:
    done = program("explain", DIGITS)
    assert len(done.out.splitlines()) <= 40
    assert len(done.out.encode()) <= 2048
    for title in ("Parameters", "Groups", "Scopes", "Memory", "Kernels and calls", "Dependence"):
        assert f"\n{title}" in done.out
    assert done.out.startswith("a step ")


def test_what_is_not_there_is_told(program: Program) -> None:
    done = program("explain", DIGITS, "--path", "clasifier")
    assert done.exit == 2
    assert "did you mean classifier?" in done.err
    assert "of a FILE" in program("explain", "E-TYPE", "--section", "scopes").err
    assert program("explain", "E-TYPE", "--section", "scopes").exit == 2
