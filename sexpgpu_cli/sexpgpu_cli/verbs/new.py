"""`new FILE`: a run file from a template. Nothing is overwritten."""

from __future__ import annotations

from pathlib import Path

import click

from sexpgpu_core.diagnostics import problem
from sexpgpu_core.registry import Registry

from .. import files
from ..answer import Answer, document
from ..flags import verb
from ..invocation import Invocation


@verb("new")
@click.argument("file", metavar="NEW.lisp", required=False)
@click.option(
    "--from", "origin", metavar="TEMPLATE|FILE", default="chars", help="What it begins as; chars."
)
@click.option("--list", "listed", is_flag=True, help="List the templates.")
def new(invocation: Invocation, file: str | None, origin: str, listed: bool) -> Answer:
    """Start NEW.lisp from a template or from another file. A name without a suffix gets .lisp."""
    if listed:
        return templates(invocation.registry)
    if file is None:
        raise problem(
            "E-USAGE-MISSING", "new needs NEW.lisp", hint="sexpgpu new x.lisp --from chars"
        )
    text = source(invocation.registry, origin)
    file = file if Path(file).suffix else f"{file}.lisp"
    target = Path(file)
    try:
        with target.open("x", encoding="utf-8", newline="\n") as made:
            made.write(text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = "nothing is overwritten: another name" if target.exists() else "another folder"
        raise problem("E-USAGE-FILE", f"{file}: {reason}", hint=hint, file=file) from error
    told = document("new", **{"file": file, "from": origin})
    return Answer(told, f"{file}\nnext: sexpgpu check {file}")


def source(registry: Registry, origin: str) -> str:
    """The text of a template, or of a file."""
    if registry.get("templates", origin) is not None:
        return registry.text("templates", origin)[1]
    if Path(origin).is_file():
        return files.read(origin).text
    raise registry.missing("templates", origin)


def templates(registry: Registry) -> Answer:
    """Names and what they are."""
    rows = [registry.get("templates", name) for name in registry.names("templates")]
    told = [{"name": row.name, "doc": row.doc} for row in rows]
    text = "\n".join(f"{row.name:<12} {row.doc}" for row in rows)
    return Answer(document("templates", templates=told), text)
