"""Every verb that the program has, asked wrongly and broken: one JSON document on every exit, and
text that says the same on stderr."""

from __future__ import annotations

from typing import Any

import pytest
from cli_program import Done, Program
from test_schemas import jsonschema, schema
from verb_lines import LEAVES, line, wrong

CASES = [(name, code, words) for name in LEAVES for code, words in wrong(name)]
NEEDED = {name for name, command in LEAVES.items() if any(p.required for p in command.params)}


def plain(words: list[str]) -> list[str]:
    return [word for word in words if word != "--json"]


def document(done: Done, exit: int) -> dict[str, Any]:
    """The one document on stdout, of its schema; it has the exit of the call."""
    assert done.out.count("\n") == 1
    told = done.document
    jsonschema.validate(told, schema("error"))
    assert done.exit == told["exit"] == exit
    return told


@pytest.mark.parametrize(("name", "code", "words"), CASES, ids=lambda v: str(v)[:40])
def test_a_wrong_word_is_exit_2_with_one_document(
    program: Program, name: str, code: str, words: list[str]
) -> None:
    told = document(program(*words), 2)
    assert told["verb"] == name.split()[0]
    assert [d["code"] for d in told["diagnostics"]] == [code]
    text = program(*plain(words))
    assert (text.exit, text.out) == (2, "")
    assert text.err.startswith(f"error[{code}]: {told['diagnostics'][0]['message']}")


@pytest.mark.parametrize("name", sorted(NEEDED - {"completion"}))
def test_what_names_nothing_is_told_with_one_document(program: Program, name: str) -> None:
    """No file, run, code or page is called x."""
    done = program(*line(name))
    if name == "new":
        assert done.exit == 0  # it makes x.lisp
        return
    told = document(done, done.exit)
    assert done.exit == 2
    assert told["diagnostics"][0]["code"].startswith("E-USAGE-")


@pytest.mark.parametrize("exit", [70, 75, 130])
@pytest.mark.parametrize("name", LEAVES)
def test_a_fault_and_an_interrupt_are_one_document(
    program: Program, monkeypatch: pytest.MonkeyPatch, name: str, exit: int
) -> None:
    def ended(*_: Any) -> None:
        error = RuntimeError("surprise") if exit == 70 else KeyboardInterrupt("left")
        error.exit = exit  # type: ignore[attr-defined]
        raise error

    monkeypatch.setattr("sexpgpu_cli.flags._invocation", ended)
    told = document(program(*line(name)), exit)
    codes = [d["code"] for d in told["diagnostics"]]
    assert codes == ["E-INTERNAL" if exit == 70 else "E-RUN-INTERRUPTED"]
    text = program(*plain(line(name)))
    assert (text.exit, text.out) == (exit, "")
    assert "Traceback" not in text.err


@pytest.mark.parametrize("name", ["checkpoint", *LEAVES])
def test_help_is_a_document_too(program: Program, name: str) -> None:
    done = program(*name.split(), "--help", "--json")
    assert (done.exit, done.err) == (0, "")
    assert done.document["document"] == "help"
    assert done.document["text"] == program(*name.split(), "--help").out.rstrip("\n")
