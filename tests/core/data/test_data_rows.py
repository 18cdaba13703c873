"""Rows that stay in their files are those of the array, and a file that changes is told."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.data.rows import FileRows, Joined, rows_of, runs_of
from sexpgpu_core.diagnostics import Problem


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    data, paths = np.arange(300, dtype=np.uint16).reshape(100, 3), []
    for i, part in enumerate(np.split(data, [10, 11, 60])):
        paths.append(folder / f"{i}.bin")
        paths[-1].write_bytes(b"head" + part.tobytes())
    parts = [FileRows(p, np.uint16, (p.stat().st_size - 4) // 6, (3,), 4) for p in paths]
    return data, Joined(parts)


@settings(deadline=None)
@given(st.lists(st.integers(0, 95), max_size=20), st.integers(1, 5))
def test_runs_and_rows_are_those_of_the_array_over_the_ends_of_files(files, first, size):
    data, joined = files
    at = np.array(first, np.int64)
    assert (runs_of(joined, at, size) == runs_of(data, at, size)).all()
    assert (rows_of(joined, at) == data[at]).all()
    some = slice(min(first, default=0), 60)
    assert (rows_of(joined, some) == data[some]).all()


def damaged(path, how):
    rows = FileRows(path, np.uint8, 1000)
    how()
    with pytest.raises(Problem) as raised:
        rows.rows(slice(0, 1000))
    return raised.value.diagnostic


def test_a_file_that_is_cut_removed_or_written_to_is_lost(tmp_path):
    path = tmp_path / "a.bin"

    def fresh():
        path.write_bytes(bytes(1000))
        return path

    cut = damaged(fresh(), lambda: os.truncate(path, 10))
    assert cut.code == "E-DATA-LOST"
    assert "it has 10 bytes where it had 1,000" in cut.message
    assert "resume" in cut.hint
    assert "removed" in damaged(fresh(), path.unlink).message
    assert "replaced" in damaged(fresh(), lambda: (path.unlink(), fresh())).message
    assert "written to" in damaged(fresh(), lambda: os.utime(path, ns=(1, 1))).message
