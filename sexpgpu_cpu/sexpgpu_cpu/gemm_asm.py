"""The loop over k of the widest micro-kernel in AVX-512 instructions: 12 rows by 2 vectors.

A compiler keeps an address for every row and adds to each in every step; those sums take the ports
of the fma (14 cycles a step where 12 are needed). Here rows share three addresses.
"""

from __future__ import annotations

from .gemm_shape import Shape

ROWS, VECTORS = 12, 2
INPUTS = {"rdi": "ptr %a", "rsi": "i64 %rowbytes", "rdx": "ptr %bp", "rbx": "i64 %kc"}
SCRATCH = ("rax", "rcx", "r8", "r9", "r10", "r11")
STEPS = 4
"""Steps of k in a turn of the loop."""
SUMS = ROWS * VECTORS
"""zmm0 to zmm23 hold C, 24 and 25 a row of B, 26 to 31 elements of A in turn."""


def assembled(s: Shape, height: int, vectors: int) -> bool:
    """Whether this micro-kernel's loop is written here: vectors of 64 bytes are AVX-512's."""
    return s.bytes == 64 and (height, vectors) == (ROWS, VECTORS)


def micro_loop(s: Shape, packed: bool) -> list[str]:
    """Lines that define %n0.0 to %n11.1, the sums over kc of %a's strip times the panel %bp.
    `packed`: the strip lies by columns; else by rows, %ai elements apart."""
    size = s.bytes // s.width
    body = "\\0A".join([*_start(packed), *_loop(s, packed, STEPS), *_loop(s, packed, 1), "9:"])
    outputs = ",".join(f"={{zmm{i}}}" for i in range(SUMS))
    lost = [*(f"zmm{i}" for i in range(SUMS, 32)), *SCRATCH, "memory", "flags"]
    clobbers = ",".join(f"~{{{name}}}" for name in lost)
    kind = "{" + ", ".join([s.vector] * SUMS) + "}"
    inputs = ",".join(f"{{{register}}}" for register in INPUTS)
    lines = [
        f"  %rowbytes = mul i64 %ai, {size}",
        f'  %sums = call {kind} asm sideeffect "{body}", "{outputs},{inputs},{clobbers}"'
        f"({', '.join(INPUTS.values())})",
    ]
    for i in range(SUMS):
        r, c = divmod(i, VECTORS)
        lines.append(f"  %n{r}.{c} = extractvalue {kind} %sums, {i}")
    return lines


def _start(packed: bool) -> list[str]:
    """r8, r9, r10: rows 0, 4 and 8; r11: three rows; rax: the panel; rcx: turns."""
    lines = [f"vpxord %zmm{i}, %zmm{i}, %zmm{i}" for i in range(SUMS)]
    lines += ["movq %rdi, %r8", "movq %rdx, %rax"]
    if not packed:
        lines += [
            "leaq (%rsi,%rsi,2), %r11",
            "leaq (%rdi,%rsi,4), %r9",
            "leaq (%rdi,%rsi,8), %r10",
        ]
    return lines


def _loop(s: Shape, packed: bool, steps: int) -> list[str]:
    """Turns of `steps` steps while so many are left; labels are local to the loop."""
    size = s.bytes // s.width
    label, after = ("1", "2") if steps > 1 else ("3", "9")
    count = (
        [f"shrq $${STEPS.bit_length() - 1}, %rcx"] if steps > 1 else [f"andq $${STEPS - 1}, %rcx"]
    )
    lines = ["movq %rbx, %rcx", *count, f"je {after}f", ".p2align 5", f"{label}:"]
    for u in range(steps):
        lines += _step(s, packed, u)
    pointers = ["r8"] if packed else ["r8", "r9", "r10"]
    along = steps * size * (ROWS if packed else 1)
    lines += [f"addq $${along}, %{p}" for p in pointers]
    lines += [f"addq $${steps * VECTORS * s.bytes}, %rax", "decq %rcx", f"jne {label}b"]
    return [*lines, f"{after}:"] if steps > 1 else lines


def _step(s: Shape, packed: bool, u: int) -> list[str]:
    letter = "s" if s.dtype == "f32" else "d"
    size = s.bytes // s.width
    lines = [
        f"vmovup{letter} {(u * VECTORS + c) * s.bytes}(%rax), %zmm{24 + c}" for c in range(VECTORS)
    ]
    for r in range(ROWS):
        at = f"{(u * ROWS + r) * size}(%r8)" if packed else _row(r, u * size)
        x = 26 + r % 6
        lines.append(f"vbroadcasts{letter} {at}, %zmm{x}")
        lines += [
            f"vfmadd231p{letter} %zmm{24 + c}, %zmm{x}, %zmm{r * VECTORS + c}"
            for c in range(VECTORS)
        ]
    return lines


def _row(r: int, offset: int) -> str:
    """An element of row r: one of three addresses, and none to three rows more."""
    base = ("r8", "r9", "r10")[r // 4]
    more = ("", ",%rsi", ",%rsi,2", ",%r11")[r % 4]
    return f"{offset}(%{base}{more})"
