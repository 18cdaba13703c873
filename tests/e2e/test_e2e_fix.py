"""check --fix, --every-variant, --format: what is written, and what is only shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_program import TEXT, Folder, held, network, validate

WRONG = network(run=":stepz 20 :seed 1")
QUOTED = network().replace("(stage :train :split (0 0.8)", "(stage :train :split '(0 0.8)")


@pytest.fixture
def folder(tmp_path: Path, kernel_cache: Path) -> Folder:
    made = Folder(tmp_path, kernel_cache)
    made.write("letters.txt", TEXT)
    return made


def test_safe_edits_are_written_and_the_file_then_checks(folder: Folder) -> None:
    path = folder.write("x.lisp", QUOTED)
    shown = folder.quick("check", "x.lisp", "--fix", "--diff")
    assert "-  (stage :train :split '(0 0.8)" in shown.out
    assert path.read_text() == QUOTED
    done = folder.quick("check", "x.lisp", "--fix", "--json")
    held(done, 0)
    validate(done.document)
    (file,) = done.document["files"]
    assert file["fixed"] == 1
    assert path.read_text() == network()
    again = folder.quick("check", "x.lisp", "--fix", "--json")
    assert again.document["files"][0]["fixed"] == 0


def test_other_edits_wait_for_unsafe(folder: Folder) -> None:
    path = folder.write("x.lisp", WRONG)
    safe = folder.quick("check", "x.lisp", "--fix")
    held(safe, 1)
    assert "1 error, 1 more with --fix --unsafe" in safe.out
    assert path.read_text() == WRONG
    done = folder.quick("check", "x.lisp", "--fix", "--unsafe")
    held(done, 0)
    assert "x.lisp: no errors, 1 edit made" in done.out
    assert ":steps 20" in path.read_text()


def test_a_glob_where_a_selector_stands_becomes_one(folder: Folder) -> None:
    path = folder.write("x.lisp", network().replace("(group :rest", '(group "**"'))
    held(folder.quick("check", "x.lisp", "--fix", "--unsafe"), 0)
    assert '(group (select :path "**")' in path.read_text()


def test_ends_of_lines_are_kept(folder: Folder) -> None:
    path = folder.write("x.lisp", QUOTED.replace("\n", "\r\n").encode())
    held(folder.quick("check", "x.lisp", "--fix"), 0)
    assert path.read_bytes() == network().replace("\n", "\r\n").encode()


def test_standard_input_is_answered_with_the_fixed_text(folder: Folder) -> None:
    done = folder("check", "-", "--fix", "--stdin-name", "x.lisp", stdin=QUOTED)
    held(done, 0)
    assert done.out == network()
    assert "no errors" in done.err


def test_every_variant_is_checked(folder: Folder) -> None:
    folder.write("x.lisp", network())
    done = folder.quick("check", "x.lisp", "--every-variant", "--json")
    held(done, 0)
    validate(done.document)
    chosen = [file["selection"]["variant"] for file in done.document["files"]]
    assert chosen == [None, "small"]
    counts = [file["summary"]["parameters"]["count"] for file in done.document["files"]]
    assert counts[1] < counts[0]
    assert "x.lisp small: " in folder.quick("check", "x.lisp", "--every-variant").out


def test_a_workflow_is_given_a_line_a_diagnostic(folder: Folder) -> None:
    folder.write("x.lisp", WRONG)
    done = folder.quick("check", "x.lisp", "--format", "github")
    held(done, 1)
    (line,) = done.out.splitlines()
    row = WRONG[: WRONG.index(":stepz")].count("\n") + 1
    assert line.startswith(f"::error file=x.lisp,line={row},endLine={row},col=")
    assert ",title=E-OPTION::" in line
    assert "%0Ahelp%3A" not in line


@pytest.mark.parametrize(
    "argv",
    [("--diff",), ("--unsafe",), ("--every-variant", "--variant", "small"), ("-", "--fix")],
)
def test_flags_that_do_not_go_together_are_told(folder: Folder, argv: tuple[str, ...]) -> None:
    folder.write("x.lisp", network())
    done = folder.quick("check", "x.lisp", *argv, "--json")
    held(done, 2)
    assert done.diagnostics[0]["code"] == "E-USAGE-VALUE"
