"""Answers as text and JSON: what is cut, and what UTF-8 cannot hold."""

from __future__ import annotations

import io
import json
import os
import sys

import pytest

from sexpgpu_cli import answer

NAME = os.fsdecode(b"runs/\xc3\xa4\xff")


def test_json_is_utf_8_and_bytes_of_a_name_are_shown() -> None:
    made = answer.dumps({"folder": NAME, "half": "\ud800"})
    assert json.loads(made.encode()) == {"folder": "runs/ä\\xff", "half": "\\ud800"}


def test_text_that_is_cut_or_whole_is_utf_8() -> None:
    assert answer.bounded(NAME, "more") == "runs/ä\\xff"
    text = answer.bounded("\n".join([NAME] * 1000), "more")
    assert len(text.encode()) < answer.TEXT_BYTES + 40
    assert text.endswith("more lines: more")


@pytest.mark.parametrize(
    ("as_json", "written"), [(True, "ä€\n".encode()), (False, b"\xe4\\u20ac\n")]
)
def test_stdout_takes_every_text_whatever_its_encoding(
    monkeypatch: pytest.MonkeyPatch, as_json: bool, written: bytes
) -> None:
    kept = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(kept, encoding="latin-1"))
    answer.settle(as_json)
    answer.write("ä€")
    assert kept.getvalue() == written
