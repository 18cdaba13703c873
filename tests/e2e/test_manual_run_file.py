"""The manual's examples of the run file check without an error, each in the smallest run file."""

from __future__ import annotations

from pathlib import Path

import pytest
from code_cases import found, whole

from sexpgpu_core.diagnostics.example import Example
from sexpgpu_core.manual import CHAPTERS, Entry, entries

(RUN_FILE,) = (chapter for chapter in CHAPTERS if chapter.name == "run-file")


@pytest.mark.parametrize("entry", entries(RUN_FILE).values(), ids=lambda e: e.name)
def test_an_example_of_the_run_file_checks(entry: Entry, tmp_path: Path) -> None:
    ((text, _),) = entry.examples
    assert entry.name in text
    said = found(whole(Example(entry.name, "file", text, text, {}), text + "\n"), tmp_path)
    assert [d for d in said if d.is_error] == []
