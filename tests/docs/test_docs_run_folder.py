"""The pages about a run name what a run leaves: files of its folder, events with their keys."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from sexpgpu_core import api

ROOT = Path(__file__).parents[2]
ALWAYS = {"v", "event", "run", "attempt", "seq", "time", "elapsed", "step"}
NEVER = {"open": {"epochs"}, "compile": {"flops", "memory", "nodes"}}
"""Keys that readers may meet of other programs, and that ours does not write."""


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


def documented() -> dict[str, set[str]]:
    """Kinds of events, each with the keys that its row names before a semicolon."""
    text = (ROOT / "docs" / "events.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (.*) \|$", text, re.M)
    return {name: keys_of(keys.partition(";")[0]) for name, keys in rows}


def test_events_have_the_keys_of_their_page(folder: Path) -> None:
    lines = (folder / "events.jsonl").read_text().splitlines()
    for event in (json.loads(line) for line in lines):
        assert set(event) >= ALWAYS
        assert documented()[event["event"]] <= set(event), event["event"]


def test_the_page_names_every_kind_and_key_that_is_written() -> None:
    text = files("sexpgpu_core").joinpath("schemas", "event.json").read_text("utf-8")
    parts = {k[3:]: set(v["properties"]) for k, v in json.loads(text)["$defs"].items()
             if k.startswith("on-")}  # fmt: skip
    assert {name: keys | NEVER.get(name, set()) for name, keys in documented().items()} == {
        name: keys - ALWAYS for name, keys in parts.items()
    }


def keys_of(cell: str) -> set[str]:
    """Words within backquotes of a cell."""
    return set(" ".join(re.findall(r"`([^`]+)`", cell)).split())
