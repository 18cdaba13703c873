"""Commands that are shown: they are the call that was made, or one beside it, and they parse."""

from __future__ import annotations

import shlex
from types import SimpleNamespace
from typing import Any

import pytest

from sexpgpu_cli.invocation import Invocation

NONE: Any = SimpleNamespace()


def call(*argv: str, json: bool = False) -> Invocation:
    return Invocation("", NONE, NONE, json=json, argv=argv)


@pytest.mark.parametrize(
    ("argv", "whole"),
    [
        (("check", "x.lisp"), "check x.lisp --limit 0"),
        (("check", "a b.lisp", "--json"), "check 'a b.lisp' --json --limit 0"),
        (("ir", "x.lisp", "--limit", "3", "-o", "q"), "ir x.lisp -o q --limit 0"),
        (("ir", "--limit=3", "x.lisp"), "ir x.lisp --limit 0"),
        (("eval", "x.lisp", "--", "--limit"), "eval x.lisp --limit 0 -- --limit"),
    ],
)
def test_the_call_that_cuts_nothing_is_the_one_that_was_made(
    argv: tuple[str, ...], whole: str
) -> None:
    assert call(*argv).whole() == f"sexpgpu {whole}"


def test_a_call_beside_it_has_the_same_runs_and_settings() -> None:
    made = call("run", "x.lisp", "--runs", "my runs", "--config=a.toml", "--", "--runs", json=True)
    told = shlex.split(made.beside("status", "one"))
    assert told[:3] == ["sexpgpu", "status", "one"]
    assert told[3:] == ["--runs", "my runs", "--config=a.toml", "--json", "--limit", "0"]
    assert made.near("run") == ("run", "--runs", "my runs", "--config=a.toml")
