"""The emitter's instructions for NVPTX: the core's, with memory in spaces and threads that speak.

A global pointer is `ptr addrspace(1)`. What the C library does for the CPU is done by
`transcendental`.
"""

from __future__ import annotations

from collections.abc import Callable

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
        kind, align = TYPES[value.kind], _align(value.kind, 1)
        self.lines.append(f"  store {kind} {value.text}, {SHARED} {place.text}, align {align}")

    def take(self, place: Register, kind: str) -> Register:
        r = self._fresh(kind, 1)
        self.lines.append(
            f"  {r.text} = load {TYPES[kind]}, {SHARED} {place.text}, align {_align(kind, 1)}"
        )
        return r

    # Control
    def repeat(
        self, count: Register, state: list[Register], body: Callable[..., list[Register]]
    ) -> list[Register]:
        """`body(k, *state)` gives the next state, for k from 0 up to an i32 count, maybe none."""

        def following(k: Register, *given: Register) -> list[Register]:
            found = body(k, *given)
            return [self.binary("add", k, self.constant("i32", 1)), *found]

        start = [self.constant("i32", 0), *state]
        return self.walk(start, lambda k, *_: self.compare("slt", k, count), following)[1:]

    def walk(
        self,
        state: list[Register],
        test: Callable[..., Register],
        body: Callable[..., list[Register]],
    ) -> list[Register]:
        """`body(*state)` gives the next state, as long as `test(*state)` holds."""
        head, inside, after = (self.label_name() for _ in range(3))
        origin = self.block
        self.jump(head)
        self.label(head)
        phis = [self.phi(s, origin) for s in state]
        now = [p for p, _ in phis]
        self.branch(test(*now), inside, after)
        self.label(inside)
        found = body(*now)
        for (_, line), value in zip(phis, found):
            self.close(line, value)
        self.jump(head)
        self.label(after)
        return now

    def only(self, test: Register, otherwise: Register, make: Callable[[], Register]) -> Register:
        """What `make` prints where the test holds, else `otherwise`: nothing of it is done."""
        yes, after, origin = self.label_name(), self.label_name(), self.block
        self.branch(test, yes, after)
        self.label(yes)
        made, end = make(), self.block
        self.jump(after)
        self.label(after)
        r, kind = self._fresh(made.kind, made.lanes), self.type(made.kind, made.lanes)
        self.lines.append(
            f"  {r.text} = phi {kind} [ {otherwise.text}, %{origin} ], [ {made.text}, %{end} ]"
        )
        return r

    # Threads
    def thread(self, threads: int) -> Register:
        """The thread's number in the grid, of blocks of so many."""
        base = self.binary("mul", self.special("ctaid.x"), self.constant("i32", threads))
        return self.binary("add", base, self.special("tid.x"))

    def special(self, name: str) -> Register:
        """tid.x ctaid.x ..."""
        return self.call(SPECIAL + name, "i32", 1, ())

    def barrier(self) -> None:
        self.declared[f"declare void @{BARRIER}()"] = None
        self.lines.append(f"  call void @{BARRIER}()")

    def parted(self, a: Register, b: Register) -> tuple[Register, Register]:
        """Quotient and rest of numbers without a sign."""
        above = self.binary("udiv", a, b)
        return above, self.binary("sub", a, self.binary("mul", above, b))

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

    def to_bf16(self, x: Register) -> Register:
        """By the device's instruction, two lanes at a time; NaN becomes 0x7FFF. As assembly, so
        that LLVM neither moves it nor computes in bf16."""
        if x.lanes == 1:
            return self._pair(None, x)
        found = Register("poison", "i32", x.lanes)
        for lane in range(0, x.lanes, 2):
            both = self._pair(self.extract(x, lane + 1), self.extract(x, lane))
            low = self.binary("and", both, self.like(both, 0xFFFF))
            high = self.binary("lshr", both, self.like(both, 16))
            found = self.insert(self.insert(found, low, lane), high, lane + 1)
        return found

    def _pair(self, high: Register | None, low: Register) -> Register:
        """An i32 of two bf16; without `high` the upper half is 0."""
        r = self._fresh("i32", 1)
        first = "$1" if high is not None else "0f00000000"
        form = "=r,f,f" if high is not None else "=r,f"
        given = [f"float {x.text}" for x in (high, low) if x is not None]
        text = f"cvt.rn.bf16x2.f32 $0, {first}, ${len(given)};"
        self.lines.append(f'  {r.text} = call i32 asm "{text}", "{form}"({", ".join(given)})')
        return r

    def libm(self, name: str, *arguments: Register) -> Register:
        from .transcendental import FUNCTIONS

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
