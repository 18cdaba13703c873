"""What the subset can call besides its own functions: memory, atomics, other code, the system."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .types import STORED, Pointer, Term, printed

if TYPE_CHECKING:
    from .expressions import Expressions

LINUX = sys.platform.startswith("linux")
X86 = platform.machine() in ("x86_64", "AMD64")
FUTEX = 202 if X86 else 98
"""The system call's number: x86-64, and the table that aarch64 and riscv64 share."""


def _sqrt(p: Expressions, x: Term) -> Term:
    kind = printed(x.kind)
    p.declare(f"llvm.sqrt.{x.kind}", f"declare {kind} @llvm.sqrt.{x.kind}({kind})")
    return Term(p.emit(f"call {kind} @llvm.sqrt.{x.kind}({kind} {x.text})"), x.kind)


def _smaller(p: Expressions, x: Any, y: Any) -> Any:
    """min: the second where either is NaN."""
    return _pick(p, x, y, "slt", "olt")


def _larger(p: Expressions, x: Any, y: Any) -> Any:
    """max: the second where either is NaN."""
    return _pick(p, x, y, "sgt", "ogt")


def _pick(p: Expressions, x: Any, y: Any, integer: str, real: str) -> Any:
    a, b = p.pair(x, y)
    kind = printed(a.kind)
    compare = f"icmp {integer}" if a.kind == "i64" else f"fcmp {real}"
    test = p.emit(f"{compare} {kind} {a.text}, {b.text}")
    return Term(p.emit(f"select i1 {test}, {kind} {a.text}, {kind} {b.text}"), a.kind)


def _copy(p: Expressions, to: Term, source: Term, size: Any) -> None:
    """Bytes that do not overlap. A loop was 6 to 10 times slower (notes/conv.md)."""
    p.declare("llvm.memcpy", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    count = p.settle(size, "i64").text
    p.line(
        f"call void @llvm.memcpy.p0.p0.i64(ptr {to.text}, ptr {source.text}, i64 {count}, i1 false)"
    )


def _zero(p: Expressions, to: Term, size: Any) -> None:
    p.declare("llvm.memset", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    count = p.settle(size, "i64").text
    p.line(f"call void @llvm.memset.p0.i64(ptr {to.text}, i8 0, i64 {count}, i1 false)")


def _shift(p: Expressions, base: Term, index: Any) -> Term:
    """The pointer `index` elements further."""
    assert isinstance(base.kind, Pointer)
    element = STORED[base.kind.element]
    count = p.settle(index, "i64").text
    return Term(p.emit(f"getelementptr {element}, ptr {base.text}, i64 {count}"), base.kind)


def _fetch_add(p: Expressions, base: Term, index: Any, value: Any) -> Term:
    address, _ = p.element(base, p.settle(index, "i64"))
    text = p.settle(value, "i64").text
    return Term(p.emit(f"atomicrmw add ptr {address}, i64 {text} seq_cst"), "i64")


def _compare_swap(p: Expressions, base: Term, index: Any, old: Term, new: Term) -> Term:
    address, _ = p.element(base, p.settle(index, "i64"))
    pair = p.emit(f"cmpxchg ptr {address}, i64 {old.text}, i64 {new.text} seq_cst seq_cst, align 8")
    return Term(p.emit(f"extractvalue {{ i64, i1 }} {pair}, 1"), "i1")


def _acquire(p: Expressions, base: Term, index: Any) -> Term:
    address, _ = p.element(base, p.settle(index, "i64"))
    return Term(p.emit(f"load atomic i64, ptr {address} seq_cst, align 8"), "i64")


def _release(p: Expressions, base: Term, index: Any, value: Any) -> None:
    address, _ = p.element(base, p.settle(index, "i64"))
    text = p.settle(value, "i64").text
    p.line(f"store atomic i64 {text}, ptr {address} seq_cst, align 8")


def _pause(p: Expressions) -> None:
    if X86:
        p.declare("pause", "declare void @llvm.x86.sse2.pause()")
        p.line("call void @llvm.x86.sse2.pause()")
    else:
        p.declare("hint", "declare void @llvm.aarch64.hint(i32)")
        p.line("call void @llvm.aarch64.hint(i32 1)")


def _sleep(p: Expressions, base: Term, index: Any, seen: Term) -> None:
    """Sleep while the word's low half is `seen`; may wake early. Elsewhere than Linux: a nap."""
    address, _ = p.element(base, p.settle(index, "i64"))
    if LINUX:
        p.declare("syscall", "declare i64 @syscall(i64, ...)")
        low = p.emit(f"trunc i64 {seen.text} to i32")
        p.emit(
            f"call i64 (i64, ...) @syscall(i64 {FUTEX}, ptr {address}, i32 128, i32 {low}, "
            "ptr null)"
        )
    else:
        p.declare("usleep", "declare i32 @usleep(i32)")
        p.emit("call i32 @usleep(i32 50)")


def _wake(p: Expressions, base: Term, index: Any) -> None:
    """Wake all that sleep on the word."""
    address, _ = p.element(base, p.settle(index, "i64"))
    if LINUX:
        p.declare("syscall", "declare i64 @syscall(i64, ...)")
        p.emit(f"call i64 (i64, ...) @syscall(i64 {FUTEX}, ptr {address}, i32 129, i32 2147483647)")


def _invoke(p: Expressions, code: Term, block: Term, begin: Any, end: Any) -> None:
    """Call a kernel by address: `void kernel(ptr block, i64 begin, i64 end)`."""
    function = p.emit(f"inttoptr i64 {code.text} to ptr")
    pointer = p.emit(f"inttoptr i64 {code_text(p, block)} to ptr")
    first, last = p.settle(begin, "i64").text, p.settle(end, "i64").text
    p.line(f"call void {function}(ptr {pointer}, i64 {first}, i64 {last})")


def code_text(p: Expressions, term: Term) -> str:
    return p.convert(term, "i64").text if isinstance(term.kind, Pointer) else term.text


def _blas(p: Expressions, code: Term, *given: Any) -> None:
    """cblas_?gemm by address, row-major: (transpose a, b) as CBLAS numbers, m n k, alpha, a, lda,
    b, ldb, beta, c, ldc. The constant LONG says whether the library's integers have 64 bits."""
    transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc = given
    integer = "i64" if p.constants["LONG"] else "i32"
    real = printed(p.register_of("T"))
    kind = p.register_of("T")

    def enum(value: Any) -> str:
        text = p.settle(value, "i64").text
        return f"i32 {p.emit(f'trunc i64 {text} to i32')}"

    def whole(value: Any) -> str:
        return f"i64 {p.settle(value, 'i64').text}" if integer == "i64" else enum(value)

    function = p.emit(f"inttoptr i64 {code.text} to ptr")
    arguments = ", ".join(
        (
            "i32 101",
            enum(transpose_a),
            enum(transpose_b),
            *map(whole, (m, n, k)),
            f"{real} {p.settle(alpha, kind).text}",
            f"ptr {a.text}",
            whole(lda),
            f"ptr {b.text}",
            whole(ldb),
            f"{real} {p.settle(beta, kind).text}",
            f"ptr {c.text}",
            whole(ldc),
        )
    )
    p.line(f"call void {function}({arguments})")


INTRINSICS: dict[str, Callable[..., Any]] = {
    "sqrt": _sqrt,
    "min": _smaller,
    "max": _larger,
    "copy": _copy,
    "zero": _zero,
    "shift": _shift,
    "fetch_add": _fetch_add,
    "compare_swap": _compare_swap,
    "acquire": _acquire,
    "release": _release,
    "pause": _pause,
    "sleep": _sleep,
    "wake": _wake,
    "invoke": _invoke,
    "blas": _blas,
}
