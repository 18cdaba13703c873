"""What a row of a kernel computes when: levels, loops, and which values are kept between loops.

A value is uniform (one a row) or runs along j. A loop at level L holds the reductions of values of
level L and the stores that need nothing later; a reduction's result has level L + 1.
"""

from __future__ import annotations

from .elements import COST
from .kernel import Expr, Kernel

KEEP = 5
"""A value dearer than this (in additions) is kept in a row buffer, not computed again."""


class Levels:
    """The analysis of one kernel. Lists are by expression, `loops` by level."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.uniform: list[bool] = []
        self.level: list[int] = []
        self.cost: list[int] = []
        for expression in kernel.expressions:
            self._append(expression)
        self.reductions: list[list[int]] = []  # by loop: expressions reduce-*
        self.stores: list[list[int]] = []  # by loop: stores of values that run along j
        self._place()
        self.loops: list[list[int]] = []  # by loop: values to compute in it, in order
        self.kept: dict[int, int] = {}  # value kept in a row buffer -> loop that makes it
        self._close()

    def arguments(self, e: int) -> tuple[int, ...]:
        """What a value is computed from, an access's index included."""
        expression = self.kernel.expressions[e]
        if expression.access is None:
            return expression.args
        index = self.kernel.accesses[expression.access].index
        return expression.args if index is None else (*expression.args, index)

    def _append(self, expression: Expr) -> None:
        e = len(self.level)
        needs = self.arguments(e)
        level = max((self.level[a] for a in needs), default=0)
        reduces = expression.op.startswith("reduce-")
        self.level.append(level + 1 if reduces else level)
        self.uniform.append(reduces or self._is_uniform(expression, needs))
        own = COST.get(expression.op, 1)
        below = sum(self.cost[a] for a in needs if not self.uniform[a])
        self.cost.append(0 if self.uniform[-1] else min(own + below, 10_000))

    def _is_uniform(self, expression: Expr, needs: tuple[int, ...]) -> bool:
        if expression.op == "inner-index":
            return self.kernel.inner == 1
        runs = expression.op == "load" and self.kernel.accesses[expression.access or 0].inner
        return not (runs and self.kernel.inner > 1) and all(self.uniform[a] for a in needs)

    def _place(self) -> None:
        last = 0
        for expression in self.kernel.expressions:
            if expression.op.startswith("reduce-") and self.kernel.inner > 1:
                last = max(last, self.level[expression.args[0]])
        running = [
            (s, self.level[store.value])
            for s, store in enumerate(self.kernel.stores)
            if not self.is_scalar(s)
        ]
        last = max([last, *(level for _, level in running)])
        self.reductions = [[] for _ in range(last + 1)]
        self.stores = [[] for _ in range(last + 1)]
        for e, expression in enumerate(self.kernel.expressions):
            if expression.op.startswith("reduce-") and self.kernel.inner > 1:
                self.reductions[self.level[expression.args[0]]].append(e)
        for s, level in running:
            # What is written in place waits until nothing reads the row any more.
            operand = self.kernel.operands[
                self.kernel.accesses[self.kernel.stores[s].access].operand
            ]
            self.stores[last if operand.alias is not None else level].append(s)

    def is_scalar(self, s: int) -> bool:
        """Whether a store writes one element a row."""
        store = self.kernel.stores[s]
        return self.kernel.inner == 1 or self.kernel.accesses[store.access].inner == 0

    def roots(self, loop: int) -> list[int]:
        """Values a loop is there for."""
        values = [self.kernel.expressions[e].args[0] for e in self.reductions[loop]]
        return values + [self.kernel.stores[s].value for s in self.stores[loop]]

    def _close(self) -> None:
        made: dict[int, int] = {}
        for loop in range(len(self.reductions)):
            seen: set[int] = set()
            stack = self.roots(loop)
            while stack:
                e = stack.pop()
                if e in seen or self.uniform[e]:
                    continue
                seen.add(e)
                if e in made and self.cost[e] > KEEP:
                    self.kept.setdefault(e, made[e])
                else:
                    stack.extend(self.arguments(e))
            self.loops.append(sorted(seen))
            for e in seen:
                made.setdefault(e, loop)
