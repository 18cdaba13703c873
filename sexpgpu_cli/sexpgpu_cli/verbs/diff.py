"""`diff SIDE [SIDE]`: what two files, selections or runs differ in, and whether training is one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sexpgpu_core.diagnostics import problem
from sexpgpu_core.records import NamedTuple

from .. import names
from ..answer import Answer, bounded, cut, document
from ..contents import contents
from ..flags import verb
from ..invocation import Invocation

if TYPE_CHECKING:
    from sexpgpu_core.api import Loaded
    from sexpgpu_core.checkpoint.folder import Saved
    from sexpgpu_core.differences import Facts
    from sexpgpu_core.runtime.comparison import Change
    from sexpgpu_core.runtime.runs import Run

AREAS = (
    *("knob", "run", "data", "parameter", "objective", "graph", "optimizer", "evaluation"),
    "module",
)
SHOWN = 15


class Side(NamedTuple):
    """`name` as it was written; a run where it is one; a checkpoint of it where that is meant."""

    kind: str
    name: str
    facts: Facts
    run: Run | None = None
    saved: Saved | None = None


@verb("diff")
@click.argument("sides", metavar="SIDE [SIDE]", nargs=-1, required=True, type=names.SAVE)
@click.option("--exit-code", is_flag=True, help="Exit 1 where they differ.")
@click.option(
    "--area", "areas", multiple=True, type=click.Choice(AREAS), help="Only these; several."
)
def diff(
    invocation: Invocation, sides: tuple[str, ...], exit_code: bool, areas: tuple[str, ...]
) -> Answer:
    """Say what differs between files, selections of a file, runs or checkpoints: a SIDE is
    FILE:VARIANT,KNOB=VALUE, :CHOICES of the same file, RUN, or RUN@STEP. Of two checkpoints their
    contents too. One FILE alone: against its latest run."""
    a, b = _sides(invocation, sides)
    found = _difference(a, b, areas)
    shown, left = cut(found.changes, invocation.limit)
    again = invocation.whole()
    told = document(
        "diff",
        a=_told(a),
        b=_told(b),
        verdict=found.verdict,
        headline=found.headline,
        changes=shown,
        **_results(a, b),
    )
    if left:
        told.update(omitted={"changes": left}, more=again)
    lines = [found.headline]
    listed = found.changes if not invocation.limit else found.changes[:SHOWN]
    lines += [f"  {c['kind']:<9} {c['text']}" for c in listed]
    if len(listed) < len(found.changes):
        lines.append(f"... {len(found.changes) - len(listed)} more: {again}")
    differs = exit_code and found.verdict != "identical"
    return Answer(told, bounded("\n".join(lines), again, invocation.limit), int(differs))


class Found(NamedTuple):
    """As the document has it."""

    verdict: str
    headline: str
    changes: list[dict[str, Any]]


def _difference(a: Side, b: Side, areas: tuple[str, ...]) -> Found:
    """Of what was written; of two checkpoints then of what they hold."""
    from sexpgpu_core.differences import difference

    found = difference(a.facts, b.facts, areas)
    changes = [_change(c) for c in found.changes]
    if went := _went_on(a, b, areas):
        changes += went
        before = "" if found.verdict == "identical" else f"{found.headline}; "
        found = found._replace(verdict="changed", headline=before + went[0]["text"])
    if a.saved is None or b.saved is None:
        return Found(found.verdict, found.headline, changes)
    inside = contents(a.saved, b.saved)
    changes += [c for c in inside.changes if not areas or c["area"] in areas]
    verdict = "changed" if inside.arrays else found.verdict
    if verdict == "identical" and inside.changes:
        verdict = "no-change-to-training"
    return Found(verdict, f"{found.headline}; {inside.headline}", changes)


def _went_on(a: Side, b: Side, areas: tuple[str, ...]) -> list[dict[str, Any]]:
    """Of two runs, where one was another experiment before."""
    from sexpgpu_core.runtime.comparison import went_on

    if a.run is None or b.run is None or a.saved or b.saved or (areas and "run" not in areas):
        return []
    return [_change(change) for change in went_on(a.run, b.run)]


def _sides(invocation: Invocation, sides: tuple[str, ...]) -> tuple[Side, Side]:
    if len(sides) > 2:
        hint = "sexpgpu runs compare RUN RUN... takes several"
        raise problem("E-USAGE-VALUE", "diff takes two sides", hint=hint)
    first = sides[0]
    if len(sides) == 1:
        file = Path(first.partition(":")[0])
        if not _is_file(str(file)):
            raise problem("E-USAGE-MISSING", "diff of a run needs another side", hint=f"{first} X")
        run = _latest(invocation, file)
        return _of_run(run, run.path.name), _side(invocation, first, "")
    before = first.partition(":")[0] if _is_file(first.partition(":")[0]) else ""
    return _side(invocation, first, ""), _side(invocation, sides[1], before)


def _is_file(text: str) -> bool:
    return text.endswith(".lisp") or Path(text).is_file()


def _side(invocation: Invocation, text: str, file: str) -> Side:
    """`file`: of the other side, which :CHOICES alone means."""
    name, _, choices = text.partition(":")
    if not name and not file:
        raise problem("E-USAGE-VALUE", f"{text} is of no file", hint="diff FILE:CHOICE :CHOICE")
    if not name or _is_file(name):
        return _of_file(name or file, choices, text if name else f"{file}{text}")
    if "@" in text:
        run, saved = names.save_of(invocation, text)
        side = _of_run(run, f"{run.path.name}@{saved.step}")
        return side._replace(kind="checkpoint", saved=saved)
    return _of_run(names.run_of(invocation, text), text)


def _of_file(file: str, choices: str, text: str) -> Side:
    from sexpgpu_core import api

    chosen: dict[str, Any] = {"sets": []}
    for choice in _choices(choices):
        knob, sign, value = choice.partition("=")
        if sign:
            chosen["sets"].append((knob, value))
        else:
            chosen["point" if "/" in choice else "variant"] = choice
    return Side("file", text, _facts(api.load(file, **chosen)))


def _choices(text: str) -> list[str]:
    """Cut at commas that stand in no parentheses."""
    found, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            found.append("")
        else:
            found[-1] += character
    return [choice for choice in found if choice]


def _of_run(run: Run, name: str) -> Side:
    from sexpgpu_core import api

    return Side("run", name, _facts(api.as_it_was(run, None, None)), run)


def _facts(loaded: Loaded) -> Facts:
    from sexpgpu_core import api
    from sexpgpu_core.differences import facts

    return facts(loaded, api.operations(loaded.registry))


def _latest(invocation: Invocation, file: Path) -> Run:
    from sexpgpu_core.runtime import runs

    wanted = file.absolute().resolve()
    for run in runs.listing(invocation.settings.runs):
        if Path(run.manifest.get("cwd", "."), run.manifest["file"]).resolve() == wanted:
            return run.sound()
    told = f"no run of {file} below {invocation.settings.runs}"
    raise problem(
        "E-USAGE-RUN", told, hint="diff FILE SIDE compares it with another", run=str(file)
    )


def _told(side: Side) -> dict[str, Any]:
    return {
        "kind": side.kind,
        "name": side.name,
        "selection": dict(side.facts.selection),
        "experiment_id": side.facts.experiment_id,
        "ir_sha256": side.facts.ir_sha256,
    }


def _change(change: Change) -> dict[str, Any]:
    from sexpgpu_core.differences import said

    both = {key: text for key, text in (("a", change.a), ("b", change.b)) if text is not None}
    kept = {"area": change.area, "path": change.path, "kind": change.kind, **both}
    return {**kept, "text": said(change), "trains": change.trains}


def _results(a: Side, b: Side) -> dict[str, Any]:
    """Of two runs their numbers too, as `runs compare` has them."""
    if a.run is None or b.run is None:
        return {}
    from sexpgpu_core.runtime import comparison, runs

    from .compare import result_json, series

    every = runs.listing(a.run.path.parent)
    left, right = (comparison.siblings(run, every) for run in (a.run, b.run))
    found = [comparison.result(m, left, right) for m in series([a.run, b.run], ())]
    return {"results": [result_json(r) for r in found]}
