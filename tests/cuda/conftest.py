"""One cache of PTX for all tests of the CUDA device, in a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def ptx_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("SEXPGPU_CACHE")
    os.environ["SEXPGPU_CACHE"] = str(tmp_path_factory.mktemp("ptx"))
    yield
    if before is None:
        del os.environ["SEXPGPU_CACHE"]
    else:
        os.environ["SEXPGPU_CACHE"] = before
