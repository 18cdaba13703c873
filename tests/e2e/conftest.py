"""A user's folder, and one kernel cache for all of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_program import TEXT, Folder
from example_files import write_examples


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
