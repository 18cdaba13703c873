"""Words of the command line: those that are refused whatever the verb is."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest
from cli_program import Program
from verb_lines import LEAVES, line

from sexpgpu_cli.flags import PLACES, STDIN, metavar

BYTES = os.fsdecode(b"a\xff")
CASES = [
    (name, param.name)
    for name, command in LEAVES.items()
    for param in command.params
    if metavar(param) in PLACES and param.name != "config" and not getattr(param, "is_flag", False)
]


def made() -> list[Path]:
    """What is in the working directory, beside the cache of what is installed."""
    return sorted(path for path in Path().rglob("*") if path.parts[0] != "cache")


def told(program: Program, *words: str) -> str:
    """What one error says, after it is seen that JSON and text say the same and nothing is made."""
    before = made()
    plain = [word for word in words if word != "--json"]
    done, text = program(*plain, "--json"), program(*plain)
    assert (done.exit, text.exit, text.out) == (2, 2, "")
    (found,) = done.document["diagnostics"]
    assert found["code"] == "E-USAGE-VALUE"
    assert f"error[E-USAGE-VALUE]: {found['message']}" in text.err
    assert made() == before
    return f"{found['message']} {found['hint']}"


@pytest.mark.parametrize(("name", "chosen"), CASES)
def test_a_dash_is_standard_input_of_four_verbs_and_nothing_elsewhere(
    program: Program, monkeypatch: pytest.MonkeyPatch, name: str, chosen: str
) -> None:
    param = next(p for p in LEAVES[name].params if p.name == chosen)
    if name in STDIN and isinstance(param, click.Argument):
        monkeypatch.setattr("sexpgpu_cli.files.decode", lambda *_: "(defun f () 1)")
        assert " is -" not in program(*line(name, chosen, "-")).err
        return
    assert " is - give " in told(program, *line(name, chosen, "-"))


@pytest.mark.parametrize("name", sorted(LEAVES))
def test_an_argument_that_is_not_utf_8_is_told_by_every_verb(program: Program, name: str) -> None:
    for words in ((*name.split(), BYTES), (*name.split(), "x", f"--runs={BYTES}")):
        assert "is not UTF-8: " in told(program, *words)
        assert "a\\xff" in told(program, *words)


@pytest.mark.parametrize(
    "words", [(BYTES,), ("--config", BYTES, "runs"), ("runs", "--runs", BYTES)]
)
def test_a_verb_and_a_common_flag_that_are_not_utf_8_are_told(
    program: Program, words: tuple[str, ...]
) -> None:
    assert "is not UTF-8: a\\xff" in told(program, *words)


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u00a0"])
@pytest.mark.parametrize(
    "words",
    [("annotate", "one"), ("eval", "x.lisp"), ("check",), ("docs",), ("runs", "--metric")],
)
def test_a_text_without_a_letter_is_told(
    program: Program, words: tuple[str, ...], blank: str
) -> None:
    said = told(program, *words, blank)
    hint = "leave it out, or give " if words[0] in ("docs", "runs") else "give "
    assert f"is {'only blanks' if blank else 'empty'} {hint}" in said


def test_flags_before_a_second_word_are_heard_or_told(program: Program) -> None:
    for flags in (("--limit", "3"), ("-q",)):
        words = ("runs", *flags, "compare", "a", "b")
        done = program(*words, "--json")
        assert (done.exit, done.document["diagnostics"][0]["code"]) == (2, "E-USAGE-FLAG")
        assert "stands before compare" in done.document["diagnostics"][0]["message"]
    for words in (("runs", "compare", "a", "b"), ("checkpoint", "list", "a")):
        done = program(words[0], "--json", "--runs", "elsewhere", *words[1:])
        if words[0] == "runs":
            assert "elsewhere" in done.document["diagnostics"][0]["message"]
        assert (done.exit, done.document["verb"]) == (2, words[0])
