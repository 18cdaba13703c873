"""`eval FILE FORM`: a form's values in a file's environment."""

from __future__ import annotations

from typing import Any

import click

from .. import files
from ..answer import Answer, bounded, document
from ..flags import verb
from ..invocation import Invocation


@verb("eval", select=True)
@click.argument("file", metavar="FILE")
@click.argument("form", metavar="FORM")
@click.option("--expand", is_flag=True, help="Expand FORM's macro once instead of evaluating it.")
def evaluate(
    invocation: Invocation, file: str, form: str, selection: dict[str, Any], expand: bool
) -> Answer:
    """Evaluate FORM after FILE and print its values, one a line."""
    from sexpgpu_core import api

    source = files.read(file) if file == "-" else file
    values = api.evaluate(source, form, expand=expand, **selection)
    told = [{"text": text, "type": type_} for text, type_ in values]
    again = f"sexpgpu eval {file} FORM --limit 0"
    shown = bounded("\n".join(text for text, _ in values), again, invocation.limit)
    return Answer(document("eval", values=told), shown)
