"""Loaders of large files hold no more than a part of them: nox -s large, at a small size."""

from __future__ import annotations

import pytest

from bench.large import LARGE, measured, write


@pytest.mark.parametrize("name", sorted(LARGE))
def test_a_file_is_read_in_less_memory_than_it_has_bytes(tmp_path, name):
    write(LARGE[name], tmp_path / name, 12_000_000)
    row = measured(name, "ours", tmp_path)
    assert row["bytes"] == pytest.approx(12e6, rel=0.2)
    assert 0 <= row["peak_MB"] < 24
    assert row["MB_per_s"] > 0
