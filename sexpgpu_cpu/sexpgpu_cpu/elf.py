"""A relocatable x86-64 ELF object to a flat image that runs wherever it is mapped.

Inside the image all addresses are relative; calls that leave it go through slots of absolute
addresses, filled when it is mapped. Why not a linker or LLJIT: 0.2 ms against 2, and no import of
llvmlite on a warm start (notes/cpu-llvm.md 1).
"""

from __future__ import annotations

import struct

from sexpgpu_core.records import NamedTuple

ALLOCATED = 2
NO_BITS = 8
SYMBOLS = 2
RELOCATIONS = 4
ABSOLUTE_64, RELATIVE_32, CALL_32 = 1, 2, 4
GLOBAL_OFFSETS = (9, 41, 42)
RELATIVE_64 = 24
STUB = b"\xff\x25\x00\x00\x00\x00" + bytes(10)
"""jmp [rip + 0]; the eight bytes after it hold the address."""
UNDEFINED, COMMON, ABSOLUTE = 0, 0xFFF2, 0xFFF1


class Image(NamedTuple):
    """`exports`: offset by name. `imports`: (offset of an 8-byte slot, name). `absolute`:
    (offset of an 8-byte slot, offset it points to)."""

    code: bytes
    exports: dict[str, int]
    imports: tuple[tuple[int, str], ...]
    absolute: tuple[tuple[int, int], ...]


class ElfError(Exception):
    """An object this loader does not take; the caller falls back to LLJIT."""


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class _Symbol(NamedTuple):
    name: str
    kind: int
    section: int
    value: int
    size: int


def flatten(data: bytes) -> Image:
    """Lay out allocated sections, resolve what is inside, list what is not."""
    if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18)[0] != 62:
        raise ElfError("not an x86-64 ELF object")
    sections = _sections(data)
    code, places = _layout(data, sections)
    symbols = _symbols(data, sections)
    linker = _Linker(code, places, symbols)
    for section in sections:
        if section.type == RELOCATIONS and section.info in places:
            linker.relocate(data, section)
    exports = {
        s.name: places[s.section] + s.value
        for s in symbols
        if s.section in places and s.name and s.kind & 15 == 2 and s.kind >> 4
    }
    return Image(bytes(code), exports, tuple(linker.imports), tuple(linker.absolute))


def _sections(data: bytes) -> list[_Section]:
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    return [
        _Section(*struct.unpack_from("<IIQQQQIIQQ", data, start + i * size)) for i in range(count)
    ]


def _layout(data: bytes, sections: list[_Section]) -> tuple[bytearray, dict[int, int]]:
    code = bytearray()
    places: dict[int, int] = {}
    for i, section in enumerate(sections):
        if not section.flags & ALLOCATED:
            continue
        align = max(section.align, 16)
        code += bytes(-len(code) % align)
        places[i] = len(code)
        empty = section.type == NO_BITS
        body = bytes(section.size) if empty else data[section.offset :][: section.size]
        code += body
    code += bytes(-len(code) % 16)
    return code, places


def _symbols(data: bytes, sections: list[_Section]) -> list[_Symbol]:
    for section in sections:
        if section.type == SYMBOLS:
            break
    else:
        return []
    names = sections[section.link]
    table = data[names.offset :][: names.size]
    found = []
    for at in range(section.offset, section.offset + section.size, 24):
        name, kind, _, index, value, size = struct.unpack_from("<IBBHQQ", data, at)
        text = table[name : table.index(0, name)].decode()
        found.append(_Symbol(text, kind, index, value, size))
    return found


class _Linker:
    """Writes addresses into the image; makes a stub or a slot for each name from outside."""

    def __init__(self, code: bytearray, places: dict[int, int], symbols: list[_Symbol]) -> None:
        self.code = code
        self.places = places
        self.symbols = symbols
        self.imports: list[tuple[int, str]] = []
        self.absolute: list[tuple[int, int]] = []
        self._stubs: dict[str, int] = {}
        self._slots: dict[int, int] = {}

    def relocate(self, data: bytes, section: _Section) -> None:
        base = self.places[section.info]
        for at in range(section.offset, section.offset + section.size, 24):
            offset, info, addend = struct.unpack_from("<QQq", data, at)
            self._apply(base + offset, info & 0xFFFFFFFF, self.symbols[info >> 32], addend)

    def _apply(self, where: int, kind: int, symbol: _Symbol, addend: int) -> None:
        if kind in (RELATIVE_32, CALL_32):
            target = self._target(symbol)
            self._put("<i", where, target + addend - where)
        elif kind in GLOBAL_OFFSETS:
            self._put("<i", where, self._slot(symbol) + addend - where)
        elif kind == RELATIVE_64:
            self._put("<q", where, self._target(symbol) + addend - where)
        elif kind == ABSOLUTE_64 and symbol.section in self.places:
            self.absolute.append((where, self._target(symbol) + addend))
        elif kind == ABSOLUTE_64:
            self.imports.append((where, symbol.name))
        elif kind != 0:
            raise ElfError(f"relocation {kind} of {symbol.name}")

    def _put(self, form: str, where: int, value: int) -> None:
        struct.pack_into(form, self.code, where, value)

    def _target(self, symbol: _Symbol) -> int:
        """Offset of a symbol, or of the stub that jumps to one from outside."""
        if symbol.section in self.places:
            return self.places[symbol.section] + symbol.value
        if symbol.section != UNDEFINED or not symbol.name:
            raise ElfError(f"symbol {symbol.name} in section {symbol.section}")
        if symbol.name not in self._stubs:
            at = len(self.code)
            self.code += STUB
            self.imports.append((at + 6, symbol.name))
            self._stubs[symbol.name] = at
        return self._stubs[symbol.name]

    def _slot(self, symbol: _Symbol) -> int:
        """Offset of a word that holds the symbol's address."""
        key = id(symbol)
        if key not in self._slots:
            at = len(self.code)
            self.code += bytes(16)
            if symbol.section in self.places:
                self.absolute.append((at, self.places[symbol.section] + symbol.value))
            else:
                self.imports.append((at, symbol.name))
            self._slots[key] = at
        return self._slots[key]
