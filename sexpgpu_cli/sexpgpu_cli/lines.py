"""A run's events as plain lines on stderr: for logs, pipes and programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from . import units

Event = Mapping[str, Any]


class Silent:
    """Shows nothing. What every progress display looks like."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        return None

    def began(self, folder: Path) -> None:
        """The run's folder is there and locked."""

    def event(self, event: Event) -> None:
        """A line that was just written to events.jsonl."""

    def warnings(self, diagnostics: list[Any]) -> None:
        """Warnings of the compiler, before the first step."""


class Lines(Silent):
    """One line an event, through `say`."""

    def __init__(self, say: Callable[[str], None], render: Callable[[list[Any]], str]) -> None:
        self.say = say
        self.render = render
        self.steps: int | None = None

    def __enter__(self) -> Lines:
        return self

    def event(self, event: Event) -> None:
        line = describe(event, self.steps)
        if event["event"] == "open":
            self.steps = event.get("steps")
        if line:
            self.say(line)

    def warnings(self, diagnostics: list[Any]) -> None:
        if diagnostics:
            self.say(self.render(diagnostics))


def describe(event: Event, steps: int | None) -> str | None:
    """One event in one line; None for kinds that are not worth one."""
    writer = _WRITERS.get(event["event"])
    return writer(event, steps) if writer is not None else None


def metrics(values: Mapping[str, Any]) -> str:
    """`train/loss 2.3101  train/accuracy 0.3120`."""
    return "  ".join(f"{name} {units.metric(value)}" for name, value in told(values).items())


def told(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without an objective that reads as one of the other metrics: it says nothing more."""
    shown = {name: units.metric(value) for name, value in values.items()}
    rest = [text for name, text in shown.items() if not name.endswith("/objective")]
    return {n: v for n, v in values.items() if not (n.endswith("/objective") and shown[n] in rest)}


def _open(event: Event, steps: int | None) -> str:
    return str(event["run"])


def _resume(event: Event, steps: int | None) -> str:
    return f"{event['run']}: resumed at step {event['step']:,}"


def _compile(event: Event, steps: int | None) -> str:
    cached = f", {event['cached']} from the cache" if event.get("cached") else ""
    made = f": {event['kernels']} kernels{cached}" if event.get("kernels") else ""
    return f"compiled {event['graph']} in {units.duration(event['duration_s'])}{made}"


def _step(event: Event, steps: int | None) -> str:
    of = f"/{steps:,}" if steps else ""
    parts = [f"step {event['step']:,}{of}", metrics(event["metrics"])]
    return "  ".join([*parts, *rates(event), *_eta(event, steps)])


def rates(event: Event) -> list[str]:
    """Milliseconds a step and what is done a second."""
    throughput = event.get("throughput", {})
    found = []
    if throughput.get("step_s") is not None:
        found.append(f"{throughput['step_s'] * 1e3:.1f} ms")
    per = throughput.get("per_s") or {"examples": throughput.get("examples_per_s")}
    found += [f"{n:,.0f} {name}/s" for name, n in per.items() if n is not None]
    return found


def eta(event: Event, steps: int | None) -> float | None:
    """Seconds that are left, by the last step's time."""
    took = event.get("throughput", {}).get("step_s")
    return (steps - event["step"]) * took if steps and took else None


def _eta(event: Event, steps: int | None) -> list[str]:
    left = eta(event, steps)
    return [] if left is None else [f"left {units.duration(left)}"]


def _eval(event: Event, steps: int | None) -> str:
    return f"step {event['step']:,}  {metrics(event['metrics'])}"


def _warning(event: Event, steps: int | None) -> str:
    told = event["diagnostic"]
    return f"{told['severity']}[{told['code']}]: {told['message']}"


_WRITERS: dict[str, Callable[[Event, int | None], str]] = {
    "open": _open,
    "resume": _resume,
    "compile": _compile,
    "step": _step,
    "eval": _eval,
    "warning": _warning,
}
