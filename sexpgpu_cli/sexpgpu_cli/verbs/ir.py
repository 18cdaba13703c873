"""`ir FILE`: the graph as text, which parses back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sexpgpu_core.diagnostics import problem

from .. import files
from ..answer import Answer, bounded, document
from ..flags import verb
from ..invocation import Invocation

PHASES = ("traced", "differentiated", "optimized", "lowered")


@verb("ir", select=True)
@click.argument("file", metavar="FILE")
@click.option("--stage", metavar="NAME", help="A training stage; default the only one.")
@click.option(
    "--graph", metavar="train|PASS|OUTPUT", default="train", help="Training, a pass, or an output."
)
@click.option("--phase", type=click.Choice(PHASES), default="optimized", help="How far; optimized.")
@click.option("--pass", "after", metavar="NAME", help="After that pass of the compiler instead.")
@click.option("--scope", metavar="GLOB", help="Only the lines of these scopes and of those below.")
@click.option("-o", "--out", metavar="PATH", help="Write it whole to a file.")
@click.option("--stdin-name", metavar="PATH", help="What - is called, and where its requires are.")
def ir(
    invocation: Invocation,
    file: str,
    selection: dict[str, Any],
    stage: str | None,
    graph: str,
    phase: str,
    after: str | None,
    scope: str | None,
    out: str | None,
    stdin_name: str | None,
) -> Answer:
    """Print the graph of FILE: the first 2 KB, unless -o or --limit 0."""
    from sexpgpu_core import inspection

    source = files.read(file, stdin_name) if file == "-" else file
    text = inspection.graph_text(
        source, stage=stage, graph=graph, phase=phase, after=after, scope=scope, **selection
    )
    if out is not None:
        return _written(text, graph, out)
    shown = bounded(text, invocation.whole(), invocation.limit)
    return Answer(document("ir", graph=graph, phase=phase, text=text), shown)


def _written(text: str, graph: str, out: str) -> Answer:
    try:
        Path(out).write_text(text, encoding="utf-8")
    except OSError as error:
        raise problem("E-USAGE-FILE", f"{out}: {error.strerror}", file=out) from error
    return Answer(document("ir", graph=graph, file=out), out)
