"""The emitter's instructions for NVPTX: the core's, with memory in spaces and threads that speak.

A global pointer is `ptr addrspace(1)`. What the C library does for the CPU is done by `functions`.
"""

from __future__ import annotations

from sexpgpu_core.kernels.target import BITS, TYPES, Register, Target

GLOBAL = "ptr addrspace(1)"
SHARED = "ptr addrspace(3)"
SPECIAL = "llvm.nvvm.read.ptx.sreg."
BARRIER = "llvm.nvvm.barrier0"
"""Its older name, which newer releases read too."""
WARP = 32
RESIDENT = 1024
"""Threads that a multiprocessor shall hold at once: half of 2,048, 64 registers each."""


class PtxTarget(Target):
    """Collects lines of one kernel. `lanes`: what a thread does at once, in 16 bytes or one."""

    def __init__(self, lanes: int) -> None:
        super().__init__(lanes, True)

    def type(self, kind: str, lanes: int = 1) -> str:
        if kind != "ptr":
            return super().type(kind, lanes)
        return GLOBAL if lanes == 1 else f"<{lanes} x {GLOBAL}>"

    def constant(self, kind: str, value: float, lanes: int = 1) -> Register:
        return super().constant(kind, value, lanes)

    # Memory
    def address(self, pointer: Register, index: Register, kind: str) -> Register:
        r = self._fresh("ptr", index.lanes)
        self.lines.append(
            f"  {r.text} = getelementptr {TYPES[kind]}, {GLOBAL} {pointer.text}, "
            f"{self.type(*index[1:])} {index.text}"
        )
        return r

    def load(
        self, pointer: Register, kind: str, lanes: int = 1, constant: bool = False
    ) -> Register:
        """`constant`: nobody writes it while the kernel runs. A vector is aligned to its size."""
        r = self._fresh(kind, lanes)
        told = ", !invariant.load !0" if constant else ""
        self.lines.append(
            f"  {r.text} = load {self.type(kind, lanes)}, {GLOBAL} {pointer.text}, "
            f"align {_align(kind, lanes)}{told}"
        )
        return r

    def store(self, value: Register, pointer: Register) -> None:
        self.lines.append(
            f"  store {self.type(*value[1:])} {value.text}, {GLOBAL} {pointer.text}, "
            f"align {_align(value.kind, value.lanes)}"
        )

    def least(self, pointer: Register, value: Register) -> None:
        """Memory becomes the lesser of itself and the value, one thread after another."""
        kind = self.type(value.kind)
        r = self._fresh(value.kind, 1)
        self.lines.append(
            f"  {r.text} = atomicrmw umin {GLOBAL} {pointer.text}, {kind} {value.text} monotonic"
        )

    def shared(self, kind: str, index: Register) -> Register:
        """The address of a word of the block's room, in elements of kind."""
        r = self._fresh("shared", 1)
        self.lines.append(
            f"  {r.text} = getelementptr {TYPES[kind]}, {SHARED} @room, i32 {index.text}"
        )
        return r

    def put(self, value: Register, place: Register) -> None:
        kind = TYPES[value.kind]
        self.lines.append(f"  store {kind} {value.text}, {SHARED} {place.text}, align 8")

    def take(self, place: Register, kind: str) -> Register:
        r = self._fresh(kind, 1)
        self.lines.append(f"  {r.text} = load {TYPES[kind]}, {SHARED} {place.text}, align 8")
        return r

    # Threads
    def special(self, name: str) -> Register:
        """tid.x ctaid.x ..."""
        return self.call(SPECIAL + name, "i32", 1, ())

    def barrier(self) -> None:
        self.declared[f"declare void @{BARRIER}()"] = None
        self.lines.append(f"  call void @{BARRIER}()")

    def across(self, value: Register, mask: int) -> Register:
        """The value of the lane whose number differs in these bits. 32 bits, 64 in two parts."""
        if BITS[value.kind] == 64:
            return self._across_halves(value, mask)
        raw = value
        if value.kind == "f32":
            raw = self.convert("bitcast", value, "i32")
        elif BITS[value.kind] < 32:
            raw = self.convert("zext", value, "i32")
        given = (
            Register("-1", "i32"), raw, Register(str(mask), "i32"), Register("31", "i32")
        )  # fmt: skip
        moved = self.call("llvm.nvvm.shfl.sync.bfly.i32", "i32", 1, given)
        if value.kind == "f32":
            return self.convert("bitcast", moved, "f32")
        return moved if value.kind == "i32" else self.convert("trunc", moved, value.kind)

    def _across_halves(self, value: Register, mask: int) -> Register:
        whole = self.convert("bitcast", value, "i64") if value.kind == "f64" else value
        low = self.across(self.convert("trunc", whole, "i32"), mask)
        shifted = self.binary("lshr", whole, self.like(whole, 32))
        high = self.across(self.convert("trunc", shifted, "i32"), mask)
        up = self.binary("shl", self.convert("zext", high, "i64"), self.like(whole, 32))
        found = self.binary("or", up, self.convert("zext", low, "i64"))
        return self.convert("bitcast", found, "f64") if value.kind == "f64" else found

    def any(self, test: Register) -> Register:
        """Whether an i1 holds in some of the thread's lanes."""
        found = self.extract(test, 0) if test.lanes > 1 else test
        for lane in range(1, test.lanes):
            found = self.binary("or", found, self.extract(test, lane))
        return found

    def libm(self, name: str, *arguments: Register) -> Register:
        from .functions import FUNCTIONS, missing

        if arguments[0].kind != "f64" or name not in FUNCTIONS:
            raise missing(name)
        return FUNCTIONS[name](self, *arguments)

    def kernel(self, name: str, parameters: list[str], threads: int, room: int) -> str:
        """The text of a module with the kernel that was collected."""
        body = "\n".join(self.lines)
        shared = f"@room = internal addrspace(3) global [{room} x i8] undef, align 16\n"
        return (
            "\n".join(self.declared)
            + f"\n{shared if room else ''}"
            + f"define ptx_kernel void @{name}({', '.join(parameters)}) #0 {{\n{body}\n}}\n"
            + f'attributes #0 = {{ nounwind "nvvm.maxntid"="{threads}" '
            + f'"nvvm.minctasm"="{max(RESIDENT // threads, 1)}" }}\n!0 = !{{}}\n'
        )


def _align(kind: str, lanes: int) -> int:
    return max(BITS[kind] // 8, 1) * lanes
