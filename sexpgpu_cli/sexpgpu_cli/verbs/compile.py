"""`compile FILE --for sm_90`: machine code of a file's kernels, made where no such GPU is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sexpgpu_core.diagnostics import problem

from .. import files, units
from ..answer import Answer, cut, document
from ..flags import verb
from ..invocation import Invocation
from ..table import table

if TYPE_CHECKING:
    from sexpgpu_core.device import Code

FACTS = ("registers", "stack", "spilled", "shared", "threads")


@verb("compile", select=True)
@click.argument("file", metavar="FILE")
@click.option("--for", "target", metavar="TARGET", required=True, help="sm_80 sm_90 sm_100 ...")
@click.option("-o", "--out", metavar="DIR", help="Write a file a kernel there.")
def compile(
    invocation: Invocation, file: str, selection: dict[str, Any], target: str, out: str | None
) -> Answer:
    """Make the machine code of FILE's kernels; the cache keeps it. No GPU is needed."""
    from sexpgpu_core import inspection

    source = files.read(file) if file == "-" else file
    made = inspection.machine_code(source, target, **selection)
    if out is not None:
        _write(made, Path(out))
    rows, left = cut([_row(code) for code in made], invocation.limit)
    told = document("compile", file=file, target=target, kernels=rows)
    size, cached = sum(len(c.body) for c in made), sum(c.cached for c in made)
    head = f"{len(made)} kernels for {target}: {len(made) - cached} made, {cached} cached"
    lines = [f"{head}, {units.size(size)}", ""]
    told.update(made=len(made) - cached, cached=cached, bytes=size)
    if out is not None:
        told["folder"] = out
        lines[0] += f", in {out}"
    cells = [[r["name"][:14], str(r["bytes"]), *(str(r.get(n, "")) for n in FACTS)] for r in rows]
    lines += table(["kernel", "bytes", *FACTS], cells)
    if left:
        again = invocation.whole()
        told.update(omitted={"kernels": left}, more=again)
        lines.append(f"... {left} more kernels: {again}")
    return Answer(told, "\n".join(lines))


def _row(code: Code) -> dict[str, Any]:
    return {"name": code.name, "bytes": len(code.body), "cached": code.cached, **code.facts}


def _write(made: list[Code], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for code in made:
            (folder / f"{code.name}.cubin").write_bytes(code.body)
    except OSError as error:
        raise problem("E-USAGE-FILE", f"{folder}: {error.strerror}", file=str(folder)) from error
