"""`check`: the answer, the document, what makes it fail, and what it may not import."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_program import SUMMARY, Api, Program

from sexpgpu_core.diagnostics import diagnostic
from sexpgpu_core.spans import Source, Span

TEXT = "(defun f (x)\n  (g x))\n"
SOURCE = Source("x.lisp", TEXT)
HEAVY = ("numpy", "numba", "llvmlite", "boto3", "rich", "pluggy", "importlib.metadata", "tomllib")


@pytest.fixture
def file(program: Program) -> str:
    Path("x.lisp").write_text(TEXT)
    return "x.lisp"


def unknown(n: int = 1) -> list[Any]:
    span = Span(SOURCE, 16, 17)
    return [diagnostic("E-NAME-FUNCTION", f"no function g{i}", span=span) for i in range(n)]


def test_sarif_is_one_log_whatever_the_limit_is(program: Program, api: Api, file: str) -> None:
    api.report.diagnostics, api.report.complete = unknown(3), False
    done = program("check", file, "--format", "sarif", "--limit", "1")
    assert done.exit == 1
    (run,) = done.document["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["E-NAME-FUNCTION"] * 3


def test_a_sound_file_gives_a_summary_of_at_most_twelve_lines(
    program: Program, api: Api, file: str
) -> None:
    done = program("check", file)
    assert done.exit == 0
    lines = done.out.splitlines()
    assert lines[0] == "x.lisp: no errors"
    assert 8 <= len(lines) <= 14
    assert "  parameters  119,424 in 19 tensors, 424 frozen" in lines
    assert "  a step      624 MFLOP" in lines


def test_the_document_has_what_the_schema_asks(program: Program, api: Api, file: str) -> None:
    document = program("check", file, "--json").document
    assert document["counts"] == {"error": 0, "warning": 0, "fixable": 0}
    (checked,) = document["files"]
    assert checked["summary"] == SUMMARY
    assert {k: checked[k] for k in ("ok", "complete", "reached")} == {
        "ok": True,
        "complete": True,
        "reached": "trust",
    }
    assert len(checked["sha256"]) == 64


def test_errors_are_shown_with_their_place_and_exit_1(
    program: Program, api: Api, file: str
) -> None:
    api.report.diagnostics = unknown()
    api.report.summary, api.report.complete, api.report.reached = None, False, "evaluator"
    done = program("check", file)
    assert done.exit == 1
    assert "2 |   (g x))\n  |    ^" in done.out
    assert done.out.endswith("x.lisp: 1 error; stopped after evaluator: check again\n")


def test_more_than_the_limit_is_cut_and_says_so(program: Program, api: Api, file: str) -> None:
    api.report.diagnostics = unknown(23)
    document = program("check", file, "--json").document
    assert len(document["files"][0]["diagnostics"]) == 20
    assert document["omitted"] == {"diagnostics": 3}
    assert document["more"] == "sexpgpu check x.lisp --json --limit 0"
    assert "... 3 more: sexpgpu check x.lisp --limit 0" in program("check", file).out
    assert program("check", file, "--limit", "0").out.count("error[") == 23


@pytest.mark.parametrize(
    ("flags", "exit", "shown"),
    [
        ((), 0, 1),
        (("--deny", "warnings"), 1, 1),
        (("--deny", "W-UNUSED"), 1, 1),
        (("--allow", "W-UNUSED"), 0, 0),
        (("--allow", "W-UNUSED", "--deny", "W-UNUSED"), 1, 1),
        (("--allow", "W-UNUSED", "--deny", "warnings"), 1, 1),
    ],
)
def test_warnings_can_be_denied_and_allowed(
    program: Program, api: Api, file: str, flags: tuple[str, ...], exit: int, shown: int
) -> None:
    api.report.diagnostics = [diagnostic("W-UNUSED", "x is never used")]
    done = program("check", file, *flags)
    assert (done.exit, done.out.count("warning[")) == (exit, shown)


def test_the_selection_is_handed_on(program: Program, api: Api, file: str) -> None:
    program(*f"check {file} --variant smoke -s lr=3e-3 --set n=2 --steps 5 --seed 7".split())
    chosen = {k: api.asked[k] for k in ("variant", "sets", "steps", "seed")}
    assert chosen == {
        "variant": "smoke",
        "sets": (("lr", "3e-3"), ("n", "2")),
        "steps": 5,
        "seed": 7,
    }


def test_standard_input_and_a_path_below_here_are_named_as_they_are_shown(
    program: Program, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words, name in ((("--stdin-name", "y.lisp"), "y.lisp"), ((), "-")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"(a)\r\n")))
        document = program("check", "-", *words, "--json").document
        assert (api.asked["source"].name, api.asked["source"].text) == (name, "(a)\n")
        assert document["files"][0]["file"] == name
    Path("x.lisp").write_text("(a)")
    document = program("check", str(Path("x.lisp").resolve()), "--json").document
    assert document["files"][0]["file"] == "x.lisp"


def test_a_file_that_is_not_utf_8_is_a_diagnostic_of_the_file(program: Program) -> None:
    Path("x.lisp").write_bytes(b"(a)\n\xff")
    done = program("check", "x.lisp", "--json")
    assert done.exit == 1
    found = done.document["files"][0]["diagnostics"][0]
    assert (found["code"], found["file"]) == ("E-READ-ENCODING", "x.lisp")


def test_what_the_file_prints_goes_to_stderr_and_into_the_document(
    program: Program, api: Api, file: str
) -> None:
    api.report.output = "hello\n"
    assert program("check", file).err == "hello\n"
    assert program("check", file, "-q").err == ""
    assert program("check", file, "--json").document["files"][0]["output"] == "hello\n"


STARTED = """
import sys, types
api = types.ModuleType("sexpgpu_core.api")
SimpleNamespace = types.SimpleNamespace
api.check = lambda source, **options: SimpleNamespace(
    diagnostics=[], reached="trust", complete=True, summary=None, selection=None, output="")
import sexpgpu_core
sys.modules["sexpgpu_core.api"] = sexpgpu_core.api = api
from sexpgpu_cli.main import run
code = run(["check", "x.lisp", "-q"])
print(code, [m for m in HEAVY if m in sys.modules], [m for m in sys.modules if ".plugin" in m])
"""


def test_check_imports_neither_plug_ins_nor_anything_heavy(tmp_path: Path) -> None:
    Path(tmp_path / "x.lisp").write_text(TEXT)
    environment = {**os.environ, "SEXPGPU_CACHE": str(tmp_path / "cache")}
    code = STARTED.replace("HEAVY", repr(HEAVY))
    for _ in range(2):  # the first one makes the cache of rows
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    last = done.stdout.splitlines()[-1]
    assert last == "0 [] ['sexpgpu_core.plugins']", done.stderr


def test_the_documents_are_json_without_nan(program: Program, api: Api, file: str) -> None:
    api.report.diagnostics = [diagnostic("E-TYPE", "x", value=float("nan"))]
    text = program("check", file, "--json").out
    assert "NaN" not in text
    assert json.loads(text)["exit"] == 1
