"""`variants FILE`: knobs with what they are now, variants, sweeps and their points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sexpgpu_core.diagnostics.places import shown_path
from sexpgpu_core.diagnostics.render_json import place

from .. import files
from ..answer import Answer, bounded, cut, document
from ..flags import verb
from ..invocation import Invocation
from ..table import table

if TYPE_CHECKING:
    from sexpgpu_core.api import Loaded
    from sexpgpu_core.experiment.declarations import Sweep
    from sexpgpu_core.spans import Source


@verb("variants", select=True)
@click.argument("file", metavar="FILE")
def variants(invocation: Invocation, file: str, selection: dict[str, Any]) -> Answer:
    """Show what may vary in FILE: knobs, variants, sweeps with their points."""
    from sexpgpu_core import api

    source = files.read(file)
    loaded = api.load(source, **selection)
    experiment = loaded.experiment
    knobs = _knobs(loaded)
    named = [
        {
            "name": v.name,
            "doc": v.doc,
            "from": v.base,
            "values": {knob: _text(form) for knob, form in v.knobs},
        }
        for v in experiment.variants.values()
    ]
    sweeps = [_sweep(source, s, selection) for s in experiment.sweeps.values()]
    told, omitted = _cut(knobs, named, sweeps, invocation.limit)
    answer = document("variants", file=shown_path(file), selection=experiment.chosen(), **told)
    again = invocation.whole()
    if omitted:
        answer.update(omitted=omitted, more=again)
    return Answer(answer, bounded(_lines(knobs, named, sweeps), again, invocation.limit))


def _text(form: Any) -> str:
    from sexpgpu_core.evaluator.printer import print_text

    text: str = print_text(form)
    return text


def _knobs(loaded: Loaded) -> list[dict[str, Any]]:
    warned = loaded.evaluator.diagnostics
    unused = {d.facts.get("knob") for d in warned if d.code == "W-KNOB-UNUSED"}
    found = []
    for name, knob in loaded.experiment.knobs.items():
        told: dict[str, Any] = {"name": name, "default": knob.default, "value": knob.text}
        told.update(type=knob.type, doc=knob.doc, used=name not in unused)
        if knob.choices:
            told["choices"] = list(knob.choices)
        where, span = place(knob.span)
        found.append({**told, "file": where, "span": span} if span is not None else told)
    return found


def _sweep(source: Source, sweep: Sweep, selection: dict[str, Any]) -> dict[str, Any]:
    """Its points are those of the file under the sweep's own variant."""
    from sexpgpu_core import api, sweeps

    own = sweep.options.get("variant")
    chosen = {**selection, "variant": own or selection["variant"], "point": None}
    found = api.sweep(source, sweep.name, **chosen)
    ranked = sweeps.rank(sweep)
    return {
        "name": sweep.name,
        "doc": sweep.doc,
        "variant": own,
        "count": len(found.points),
        "seeds": sweep.options.get("seeds", 1),
        "rank": ranked.told() if ranked is not None else None,
        "points": [{"point": p.name, "values": p.values, "seed": p.seed} for p in found.points],
    }


def _cut(
    knobs: list[Any], named: list[Any], sweeps: list[Any], limit: int
) -> tuple[dict[str, list[Any]], dict[str, int]]:
    told: dict[str, list[Any]] = {}
    omitted: dict[str, int] = {}
    lists = {"knobs": knobs, "variants": named, "sweeps": sweeps}
    for key, values in lists.items():
        told[key], omitted[key] = cut(values, limit)
    shown = []
    for sweep in told["sweeps"]:
        points, left = cut(sweep["points"], limit)
        shown.append({**sweep, "points": points})
        omitted["points"] = omitted.get("points", 0) + left
    told["sweeps"] = shown
    return told, {key: left for key, left in omitted.items() if left}


def _lines(knobs: list[Any], named: list[Any], sweeps: list[Any]) -> str:
    rows = [[k["name"], k["value"], k["type"] or "-", _doc(k)] for k in knobs]
    lines = table(["knob", "value", "type", "what it is"], rows, left=4) if rows else ["no knobs"]
    for variant in named:
        base = f" from {variant['from']}" if variant["from"] else ""
        lines.append(f"variant {variant['name']}{base}: {_values(variant['values'])}")
    for sweep in sweeps:
        ranked = f", by {sweep['rank']['metric']} {sweep['rank']['goal']}" if sweep["rank"] else ""
        lines.append(f"sweep {sweep['name']}: {sweep['count']} points{ranked}")
        lines += [f"  {point['point']}" for point in sweep["points"][:6]]
        if sweep["points"][6:]:
            lines.append(f"  ... {len(sweep['points']) - 6} more")
    return "\n".join(lines)


def _values(values: dict[str, str]) -> str:
    return " ".join(f"{knob} {text}" for knob, text in values.items())


def _doc(knob: dict[str, Any]) -> str:
    changed = "" if knob["value"] == knob["default"] else f" (default {knob['default']})"
    return str(knob["doc"]) + changed + ("" if knob["used"] else " (nothing reads it)")
