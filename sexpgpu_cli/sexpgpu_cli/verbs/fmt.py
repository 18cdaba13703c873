"""`fmt FILE...`: files in the one layout. A file that does not read stays as it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from sexpgpu_core.diagnostics import Diagnostic, Problem, Problems, problem
from sexpgpu_core.records import NamedTuple
from sexpgpu_core.registry import Registry
from sexpgpu_core.spans import Source

from .. import files
from ..answer import Answer, bounded, cut, document
from ..failure import exit_of
from ..flags import verb
from ..invocation import Invocation
from ..rewriting import difference, replace


class Laid(NamedTuple):
    """A file's text as it is and in its layout. `changed`: its bytes are other than `after`."""

    name: str
    before: str
    after: str
    changed: bool


@verb("fmt")
@click.argument("names", metavar="FILE...", nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@click.option("--stdin-name", metavar="PATH", help="What - is called, and where its requires are.")
def fmt(
    invocation: Invocation, names: tuple[str, ...], check: bool, diff: bool, stdin_name: str | None
) -> Answer:
    """Lay files out in the one layout, and name those that changed. The text of -: to stdout."""
    if "-" in names and len(names) > 1:
        raise problem("E-USAGE-VALUE", "fmt takes - alone", hint="sexpgpu fmt - < FILE")
    laid, errors = _laid(invocation.registry, names, stdin_name)
    changed = [file for file in laid if file.changed]
    if not (check or diff):
        errors += _written(file for file in changed if names != ("-",))
    if errors:
        _tell(invocation, errors)
    code = exit_of(errors) or int(check and bool(changed))
    if names == ("-",) and not (check or diff):
        text = laid[0].after if laid else ""
        listed = [file.name for file in changed]
        return Answer(document("fmt", changed=listed, text=text), text, code)
    again = invocation.beside("fmt", *names, "--diff" if diff else "--check")
    return _told(changed, diff, again, invocation.limit)._replace(exit=code)


def _told(changed: list[Laid], diff: bool, again: str, limit: int) -> Answer:
    """The files that are not in the layout, or what would change in them."""
    listed, left = cut(changed, limit)
    told = document("fmt", changed=[file.name for file in listed])
    text = "\n".join(file.name for file in changed)
    if diff:
        told["diff"] = "".join(difference(f.name, f.before, f.after) for f in listed)
        text = "".join(difference(f.name, f.before, f.after) for f in changed)
    if left:
        told.update(omitted={"changed": left}, more=again)
    return Answer(told, bounded(text, again, limit))


def _laid(
    registry: Registry, names: tuple[str, ...], stdin_name: str | None
) -> tuple[list[Laid], list[Diagnostic]]:
    """The files that read, and what is wrong with the others."""
    laid: list[Laid] = []
    errors: list[Diagnostic] = []
    for name in names:
        try:
            laid.append(_layout(registry, name, stdin_name))
        except Problem as error:
            errors.append(error.diagnostic)
        except Problems as several:
            errors += several.diagnostics
    return laid, errors


def _layout(registry: Registry, name: str, stdin_name: str | None) -> Laid:
    from sexpgpu_core.reader.layout_check import checked_layout
    from sexpgpu_core.reader.layout_macros import visible_macros

    source = files.read(name, stdin_name)
    macros = visible_macros(source.text, lambda wanted: _module(registry, source, wanted))
    text = checked_layout(source, macros)
    kept = source.text == text if name == "-" else Path(name).read_bytes() == text.encode()
    return Laid(source.name, source.text, text, not kept)


def _module(registry: Registry, source: Source, name: str) -> str | None:
    """The text of a module that a file requires; None where it is not to be had."""
    try:
        if name.startswith((".", "/")):
            folder = Path() if source.name == "-" else Path(source.name).parent
            return (folder / name).read_text(encoding="utf-8")
        return registry.text("modules", name)[1]
    except (Problem, OSError, ValueError):
        return None


def _written(changed: Iterator[Laid]) -> list[Diagnostic]:
    """Write files whole or not at all; what could not be written."""
    errors: list[Diagnostic] = []
    for file in changed:
        try:
            replace(Path(file.name).resolve(), file.after.encode())
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            message = f"{file.name}: {reason}"
            errors.append(problem("E-USAGE-FILE", message, file=file.name).diagnostic)
    return errors


def _tell(invocation: Invocation, errors: list[Diagnostic]) -> None:
    """What is wrong, on stderr; as the document `error` under --json."""
    if invocation.json:
        raise Problems(errors)
    from sexpgpu_core.diagnostics.render_text import render_all

    color = invocation.colored(sys.stderr)
    sys.stderr.write(render_all(errors, color=color, limit=invocation.limit) + "\n")
