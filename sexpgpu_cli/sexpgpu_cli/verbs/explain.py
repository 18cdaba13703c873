"""`explain FILE`: what the compiler made of it. `explain CODE`: the page of a code."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from textwrap import indent
from typing import Any

import click

from sexpgpu_core.diagnostics import Code, Problem, catalogue, nearest, problem
from sexpgpu_core.diagnostics.example import example
from sexpgpu_core.diagnostics.facts import facts_line, facts_of
from sexpgpu_core.records import NamedTuple

from .. import explain_text, files, names
from ..answer import Answer, bounded, cut, document
from ..flags import verb
from ..invocation import Invocation

PLACES = {"body": ", in a model of x, f32 (8 64)", "run": ", when the file runs"}
"""Where an example of a frame stands, if not in a file of its own."""


FLAGS = "--device, --gpu, --section, --path, --passes and --resume are of a FILE"
SECTIONS = (
    *("parameters", "groups", "scopes", "memory", "kernels", "passes", "numerics", "dependence"),
)
LISTS = (*SECTIONS, "patterns", "not_fused", "missing")


class Asked(NamedTuple):
    """What of a file: `sections` none for all."""

    device: str | None
    gpu: str
    sections: tuple[str, ...]
    path: str | None
    passes: bool
    resume: str | None

    @property
    def named(self) -> tuple[str, ...]:
        """Sections whose rows are not to be few."""
        more = ("passes",) if self.passes else ()
        whole = SECTIONS if self.path is not None and not self.sections else self.sections
        return (*whole, *more)

    def whole(self, invocation: Invocation) -> bool:
        return not self.named and invocation.limit != 0


@verb("explain", select=True)
@click.argument("name", metavar="FILE|CODE")
@click.option("--device", metavar="NAME", help="Compile for that device; default cpu.")
@click.option("--gpu", metavar="NAME", default="", help="With --device cuda: H200 H100 A100.")
@click.option(
    "--section", "sections", multiple=True, type=click.Choice(SECTIONS), help="Only these; several."
)
@click.option("--path", metavar="GLOB", help="Only what is of these scopes and parameters.")
@click.option("--passes", is_flag=True, help="What each pass of the compiler did as well.")
@click.option(
    "--resume",
    metavar="RUN[@STEP]",
    type=names.SAVE,
    help="Which parameters would go on from there, and which begin anew.",
)
def explain(
    invocation: Invocation,
    name: str,
    selection: dict[str, Any],
    device: str | None,
    gpu: str,
    sections: tuple[str, ...],
    path: str | None,
    passes: bool,
    resume: str | None,
) -> Answer:
    """Say what the compiler made of FILE, or what CODE means and what to do about it."""
    asked = Asked(device, gpu, sections, path, passes, resume)
    if _is_file(name):
        return _file(invocation, name, selection, asked)
    if asked != (None, "", (), None, False, None):
        raise problem("E-USAGE-VALUE", f"{name} is a code: of it there is one page", hint=FLAGS)
    return page(invocation, find(name))


def _is_file(name: str) -> bool:
    return name == "-" or name.endswith(".lisp") or Path(name).is_file()


def _file(invocation: Invocation, name: str, selection: dict[str, Any], asked: Asked) -> Answer:
    from sexpgpu_core import inspection

    source = files.read(name) if name == "-" else name
    saved = names.save_of(invocation, asked.resume)[1] if asked.resume is not None else None
    chosen_by = {"device_name": asked.device, "model": asked.gpu, "saved": saved, **selection}
    found = inspection.explanation(source, **chosen_by)
    chosen = [s for s in found["sections"] if not asked.sections or s in asked.sections]
    shown = {k: v for k, v in found.items() if k not in found["sections"] or k in chosen}
    shown["sections"] = chosen
    for key in ("parameters", "scopes", "kernels", "numerics"):
        if asked.path is not None and key in shown:
            shown[key] = [row for row in shown[key] if _below(row, asked.path)]
    if asked.path is not None and not any(shown.get(key) for key in ("parameters", "scopes")):
        raise _no_path(asked.path, found)
    lists = {k: cut(shown[k], invocation.limit) for k in LISTS if k in shown}
    left = {key: more for key, (_, more) in lists.items() if more}
    told = document("explain", file=name, **shown)
    told.update((key, rows) for key, (rows, _) in lists.items())
    lines = explain_text.lines(shown if asked.whole(invocation) else told, asked.named)
    again = invocation.whole()
    if left:
        told.update(omitted=left, more=again)
        if asked.named:
            lines.append(f"... {sum(left.values())} more rows: {again}")
    return Answer(told, bounded("\n".join(lines), again, invocation.limit))


def _below(row: dict[str, Any], glob: str) -> bool:
    """Whether a row is of a scope or a parameter that a glob matches, or of one inside it."""
    path = row.get("path", row.get("scope", ""))
    return any(fnmatchcase(part, glob) for part in _around(path))


def _around(path: str) -> list[str]:
    words = path.split("/")
    return ["/".join(words[: n + 1]) for n in range(len(words))]


def _no_path(glob: str, found: dict[str, Any]) -> Problem:
    paths = [
        row.get("path", row.get("scope")) for k in ("scopes", "parameters") for row in found[k]
    ]
    near = nearest(glob, paths)
    hint = f"did you mean {near}?" if near else f"there are: {' '.join(paths[:8])}"
    return problem("E-USAGE-VALUE", f"no scope or parameter matches {glob}", hint=hint)


def find(code: str) -> Code:
    """The row of a code, in any case."""
    known = catalogue()
    row = known.get(code.upper())
    if row is None:
        near = nearest(code, known)
        hint = f"did you mean {near}?" if near else "sexpgpu docs errors lists all codes"
        raise problem("E-USAGE-VALUE", f"no code is named {code}", hint=hint, nearest=near)
    return row


def page(invocation: Invocation, row: Code) -> Answer:
    """A code's page with its example, ours or that of the plug-in that it is from."""
    added = invocation.registry.get("codes", row.code)
    shown = added if added is not None else example(row.code)
    wrong, right = (shown.wrong, shown.right) if shown is not None else ("", "")
    told = document("code", **row._asdict(), wrong=wrong, right=right)
    told["edit"] = row.edit
    lines = [f"{row.severity}[{row.code}]: {row.title}", "", row.meaning, "", f"help: {row.fix}"]
    if facts := facts_of(row.code):
        told["facts"] = facts
        lines += ["", facts_line(row.code)]
    if wrong:
        where = PLACES.get(getattr(shown, "frame", ""), "")
        lines += ["", f"Wrong{where}:", indent(wrong, "  "), "Right:", indent(right, "  ")]
        for name, beside in getattr(shown, "files", {}).items():
            lines += [f"{name}:", indent(beside.rstrip(), "  ")]
    else:
        lines += ["", "Nothing raises it yet."]
    owner = invocation.registry.owner("codes", row.code)
    if owner is not None:
        told["distribution"] = owner
        lines += ["", f"From {owner}."]
    return Answer(told, "\n".join(lines))
