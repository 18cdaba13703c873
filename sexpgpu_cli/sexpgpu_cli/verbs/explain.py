"""`explain CODE`: the page of an error or warning code."""

from __future__ import annotations

from textwrap import indent

import click

from sexpgpu_core.diagnostics import Code, catalogue, nearest, problem
from sexpgpu_core.diagnostics.example import example

from ..answer import Answer, document
from ..flags import verb
from ..invocation import Invocation

PLACES = {"body": ", in a model of x, f32 (8 64)", "run": ", when the file runs"}
"""Where an example of a frame stands, if not in a file of its own."""


@verb("explain")
@click.argument("code", metavar="CODE")
def explain(invocation: Invocation, code: str) -> Answer:
    """Say what CODE means and what to do about it."""
    return page(invocation, find(code))


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
