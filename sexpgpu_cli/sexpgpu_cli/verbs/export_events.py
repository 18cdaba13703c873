"""`export-events RUN --to SINK`: a run's events, given to a sink from the file."""

from __future__ import annotations

import click

from sexpgpu_core.diagnostics import problem

from .. import names
from ..answer import Answer, document
from ..flags import verb
from ..invocation import Invocation


@verb("export-events")
@click.argument("run", metavar="RUN", type=names.RUN)
@click.option("--to", required=True, metavar="SINK[:K=V,...]", help="tensorboard:path=DIR, ...")
def export_events(invocation: Invocation, run: str, to: str) -> Answer:
    """Give RUN's events to a sink: csv:path=FILE, jsonl:path=FILE, tensorboard:path=DIR, or a
    plug-in's. Those that a resume dropped are left out."""
    from sexpgpu_core import api
    from sexpgpu_core.chosen import sinks_of
    from sexpgpu_core.runtime import events

    found = names.run_of(invocation, run)
    (opened,) = sinks_of(api.plugins(), [to]).values()
    told = events.current(events.read(found.path / "events.jsonl"))
    try:
        sink = opened()
        for event in told:
            sink.event(event)
        sink.close()
    except Exception as raised:
        raise problem("E-USAGE-VALUE", f"sink {to}: {_why(raised)}", sink=to) from raised
    text = f"{len(told):,} events of {found.path.name} to {to}"
    return Answer(document("export-events", sink=to, run=found.path.name, events=len(told)), text)


def _why(raised: Exception) -> str:
    """What a file system refused, in its words; of any other mistake its class as well."""
    if isinstance(raised, OSError) and raised.strerror:
        return f"{raised.filename}: {raised.strerror}"
    return f"{type(raised).__name__}: {raised}"
