"""A failure ends a verb with one of the exits that it has, whatever its code."""

from __future__ import annotations

import pytest
from cli_program import Program

from sexpgpu_cli.failure import ALWAYS, exit_of
from sexpgpu_cli.plugin import EXITS
from sexpgpu_core.diagnostics import Diagnostic, catalogue, diagnostic
from sexpgpu_core.spans import Source, Span

PLACE = Span(Source("x.lisp", "(defrun)"), 0, 8)


def told(code: str, span: Span | None = None) -> list[Diagnostic]:
    return [diagnostic(code, "it is wrong", span=span)]


@pytest.mark.parametrize("verb", EXITS)
def test_every_code_ends_a_verb_with_an_exit_that_it_has(verb: str) -> None:
    exits = {*EXITS[verb], *ALWAYS} - {0}
    for code, row in catalogue().items():
        for span in (None, PLACE):
            if row.severity == "error":
                assert exit_of(told(code, span), EXITS[verb]) in exits, (code, span)


@pytest.mark.parametrize(
    ("verb", "code", "span", "exit"),
    [
        ("run", "E-CHECKPOINT-NONE", None, 3),
        ("checkpoint", "E-CHECKPOINT-NONE", None, 3),
        ("checkpoint", "E-STORE-DENIED", None, 3),
        ("diff", "E-CHECKPOINT-NONE", None, 2),
        ("diff", "E-STORE-DENIED", None, 2),
        ("diff", "E-CHECKPOINT-NONE", PLACE, 1),
        ("check", "E-CHECKPOINT-NONE", PLACE, 1),
        ("explain", "E-DEVICE-UNKNOWN", None, 2),
        ("explain", "E-DEVICE-UNKNOWN", PLACE, 1),
        ("eval", "E-RUN-INDEX", None, 1),
        ("status", "E-STORE-LOST", None, 2),
        ("doctor", "E-DEVICE-UNKNOWN", None, 4),
        ("plugins", "E-PLUGIN-BROKEN", None, 1),
        ("docs", "E-READ-EOF", None, 2),
        ("devices", "E-INTERNAL", None, 70),
    ],
)
def test_what_a_verb_has_no_exit_for_is_a_wrong_argument_or_a_wrong_file(
    verb: str, code: str, span: Span | None, exit: int
) -> None:
    assert exit_of(told(code, span), EXITS[verb]) == exit


def test_a_verb_without_a_table_ends_as_the_code_asks() -> None:
    assert exit_of(told("E-CHECKPOINT-NONE")) == 3


@pytest.mark.parametrize(
    ("words", "named"),
    [((), "sexpgpu"), (("runs", "compare"), "runs compare"), (("status",), "status")],
)
def test_a_flag_that_is_nothings_says_which_help_has_them(
    program: Program, words: tuple[str, ...], named: str
) -> None:
    done = program(*words, "--zzzzzz")
    path = "sexpgpu " * (named != "sexpgpu") + named
    assert done.exit == 2
    assert f"{named} has no flag --zzzzzz" in done.err
    assert f"help: {path} --help lists its flags" in done.err
