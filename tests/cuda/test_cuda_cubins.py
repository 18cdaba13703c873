"""Cubins: made by ptxas where it is there, kept by content, held to a budget; the big models."""

from __future__ import annotations

import os
import stat
from collections import Counter
from pathlib import Path

import pytest
from cuda_models import MODELS, compiled, kernels, records
from cuda_programs import graph_of, launches, normal

from sexpgpu_core.diagnostics import Problem
from sexpgpu_cuda import cubins, sass, toolchain
from sexpgpu_cuda.cubins import Cubin, CubinCache
from sexpgpu_cuda.work import Launch, Loop, Unit

needs_ptxas = pytest.mark.skipif(
    toolchain.found("ptxas") is None, reason="ptxas is not here: nvidia-cuda-nvcc has it"
)
needs_nvdisasm = pytest.mark.skipif(
    toolchain.found("nvdisasm") is None, reason="nvdisasm is not here: nvidia-cuda-nvdisasm has it"
)
LOG = (
    "ptxas info : 0 bytes gmem\n    16 bytes stack frame, 8 bytes spill stores, "
    "4 bytes spill loads\nptxas info : Used 40 registers, used 1 barriers, 768 bytes smem\n"
)


@pytest.fixture
def assembler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that says what ptxas says and writes a text for a cubin."""
    path = tmp_path / "ptxas"
    path.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo "release 13.0, V13.0.88"; exit 0; }\n'
        'while [ "$1" != -o ]; do shift; done\n'
        f"echo x >> {tmp_path}/ran; printf code > \"$2\"; printf '%s' '{LOG}' >&2\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("SEXPGPU_PTXAS", str(path))
    return path


def one_kernel() -> tuple[Unit, int]:
    (launch,) = launches(graph_of(lambda b, x: b("exp", x), x=normal((8, 64))))
    return launch.unit, launch.threads


def test_a_cubin_has_the_facts_of_the_log_and_is_kept(assembler: Path, tmp_path: Path) -> None:
    cache = CubinCache(tmp_path)
    (cubin,) = cubins.build([one_kernel()], "sm_90", 1, cache)
    assert (cubin.registers, cubin.stack, cubin.spilled, cubin.shared) == (40, 16, 12, 768)
    assert cubin.code == b"code"
    assert not cubin.cached
    (again,) = cubins.build([one_kernel()], "sm_90", 1, cache)
    assert again == cubin._replace(cached=True)
    assert (tmp_path / "ran").read_text() == "x\n"
    cubins.build([one_kernel()], "sm_80", 1, cache)
    assert (tmp_path / "ran").read_text() == "x\nx\n"


def test_a_refusal_of_ptxas_says_what_it_said(assembler: Path, tmp_path: Path) -> None:
    assembler.write_text("#!/bin/sh\necho 'no such instruction' >&2; exit 1\n")
    toolchain.version.cache_clear()
    with pytest.raises(Problem) as raised:
        cubins.build([one_kernel()], "sm_90", 1, CubinCache(tmp_path))
    assert raised.value.diagnostic.code == "E-DEVICE-COMPILE"
    assert "no such instruction" in raised.value.diagnostic.message


def test_without_ptxas_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEXPGPU_PTXAS", os.devnull)
    with pytest.raises(Problem) as raised:
        toolchain.ptxas()
    assert raised.value.diagnostic.code == "E-DEVICE-ABSENT"
    assert "cuda-compile" in str(raised.value.diagnostic.hint)


def cubin_of(registers: int, threads: int, shared: int = 0) -> Cubin:
    return Cubin("k", "sm_90", registers, 0, 0, shared, threads, False, b"")


def test_occupancy_is_of_registers_blocks_and_shared_memory() -> None:
    assert sass.occupancy(cubin_of(32, 256)) == 1.0
    assert sass.occupancy(cubin_of(64, 1024)) == 0.5
    assert sass.occupancy(cubin_of(65, 256)) == 0.375
    assert sass.occupancy(cubin_of(16, 32)) == 0.5
    assert sass.occupancy(cubin_of(16, 256, 100 * 1024)) == 0.25


def test_faults_name_each_thing_that_breaks_the_budget() -> None:
    unit = Unit("k", "k", str, ("LDG", "LDG", "STG"))
    seen = Counter({("LDG", 128): 1, ("STG", 128): 1, ("LDL", 32): 2})
    found = sass.faults(unit, cubin_of(72, 256)._replace(stack=8), seen)
    assert len(found) == 4
    assert "1 of 2 LDG are of 128 bits" in found


@pytest.mark.parametrize("name", MODELS)
def test_a_big_model_is_planned_quickly_and_its_kernels_move_full_tiles(name: str) -> None:
    found = compiled(name)
    code = kernels(found)
    assert 30 < len(code) < 200
    assert sum(bool(unit.vectors) for unit, _ in code) > 0.75 * len(code)
    assert all(isinstance(r, Launch) or r.name for r in records(found))


@needs_ptxas
@pytest.mark.parametrize("name", MODELS)
def test_some_kernels_of_a_big_model_keep_their_budget(name: str) -> None:
    code = kernels(compiled(name))[1 :: 9 if name != "resnet50" else 25]
    made = cubins.build(code, "sm_90")
    for cubin in made:
        assert (cubin.stack, cubin.spilled) == (0, 0), cubin.name
        assert sass.occupancy(cubin) >= 0.5, cubin.name
    assert all(c.cached for c in cubins.build(code, "sm_90"))


@needs_ptxas
@needs_nvdisasm
def test_a_full_tile_is_moved_16_bytes_at_a_time_in_machine_code() -> None:
    unit, threads = one_kernel()
    (cubin,) = cubins.build([(unit, threads)], "sm_90")
    assert unit.vectors == ("LDG", "STG")
    assert sass.faults(unit, cubin, sass.accesses(cubin.code)) == []


def test_a_loops_second_trip_brings_no_code_of_its_own() -> None:
    """A loop of one trip has a second one only in addresses, whose kernels nothing launches."""
    first, second = (Unit(name, name, lambda: "") for name in ("first", "second"))
    trips = [(Launch(unit, 1, 32, (), ()),) for unit in (first, second)]
    assert list(cubins.code_of([Loop(*trips, 1, 0)])) == ["first"]
