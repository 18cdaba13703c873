"""The live panel: what it shows after each event."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from sexpgpu_cli.panel import Panel
from sexpgpu_core.diagnostics import diagnostic


def shown(panel: Panel) -> str:
    console = Console(width=100, color_system=None)
    with console.capture() as capture:
        console.print(panel.drawn())
    return capture.get()


def event(kind: str, step: int, **keys: Any) -> dict[str, Any]:
    return {"v": 1, "event": kind, "run": "chars-a530c5", "step": step, **keys}


def test_the_panel_follows_a_run_from_compiling_to_its_last_pass() -> None:
    panel = Panel(lambda found: found[0].message, color=False)
    panel.console = panel.live.console = Console(quiet=True)
    with panel:
        panel.event(event("open", 0, steps=2000))
        assert "compiling" in shown(panel)
        rates = {"step_s": 0.02, "per_s": {"tokens": 38400.0}}
        for step, loss in ((10, 4.0), (20, 3.0)):
            panel.event(event("step", step, metrics={"train/loss": loss}, throughput=rates))
        panel.event(event("eval", 20, metrics={"val/loss": 3.5}))
        panel.event(
            event(
                "warning", 20, diagnostic={"severity": "warning", "code": "W-X", "message": "slow"}
            )
        )
        panel.warnings([diagnostic("W-UNUSED", "x is never used")])
        panel.event(event("a-kind-of-tomorrow", 20))
    text = shown(panel)
    assert "chars-a530c5" in text
    assert "20/2,000  20.0 ms  38,400 tokens/s  left 0:40" in text
    assert "3.0000  █▁" in text
    assert "val/loss 3.5000 at step 20" in text
