"""Words of the command line: those that are refused whatever the verb is."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest
from cli_program import Program

from sexpgpu_cli import program as programs
from sexpgpu_cli.flags import PLACES, STDIN, metavar
from sexpgpu_core import config, plugins

BYTES = os.fsdecode(b"a\xff")
Leaves = dict[str, click.Command]


def leaves() -> Leaves:
    """Every verb of the program, and every second word of one."""
    made = programs.Program(plugins.installed(config.settings(config=None, runs=None)))
    context = click.Context(made)
    found: Leaves = {}
    for name in made.list_commands(context):
        of = made.get_command(context, name)
        assert of is not None
        inner = of.commands if isinstance(of, click.Group) else {}
        found.update({f"{name} {word}": command for word, command in inner.items()})
        if not inner or len(of.params) > 1:
            found[name] = of
    return found


LEAVES = leaves()
CASES = [
    (name, param.name)
    for name, command in LEAVES.items()
    for param in command.params
    if metavar(param) in PLACES and param.name != "config" and not getattr(param, "is_flag", False)
]
OF_ARGUMENTS = {"bash|zsh|fish": "bash"}


def line(name: str, chosen: str | None, given: str) -> list[str]:
    """A call of a verb whose arguments are all there, with one of its words as given."""
    words, after = name.split(), []
    for param in LEAVES[name].params:
        value = given if param.name == chosen else OF_ARGUMENTS.get(metavar(param), "x")
        if isinstance(param, click.Argument):
            after += [value] * max(1, len(metavar(param).split()))
        elif param.name == chosen or param.required:
            words += [param.opts[-1], value]
    return [*words, *after]


def made() -> list[Path]:
    """What is in the working directory, beside the cache of what is installed."""
    return sorted(path for path in Path().rglob("*") if path.parts[0] != "cache")


def told(program: Program, *words: str) -> str:
    """What one error says, after it is seen that JSON and text say the same and nothing is made."""
    before = made()
    done, text = program(*words, "--json"), program(*words)
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
    assert f"is {'only blanks' if blank else 'empty'} leave it out, or give " in said
