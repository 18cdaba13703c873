"""`annotate RUN TEXT`: a note among the run's events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from .. import names
from ..answer import Answer
from ..flags import verb
from ..invocation import Invocation

if TYPE_CHECKING:
    from sexpgpu_core.runtime.runs import Run


@verb("annotate")
@click.argument("run", metavar="RUN", type=names.RUN)
@click.argument("text", metavar="TEXT")
def annotate(invocation: Invocation, run: str, text: str) -> Answer:
    """Add TEXT to RUN's events: a live run writes it between two steps. Says its seq."""
    from sexpgpu_core.runtime import afterwards

    found = names.own_run_of(invocation, run)
    event = asked(found, text) if found.live else None
    if event is None:
        event = afterwards.annotate(found.path, text)
    where = f"seq {event['seq']}, step {event['step']:,}"
    return Answer(dict(event), f"{found.path.name}: {where}")


def asked(run: Run, text: str) -> Mapping[str, Any] | None:
    """The event that the run's own process wrote, or None where it ended before it did."""
    from sexpgpu_core.runtime import control
    from sexpgpu_core.runtime.watch import Watch

    watch = Watch(run)
    watch.look()
    request = control.ask(run.path, "annotate", text=text, by="cli")
    for events in watch.wait(None):
        for event in events:
            if event["event"] == "annotation" and event["text"] == text:
                return event
    try:
        request.unlink()
    except OSError:  # taken up, and the process died before it wrote
        return None
    return None
