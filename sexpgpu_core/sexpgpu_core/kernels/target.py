"""The instructions the emitter needs, printed as LLVM IR text with explicit vectors.

The text is in final form (SSA, no pass needed) and holds no fast-math flag: a value is rounded
where an instruction is. What differs between LLVM releases stands in this class alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from ..ir.types import FLOATS, SIGNED, WIDTH
from ..records import NamedTuple

LANES = 32
"""Lanes of a reduction, whatever the width (45.10)."""

TYPES = {
    "f32": "float",
    "f64": "double",
    "f16": "half",
    "i1": "i1",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "ptr": "ptr",
}
BITS = {
    "ptr": 64,
    "f32": 32,
    "f64": 64,
    "f16": 16,
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
}


class Register(NamedTuple):
    """A scalar (lanes 1) or a vector, or a constant printed in place."""

    text: str
    kind: str
    lanes: int = 1


def register_kind(dtype: str) -> str:
    """What a value of a dtype is held as: 16-bit floats as f32 (rounded), bool as i1."""
    if dtype in FLOATS:
        return "f64" if dtype == "f64" else "f32"
    return "i1" if dtype == "bool" else f"i{8 * WIDTH[dtype]}"


def memory_kind(dtype: str) -> str:
    """What a value of a dtype is in memory."""
    if dtype in FLOATS:
        return {"bf16": "i16"}.get(dtype, dtype)
    return f"i{8 * WIDTH[dtype]}"


def literal(kind: str, value: float) -> str:
    """A constant as LLVM reads it: floats by their bits."""
    if kind == "f16":
        return "0xH" + struct.pack(">e", value).hex().upper()
    if kind in ("f32", "f64"):
        if kind == "f32":
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        return "0x" + struct.pack(">d", value).hex().upper()
    if kind == "i1":
        return "true" if value else "false"
    bits = BITS[kind]
    number = int(value) & ((1 << bits) - 1)
    return str(number - (1 << bits) if number >> (bits - 1) else number)


class Target:
    """Collects lines of one function. Methods take and give registers of equal lanes."""

    def __init__(self, width: int = 8, fma: bool = True) -> None:
        self.width = width
        self.has_fma = fma
        self.lines: list[str] = []
        self.declared: dict[str, None] = {}
        self.block = "entry"
        self._count = 0

    # Names and constants
    def _fresh(self, kind: str, lanes: int) -> Register:
        self._count += 1
        return Register(f"%v{self._count}", kind, lanes)

    def type(self, kind: str, lanes: int = 1) -> str:
        return TYPES[kind] if lanes == 1 else f"<{lanes} x {TYPES[kind]}>"

    def constant(self, kind: str, value: float, lanes: int = 1) -> Register:
        text = literal(kind, value)
        if lanes > 1:
            text = "<" + ", ".join([f"{TYPES[kind]} {text}"] * lanes) + ">"
        return Register(text, kind, lanes)

    def like(self, register: Register, value: float) -> Register:
        return self.constant(register.kind, value, register.lanes)

    def lane_numbers(self, kind: str, lanes: int) -> Register:
        numbers = ", ".join(f"{TYPES[kind]} {literal(kind, i)}" for i in range(lanes))
        return Register(f"<{numbers}>" if lanes > 1 else literal(kind, 0), kind, lanes)

    # Arithmetic
    def binary(self, instruction: str, a: Register, b: Register) -> Register:
        r = self._fresh(a.kind, a.lanes)
        self.lines.append(f"  {r.text} = {instruction} {self.type(*a[1:])} {a.text}, {b.text}")
        return r

    def compare(self, predicate: str, a: Register, b: Register) -> Register:
        """predicate: an fcmp one for floats (oeq olt uno ...), an icmp one for integers."""
        r = self._fresh("i1", a.lanes)
        name = "fcmp" if a.kind in ("f32", "f64") else "icmp"
        self.lines.append(f"  {r.text} = {name} {predicate} {self.type(*a[1:])} {a.text}, {b.text}")
        return r

    def select(self, test: Register, a: Register, b: Register) -> Register:
        r = self._fresh(a.kind, a.lanes)
        kind = self.type(*a[1:])
        self.lines.append(
            f"  {r.text} = select {self.type(*test[1:])} {test.text}, "
            f"{kind} {a.text}, {kind} {b.text}"
        )
        return r

    def negate(self, a: Register) -> Register:
        r = self._fresh(a.kind, a.lanes)
        self.lines.append(f"  {r.text} = fneg {self.type(*a[1:])} {a.text}")
        return r

    def convert(self, instruction: str, a: Register, kind: str) -> Register:
        """trunc zext sext fptrunc fpext sitofp uitofp bitcast ..."""
        r = self._fresh(kind, a.lanes)
        self.lines.append(
            f"  {r.text} = {instruction} {self.type(*a[1:])} {a.text} to {self.type(kind, a.lanes)}"
        )
        return r

    def intrinsic(self, name: str, kind: str, *arguments: Register, source: str = "") -> Register:
        """llvm.NAME of equal lanes; `source`: kind of the operand where it is in the name too."""
        lanes = arguments[0].lanes
        suffix = "".join(f".{_mangle(k, lanes)}" for k in (kind, source) if k)
        return self.call(f"llvm.{name}{suffix}", kind, lanes, arguments)

    def call(self, name: str, kind: str, lanes: int, arguments: tuple[Register, ...]) -> Register:
        result = self.type(kind, lanes)
        types = [self.type(*a[1:]) for a in arguments]
        self.declared[f"declare {result} @{name}({', '.join(types)})"] = None
        r = self._fresh(kind, lanes)
        given = ", ".join(f"{t} {a.text}" for t, a in zip(types, arguments))
        self.lines.append(f"  {r.text} = call {result} @{name}({given})")
        return r

    def libm(self, name: str, *arguments: Register) -> Register:
        """A function of the C library, called a lane at a time. f64 or i32 registers."""
        lanes, kind = arguments[0].lanes, arguments[0].kind
        if lanes == 1:
            return self.call(name, kind, 1, arguments)
        result = Register("poison", kind, lanes)
        for i in range(lanes):
            given = tuple(self.extract(a, i) for a in arguments)
            result = self.insert(result, self.call(name, kind, 1, given), i)
        return result

    def to_bf16(self, x: Register) -> Register:
        """The upper 16 bits of f32, to nearest even, as i32; NaN stays quiet NaN."""
        bits = self.convert("bitcast", x, "i32")
        sixteen = self.like(bits, 16)
        odd = self.binary("and", self.binary("lshr", bits, sixteen), self.like(bits, 1))
        up = self.binary("add", bits, self.binary("add", odd, self.like(bits, 0x7FFF)))
        quiet = self.binary("or", bits, self.like(bits, 0x400000))
        nearest = self.select(self.compare("uno", x, x), quiet, up)
        return self.binary("lshr", nearest, sixteen)

    def fma(self, a: Register, b: Register, c: Register) -> Register:
        """One rounding, always."""
        return self.intrinsic("fma", a.kind, a, b, c)

    # Lanes
    def splat(self, a: Register, lanes: int) -> Register:
        if lanes == 1 or a.lanes == lanes:
            return a
        if a.text[0] != "%":
            text = "<" + ", ".join([f"{TYPES[a.kind]} {a.text}"] * lanes) + ">"
            return Register(text, a.kind, lanes)
        first = self.insert(Register("poison", a.kind, lanes), a, 0)
        return self.shuffle(first, [0] * lanes)

    def shuffle(self, a: Register, lanes: list[int], b: Register | None = None) -> Register:
        """Pick lanes of a followed by b; -1 is any value."""
        r = self._fresh(a.kind, len(lanes))
        kind = self.type(a.kind, a.lanes)
        mask = ", ".join("i32 poison" if i < 0 else f"i32 {i}" for i in lanes)
        other = "poison" if b is None else b.text
        self.lines.append(
            f"  {r.text} = shufflevector {kind} {a.text}, {kind} {other}, "
            f"<{len(lanes)} x i32> <{mask}>"
        )
        return r

    def extract(self, a: Register, lane: int) -> Register:
        r = self._fresh(a.kind, 1)
        self.lines.append(f"  {r.text} = extractelement {self.type(*a[1:])} {a.text}, i32 {lane}")
        return r

    def insert(self, a: Register, b: Register, lane: int) -> Register:
        r = self._fresh(a.kind, a.lanes)
        self.lines.append(
            f"  {r.text} = insertelement {self.type(*a[1:])} {a.text}, "
            f"{TYPES[b.kind]} {b.text}, i32 {lane}"
        )
        return r

    # Memory
    def address(self, pointer: Register, index: Register, kind: str) -> Register:
        """pointer + index elements of kind; a vector of indices gives a vector of pointers."""
        r = self._fresh("ptr", index.lanes)
        self.lines.append(
            f"  {r.text} = getelementptr {TYPES[kind]}, ptr {pointer.text}, "
            f"{self.type(*index[1:])} {index.text}"
        )
        return r

    def load(self, pointer: Register, kind: str, lanes: int = 1) -> Register:
        r = self._fresh(kind, lanes)
        align = max(BITS[kind] // 8, 1)
        self.lines.append(
            f"  {r.text} = load {self.type(kind, lanes)}, ptr {pointer.text}, align {align}"
        )
        return r

    def store(self, value: Register, pointer: Register) -> None:
        align = max(BITS[value.kind] // 8, 1)
        self.lines.append(
            f"  store {self.type(*value[1:])} {value.text}, ptr {pointer.text}, align {align}"
        )

    def buffer(self, kind: str, count: int) -> Register:
        """Room on the stack for a row; asked for in the entry block only."""
        r = self._fresh("ptr", 1)
        self.lines.append(f"  {r.text} = alloca [{count} x {TYPES[kind]}], align 64")
        return r

    # Control
    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def jump(self, name: str) -> None:
        self.lines.append(f"  br label %{name}")

    def branch(self, test: Register, yes: str, no: str) -> None:
        self.lines.append(f"  br i1 {test.text}, label %{yes}, label %{no}")

    def phi(self, start: Register, origin: str) -> tuple[Register, int]:
        """A value carried by a loop; `close` fills in what comes round."""
        r = self._fresh(start.kind, start.lanes)
        self.lines.append(f"  {r.text} = phi {self.type(*start[1:])} [ {start.text}, %{origin} ]")
        return r, len(self.lines) - 1

    def close(self, line: int, value: Register) -> None:
        self.lines[line] += f", [ {value.text}, %{self.block} ]"

    def rarely(self, test: Register, value: Register, slow: Callable[[], Register]) -> Register:
        """`value`, but in lanes where the test holds what `slow` prints; jumped over if in none."""
        some = self.any(test)
        cold, join, origin = self.label_name(), self.label_name(), self.block
        self.branch(some, cold, join)
        self.label(cold)
        mixed = self.select(test, slow(), value)
        end = self.block
        self.jump(join)
        self.label(join)
        r = self._fresh(value.kind, value.lanes)
        self.lines.append(
            f"  {r.text} = phi {self.type(*value[1:])} [ {value.text}, %{origin} ], "
            f"[ {mixed.text}, %{end} ]"
        )
        return r

    def any(self, test: Register) -> Register:
        """Whether an i1 holds in some lane."""
        if test.lanes == 1:
            return test
        return self.call(f"llvm.vector.reduce.or.v{test.lanes}i1", "i1", 1, (test,))

    def label_name(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def module(self, name: str) -> str:
        """The text of the module with the function that was collected."""
        body = "\n".join(self.lines)
        width = self.width * 32
        return (
            "\n".join(self.declared)
            + f"\ndefine void @{name}(ptr noalias %block, i64 %begin, i64 %end) #0 {{\n"
            + f"{body}\n}}\n"
            + f'attributes #0 = {{ nounwind "prefer-vector-width"="{width}" '
            + f'"min-legal-vector-width"="{width}" }}\n'
        )


def _mangle(kind: str, lanes: int) -> str:
    name = f"f{BITS[kind]}" if kind[0] == "f" else kind
    return name if lanes == 1 else f"v{lanes}{name}"


def signed(dtype: str) -> bool:
    return dtype in SIGNED
