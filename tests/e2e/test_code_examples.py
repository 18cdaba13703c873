"""Every code: its wrong example raises it and its right one does not; its edit mends it."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from code_cases import PARTS, found, mended, whole
from code_reasons import NAMED, NOT_YET, SHOWN_BY

from sexpgpu_cli import main
from sexpgpu_core.diagnostics import Diagnostic, catalogue, lookup
from sexpgpu_core.diagnostics.example import FRAMES, Example, examples
from sexpgpu_core.diagnostics.facts import facts_of
from sexpgpu_core.diagnostics.render_json import value_json

ROOT = Path(__file__).parents[2]
ALL = examples()
CHECKED = [e for e in ALL.values() if e.frame in ("alone", "file", "body")]
TYPED = [e for e in ALL.values() if e.frame == "shell"]
RUN = [e for e in ALL.values() if e.frame == "run"]
WORDS = {c for c, e in ALL.items() if e.frame == "words"}
CODE = re.compile(r'"([EW](?:-[A-Z]+)+)"')
SELECTED = {
    "other": '(defknob width 10 "Units.")\n(defvariant small :width 4)\n',
    "model": "(defmodel net (x)\n  (nn:linear (nn:linear x width) 10))\n",
}
"""Parts of a file that a command line can select from."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path / "cache"))
    return tmp_path


def beside(example: Example, folder: Path) -> None:
    for name, text in example.files.items():
        (folder / name).write_text(text, encoding="utf-8")


def codes(said: list[Diagnostic]) -> set[str]:
    """Codes, but for the contract's names in a piece of a file."""
    return {d.code for d in said}


@pytest.mark.parametrize("example", CHECKED, ids=lambda e: e.code)
def test_a_wrong_example_raises_its_code_and_a_right_one_does_not(
    example: Example, folder: Path
) -> None:
    beside(example, folder)
    text = whole(example, example.wrong)
    said = found(text, folder)
    assert [d for d in said if not as_listed(d)] == []
    mine = [d for d in said if d.code == example.code]
    other = {"E-MISSING"} if example.frame == "alone" else set()
    assert mine, [(d.code, d.message) for d in said]
    assert mine[0].span is not None
    assert mine[0].hint
    assert {d.code for d in said if d.is_error} <= {example.code, *other}
    right = found(whole(example, example.right), folder)
    assert example.code not in codes(right)
    assert {d.code for d in right if d.is_error} <= other
    _check_edit(mine[0], text, said, folder, other)


KINDS = {"text": str, "integer": int, "number": (int, float), "boolean": bool, "list": list}


def as_listed(d: Diagnostic) -> bool:
    """Whether the facts of a diagnostic are those of its code's page, and of the types told."""
    told = facts_of(d.code)
    for name, value in d.facts.items():
        shown, kinds = value_json(value), told.get(name, "").split("|")
        fits = isinstance(shown, tuple(KINDS[k] for k in kinds if k in KINDS))  # type: ignore[arg-type]
        if not fits and not (shown is None and "null" in kinds):
            return False
    return True


def _check_edit(
    first: Diagnostic, text: str, said: list[Diagnostic], folder: Path, other: set[str]
) -> None:
    """An edit makes its diagnostic go away and adds none."""
    if first.edit is None:
        return
    assert lookup(first.code).edit
    after = found(mended(text, first.edit, folder), folder)
    assert first not in after
    assert sum(d.code == first.code for d in after) < sum(d.code == first.code for d in said)
    assert codes(after) <= codes(said) | other


EDITS = 24
"""Examples that come with an edit. May only grow."""


def test_edits_do_not_get_fewer(folder: Path) -> None:
    may = [e for e in CHECKED if lookup(e.code).edit]
    count = 0
    for example in may:
        beside(example, folder)
        said = found(whole(example, example.wrong), folder)
        count += any(d.edit is not None for d in said if d.code == example.code)
    assert count >= EDITS


@pytest.mark.parametrize("example", TYPED, ids=lambda e: e.code)
def test_a_wrong_command_line_is_told_and_a_right_one_is_not(
    example: Example, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = {**PARTS, **SELECTED}
    (folder / "x.lisp").write_text("".join(parts.values()), encoding="utf-8")

    beside(example, folder)
    assert f"[{example.code}]" in typed(example.wrong, capsys)[1]
    for made in folder.glob("runs/*"):
        shutil.rmtree(made, ignore_errors=True)
    code, said = typed(example.right, capsys)
    assert code == 0
    assert f"[{example.code}]" not in said


def typed(lines: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit and words of the last of some command lines; those before it must do."""
    *before, last = lines.splitlines()
    for line in before:
        assert main.run(shlex.split(line)[1:]) == 0, line
    program, *argv = shlex.split(last)
    assert program == "sexpgpu"
    capsys.readouterr()
    code = main.run(argv)
    out, err = capsys.readouterr()
    return code, out + err


@pytest.mark.parametrize("example", RUN, ids=lambda e: e.code)
def test_a_wrong_file_is_told_when_it_runs_and_a_right_one_is_not(
    example: Example, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text, wrong in [(example.wrong, True), (example.right, False)]:
        (folder / "x.lisp").write_text(whole(example, text), encoding="utf-8")
        code, said = typed("sexpgpu run x.lisp --name it --no-curve", capsys)
        shutil.rmtree(folder / "runs")
        assert (f"[{example.code}]" in said) is wrong, said
        assert (code != 0) is (wrong and example.code.startswith("E-"))


def test_examples_and_what_is_not_yet_raised_are_the_whole_catalogue() -> None:
    ours = {c for c in catalogue() if not c.startswith("E-TOY")}
    assert set(ALL) | set(NOT_YET) == ours
    assert not set(ALL) & set(NOT_YET)
    assert all(e.frame in FRAMES and e.wrong and e.right for e in ALL.values())


def test_what_is_told_in_words_is_shown_by_a_test_that_exists() -> None:
    assert set(SHOWN_BY) == WORDS
    for code, name in SHOWN_BY.items():
        path, _, test = name.partition("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        assert f"def {test}(" in text, name
        assert code in text, name


def test_every_code_of_the_sources_is_in_the_catalogue_and_not_put_off() -> None:
    sources = ROOT.glob("sexpgpu_*/sexpgpu_*/**/*.py")
    known = {c for p in sources for c in CODE.findall(p.read_text(encoding="utf-8"))}
    known = {c for c in known if not c.startswith("E-TOY")}
    assert known - set(catalogue()) - PREFIXES == set()
    assert known & set(NOT_YET) == NAMED
    assert set(ALL) <= known


PREFIXES = {"E-READ", "E-LIMIT", "E-CALL"}
"""What the sources compare the beginning of a code with."""
