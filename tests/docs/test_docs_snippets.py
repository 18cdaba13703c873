"""Every fenced block of Lisp and of commands in the pages is run.

`lisp`: a whole run file, checked. `lisp fragment`: a run file is completed around it; a form with
`; VALUE` behind it is evaluated and must give that. `lisp values`: forms evaluated in order by the
language alone, with the values behind them. `lisp file NAME`: what later fragments of the page find
beside them. A code after these: it must fail so.
`console`: commands, run in order in one folder that has examples/ and the README's digits.lisp;
`run` is cut to two steps.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sexpgpu_core import api, inspection
from sexpgpu_core.diagnostics import Diagnostic, Problems
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.evaluator.printer import print_text
from sexpgpu_core.evaluator.values import MultipleValues
from sexpgpu_core.spans import Source

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/*/*.md"))]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.S | re.M)
ORDER = (
    "(require ",
    "(defknob ",
    "(defvariant ",
    "(defsweep ",
    "(defloader ",
    "(defun prepare ",
    "(defmodel net ",
    "(defun objective ",
    "(defun evaluate ",
    "(defeval ",
    "(deftarget ",
    "(defschedule ",
    "(defoptimizer ",
    "(defun optimizer ",
    "(defun curriculum ",
    "(defoutput ",
    "(defrun ",
)
"""What a run file's forms begin with, in their order; others stand with the models."""
DIGITS = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d
  (source (digits))
  (stage :train :split (0 0.8) :order :shuffled)
  (stage :val :split (0.8 1))
  (batch 32))
(defmodel net (x) (nn:linear x 10))
(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))
(defeval val :loader (d :val))
(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-3))))
(defrun :steps 200 :seed 1)
"""
TEXT = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader text
  (source (python-stdlib :limit 20000))
  (windows 9)
  (stage :train :split (0 0.9))
  (batch 4))
(defun prepare (&key tokens)
  (batch :inputs  (slice tokens :axis 1 :end -1)
         :targets (slice tokens :axis 1 :start 1)))
(defmodel net (x) (nn:embedding x 256 256))
(defun objective (&key inputs targets)
  (metric "loss" (nn:cross-entropy (net inputs) targets)))
(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-3))))
(defrun :steps 200 :seed 1)
"""
"""Whole files that a fragment is put into."""


class Block(NamedTuple):
    page: str
    number: int
    language: str
    words: str  # after the language
    text: str

    @property
    def id(self) -> str:
        return f"{self.page}:{self.number}"


def blocks() -> list[Block]:
    return [
        Block(page.name, n, m[1], m[2].strip(), m[3])
        for page in PAGES
        for n, m in enumerate(FENCE.finditer(page.read_text(encoding="utf-8")), 1)
    ]


LISP = [b for b in blocks() if b.language == "lisp"]
CONSOLE = sorted({b.page for b in blocks() if b.language in ("console", "sh")})


def test_blocks_say_what_they_are() -> None:
    known = {"lisp", "console", "sh", "text", "toml", "python", "json"}
    assert {b.language for b in blocks()} <= known


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where fragments stand."""
    monkeypatch.chdir(tmp_path)


def files_of(page: str) -> None:
    """Write the files that a page has."""
    for block in LISP:
        kind, _, name = block.words.partition(" ")
        if block.page == page and kind == "file":
            Path(name).write_text(block.text, encoding="utf-8")


VALUED = [b for b in LISP if b.words.startswith("values")]


@pytest.mark.parametrize("block", VALUED, ids=lambda b: b.id)
def test_values_of_the_pages_are_what_the_language_gives(block: Block) -> None:
    if codes := block.words.split()[1:]:
        assert [d.code for d in told(block.text)] == codes
        return
    evaluator, shown = Evaluator(), 0
    for form in top_level(block.text):
        _, valued = parted(form)
        found = evaluator.evaluate(valued[0][0] if valued else form)
        if valued:
            assert printed(found) == valued[0][1].strip()
            shown += 1
    assert shown


def told(text: str) -> list[Diagnostic]:
    """What is said of a text as a file of its own."""
    evaluator = Evaluator()
    try:
        evaluator.load(Source("page.lisp", text))
    except Problems as problems:
        return [*problems.diagnostics, *evaluator.diagnostics]
    return evaluator.diagnostics


def printed(found: Any) -> str:
    values = found if isinstance(found, MultipleValues) else (found,)
    return "; ".join(print_text(value) for value in values)


CHECKED = [b for b in LISP if b not in VALUED and not b.words.startswith("file")]


@pytest.mark.parametrize("block", CHECKED, ids=lambda b: b.id)
def test_lisp_of_the_pages_runs(block: Block) -> None:
    words = block.words.split()
    files_of(block.page)
    if "fragment" in words:
        forms, valued = parted(block.text)
        text = completed(forms)
        for form, value in valued:
            assert [v for v, _ in inspection.evaluate(Source("page.lisp", text), form)] == [value]
        report = api.check(Source("page.lisp", text), device="cpu")
    else:
        report = api.check(Source("page.lisp", block.text), device="cpu")
    codes = [d.code for d in report.diagnostics if d.is_error]
    assert codes == [word for word in words if word.startswith("E-")], report.diagnostics


def top_level(text: str) -> list[str]:
    return [form for form in re.split(r"^(?=\()", text, flags=re.M) if form.strip()]


def parted(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Top-level forms, and those that have `; VALUE` behind their last line with the value."""
    forms, valued = [], []
    for form in top_level(text):
        found = re.search(r"\)\s*; ([^\n]+)\n\s*\Z", form)
        if found:
            valued.append((form[: found.start() + 1], found[1]))
        else:
            forms.append(form)
    return forms, valued


def completed(forms: list[str]) -> str:
    """A whole run file of a fragment's forms: what they lack comes from DIGITS or TEXT."""
    text = "".join(forms)
    around = TEXT if "(windows " in text or "&key tokens" in text else DIGITS
    given = {_given(form) for form in forms}
    rest = [form for form in top_level(around) if _given(form) not in given]
    return "\n".join(sorted([*rest, *forms], key=_rank))


def _kind(form: str) -> str:
    return next((head for head in ORDER if form.startswith(head)), "")


def _given(form: str) -> str:
    """What there is one of: a contract's form, or the require of one module."""
    kind = _kind(form)
    return kind + form.split('"')[1] if kind == "(require " else kind


def _rank(form: str) -> int:
    return ORDER.index(_kind(form) or "(defmodel net ")


@pytest.mark.slow
@pytest.mark.parametrize("page", CONSOLE)
def test_commands_of_the_pages_run(page: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    readme = next(b for b in LISP if b.page == "README.md")
    (tmp_path / "digits.lisp").write_text(readme.text, encoding="utf-8")
    shutil.copy(ROOT / "examples" / "chars.lisp", tmp_path / "mine.lisp")
    for block in blocks():
        if block.page == page and block.language in ("console", "sh"):
            for line in block.text.splitlines():
                for command in line.partition("  #")[0].split("&&"):
                    obey(shlex.split(command), tmp_path)


def _two_steps(words: list[str]) -> list[str]:
    if "--steps" in words:
        at = words.index("--steps")
        words = words[:at] + words[at + 2 :]
    return [*words, "--steps", "2"]


def obey(words: list[str], folder: Path) -> None:
    """Run one command of ours; of nox and pip it is enough that what they name is there."""
    if words[:3] == ["python", "-m", "nox"]:
        sessions = (ROOT / "noxfile.py").read_text(encoding="utf-8")
        assert f"def {words[4]}(" in sessions, words
    elif words[:4] == ["python", "-m", "pip", "install"]:
        named = [w for w in words[4:] if w.startswith("sexpgpu_")]
        assert all((ROOT / name / "pyproject.toml").exists() for name in named)
    else:
        assert words[0] == "sexpgpu", words
        if words[1] == "new":
            (folder / words[2]).unlink(missing_ok=True)
        if words[1] == "run":
            words = _two_steps(words)
        environment = dict(os.environ, NO_COLOR="1")
        command = [sys.executable, "-m", "sexpgpu_cli", *words[1:]]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
