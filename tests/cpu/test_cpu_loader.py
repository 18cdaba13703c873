"""Objects to images, images to the cache and back, and functions that run from it."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from sexpgpu_core.caches import cache_folder
from sexpgpu_core.diagnostics import Problem
from sexpgpu_cpu import loader
from sexpgpu_cpu.cache import MAGIC, ObjectCache
from sexpgpu_cpu.compilation import ModuleText
from sexpgpu_cpu.compiler import assembly, compile_text
from sexpgpu_cpu.elf import ElfError, flatten
from sexpgpu_cpu.host import X86_64_LINUX, host, llvm_version
from sexpgpu_cpu.loader import CodeUnit, load, pack_images, unit_key, unpack_images

TEXT = """
@table = internal constant [4 x i64] [i64 10, i64 20, i64 30, i64 40]
@pointers = internal constant [2 x ptr] [ptr @one, ptr @two]
declare double @cos(double)
declare i64 @labs(i64)
define internal i64 @one(i64 %x) { ret i64 %x }
define internal i64 @two(i64 %x) {
  %y = call i64 @labs(i64 %x)
  ret i64 %y
}
define i64 @look(i64 %i) {
  %p = getelementptr i64, ptr @table, i64 %i
  %x = load i64, ptr %p
  ret i64 %x
}
define i64 @through(i64 %i, i64 %x) {
  %p = getelementptr ptr, ptr @pointers, i64 %i
  %f = load ptr, ptr %p
  %y = call i64 %f(i64 %x)
  ret i64 %y
}
define double @cosine(double %x) {
  %y = call double @cos(double %x)
  ret double %y
}
"""
NAMES = ("look", "through", "cosine")
ELF_ONLY = pytest.mark.skipif(not X86_64_LINUX, reason="the direct loader is for x86-64 Linux")


def unit(made: list[int] | None = None, text: str = TEXT) -> CodeUnit:
    def write() -> ModuleText:
        if made is not None:
            made.append(1)
        return ModuleText(text, "test")

    return CodeUnit(unit_key("test", text), NAMES, write)


def check(code: loader.Code, key: str) -> None:
    integer, real = ctypes.c_int64, ctypes.c_double
    look = ctypes.CFUNCTYPE(integer, integer)(code[key, "look"])
    through = ctypes.CFUNCTYPE(integer, integer, integer)(code[key, "through"])
    cosine = ctypes.CFUNCTYPE(real, real)(code[key, "cosine"])
    assert [look(i) for i in range(4)] == [10, 20, 30, 40]
    assert [through(i, -7) for i in range(2)] == [-7, 7]
    assert cosine(0.0) == 1.0


def test_code_runs(tmp_path: Path) -> None:
    one = unit()
    check(load([one], ObjectCache(tmp_path)), one.key)


def test_code_runs_by_llvms_own_linker(tmp_path: Path) -> None:
    one = unit()
    code = loader._load_by_llvm([one], ObjectCache(tmp_path), loader.Code())
    check(code, one.key)
    again = loader._load_by_llvm([one], ObjectCache(tmp_path), loader.Code())
    assert again.compiled == 0
    check(again, one.key)


def test_the_second_time_nothing_is_compiled(tmp_path: Path) -> None:
    made: list[int] = []
    for _ in range(2):
        one = unit(made)
        check(load([one], ObjectCache(tmp_path)), one.key)
    assert len(made) == 1


@ELF_ONLY
def test_another_set_of_units_uses_single_entries(tmp_path: Path) -> None:
    made: list[int] = []
    other = unit(made, TEXT.replace("i64 40", "i64 41"))
    load([unit(made)], ObjectCache(tmp_path))
    load([unit(made), other], ObjectCache(tmp_path))
    assert len(made) == 2


@ELF_ONLY
def test_damaged_entries_are_compiled_again(tmp_path: Path) -> None:
    made: list[int] = []
    load([unit(made)], ObjectCache(tmp_path))
    for path in tmp_path.rglob("*"):
        if path.is_file():
            data = bytearray(path.read_bytes())
            data[-5] ^= 1
            path.write_bytes(data)
    code = load([unit(made)], ObjectCache(tmp_path))
    assert len(made) == 2
    check(code, unit().key)


def test_an_entry_that_is_cut_off_is_a_miss(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("ab" * 16, b"x" * 100)
    path = next(p for p in tmp_path.rglob("*") if p.is_file())
    assert path.read_bytes().startswith(MAGIC)
    path.write_bytes(path.read_bytes()[:50])
    assert cache.get("ab" * 16) is None
    assert (cache.hits, cache.misses) == (0, 1)


def test_what_was_put_is_got(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("ab" * 16, b"code")
    assert cache.get("ab" * 16) == b"code"
    assert not list(tmp_path.rglob(".new-*"))


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    cache = ObjectCache(file)
    cache.put("ab" * 16, b"code")
    assert cache.get("ab" * 16) is None


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEXPGPU_CACHE", "/somewhere")
    assert cache_folder() == Path("/somewhere")
    monkeypatch.delenv("SEXPGPU_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert cache_folder() == Path("/cache/sexpgpu")


@ELF_ONLY
def test_images_are_written_and_read_back() -> None:
    images = {"a": flatten(compile_text(TEXT, "test"))}
    assert unpack_images(pack_images(images)) == images


def test_other_files_are_refused() -> None:
    with pytest.raises(ElfError):
        flatten(b"\x00" * 100)


def test_text_that_llvm_refuses_is_a_problem() -> None:
    with pytest.raises(Problem) as raised:
        compile_text("define void @f( {", "broken")
    assert raised.value.diagnostic.code == "E-DEVICE-COMPILE"


def test_assembly_is_for_people() -> None:
    assert "cosine" in assembly(TEXT)


def test_the_host_is_known() -> None:
    assert host().width in (4, 8, 16)
    assert len(host().identity) == 16
    import llvmlite

    assert llvm_version() == llvmlite.__version__


WARM = """
import sys
from sexpgpu_cpu.cache import ObjectCache
from sexpgpu_cpu.draft import driver_unit
from sexpgpu_cpu.loader import load
code = load([driver_unit()], ObjectCache())
assert code.addresses
bad = {"llvmlite", "numba", "numpy"} & set(sys.modules)
assert not bad, bad
"""


@ELF_ONLY
def test_a_warm_start_imports_no_compiler() -> None:
    from sexpgpu_cpu.draft import driver_unit

    load([driver_unit()], ObjectCache())
    subprocess.run([sys.executable, "-c", WARM], check=True)
