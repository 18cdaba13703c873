"""Facts remembered on disk: computed once, never an obstacle."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexpgpu_core.caches import cache_folder, remembered


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path))
    return tmp_path


def test_a_value_is_made_once_for_a_stamp(folder: Path) -> None:
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        return [7, 8]

    assert remembered("scans", ("a", 1), make) == [7, 8]
    assert remembered("scans", ("a", 1), make) == [7, 8]
    assert remembered("scans", ("a", 2), make) == [7, 8]
    assert len(made) == 2


def test_a_damaged_entry_is_made_again(folder: Path) -> None:
    assert remembered("scans", "x", lambda: 1) == 1
    (entry,) = (folder / "scans").iterdir()
    entry.write_text("{", encoding="utf-8")
    assert remembered("scans", "x", lambda: 2) == 2


def test_a_folder_that_cannot_be_made_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("SEXPGPU_CACHE", str(blocked))
    assert remembered("scans", "x", lambda: 3) == 3


def test_the_variable_wins_over_the_configured_folder() -> None:
    assert cache_folder({"SEXPGPU_CACHE": "/a"}, Path("/b")) == Path("/a")
    assert cache_folder({}, Path("/b")) == Path("/b")
