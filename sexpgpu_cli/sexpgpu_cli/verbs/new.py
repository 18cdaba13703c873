"""`new FILE`: a run file from a template, a file or a run, with what is chosen written in.

Nothing is overwritten.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sexpgpu_core.diagnostics import Problem, problem
from sexpgpu_core.registry import Registry
from sexpgpu_core.spans import Source

from .. import files, names
from ..answer import Answer, document
from ..flags import verb
from ..invocation import Invocation


@verb("new", select=True)
@click.argument("file", metavar="NEW.lisp", required=False)
@click.option(
    "--from",
    "origin",
    metavar="TEMPLATE|FILE|RUN",
    default="chars",
    help="What it begins as; chars.",
)
@click.option("--list", "listed", is_flag=True, help="List the templates.")
def new(
    invocation: Invocation, file: str | None, selection: dict[str, Any], origin: str, listed: bool
) -> Answer:
    """Start NEW.lisp from a template, a file or a run. What is chosen becomes its defaults."""
    if listed:
        return templates(invocation.registry)
    if file is None:
        raise problem(
            "E-USAGE-MISSING", "new needs NEW.lisp", hint="sexpgpu new x.lisp --from chars"
        )
    text = source(invocation, origin, selection)
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


def source(invocation: Invocation, origin: str, selection: dict[str, Any]) -> str:
    """The text of a template, of a file, or of a run with what was chosen for it."""
    registry = invocation.registry
    if registry.get("templates", origin) is not None:
        return _chosen(Source(origin, registry.text("templates", origin)[1]), selection)
    if Path(origin).is_file():
        return _chosen(files.read(origin), selection)
    try:
        run = names.run_of(invocation, origin)
    except Problem as unknown:
        if unknown.diagnostic.code != "E-USAGE-RUN":
            raise
        raise registry.missing("templates", origin) from None
    was = run.manifest["selection"]
    same = {"variant": was["variant"], "sets": list(was["set"].items()), "point": was["point"]}
    given = {**same, **{key: value for key, value in selection.items() if value}}
    if selection["sets"]:
        given["sets"] = list({**dict(same["sets"]), **dict(selection["sets"])}.items())
    return _chosen(files.read(str(run.program / "run.lisp")), given, run)


def _chosen(source: Source, selection: dict[str, Any], run: Any = None) -> str:
    """With knobs that are not as the file has them written in, and steps and seed if given."""
    if run is None and not any(selection.values()):
        return source.text
    from sexpgpu_core import api, inspection
    from sexpgpu_core.preset import preset

    where = source
    if run is not None:  # beside its data
        where = Source(str(Path(run.manifest.get("cwd", "."), run.manifest["file"])), source.text)
    loaded = api.load(where, **selection)
    knobs = {k.name: k.text for k in loaded.experiment.knobs.values() if k.text != k.default}
    given = {key: selection[key] for key in ("steps", "seed") if selection.get(key) is not None}
    if run is not None:
        own = {"steps": inspection.steps_of(loaded), "seed": loaded.experiment.run.seed}
        was = {key: run.manifest[key] for key in own if run.manifest[key] != own[key]}
        given = {**was, **given}
    return preset(source, knobs, given)


def templates(registry: Registry) -> Answer:
    """Names and what they are."""
    rows = [registry.get("templates", name) for name in registry.names("templates")]
    told = [{"name": row.name, "doc": row.doc} for row in rows]
    text = "\n".join(f"{row.name:<12} {row.doc}" for row in rows)
    return Answer(document("templates", templates=told), text)
