"""The text of one function as it grows: registers, labels, slots of variables."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from sexpgpu_core.records import NamedTuple

from .types import STORED, Kind, Pointer, printed, register


class NativeError(Exception):
    """A function that is not in the subset: our bug."""

    def __init__(self, message: str, node: ast.AST | None = None) -> None:
        line = getattr(node, "lineno", None)
        super().__init__(message if line is None else f"{message} (line {line})")


class Signature(NamedTuple):
    parameters: tuple[Kind, ...]
    result: Kind | None


class Printer:
    """Lines of LLVM text. `variables`: name -> (address of its slot, kind)."""

    def __init__(
        self,
        constants: Mapping[str, Any],
        functions: Mapping[str, Signature],
        declared: dict[str, str],
    ) -> None:
        self.constants = constants
        self.functions = functions
        self.declared = declared
        self.variables: dict[str, tuple[str, Kind]] = {}
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.count = 0
        self.open = True

    def fresh(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def line(self, text: str) -> None:
        if self.open:
            self.lines.append("  " + text)

    def emit(self, text: str) -> str:
        """An instruction with a result; its register."""
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def slot(self, kind: Kind) -> str:
        """Stack space for a variable, in the entry block, where LLVM makes registers of it."""
        name = self.fresh()
        self.entry.append(f"  {name} = alloca {printed(kind)}")
        return name

    def label(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.open = True

    def jump(self, label: str) -> None:
        self.line(f"br label %{label}")
        self.open = False

    def branch(self, test: str, yes: str, no: str) -> None:
        self.line(f"br i1 {test}, label %{yes}, label %{no}")
        self.open = False

    def declare(self, name: str, text: str) -> None:
        """A function from outside, once a module."""
        self.declared[name] = text

    def kind(self, node: ast.expr | None) -> Kind | None:
        """The kind that an annotation or a cast names: i64, f32, T, ptr[T], and of an argument
        sole[T], a pointer to what no other argument reaches; None if it is none."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            if node.value.id not in ("ptr", "sole") or not isinstance(node.slice, ast.Name):
                return None
            name = node.slice.id
            return Pointer(str(self.constants.get(name, name)))
        if not isinstance(node, ast.Name) or node.id in self.variables:
            return None
        name = str(self.constants.get(node.id, node.id))
        if name == "i1":
            return name
        return register(name) if name in STORED else None
