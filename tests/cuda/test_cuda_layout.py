"""Layouts: 16 bytes a thread where rows allow it, groups of threads for rows, and their PTX."""

from __future__ import annotations

import re

import pytest
from cuda_programs import check, graph_of, integers, launches, normal

from sexpgpu_cuda import layout
from sexpgpu_cuda.compiler import compile_text
from sexpgpu_cuda.ptx.text import parse
from sexpgpu_cuda.work import Launch


def ptx(launch: Launch, architecture: str = "sm_90") -> str:
    return compile_text(launch.unit.text(), launch.unit.name, architecture)


def accesses(text: str) -> set[str]:
    """Names of the global loads and stores."""
    return set(re.findall(r"(?:ld|st)\.global[\w.]*", text))


@pytest.mark.parametrize(
    ("shape", "dtype", "wanted"),
    [
        ((8, 64), "f32", {"ld.global.nc.v4.b32", "st.global.v4.b32"}),
        ((8, 64), "bf16", {"ld.global.nc.v4.b32", "st.global.v4.b32"}),
        ((8, 64), "f64", {"ld.global.nc.v2.b64", "st.global.v2.b64"}),
        ((5, 7), "f32", {"ld.global.nc.b32", "st.global.b32"}),
        ((5, 6), "f32", {"ld.global.nc.v2.b32", "st.global.v2.b32"}),
    ],
)
def test_a_thread_moves_16_bytes_where_rows_are_whole_numbers_of_them(
    shape: tuple[int, ...], dtype: str, wanted: set[str]
) -> None:
    (launch,) = launches(graph_of(lambda b, x: b("add", x, b("abs", x)), x=normal(shape, dtype)))
    assert accesses(ptx(launch)) == wanted


@pytest.mark.parametrize(("width", "threads"), [(64, 128), (1024, 64), (2048, 128), (8192, 512)])
def test_a_group_grows_with_its_row(width: int, threads: int) -> None:
    (launch,) = launches(graph_of(lambda b, x: b("softmax", x, axis=1), x=normal((4, width))))
    assert launch.threads == threads
    text = ptx(launch)
    assert "shfl.sync" in text
    assert ("bar.sync" in text) == (launch.grid == 4)


def test_f32_is_never_contracted_and_nothing_is_kept_in_local_memory() -> None:
    def make(b, x):  # type: ignore[no-untyped-def]
        return b("layer-norm", b("add", b("multiply", x, x), b("exp", x)), axes=(1,), eps=1e-5)

    for launch in launches(graph_of(make, x=normal((6, 768)))):
        text = ptx(launch)
        assert ".local" not in text
        assert not re.search(r"\b(add|mul|sub)\.f32", text)
        assert "div.full" not in text
        assert ".approx" not in text


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_a_kernel_is_made_for_each_generation(architecture: str) -> None:
    (launch,) = launches(graph_of(lambda b, x: b("exp", x), x=normal((4, 64))))
    text = ptx(launch, architecture)
    assert f".target {architecture}" in text
    assert launch.unit.name in parse(text)


def test_parts_of_a_step_with_one_structure_share_their_code() -> None:
    def make(b, x, y):  # type: ignore[no-untyped-def]
        return {"x": b("softmax", x, axis=1), "y": b("softmax", y, axis=1)}

    found = launches(graph_of(make, x=normal((4, 64)), y=normal((9, 64))))
    assert len({launch.unit.key for launch in found}) < len(found)


def test_rows_that_begin_past_32_bits_are_counted_in_64(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here all buffers count as so large: the values are the same."""
    monkeypatch.setattr(layout, "INDICES", 10)
    x, y = normal((6, 96)), normal((96,), seed=1)

    def make(b, x, y, i):  # type: ignore[no-untyped-def]
        kept = b("gather", b("multiply", x, b("broadcast-to", y, shape=x.shape)), i, axis=0)
        return {"a": b("softmax", kept, axis=1), "b": b("reduce-sum", x, axes=(0,), keep=False)}

    check(make, x=x, y=y, i=integers(6, (4,)))
    launch = launches(graph_of(lambda b, x: b("exp", x), x=x))[0]
    assert "mul.wide.s32" in ptx(launch) or "mad.wide.s32" in ptx(launch)


@pytest.mark.parametrize(("shape", "count"), [((8, 64), 4), ((5, 7), 1), ((5, 6), 1)])
def test_bf16_is_rounded_by_the_devices_instruction(shape: tuple[int, ...], count: int) -> None:
    (launch,) = launches(graph_of(lambda b, x: b("exp", x), x=normal(shape, "bf16")))
    assert ptx(launch).count("cvt.rn.bf16x2.f32") == count


@pytest.mark.parametrize(
    ("kept", "rows", "inner", "cell"),
    [
        (1, 65_536, 768, 128),  # a bias's gradient: 512 cells of 192 threads
        (1, 512, 768, 16),  # what is left of it: as many cells as may be
        (64, 65_536, 768, 256),
        (1, 50_304, 1, 32),
    ],
)
def test_a_fold_has_cells_for_all_threads(kept: int, rows: int, inner: int, cell: int) -> None:
    assert layout.cells(kept, rows, inner) == cell


def test_a_fold_of_small_cells_is_finished_in_few_launches() -> None:
    graph = graph_of(lambda b, x: b("reduce-sum", x, axes=(0,), keep=False), x=normal((4_096, 64)))
    grids = [launch.grid * launch.threads for launch in launches(graph)]
    assert len(grids) == 3
    assert grids[0] >= 4_096 // layout.FEW * 16
    check(lambda b, x: b("reduce-sum", x, axes=(0,), keep=False), 2e-6, x=normal((4_096, 64)))
