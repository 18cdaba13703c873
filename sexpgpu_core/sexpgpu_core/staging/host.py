"""What staging hangs on the evaluator: the declarations being collected and the trace going on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, diagnostic, problem
from ..evaluator import machine

if TYPE_CHECKING:
    from .collector import Collector
    from .tracer import Tracer


class Host:
    """One an evaluator. `tracer` is set while a contract function is called."""

    __slots__ = ("batches", "collector", "context", "models", "tracer")

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.tracer: Tracer | None = None
        self.batches: Mapping[str, Any] | None = None  # loaders by name, where a form may ask them
        self.context: Any = None  # a context.Context outside of traces: counters, curriculum
        self.models: dict[int, tuple[Any, Any]] = {}  # of functions, kept: no id comes again


def host() -> Host:
    """The host of the evaluator that runs now."""
    found = machine.current().host if machine.running() else None
    if not isinstance(found, Host):
        raise problem(
            "E-STAGE-OUTSIDE", "a form of run files stands where no run file is being read"
        )
    return found


def tracer(name: str) -> Tracer:
    """The trace that goes on; E-STAGE-OUTSIDE where nothing is traced."""
    at = machine.current().host if machine.running() else None
    found = at.tracer if isinstance(at, Host) else None
    if found is None:
        raise problem(
            "E-STAGE-OUTSIDE",
            f"{name} stands where nothing is traced",
            hint="call it from objective, prepare, evaluate or a model that they call",
            name=name,
        )
    return found


def warn(code: str, message: str, **rest: Any) -> None:
    """A warning at the call being made, once a place: in a module, at the file's call of it."""
    from .origins import called_from_file

    evaluator = machine.current()
    found: Diagnostic = diagnostic(code, message, span=called_from_file(), **rest)
    if all(
        (d.code, d.span, d.message) != (code, found.span, message) for d in evaluator.diagnostics
    ):
        evaluator.warn(found)
