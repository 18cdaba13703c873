"""The state of one evaluation: fuel, depth, definitions, handlers; and the stack that it runs on.

Limits are counts, never clocks, so a file gives the same answer on every machine.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..diagnostics import Diagnostic, Expansion, Problem, problem
from ..reader import chain_of, span_of
from ..records import NamedTuple
from ..spans import Span
from .definitions import BUILTINS, NATIVE_MACROS
from .values import UNBOUND, Function, Symbol, Value
from .written import Written

if TYPE_CHECKING:
    from .evaluator import Evaluator

Result = TypeVar("Result")

STACK_BYTES = 512 << 20
FRAME_WORDS = (1 << 21) + 1024
CLEANUP_STEPS = 20_000
SAMPLES = 500


class Limits(NamedTuple):
    """Counts at which evaluation stops; [limits] of sexpgpu.toml sets each.

    A step is about one form evaluated: a call costs as many as its function's body has, a turn of
    a loop as many as the loop's has. `cells`: conses, elements, characters that one call makes;
    `bits`: of an integer; `nodes`: of a graph.
    """

    steps: int = 20_000_000
    depth: int = 10_000
    cells: int = 10_000_000
    bits: int = 1 << 20
    nodes: int = 200_000


class Cell:
    """What a global function name means now. `call` raises E-NAME-FUNCTION while `function` is
    None.

    While a definition waits (evaluator.waiting) both slots are empty: who reads one evaluates it.
    """

    __slots__ = ("call", "function", "name", "poisoned", "span", "waits")

    def __init__(self, name: Value) -> None:
        self.name = name  # a symbol, or (setf symbol)
        self.function: Function | None = None
        self.poisoned = False
        self.span: Span | None = None  # of its definition in a file
        self.call: Callable[..., Value] = self.undefined

    def undefined(self, *_: Value) -> Value:
        from .mistakes import undefined_function

        raise undefined_function(self)

    def define(self, function: Function) -> None:
        self.function = function
        self.call = function.call
        self.poisoned = False

    def clear(self) -> None:
        """No function of that name (fmakunbound)."""
        self.function = None
        self.call = self.undefined

    @property
    def defined(self) -> bool:
        """Whether a function of that name is there or waits."""
        return hasattr(self, "waits") or self.function is not None

    def wait(self, define: Callable[[], None]) -> None:
        """Let `define` define the function once it is asked for."""
        del self.function, self.call
        self.waits = define

    if not TYPE_CHECKING:

        def __getattr__(self, slot: str) -> Any:
            if slot not in ("function", "call"):
                raise AttributeError(slot)
            define = self.waits
            del self.waits
            self.clear()
            define()
            return getattr(self, slot)


class Machine:
    """Counters and tables that compiled code reads. One file and what it requires share one."""

    __slots__ = (
        "call_form", "catchers", "cells", "core_values", "depth", "depth_limit", "diagnostics",
        "exhausted", "fuel", "fuel_left", "handlers", "host", "limits", "macros", "may_redefine",
        "module", "output",
        "poisoned_variables", "refuel_step", "restarts", "samples", "setf_cells",
        "setf_expanders", "symbol_macros",
    )  # fmt: skip

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.depth = 0
        self.depth_limit = limits.depth
        self.fuel = 0
        self.exhausted = False  # out of steps: what runs now are cleanups
        self.fuel_left = limits.steps
        self.samples: dict[str, int] = {}
        self.call_form: Value = None  # of the staged call being made
        self.handlers: Any = None  # innermost cluster: (bindings, outer)
        self.restarts: Any = None
        self.catchers: list[Any] = []
        self.cells: dict[Symbol, Cell] = {}
        self.setf_cells: dict[Symbol, Cell] = {}
        self.core_values: dict[Symbol, Value] = {}  # while another evaluator runs, or none
        self.macros: dict[Symbol, Callable[[Value, Any], Value]] = {}
        self.symbol_macros: dict[Symbol, Value] = {}
        self.module: Any = None
        self.may_redefine = False
        self.setf_expanders: dict[Symbol, Any] = {}
        self.poisoned_variables: set[Symbol] = set()
        self.diagnostics: list[Diagnostic] = []
        self.output = Written(limits.cells)
        self.host: Any = None
        self.refuel_step = max(1, limits.steps // SAMPLES)
        self.add_fuel("")

    @property
    def call_span(self) -> Span | None:
        """Where the staged call being made was written, or the macro call that made it."""
        return span_of(self.call_form)

    @property
    def expansion(self) -> tuple[Expansion, ...]:
        """The macro calls that made the staged call being made."""
        return chain_of(span_of(self.call_form))

    def cell(self, symbol: Symbol) -> Cell:
        """The function cell of a name, made if it is not there."""
        found = self.cells.get(symbol)
        if found is None:
            found = self.cells[symbol] = Cell(symbol)
            if symbol.home == "" and (builtin := BUILTINS.get(symbol.name)):
                found.define(builtin.in_evaluation())
        return found

    def setf_cell(self, symbol: Symbol, name: Value) -> Cell:
        """The cell of the function named `(setf symbol)`; `name` is that list."""
        found = self.setf_cells.get(symbol)
        if found is None:
            found = self.setf_cells[symbol] = Cell(name)
            if symbol.home == "" and (builtin := BUILTINS.get(f"(SETF {symbol.name})")):
                found.define(builtin.in_evaluation())
        return found

    def macro(self, symbol: Symbol) -> Callable[[Value, Any], Value] | None:
        """The global expander (form, environment) -> form of a name."""
        found = self.macros.get(symbol)
        if found is None and symbol.home == "":
            return NATIVE_MACROS.get(symbol.name)
        return found

    def keep(self, name: Symbol) -> None:
        """What this file gives to a name of core's as its value is for no other file."""
        if name.home == "" and name.value is UNBOUND:
            self.core_values.setdefault(name, UNBOUND)

    def value(self, name: Symbol) -> Value:
        """A variable's value here, whichever evaluator runs."""
        away = not running() or current() is not self
        return self.core_values.get(name, name.value) if away else name.value

    def define_variable_value(self, name: Symbol, value: Value) -> Symbol:
        """A global variable's value, from a definition."""
        name.special = True
        name.value = value
        self.poisoned_variables.discard(name)
        return name

    def warn(self, diagnostic: Diagnostic) -> None:
        """Note a warning."""
        self.diagnostics.append(diagnostic)

    def add_fuel(self, name: str, span: Span | None = None) -> None:
        """Called when fuel is below 0: notes who was running, and stops at the limit of steps."""
        shown = self._placed(name, span)
        portions = max(1, -(self.fuel // self.refuel_step))
        if name:
            self.samples[shown] = self.samples.get(shown, 0) + portions
        portion = min(portions * self.refuel_step, self.fuel_left)
        self.fuel_left -= portion
        self.fuel += portion
        if self.fuel < 0:
            raise self._out_of_steps()

    def _placed(self, name: str, span: Span | None) -> str:
        if span is None:
            return name
        here = self.module is None or span.source.name == self.module.path
        return f"{name} ({'line ' if here else span.source.name + ':'}{span.line})"

    def spend(self, steps: int, name: str, span: Span | None = None) -> None:
        """What a builtin costs that does the work of `steps` steps."""
        self.fuel -= steps
        if self.fuel < 0:
            self.add_fuel(name, span)

    def _out_of_steps(self) -> Problem:
        self.fuel = 0
        if not self.exhausted:  # cleanups get a little more, once
            self.exhausted = True
            self.fuel_left = self.refuel_step = CLEANUP_STEPS
        busiest = sorted(self.samples.items(), key=lambda item: -item[1])[:3]
        total = sum(self.samples.values()) or 1
        shares = [(name, 100 * count // total) for name, count in busiest]
        told = ", ".join(f"{name} {share} %" for name, share in shares if share)
        return problem(
            "E-LIMIT-STEPS",
            f"stopped after {self.limits.steps:,} steps" + (f": most in {told}" if told else ""),
            busiest=[name for name, _ in busiest],
            limit=self.limits.steps,
        )

    def reset_limits(self) -> None:
        """Before a call from outside: full counts again."""
        self.fuel, self.fuel_left, self.exhausted = 0, self.limits.steps, False
        self.refuel_step = max(1, self.limits.steps // SAMPLES)
        self.samples.clear()
        self.add_fuel("")


class _Deep(threading.local):
    running: Any = None


_deep = _Deep()
_alone = threading.Lock()  # loaders call functions from threads of their own
_current: list[Any] = []


def current() -> Evaluator:
    """The evaluator that is running."""
    found: Evaluator = _current[-1]
    return found


def running() -> bool:
    """Whether an evaluator is running."""
    return bool(_current)


def run_deep(machine: Any, work: Callable[[], Result]) -> Result:
    """`work()` with `machine` as the current one, on a stack that no allowed recursion can
    exhaust.
    """
    if _deep.running:
        return _with_current(machine, work)
    outcome: list[Any] = []

    def body() -> None:
        _deep.running = True
        try:
            outcome.append((_roomy(machine, work), None))
        except BaseException as error:
            outcome.append((None, error))

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000_000))
    with _alone:
        before = threading.stack_size(STACK_BYTES)
        try:
            thread = threading.Thread(target=body, name="evaluator", daemon=True)
            thread.start()
        finally:
            threading.stack_size(before)
        try:
            thread.join()
        except BaseException:
            machine.fuel, machine.fuel_left = 0, 0  # the thread stops at its next step
            raise
    value, error = outcome[0]
    if error is not None:
        raise error
    result: Result = value
    return result


def _roomy(machine: Any, work: Callable[[], Result]) -> Result:
    return _with_current(machine, work)


if sys.version_info >= (3, 11):
    # CPython keeps frames in chunks of 16 KB, and maps and unmaps one whenever calls cross its end:
    # a recursion that stood there took 2 to 5 times as long. A frame that asks for FRAME_WORDS gets
    # a chunk twice as large, in whose other half the frames of some ten thousand calls find room.
    _roomy.__code__ = _roomy.__code__.replace(co_stacksize=FRAME_WORDS)


def _with_current(machine: Any, work: Callable[[], Result]) -> Result:
    outer = _current[-1] if _current else None
    _hand_over(outer, machine)
    _current.append(machine)
    try:
        return work()
    finally:
        _current.pop()
        _hand_over(machine, outer)


def _hand_over(last: Any, following: Any) -> None:
    """Take the values of names of core's that are one file's away, and set those of another's."""
    if last is following:
        return
    if last is not None:
        for name in last.core_values:
            last.core_values[name], name.value = name.value, UNBOUND
    if following is not None:
        for name, value in following.core_values.items():
            name.value = value
