"""Loaders of large files hold no more than a part of them: nox -s large, at a small size."""

from __future__ import annotations

import pytest

from bench.large import LARGE, MORE, checked, measured, shown, write


def test_a_check_of_a_small_file_scans_it_and_is_told_in_seconds(tmp_path):
    write(LARGE["csv"], tmp_path / "csv", 1_000_000)
    row = checked("csv", tmp_path)
    assert (row["way"], row["unread"]) == ("check", False)
    assert shown(row).endswith(f"check  {row['seconds']:.2f} s")


@pytest.mark.parametrize("name", sorted(LARGE))
def test_a_file_is_read_in_less_memory_than_it_has_bytes(tmp_path, name):
    if name == "hf":
        pytest.importorskip("tokenizers", reason="the extra sexpgpu[tokenizers]")
    write(LARGE[name], tmp_path / name, 12_000_000)
    row = measured(name, "ours", tmp_path)
    assert row["bytes"] == pytest.approx(12e6, rel=0.2)
    assert 0 <= row["peak_MB"] < 24 * MORE.get(name, 1)
    assert row["MB_per_s"] > 0
