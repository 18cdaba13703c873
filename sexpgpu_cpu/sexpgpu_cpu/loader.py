"""Code units to addresses: from the pack of a program, from single entries, else compiled.

A unit is a key and a way to make its object. On x86-64 Linux objects are flattened and mapped by
us; elsewhere llvmlite's LLJIT links them.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import mmap
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sexpgpu_core.records import NamedTuple

from .cache import ObjectCache
from .compilation import ModuleText, compile_all, helpers_for
from .elf import ElfError, Image, flatten
from .host import X86_64_LINUX, host, llvm_version
from .memory import PRIVATE

FORMAT = "3"
"""Raised when images, packs or the compiler's settings change."""


class CodeUnit(NamedTuple):
    """`key`: digest of all that the object depends on but the machine and LLVM. `names`: what it
    exports. `text`: writes its module."""

    key: str
    names: tuple[str, ...]
    text: Callable[[], ModuleText]


def unit_key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


class Code:
    """Loaded functions: `code[unit key, name]` is an address. Keep it as long as they are used.

    `seconds`: by unit key, how long it took to make what no cache had.
    """

    def __init__(self) -> None:
        self.addresses: dict[tuple[str, str], int] = {}
        self.kept: list[Any] = []
        self.seconds: dict[str, float] = {}

    @property
    def compiled(self) -> int:
        """How many units no cache had."""
        return len(self.seconds)

    def make(self, units: Iterable[CodeUnit], threads: int) -> dict[str, bytes]:
        """Objects of units that no cache has, by key."""
        texts: dict[str, ModuleText] = {}
        for unit in units:
            start = time.perf_counter()
            texts[unit.key] = unit.text()
            self.seconds[unit.key] = time.perf_counter() - start
        made = compile_all(texts, helpers_for(len(texts), threads))
        for key, done in made.items():
            self.seconds[key] += done.seconds
        return {key: done.object for key, done in made.items()}

    def __getitem__(self, place: tuple[str, str]) -> int:
        return self.addresses[place]


def load(units: Sequence[CodeUnit], cache: ObjectCache, threads: int = 1) -> Code:
    """Every unit once, what has to be compiled by that many processes. One file holds all images
    of this set of units: the warm start."""
    distinct = {u.key: u for u in units}
    code = Code()
    if not distinct:
        return code
    if not X86_64_LINUX:
        return _load_by_llvm(list(distinct.values()), cache, code, threads)
    try:
        images = _images(distinct, cache, code, threads)
    except ElfError:
        return _load_by_llvm(list(distinct.values()), cache, code, threads)
    _map(images, code)
    return code


def _images(
    units: dict[str, CodeUnit], cache: ObjectCache, code: Code, threads: int
) -> dict[str, Image]:
    pack = _machine_key("pack", *sorted(units))
    packed = cache.get(pack)
    if packed is not None:
        return unpack_images(packed)
    images = {key: image for key in units if (image := _held(key, cache)) is not None}
    missing = [unit for key, unit in units.items() if key not in images]
    for key, made in code.make(missing, threads).items():
        images[key] = flatten(made)
        cache.put(_machine_key("image", key), pack_images({key: images[key]}))
    cache.put(pack, pack_images(images))
    return images


def _held(key: str, cache: ObjectCache) -> Image | None:
    held = cache.get(_machine_key("image", key))
    return None if held is None else unpack_images(held)[key]


def _machine_key(*parts: str) -> str:
    return unit_key(FORMAT, host().identity, llvm_version(), *parts)


def pack_images(images: dict[str, Image]) -> bytes:
    """Length of the directory, the directory as JSON, the code."""
    directory, bodies, at = {}, [], 0
    for key, image in images.items():
        directory[key] = [at, len(image.code), image.exports, image.imports, image.absolute]
        body = image.code + bytes(-len(image.code) % 64)
        bodies.append(body)
        at += len(body)
    head = json.dumps(directory, separators=(",", ":")).encode()
    return struct.pack("<I", len(head)) + head + b"".join(bodies)


def unpack_images(data: bytes) -> dict[str, Image]:
    (size,) = struct.unpack_from("<I", data)
    directory = json.loads(data[4 : 4 + size])
    base = 4 + size
    return {
        key: Image(
            data[base + at : base + at + length],
            exports,
            tuple((o, n) for o, n in imports),
            tuple((o, t) for o, t in absolute),
        )
        for key, (at, length, exports, imports, absolute) in directory.items()
    }


def _map(images: dict[str, Image], code: Code) -> None:
    """One mapping for all: written, patched, then made executable and no longer writable."""
    places, total = {}, 0
    for key, image in images.items():
        places[key] = total
        total += -(-len(image.code) // 64) * 64
    writable = mmap.PROT_READ | mmap.PROT_WRITE
    memory = mmap.mmap(-1, max(total, mmap.PAGESIZE), flags=PRIVATE, prot=writable)
    holder = ctypes.c_char.from_buffer(memory)
    base = ctypes.addressof(holder)
    for key, image in images.items():
        at = places[key]
        memory[at : at + len(image.code)] = image.code
        for offset, name in image.imports:
            struct.pack_into("<Q", memory, at + offset, resolve(name))
        for offset, target in image.absolute:
            struct.pack_into("<Q", memory, at + offset, base + at + target)
        for name, offset in image.exports.items():
            code.addresses[key, name] = base + at + offset
    executable = mmap.PROT_READ | mmap.PROT_EXEC
    if _libc().mprotect(ctypes.c_void_p(base), ctypes.c_size_t(len(memory)), executable) != 0:
        raise OSError("mprotect refused executable memory")
    code.kept += [memory, holder]


@functools.cache
def _libc() -> Any:
    return ctypes.CDLL(None)


@functools.cache
def resolve(name: str) -> int:
    """Address of a function of the C or the maths library."""
    for library in (_libc(), _maths()):
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        except AttributeError:
            continue
    raise ElfError(f"no function {name}")


def _maths() -> Any:
    try:
        return ctypes.CDLL("libm.so.6")
    except OSError:
        return _libc()


def _load_by_llvm(
    units: Sequence[CodeUnit], cache: ObjectCache, code: Code, threads: int = 1
) -> Code:
    """LLJIT; objects are cached by unit."""
    import llvmlite.binding as llvm

    from .compiler import machine

    # JITLink lays all sections of an object in one piece; RuntimeDyld, which maps each where there
    # is room, ended large processes: a section 2 GB away is out of reach.
    jit = llvm.create_lljit_compiler(machine(), use_jit_link=True)
    held = {unit.key: cache.get(_machine_key("object", unit.key)) for unit in units}
    made = code.make([unit for unit in units if held[unit.key] is None], threads)
    for key, data in made.items():
        cache.put(_machine_key("object", key), data)
    for unit in units:
        data = held[unit.key] or made[unit.key]
        builder = llvm.JITLibraryBuilder().add_object_img(data).add_current_process()
        for name in unit.names:
            builder.export_symbol(name)
        tracker = builder.link(jit, unit.key)
        code.kept.append(tracker)
        for name in unit.names:
            code.addresses[unit.key, name] = tracker[name]
    code.kept.append(jit)
    return code
