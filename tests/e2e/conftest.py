"""A user's folder, and one kernel cache for all of these tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from e2e_program import TEXT, Folder
from example_files import write_examples
from run_folders import ran_twice


@pytest.fixture(scope="session")
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def folder(tmp_path: Path, kernel_cache: Path) -> Folder:
    made = Folder(tmp_path, kernel_cache)
    made.write("letters.txt", TEXT)
    return made


@pytest.fixture
def ready(folder: Folder) -> Folder:
    """A folder with the examples and what they read."""
    write_examples(folder)
    return folder


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Folder:
    """A folder with two runs that have ended, `one` and `other`."""
    return ran_twice(tmp_path_factory.mktemp("ran"), kernel_cache)


@pytest.fixture
def mine(ran: Folder, tmp_path: Path) -> Folder:
    """A copy of both runs that a test may break."""
    shutil.copytree(ran.path / "runs", tmp_path / "runs")
    return Folder(tmp_path, ran.cache)
