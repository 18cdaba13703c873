"""Expressions of the subset to LLVM text: a table row for each kind of syntax.

Both sides of `x if c else y` are evaluated; `and` and `or` are not: they stop early.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from .intrinsics import INTRINSICS
from .printer import NativeError, Printer
from .types import STORED, Kind, Pointer, Term, literal, printed, register

Number = int | float
INTEGER = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "sdiv",
    ast.Mod: "srem",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
REAL = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
COMPARE = {
    ast.Lt: ("slt", "olt"),
    ast.LtE: ("sle", "ole"),
    ast.Gt: ("sgt", "ogt"),
    ast.GtE: ("sge", "oge"),
    ast.Eq: ("eq", "oeq"),
    ast.NotEq: ("ne", "une"),
}
FOLDED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
UNARY: dict[type, Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
    ast.USub: operator.neg,
}
CONSTANT = (int, float, bool, str)


class Expressions(Printer):
    """`value(node)` gives a Term, or a Python constant that has not met a kind yet."""

    def value(self, node: ast.expr) -> Any:
        method = getattr(self, "on_" + type(node).__name__, None)
        if method is None:
            raise NativeError(f"{type(node).__name__} is not in the subset", node)
        return method(node)

    def term(self, node: ast.expr, kind: Kind | None = None) -> Term:
        """The value as a Term; of `kind` where one is asked for."""
        return self.settle(self.value(node), kind)

    def settle(self, value: Any, kind: Kind | None = None) -> Term:
        if isinstance(value, Term):
            return value if kind is None or value.kind == kind else self.convert(value, kind)
        if kind is None:
            kind = "i1" if isinstance(value, bool) else "i64" if isinstance(value, int) else "f64"
        if not isinstance(kind, str) or (kind == "i64" and isinstance(value, float)):
            raise NativeError(f"{value!r} is not for {kind}")
        return Term(literal(value, kind), kind)

    def convert(self, term: Term, kind: Kind) -> Term:
        """An explicit or assigned change of kind; i64 to and from floats rounds once."""
        source = term.kind
        if isinstance(kind, Pointer):
            if isinstance(source, Pointer):
                return Term(term.text, kind)
            return Term(self.emit(f"inttoptr i64 {term.text} to ptr"), kind)
        if isinstance(source, Pointer):
            return Term(self.emit(f"ptrtoint ptr {term.text} to i64"), "i64")
        operation = {
            ("i1", "i64"): "zext",
            ("i64", "f32"): "sitofp",
            ("i64", "f64"): "sitofp",
            ("f32", "i64"): "fptosi",
            ("f64", "i64"): "fptosi",
            ("f32", "f64"): "fpext",
            ("f64", "f32"): "fptrunc",
        }.get((source, kind))
        if operation is None and kind == "i1":
            return self.truth(term)
        if operation is None and source == "i1":
            return self.convert(self.convert(term, "i64"), kind)
        text = f"{operation} {printed(source)} {term.text} to {printed(kind)}"
        return Term(self.emit(text), kind)

    def truth(self, term: Any) -> Term:
        given = self.settle(term)
        if given.kind == "i1":
            return given
        if given.kind == "i64":
            return Term(self.emit(f"icmp ne i64 {given.text}, 0"), "i1")
        raise NativeError("only integers and comparisons are conditions")

    def register_of(self, name: str) -> str:
        """The kind in a register of the dtype that a constant names."""
        return register(str(self.constants[name]))

    # ---- leaves
    def on_Constant(self, node: ast.Constant) -> Any:  # noqa: N802
        return node.value

    def on_Name(self, node: ast.Name) -> Any:  # noqa: N802
        if node.id in self.variables:
            address, kind = self.variables[node.id]
            return Term(self.emit(f"load {printed(kind)}, ptr {address}"), kind)
        if node.id in self.constants:
            return self.constants[node.id]
        raise NativeError(f"{node.id} has no value", node)

    # ---- operators
    def on_BinOp(self, node: ast.BinOp) -> Any:  # noqa: N802
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, CONSTANT) and isinstance(right, CONSTANT):
            return FOLDED[type(node.op)](left, right)
        if _both_tests(left, right) and type(node.op) in (ast.BitAnd, ast.BitOr, ast.BitXor):
            name = INTEGER[type(node.op)]
            return Term(self.emit(f"{name} i1 {left.text}, {right.text}"), "i1")
        a, b = self.pair(left, right)
        table = INTEGER if a.kind == "i64" else REAL
        operation = table.get(type(node.op))
        if operation is None:
            raise NativeError(f"{type(node.op).__name__} is not for {a.kind}", node)
        return Term(self.emit(f"{operation} {printed(a.kind)} {a.text}, {b.text}"), a.kind)

    def pair(self, left: Any, right: Any) -> tuple[Term, Term]:
        """Both as terms of one kind: a number follows its partner."""
        if isinstance(left, Term):
            kind = "i64" if left.kind == "i1" else left.kind
            a = self.settle(left, kind)
            if isinstance(right, Term) and right.kind == "i1":
                right = self.convert(right, "i64")
            if isinstance(right, Term) and right.kind != a.kind:
                raise NativeError(f"{a.kind} meets {right.kind}")
            return a, self.settle(right, a.kind)
        b, a = self.pair(right, left)
        return a, b

    def on_UnaryOp(self, node: ast.UnaryOp) -> Any:  # noqa: N802
        value = self.value(node.operand)
        if isinstance(value, CONSTANT):
            return UNARY[type(node.op)](value)
        if isinstance(node.op, ast.Not):
            return Term(self.emit(f"xor i1 {self.truth(value).text}, true"), "i1")
        if isinstance(node.op, ast.Invert):
            return Term(self.emit(f"xor i64 {value.text}, -1"), "i64")
        if value.kind == "i64":
            return Term(self.emit(f"sub i64 0, {value.text}"), "i64")
        return Term(self.emit(f"fneg {printed(value.kind)} {value.text}"), value.kind)

    def on_Compare(self, node: ast.Compare) -> Any:  # noqa: N802
        if len(node.ops) != 1:
            raise NativeError("one comparison at a time", node)
        left, right = self.value(node.left), self.value(node.comparators[0])
        if isinstance(left, CONSTANT) and isinstance(right, CONSTANT):
            return FOLDED[type(node.ops[0])](left, right)
        a, b = self.pair(left, right)
        integer, real = COMPARE[type(node.ops[0])]
        if a.kind == "i64":
            return Term(self.emit(f"icmp {integer} i64 {a.text}, {b.text}"), "i1")
        return Term(self.emit(f"fcmp {real} {printed(a.kind)} {a.text}, {b.text}"), "i1")

    def on_BoolOp(self, node: ast.BoolOp) -> Any:  # noqa: N802
        stop = "false" if isinstance(node.op, ast.And) else "true"
        slot = self.slot("i1")
        done = self.label("short")
        for operand in node.values:
            value = self.truth(self.value(operand))
            self.line(f"store i1 {value.text}, ptr {slot}")
            more = self.label("more")
            targets = (done, more) if stop == "true" else (more, done)
            self.branch(value.text, *targets)
            self.start(more)
        self.jump(done)
        self.start(done)
        return Term(self.emit(f"load i1, ptr {slot}"), "i1")

    def on_IfExp(self, node: ast.IfExp) -> Any:  # noqa: N802
        test = self.value(node.test)
        if isinstance(test, CONSTANT):
            return self.value(node.body if test else node.orelse)
        test = self.truth(test)
        left, right = self.value(node.body), self.value(node.orelse)
        if not isinstance(left, Term) and not isinstance(right, Term):
            left, right = self.settle(left), self.settle(right)
        a, b = self.pair(left, right)
        kind = printed(a.kind)
        return Term(self.emit(f"select i1 {test.text}, {kind} {a.text}, {kind} {b.text}"), a.kind)

    # ---- memory
    def on_Subscript(self, node: ast.Subscript) -> Any:  # noqa: N802
        address, dtype = self.address(node)
        return self.load(address, dtype)

    def address(self, node: ast.Subscript) -> tuple[str, str]:
        base = self.term(node.value)
        if not isinstance(base.kind, Pointer):
            raise NativeError("only a pointer takes an index", node)
        return self.element(base, self.term(node.slice, "i64"))

    def element(self, base: Term, index: Term) -> tuple[str, str]:
        assert isinstance(base.kind, Pointer)
        dtype = base.kind.element
        text = f"getelementptr inbounds {STORED[dtype]}, ptr {base.text}, i64 {index.text}"
        return self.emit(text), dtype

    def load(self, address: str, dtype: str) -> Term:
        stored = STORED[dtype]
        raw = self.emit(f"load {stored}, ptr {address}")
        if dtype == "bf16":
            wide = self.emit(f"zext i16 {raw} to i32")
            high = self.emit(f"shl i32 {wide}, 16")
            return Term(self.emit(f"bitcast i32 {high} to float"), "f32")
        if dtype == "f16":
            return Term(self.emit(f"fpext half {raw} to float"), "f32")
        if stored in ("i32", "i16", "i8"):
            widen = "zext" if dtype[0] in "ub" else "sext"
            return Term(self.emit(f"{widen} {stored} {raw} to i64"), "i64")
        return Term(raw, register(dtype))

    def store(self, value: Any, address: str, dtype: str) -> None:
        term = self.settle(value, register(dtype))
        stored, text = STORED[dtype], term.text
        if dtype == "bf16":
            text = self.round_bf16(text)
        elif dtype == "f16":
            text = self.emit(f"fptrunc float {text} to half")
        elif stored in ("i32", "i16", "i8"):
            text = self.emit(f"trunc i64 {text} to {stored}")
        self.line(f"store {stored} {text}, ptr {address}")

    def round_bf16(self, text: str) -> str:
        """To nearest even by adding 0x7FFF and the last kept bit; NaN stays a quiet NaN."""
        bits = self.emit(f"bitcast float {text} to i32")
        last = self.emit(f"and i32 {self.emit(f'lshr i32 {bits}, 16')}, 1")
        sum_ = self.emit(f"add i32 {bits}, {self.emit(f'add i32 {last}, 32767')}")
        quiet = self.emit(f"or i32 {bits}, 4194304")
        nan = self.emit(f"fcmp uno float {text}, {text}")
        kept = self.emit(f"select i1 {nan}, i32 {quiet}, i32 {sum_}")
        return self.emit(f"trunc i32 {self.emit(f'lshr i32 {kept}, 16')} to i16")

    # ---- calls
    def on_Call(self, node: ast.Call) -> Any:  # noqa: N802
        kind = self.kind(node.func)
        if kind is not None:
            value = self.value(node.args[0])
            return self.settle(value, kind)
        if not isinstance(node.func, ast.Name):
            raise NativeError("only names are called", node)
        name = node.func.id
        if name in INTRINSICS:
            return INTRINSICS[name](self, *(self.value(a) for a in node.args))
        return self.call(name, node)

    def call(self, name: str, node: ast.Call) -> Any:
        signature = self.functions.get(name)
        if signature is None:
            raise NativeError(f"no function {name}", node)
        terms = [self.term(a, k) for a, k in zip(node.args, signature.parameters)]
        given = ", ".join(f"{printed(t.kind)} {t.text}" for t in terms)
        if signature.result is None:
            self.line(f"call void @{name}({given})")
            return None
        text = self.emit(f"call {printed(signature.result)} @{name}({given})")
        return Term(text, signature.result)


def _both_tests(left: Any, right: Any) -> bool:
    """Whether both are results of comparisons: `&` and `|` of these evaluate both sides."""
    return isinstance(left, Term) and isinstance(right, Term) and left.kind == right.kind == "i1"
