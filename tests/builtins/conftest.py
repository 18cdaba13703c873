"""One object cache for all tests of builtins, in a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def object_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("SEXPGPU_CACHE")
    os.environ["SEXPGPU_CACHE"] = str(tmp_path_factory.mktemp("objects"))
    yield
    if before is None:
        del os.environ["SEXPGPU_CACHE"]
    else:
        os.environ["SEXPGPU_CACHE"] = before
