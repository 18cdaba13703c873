"""A sample of the graphs of `many_cuda.py`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from many import law
from many_cuda import Compared


@pytest.fixture(scope="module", autouse=True)
def ptx_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEXPGPU_CACHE", str(tmp_path_factory.mktemp("ptx")))
        yield


def test_on_cuda_a_graph_gives_what_it_gives_on_reference() -> None:
    compared = Compared()
    law(14, 2, compare=compared)()
    assert compared.ran == compared.all
