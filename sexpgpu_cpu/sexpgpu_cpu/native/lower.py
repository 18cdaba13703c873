"""Functions of the subset to one LLVM module. Equal source and constants give equal text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from .expressions import CONSTANT, Expressions
from .printer import NativeError, Printer, Signature
from .types import Term, printed


def lower(source: str, exported: Iterable[str], constants: Mapping[str, Any]) -> str:
    """LLVM text of every function in `source`; `constants`: T -> a dtype, NAME -> a number."""
    definitions = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
    reader = Printer(constants, {}, {})
    functions = {d.name: _signature(reader, d) for d in definitions}
    declared: dict[str, str] = {}
    public = set(exported)
    bodies = [
        _Function(constants, functions, declared).define(d, d.name in public) for d in definitions
    ]
    return "\n".join([*declared.values(), *bodies]) + "\n"


def _signature(reader: Printer, definition: ast.FunctionDef) -> Signature:
    kinds = []
    for argument in definition.args.args:
        kind = reader.kind(argument.annotation)
        if kind is None:
            raise NativeError(f"{argument.arg} of {definition.name} has no kind", argument)
        kinds.append(kind)
    result = definition.returns
    nothing = result is None or (isinstance(result, ast.Constant) and result.value is None)
    return Signature(tuple(kinds), None if nothing else reader.kind(result))


class _Function(Expressions):
    """Statements. Variables take the kind of what they are first given."""

    def define(self, definition: ast.FunctionDef, public: bool) -> str:
        signature = self.functions[definition.name]
        self.result = signature.result
        self.loops: list[tuple[str, str]] = []
        names = [a.arg for a in definition.args.args]
        for name, kind in zip(names, signature.parameters):
            self.assign(name, Term(f"%a_{name}", kind))
        self.block(definition.body)
        if self.result is None:
            self.line("ret void")
        else:
            self.line("unreachable")
        own = [" noalias" if _sole(a.annotation) else "" for a in definition.args.args]
        kinds = [printed(k) + o for k, o in zip(signature.parameters, own)]
        given = ", ".join(f"{k} %a_{n}" for n, k in zip(names, kinds))
        kind = "void" if self.result is None else printed(self.result)
        linkage = "" if public else "internal "
        head = f"define {linkage}{kind} @{definition.name}({given}) nounwind {{\nentry:"
        return "\n".join([head, *self.entry, *self.lines, "}"])

    def block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            method = getattr(self, "do_" + type(statement).__name__, None)
            if method is None:
                raise NativeError(f"{type(statement).__name__} is not in the subset", statement)
            method(statement)

    # ---- assignment
    def assign(self, name: str, value: Any) -> None:
        known = self.variables.get(name)
        term = self.settle(value, known[1] if known else None)
        if known is None:
            known = self.variables[name] = (self.slot(term.kind), term.kind)
        self.line(f"store {printed(term.kind)} {term.text}, ptr {known[0]}")

    def do_Assign(self, node: ast.Assign) -> None:  # noqa: N802
        target = node.targets[0]
        self.put(target, self.value(node.value))

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:  # noqa: N802
        assert isinstance(node.target, ast.Name)
        assert node.value is not None
        self.assign(node.target.id, self.term(node.value, self.kind(node.annotation)))

    def do_AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802
        if isinstance(node.target, ast.Name):
            whole = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
            self.assign(node.target.id, self.value(ast.copy_location(whole, node)))
            return
        assert isinstance(node.target, ast.Subscript)
        address, dtype = self.address(node.target)
        old = self.load(address, dtype)
        held = f"%{address[1:]}.old"
        self.variables[held] = (self.slot(old.kind), old.kind)
        self.line(f"store {printed(old.kind)} {old.text}, ptr {self.variables[held][0]}")
        whole = ast.BinOp(ast.Name(held, ast.Load()), node.op, node.value)
        self.store(self.value(ast.copy_location(whole, node)), address, dtype)

    def put(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Subscript):
            address, dtype = self.address(target)
            self.store(value, address, dtype)
        else:
            raise NativeError("one target at a time", target)

    def do_Expr(self, node: ast.Expr) -> None:  # noqa: N802
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    # ---- control
    def do_Return(self, node: ast.Return) -> None:  # noqa: N802
        if node.value is None:
            self.line("ret void")
        else:
            assert self.result is not None
            term = self.term(node.value, self.result)
            self.line(f"ret {printed(term.kind)} {term.text}")
        self.open = False

    def do_Pass(self, node: ast.Pass) -> None:  # noqa: N802
        pass

    def do_If(self, node: ast.If) -> None:  # noqa: N802
        test = self.value(node.test)
        if isinstance(test, CONSTANT):
            self.block(node.body if test else node.orelse)
            return
        yes, no, done = self.label("then"), self.label("else"), self.label("done")
        self.branch(self.truth(test).text, yes, no)
        self.start(yes)
        self.block(node.body)
        self.jump(done)
        self.start(no)
        self.block(node.orelse)
        self.jump(done)
        self.start(done)

    def do_While(self, node: ast.While) -> None:  # noqa: N802
        head, body, done = self.label("while"), self.label("body"), self.label("done")
        self.jump(head)
        self.start(head)
        self.branch(self.truth(self.value(node.test)).text, body, done)
        self.start(body)
        self.loops.append((head, done))
        self.block(node.body)
        self.loops.pop()
        self.jump(head)
        self.start(done)

    def do_For(self, node: ast.For) -> None:  # noqa: N802
        if not isinstance(node.iter, ast.Call) or not isinstance(node.target, ast.Name):
            raise NativeError("for runs over range", node)
        bounds = [self.value(a) for a in node.iter.args]
        first, stop, step = _range(bounds)
        limit = self.settle(stop, "i64")
        name = node.target.id
        self.assign(name, self.settle(first, "i64"))
        head, body = self.label("for"), self.label("body")
        latch, done = self.label("next"), self.label("done")
        self.jump(head)
        self.start(head)
        index = self.term(ast.Name(name, ast.Load()))
        order = "slt" if step > 0 else "sgt"
        self.branch(self.emit(f"icmp {order} i64 {index.text}, {limit.text}"), body, done)
        self.start(body)
        self.loops.append((latch, done))
        self.block(node.body)
        self.loops.pop()
        self.jump(latch)
        self.start(latch)
        index = self.term(ast.Name(name, ast.Load()))
        self.assign(name, Term(self.emit(f"add nsw i64 {index.text}, {step}"), "i64"))
        self.jump(head)
        self.start(done)

    def do_Break(self, node: ast.Break) -> None:  # noqa: N802
        self.jump(self.loops[-1][1])

    def do_Continue(self, node: ast.Continue) -> None:  # noqa: N802
        self.jump(self.loops[-1][0])


def _sole(annotation: ast.expr | None) -> bool:
    """Whether an argument is a pointer to memory that no other argument reaches."""
    return isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "sole"


def _range(bounds: list[Any]) -> tuple[Any, Any, int]:
    if len(bounds) == 1:
        return 0, bounds[0], 1
    step = bounds[2] if len(bounds) == 3 else 1
    if not isinstance(step, int):
        raise NativeError("the step of a range is a constant")
    return bounds[0], bounds[1], step
