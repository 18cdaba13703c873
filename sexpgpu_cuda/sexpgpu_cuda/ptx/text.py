"""PTX text to kernels: parameters, shared variables, labels, instructions with their operands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Union

from .faults import PtxFault


class Register(NamedTuple):
    name: str


class Immediate(NamedTuple):
    """Bits as written: an integer's value, or the pattern of a float."""

    value: int


class Symbol(NamedTuple):
    """A label, a parameter or a shared variable."""

    name: str


class Vector(NamedTuple):
    """`{a, b}`; an item that is not wanted is the register `_`."""

    items: tuple[Operand, ...]


class Address(NamedTuple):
    """`[base + offset]`; base is a register, a symbol or an immediate."""

    base: Operand
    offset: int


Operand = Union[Register, Immediate, Symbol, Vector, Address]  # noqa: UP007


class Instruction(NamedTuple):
    """`words`: the name cut at its points. `guard`: (register, wanted) of a predicate, or None."""

    words: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: tuple[str, bool] | None
    line: int
    source: str


class Parameter(NamedTuple):
    name: str
    bits: int


class Shared(NamedTuple):
    """A shared variable and where it begins among the block's bytes."""

    name: str
    offset: int
    bytes: int


class Entry(NamedTuple):
    """One kernel. `blocks`: instructions cut at labels and after branches; `labels`: to blocks.
    `registers`: width in bits by the name's prefix, 1 of predicates."""

    name: str
    parameters: tuple[Parameter, ...]
    shared: tuple[Shared, ...]
    registers: dict[str, int]
    blocks: tuple[tuple[Instruction, ...], ...]
    labels: dict[str, int]
    limit: int | None  # threads of a block, by .maxntid

    @property
    def shared_bytes(self) -> int:
        return max((s.offset + s.bytes for s in self.shared), default=0)


COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
SHARED = re.compile(r"\.shared\s+\.align\s+(\d+)\s+\.b8\s+([\w$]+)\[(\d+)\]\s*$")
REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(%[A-Za-z_]+)<\d+>\s*$")
PARAMETER = re.compile(r"\.param\s+\.[a-z](\d+)\s+(?:\.ptr\s+[\w.\s]*?)?([\w$]+)\s*$")
HEAD = re.compile(r"\.entry\s+([\w$]+)\s*\((.*?)\)\s*([^{]*)\{", re.S)
LIMIT = re.compile(r"\.maxntid\s+(\d+)")
LABEL = re.compile(r"([\w$]+):(?!:)\s*")
GUARD = re.compile(r"@(!?)(%\w+)\s+")
PLAIN = (".version", ".target", ".address_size", ".pragma", ".loc", ".file", ".visible")
WIDTHS = {"pred": 1, **{f"{t}{n}": n for t in "bsuf" for n in (8, 16, 32, 64)}}
ENDS = frozenset(("bra", "ret", "exit", "bar", "barrier", "trap"))


def parse(text: str) -> dict[str, Entry]:
    """Kernels by name. PtxFault (parse) where the text is not understood."""
    text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    shared: list[Shared] = []
    entries: dict[str, Entry] = {}
    at = 0
    while (head := HEAD.search(text, at)) is not None:
        shared = _outside(text, at, head.start(), shared)
        close = _closing(text, head.end())
        entries[head[1]] = _entry(head, text, close, shared)
        at = close + 1
    _outside(text, at, len(text), shared)
    return entries


def _closing(text: str, start: int) -> int:
    depth = 1
    for found in re.finditer(r"[{}]", text[start:]):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return start + found.start()
    raise PtxFault("parse", "a kernel has no end")


def _outside(text: str, start: int, stop: int, shared: list[Shared]) -> list[Shared]:
    """Shared variables between kernels; everything else there must be known."""
    for piece in re.split(r"[;\n]", text[start:stop]):
        piece = piece.strip()
        found = SHARED.search(piece)
        if found is not None:
            shared = [*shared, _room(found, shared)]
        elif piece and not piece.startswith(PLAIN):
            raise PtxFault("parse", f"unknown directive {piece!r}")
    return shared


def _room(found: re.Match[str], before: list[Shared]) -> Shared:
    align, size = int(found[1]), int(found[3])
    end = max((s.offset + s.bytes for s in before), default=0)
    return Shared(found[2], -(-end // align) * align, size)


def _entry(head: re.Match[str], text: str, close: int, shared: list[Shared]) -> Entry:
    name, registers = head[1], {}
    parameters = tuple(_parameter(p) for p in head[2].split(",") if p.strip())
    blocks: list[list[Instruction]] = [[]]
    labels: dict[str, int] = {}
    for line, piece in _statements(text, head.end(), close):
        while (label := LABEL.match(piece)) is not None:
            if blocks[-1]:
                blocks.append([])
            labels[label[1]] = len(blocks) - 1
            piece = piece[label.end() :]
        if not piece or piece.startswith(PLAIN):
            continue
        if (room := SHARED.match(piece)) is not None:
            shared = [*shared, _room(room, shared)]
        elif (made := REGISTERS.match(piece)) is not None:
            registers[made[2]] = WIDTHS[made[1]]
        else:
            found = instruction(piece, line, name)
            if meets(found) and blocks[-1]:
                blocks.append([])
            blocks[-1].append(found)
            if found.words[0] in ENDS and not meets(found):
                blocks.append([])
    limit = LIMIT.search(head[3])
    return Entry(
        name,
        parameters,
        tuple(shared),
        registers,
        tuple(tuple(b) for b in blocks),
        labels,
        int(limit[1]) if limit else None,
    )


def meets(ins: Instruction) -> bool:
    """Whether threads of a warp wait for each other here: such an instruction begins a block."""
    return ins.words[0] in ("shfl", "vote") or ins.words[:2] == ("bar", "warp")


def _parameter(text: str) -> Parameter:
    found = PARAMETER.match(text.strip())
    if found is None:
        raise PtxFault("parse", f"unknown parameter {text.strip()!r}")
    return Parameter(found[2], int(found[1]))


def _statements(text: str, start: int, stop: int) -> Iterator[tuple[int, str]]:
    """(line number, statement) up to each semicolon; the vectors' braces stay inside."""
    line = text.count("\n", 0, start) + 1
    for piece in text[start:stop].split(";"):
        lead = len(piece) - len(piece.lstrip())
        yield line + piece.count("\n", 0, lead), " ".join(piece.split())
        line += piece.count("\n")


def instruction(piece: str, line: int, kernel: str = "") -> Instruction:
    """One statement: `@%p1 bra L` or `add.s32 %r1, %r2, 3`."""
    guard = GUARD.match(piece)
    rest = piece[guard.end() :] if guard else piece
    name, _, given = rest.partition(" ")
    try:
        operands = tuple(operand(o) for o in _split(given))
    except PtxFault as fault:
        raise fault.at(kernel, line, piece) from None
    told = (guard[2], not guard[1]) if guard else None
    return Instruction(tuple(name.split(".")), operands, told, line, piece)


def _split(text: str) -> list[str]:
    """At commas outside of braces and brackets."""
    found, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "{[") - (c in "}]")
        if c == "," and not depth:
            found.append(text[start:i])
            start = i + 1
    return [p.strip() for p in (*found, text[start:]) if p.strip()]


INTEGER = re.compile(r"(-?)(0x[0-9a-fA-F]+|\d+)U?$")
FLOAT = re.compile(r"0([fFdD])([0-9a-fA-F]{8}|[0-9a-fA-F]{16})$")
NAME = re.compile(r"[\w$]+$")
REGISTER = re.compile(r"(%\w+(\.[xyz])?|_)$")


def operand(text: str) -> Operand:
    """What one operand says. `a|b` of a shuffle is a vector of two."""
    if text[0] == "{":
        return Vector(tuple(operand(t) for t in _split(text[1:-1])))
    if text[0] == "[":
        base, sign, offset = text[1:-1].partition("+")
        return Address(operand(base.strip()), int(offset) if sign else 0)
    if "|" in text:
        return Vector(tuple(operand(t.strip()) for t in text.split("|")))
    if REGISTER.match(text):
        return Register(text)
    if (number := INTEGER.match(text)) is not None:
        value = int(number[2], 0)
        return Immediate(-value if number[1] else value)
    if (real := FLOAT.match(text)) is not None:
        return Immediate(int(real[2], 16))
    if text in ("true", "false"):
        return Immediate(int(text == "true"))
    if NAME.match(text):
        return Symbol(text)
    raise PtxFault("parse", f"unknown operand {text!r}")
