"""The pages about a run name what a run leaves: files of its folder, events with their keys."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core import api

ROOT = Path(__file__).parents[2]
ALWAYS = {"v", "event", "run", "attempt", "seq", "time", "elapsed", "step"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the README's file."""
    base = tmp_path_factory.mktemp("pages")
    found = re.search(r"```lisp\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert found is not None
    (base / "digits.lisp").write_text(found[1])
    api.run(base / "digits.lisp", steps=2, device="cpu", runs_root=base / "runs")
    (run,) = (p for p in (base / "runs").iterdir() if p.is_dir() and not p.is_symlink())
    return run


def test_files_of_a_run_are_those_of_its_page(folder: Path) -> None:
    rows = re.findall(r"^\| (`[^|]+`) \| ", (ROOT / "docs" / "run.md").read_text(), re.M)
    named = {word.rstrip("/") for row in rows for word in re.findall(r"`([^`]+)`", row)}
    assert {path.name for path in folder.iterdir()} == named


def test_events_have_the_keys_of_their_page(folder: Path) -> None:
    text = (ROOT / "docs" / "events.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (.*) \|$", text, re.M)
    lines = (folder / "events.jsonl").read_text().splitlines()
    events: list[dict[str, Any]] = [json.loads(line) for line in lines]
    documented = {
        name: set(" ".join(re.findall(r"`([^`]+)`", keys)).split()) for name, keys in rows
    }
    for event in events:
        assert set(event) >= ALWAYS
        assert event["event"] in documented
        assert documented[event["event"]] <= set(event), event["event"]


def keys_of(cell: str) -> set[str]:
    """Words within backquotes of a cell."""
    return set(" ".join(re.findall(r"`([^`]+)`", cell)).split())
