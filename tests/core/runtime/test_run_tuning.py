"""Algorithms that a device's libraries picked stay with a run, its resumes and its forks."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.runtime.tuning import FILE, inherited, opened


class Picks:
    """A device's: one pick, made when it is opened unless a run says which."""

    def __init__(self) -> None:
        self.kept = ""

    def document(self) -> str:
        return self.kept

    def take(self, document: str) -> None:
        if not document.startswith("pick "):
            raise ValueError("no picks")
        self.kept = document


class Device:
    def __init__(self, would_pick: str = "") -> None:
        self.picks = Picks()
        self._would_pick = would_pick

    def open(self) -> str:
        self.picks.kept = self.picks.kept or self._would_pick
        return f"session with {self.picks.kept}"


def test_what_was_picked_first_is_taken_again_by_who_goes_on(tmp_path: Path) -> None:
    first, later = Device("pick 1"), Device("pick 2")
    assert opened(first, tmp_path, first.open) == "session with pick 1"
    assert (tmp_path / FILE).read_text() == "pick 1"
    assert opened(later, tmp_path, later.open) == "session with pick 1"
    assert (tmp_path / FILE).read_text() == "pick 1"


def test_a_fork_begins_with_its_parents_picks(tmp_path: Path) -> None:
    parent, child = tmp_path / "parent", tmp_path / "child"
    parent.mkdir()
    (parent / FILE).write_text("pick 7")
    inherited(parent, child)
    later = Device("pick 2")
    assert opened(later, child, later.open) == "session with pick 7"
    inherited(tmp_path / "nothing", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_device_without_a_choice_leaves_no_file(tmp_path: Path) -> None:
    quiet = Device()
    opened(quiet, tmp_path, quiet.open)
    assert opened(object(), tmp_path, lambda: 3) == 3
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{")
    device = Device("pick 1")
    with pytest.raises(Problem) as raised:
        opened(device, tmp_path, device.open)
    assert raised.value.diagnostic.code == "E-RUN-TUNING"
    assert "delete it" in str(raised.value.diagnostic.hint)
