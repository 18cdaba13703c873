"""`eval FILE FORM`: a form's values in a file's environment."""

from __future__ import annotations

from typing import Any

import click

from sexpgpu_core.diagnostics import problem

from .. import files
from ..answer import Answer, bounded, document
from ..flags import verb
from ..invocation import Invocation


@verb("eval", select=True)
@click.argument("file", metavar="FILE")
@click.argument("form", metavar="FORM")
@click.option("--run", is_flag=True, help="Compute tensors: their elements, not their types.")
@click.option(
    "--print-length", "length", type=click.IntRange(0), metavar="N", help="Of a list; 0 is all."
)
@click.option("--expand", is_flag=True, help="Expand FORM's macro once instead of evaluating it.")
@click.option("--stdin-name", metavar="PATH", help="What - is called, and where its requires are.")
def evaluate(
    invocation: Invocation,
    file: str,
    form: str,
    selection: dict[str, Any],
    run: bool,
    length: int | None,
    expand: bool,
    stdin_name: str | None,
) -> Answer:
    """Evaluate FORM after FILE and print its values, one a line; what it prints goes to stderr.
    Parameters and states have the values that they begin with."""
    from sexpgpu_core import inspection

    if run and expand:
        raise problem("E-USAGE-VALUE", "--expand evaluates nothing, so there is nothing to --run")
    source = files.read(file, stdin_name) if file == "-" else file
    printed: list[str] = []
    try:
        values = inspection.evaluate(
            source, form, expand=expand, run=run, length=length, written=printed.append, **selection
        )
    finally:
        if text := "".join(printed):
            invocation.say(text.rstrip("\n"))
    told = [{"text": text, "type": type_} for text, type_ in values]
    text = "\n".join(text for text, _ in values)
    shown = bounded(text, invocation.whole(), invocation.limit)
    return Answer(document("eval", values=told), shown)
