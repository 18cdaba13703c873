"""A run's events as one live panel on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel as Frame
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from . import units
from .curve import sparkline
from .lines import Event, Silent, describe, eta, metrics, rates


class Panel(Silent):
    """Progress bar, step, time a step, throughput, losses with a sparkline, last pass, ETA."""

    def __init__(self, render: Callable[[list[Any]], str], color: bool) -> None:
        self.render = render
        self.console = Console(stderr=True, no_color=not color, highlight=False)
        self.live = Live(console=self.console, refresh_per_second=8, transient=True)
        self.title = ""
        self.steps: int | None = None
        self.now: Event = {"event": "open", "step": 0, "metrics": {}}
        self.last_pass = "-"
        self.phase = "compiling"
        self.values: dict[str, list[float]] = {}

    def __enter__(self) -> Panel:
        self.live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.live.__exit__(kind, error, at)

    def event(self, event: Event) -> None:
        kind = event["event"]
        if kind in ("open", "resume"):
            self.title = event["run"]
            self.steps = event.get("steps", self.steps)
        elif kind == "step":
            self.now, self.phase = event, "training"
            for name, value in event["metrics"].items():
                self.values.setdefault(name, []).append(units.real(value))
        elif kind == "eval":
            self.last_pass = f"{metrics(event['metrics'])} at step {event['step']:,}"
        elif kind == "warning":
            self.console.print(Text(describe(event, self.steps) or "", style="yellow"))
        self.live.update(self.drawn())

    def warnings(self, diagnostics: list[Any]) -> None:
        if diagnostics:
            self.console.print(Text.from_ansi(self.render(diagnostics)))

    def drawn(self) -> Frame:
        """The panel as it is now."""
        rows = Table.grid(padding=(0, 2))
        rows.add_row("step", self.position())
        for name, values in list(self.values.items())[:4]:
            rows.add_row(name, f"{units.metric(values[-1])}  {sparkline(values)}")
        rows.add_row("last pass", self.last_pass)
        bar = ProgressBar(total=self.steps or 1, completed=self.now["step"], width=60)
        return Frame(Group(bar, rows), title=Text(self.title), title_align="left", expand=False)

    def position(self) -> str:
        """`120/2,000  27.4 ms  28,032 tokens/s  left 0:54`."""
        if self.now["event"] != "step":
            return self.phase
        of = f"/{self.steps:,}" if self.steps else ""
        left = units.duration(eta(self.now, self.steps))
        return "  ".join([f"{self.now['step']:,}{of}", *rates(self.now), f"left {left}"])
