"""A kernel as C-like loops, for people: what is computed in which loop, read and written where."""

from __future__ import annotations

from collections.abc import Mapping

from .kernel import Expr, Kernel, KernelCall
from .levels import Levels

INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "less": "<",
    "less-equal": "<=",
    "greater": ">",
    "greater-equal": ">=",
    "equal": "==",
    "not-equal": "!=",
    "logical-and": "&&",
    "logical-or": "||",
}


def dump(kernel: Kernel, title: str = "kernel", names: Mapping[int, str] | None = None) -> str:
    """Text of a kernel; `names`: what an operand is called, by its number."""
    return "\n".join(Dump(kernel, names or {}).lines(title)) + "\n"


def dump_call(call: KernelCall, names: Mapping[int, str] | None = None) -> str:
    """A call: sizes of the outer axes and the kernel. `names`: of storages."""
    known = names or {}
    operands = {i: known.get(s, f"s{s}") for i, s in enumerate(call.operands)}
    sizes = " x ".join(map(str, call.outer))
    kind = "commit" if call.commit else "fold" if call.kernel.folded else "rows"
    return dump(call.kernel, f"{kind} {sizes}", operands)


class Dump:
    """One kernel being written out."""

    def __init__(self, kernel: Kernel, names: Mapping[int, str]) -> None:
        self.kernel = kernel
        self.levels = Levels(kernel)
        self.names = {i: names.get(i, f"p{i}") for i in range(len(kernel.operands))}
        uses = [a for e in range(len(kernel.expressions)) for a in self.levels.arguments(e)]
        self.shared = {e for e in uses if uses.count(e) > 1}
        self.texts: dict[int, str] = {}

    def lines(self, title: str) -> list[str]:
        given = ", ".join(f"{o.dtype} {self.names[i]}" for i, o in enumerate(self.kernel.operands))
        found = [f"{title} ({given}):"]
        for loop in range(len(self.levels.loops)):
            found += self._loop(loop)
        for s in range(len(self.kernel.stores)):
            if self.levels.is_scalar(s):
                found.append("  " + self._store(s))
        return found

    def _loop(self, loop: int) -> list[str]:
        if self.kernel.inner == 1:
            return []
        body = [f"    {line}" for line in self._values(loop)]
        for e in self.levels.reductions[loop]:
            x = self.kernel.expressions[e]
            body.append(f"    t{e} {x.op[7:]}= {self._text(x.args[0])}")
        body += [f"    {self._store(s)}" for s in self.levels.stores[loop]]
        return [f"  for j < {self.kernel.inner}:", *body] if body else []

    def _values(self, loop: int) -> list[str]:
        """Values used more than once, with names of their own."""
        found = []
        for e in self.levels.loops[loop]:
            kept = self.levels.kept.get(e)
            if kept is not None and kept < loop:
                found.append(f"t{e} = row{e}[j]")
            elif e in self.shared:
                where = f"row{e}[j] = " if kept == loop else ""
                found.append(f"{where}t{e} = {self._formula(e)}")
        return found

    def _text(self, e: int) -> str:
        x = self.kernel.expressions[e]
        plain = x.op in ("literal", "uniform", "outer-index", "inner-index")
        named = x.op.startswith("reduce-") or (e in self.shared and not self.levels.uniform[e])
        return f"t{e}" if named and not plain else self._formula(e)

    def _formula(self, e: int) -> str:
        if e not in self.texts:
            self.texts[e] = self._of(self.kernel.expressions[e])
        return self.texts[e]

    def _of(self, x: Expr) -> str:
        if x.op == "load":
            assert x.access is not None
            return self._place(x.access)
        if x.op == "literal":
            return repr(x.literal)
        if x.op in ("uniform", "outer-index"):
            return f"{'u' if x.op == 'uniform' else 'i'}{x.slot}"
        if x.op == "inner-index":
            return "j"
        texts = [self._text(a) for a in x.args]
        if x.op in INFIX:
            return f"({texts[0]} {INFIX[x.op]} {texts[1]})"
        name = f"{x.op}.{x.dtype}" if x.op == "cast" else x.op
        return f"{name}({', '.join(texts)})"

    def _place(self, a: int) -> str:
        access = self.kernel.accesses[a]
        parts = ["row"]
        if access.index is not None:
            parts.append(f"@{self._text(access.index)}")
        if access.inner:
            parts.append("j" if access.inner == 1 else "j*s")
        return f"{self.names[access.operand]}[{', '.join(parts)}]"

    def _store(self, s: int) -> str:
        store = self.kernel.stores[s]
        sign = "=" if store.fold == "none" else f"{store.fold}="
        return f"{self._place(store.access)} {sign} {self._text(store.value)}"
