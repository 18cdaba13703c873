"""`explain FILE`: what the compiler made of it. `explain CODE`: the page of a code."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import Any

import click

from sexpgpu_core.diagnostics import Code, catalogue, nearest, problem
from sexpgpu_core.diagnostics.example import example

from .. import files
from ..answer import Answer, cut, document
from ..flags import verb
from ..invocation import Invocation, selection_flags
from ..lowered import lowered
from ..table import table

PLACES = {"body": ", in a model of x, f32 (8 64)", "run": ", when the file runs"}
"""Where an example of a frame stands, if not in a file of its own."""


@verb("explain", select=True)
@click.argument("name", metavar="FILE|CODE")
@click.option("--device", metavar="NAME", help="Compile for that device; default cpu.")
@click.option("--gpu", metavar="NAME", default="", help="With --device cuda: H200 H100 A100.")
@click.option("--passes", is_flag=True, help="What each pass did, also where kernels are shown.")
def explain(
    invocation: Invocation,
    name: str,
    selection: dict[str, Any],
    device: str | None,
    gpu: str,
    passes: bool,
) -> Answer:
    """Say what the compiler made of FILE, or what CODE means and what to do about it."""
    if _is_file(name):
        return _file(invocation, name, selection, device, gpu, passes)
    return page(invocation, find(name))


def _is_file(name: str) -> bool:
    return name == "-" or name.endswith(".lisp") or Path(name).is_file()


def _file(
    invocation: Invocation,
    name: str,
    selection: dict[str, Any],
    device: str | None,
    gpu: str,
    passes: bool,
) -> Answer:
    from sexpgpu_core import inspection

    source = files.read(name) if name == "-" else name
    found = inspection.explanation(source, device_name=device, model=gpu, **selection)
    names = [key for key in ("passes", "patterns", "kernels", "not_fused") if key in found]
    lists = {key: cut(found[key], invocation.limit) for key in names}
    left = {key: more for key, (_, more) in lists.items() if more}
    shown: dict[str, Any] = dict(found)
    shown.update((key, rows) for key, (rows, _) in lists.items())
    told = document("explain", file=name, **shown)
    lines = lowered(shown) if "kernels" in shown else []
    if passes or not lines:
        lines += _text(shown)
    if left:
        given = f" --device {device}" if device else ""
        given += f" --gpu {gpu}" if gpu else ""
        again = f"sexpgpu explain {name}{selection_flags(selection)}{given} --passes --limit 0"
        told.update(omitted=left, more=again)
        lines.append(f"... {sum(left.values())} more rows: {again}")
    return Answer(told, "\n".join(lines))


def _text(found: dict[str, Any]) -> list[str]:
    rows = [
        [p["program"], p["name"], str(p["before"]), str(p["after"]), f"{1e3 * p['duration_s']:.1f}"]
        for p in found["passes"]
    ]
    lines = table(["program", "pass", "nodes", "after", "ms"], rows, left=2)
    lines += ["", "Written out in the file:" if found["patterns"] else "No pattern written out."]
    lines += [_pattern(p) for p in found["patterns"]]
    names = " ".join(found["interpreted"])
    kept = f"Interpreted, not compiled: {names}" if names else "Nothing is interpreted."
    return [*lines, "", kept]


def _pattern(row: dict[str, Any]) -> str:
    where = f"{row['file']}:{row['span']['line']}" if "span" in row else row["program"]
    times = f" ({row['count']} times)" if row["count"] > 1 else ""
    if row["found"]:
        return f"  {where}: {row['name']}{times} in {row['program']}"
    return f"  {where}: no {row['name']}{times} in {row['program']}: {row['reason']}"


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
