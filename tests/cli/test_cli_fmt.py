"""`fmt`: what it writes, shows and refuses."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_program import Program

ROOT = Path(__file__).parents[2]
OURS = sorted(
    [*ROOT.glob("examples/*.lisp"), *ROOT.glob("sexpgpu_*/sexpgpu_*/lisp/*.lisp")], key=str
)
LOOSE = "(defun f (x)   x) ; says x\n"
LAID = "(defun f (x)\n  x)  ; says x\n"


@pytest.fixture
def files(tmp_path: Path, program: Program) -> Path:
    (tmp_path / "loose.lisp").write_text(LOOSE)
    (tmp_path / "laid.lisp").write_text(LAID)
    (tmp_path / "wrong.lisp").write_text("(defun f (x)   x")
    return tmp_path


def feed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))


@pytest.mark.parametrize("path", OURS, ids=lambda p: p.name)
def test_our_own_files_are_laid_out(program: Program, path: Path) -> None:
    done = program("fmt", "--check", "--diff", "--limit", "0", str(path))
    assert (done.exit, done.out, done.err) == (0, "", "")


def test_files_that_change_are_written_and_named(program: Program, files: Path) -> None:
    mode = (files / "loose.lisp").stat().st_mode
    done = program("fmt", "loose.lisp", "laid.lisp")
    assert (done.exit, done.out, done.err) == (0, "loose.lisp\n", "")
    assert (files / "loose.lisp").read_text() == LAID
    assert (files / "loose.lisp").stat().st_mode == mode
    assert program("fmt", "loose.lisp", "laid.lisp").out == ""
    assert sorted(p.name for p in files.glob("*.fmt")) == []


def test_check_writes_nothing_and_fails_where_something_would_change(
    program: Program, files: Path
) -> None:
    assert program("fmt", "--check", "laid.lisp") == (0, "", "")
    assert program("fmt", "--check", "laid.lisp", "loose.lisp") == (1, "loose.lisp\n", "")
    assert (files / "loose.lisp").read_text() == LOOSE


def test_diff_shows_what_would_change(program: Program, files: Path) -> None:
    done = program("fmt", "--diff", "loose.lisp")
    assert done.exit == 0
    assert done.out.splitlines() == [
        *("--- a/loose.lisp", "+++ b/loose.lisp", "@@ -1 +1,2 @@"),
        *("-(defun f (x)   x) ; says x", "+(defun f (x)", "+  x)  ; says x"),
    ]
    assert program("fmt", "--diff", "--check", "loose.lisp").exit == 1
    assert (files / "loose.lisp").read_text() == LOOSE


def test_a_file_that_does_not_read_stays_and_the_others_are_laid_out(
    program: Program, files: Path
) -> None:
    done = program("fmt", "wrong.lisp", "loose.lisp")
    assert (done.exit, done.out) == (1, "loose.lisp\n")
    assert "wrong.lisp:1:1" in done.err
    assert (files / "wrong.lisp").read_text() == "(defun f (x)   x"
    assert program("fmt", "--json", "wrong.lisp").document["document"] == "error"


def test_wrong_usage_is_exit_2(program: Program, files: Path) -> None:
    assert program("fmt").exit == 2
    assert program("fmt", "-", "laid.lisp").exit == 2
    done = program("fmt", "laidd.lisp", "loose.lisp")
    assert (done.exit, done.out) == (2, "loose.lisp\n")
    assert "did you mean laid.lisp?" in done.err


def test_standard_input_goes_to_standard_output(
    program: Program, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(monkeypatch, LOOSE)
    assert program("fmt", "-") == (0, LAID, "")
    feed(monkeypatch, LOOSE)
    assert program("fmt", "-", "--check", "--stdin-name", "x.lisp") == (1, "x.lisp\n", "")
    feed(monkeypatch, "(")
    done = program("fmt", "-", "--stdin-name", "x.lisp")
    assert (done.exit, done.out) == (1, "")
    assert "x.lisp:1:1" in done.err


def test_ends_of_lines_and_marks_of_byte_order_go(program: Program, files: Path) -> None:
    (files / "loose.lisp").write_bytes(b"\xef\xbb\xbf(a)\r\n(b)\r\n")
    assert program("fmt", "--check", "loose.lisp").exit == 1
    assert program("fmt", "loose.lisp").out == "loose.lisp\n"
    assert (files / "loose.lisp").read_bytes() == b"(a)\n(b)\n"


def test_macros_of_required_files_and_modules_have_their_bodies(
    program: Program, files: Path
) -> None:
    (files / "tools.lisp").write_text("(provide each)\n(defmacro each (a b &body c) c)\n")
    text = '(require "./tools.lisp" :as t)\n\n(t:each 1 2 (print 3) (print 4))\n'
    (files / "x.lisp").write_text(text)
    program("fmt", "x.lisp")
    assert (files / "x.lisp").read_text().endswith("(t:each 1 2\n  (print 3)\n  (print 4))\n")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_may_not_be_written_is_said(program: Program, files: Path) -> None:
    files.chmod(0o500)
    try:
        done = program("fmt", "loose.lisp")
    finally:
        files.chmod(0o700)
    assert done.exit == 2
    assert "loose.lisp: permission denied" in done.err


def test_a_link_stays_a_link(program: Program, files: Path) -> None:
    (files / "link.lisp").symlink_to("loose.lisp")
    assert program("fmt", "link.lisp").out == "link.lisp\n"
    assert (files / "link.lisp").is_symlink()
    assert (files / "loose.lisp").read_text() == LAID


def test_what_changes_is_a_document_too(program: Program) -> None:
    names = [f"{n}.lisp" for n in range(3)]
    for name in names:
        Path(name).write_text("(defun   f (x)  x)\n")
    done = program("fmt", *names, "--diff", "--json", "--limit", "2")
    assert done.document["changed"] == names[:2]
    assert done.document["omitted"] == {"changed": 1}
    assert done.document["diff"].count("+(defun f (x)") == 2
    assert program("fmt", *names, "--check", "--json").exit == 1
    assert program("fmt", *names, "--json").document["changed"] == names
    assert program("fmt", *names, "--json").document == {
        **{"version": 1, "document": "fmt", "changed": []}
    }
