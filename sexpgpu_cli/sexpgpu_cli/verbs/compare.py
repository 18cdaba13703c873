"""`runs compare RUN RUN...`: runs as columns, what differs as rows, and whether it is noise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from sexpgpu_core.diagnostics import problem

from .. import names, units
from ..answer import Answer, bounded, cut, document
from ..flags import verb
from ..invocation import Invocation
from ..table import table

if TYPE_CHECKING:
    from sexpgpu_core.runtime.comparison import Change, Result, Stat
    from sexpgpu_core.runtime.runs import Run

WORDS = {
    "within-noise": "within noise",
    "not-comparable": "evaluated otherwise",
    "unknown": "",
}


@verb("compare")
@click.argument("named", metavar="RUN RUN...", nargs=-1, required=True, type=names.RUN)
@click.option("--metric", "globs", multiple=True, metavar="GLOB", help="Only these numbers.")
def compare(invocation: Invocation, named: tuple[str, ...], globs: tuple[str, ...]) -> Answer:
    """Say what differs between runs, the first against each. Other seeds of each are its noise."""
    from sexpgpu_core.runtime import comparison
    from sexpgpu_core.runtime import runs as folder

    if len(named) < 2:
        hint = "sexpgpu runs compare RUN RUN"
        raise problem("E-USAGE-MISSING", "compare needs two runs or more", hint=hint)
    found = [names.run_of(invocation, text) for text in named]
    paths = [run.path.resolve() for run in found]
    twice = [text for at, text in enumerate(named) if paths[at] in paths[:at]]
    if twice:
        why = f"{twice[0]} is a run that was named before"
        raise problem("E-USAGE-VALUE", why, hint="sexpgpu runs lists what there is")
    every = folder.listing(invocation.settings.runs)
    sides = [comparison.siblings(run, every) for run in found]
    metrics = series(found, globs)
    results = [[comparison.result(m, sides[0], side) for m in metrics] for side in sides[1:]]
    changes = [comparison.changes(found[0], run) for run in found[1:]]
    if invocation.json:
        told = [
            _document(invocation, found[0], run, change, result, globs)
            for run, change, result in zip(found[1:], changes, results)
        ]
        return Answer({}, "\n".join(json.dumps(one, allow_nan=False) for one in told))
    lines = _table(found, metrics, results, changes)
    return Answer({}, bounded("\n".join(lines), invocation.whole(), invocation.limit))


def series(found: Sequence[Run], globs: tuple[str, ...]) -> list[str]:
    """Numbers that a run has, of passes first; those that globs choose."""
    named = dict.fromkeys(name for run in found for name in (run.status or {}).get("metrics", {}))
    if not globs:
        kept = [name for name in named if not name.endswith("/objective")]
        return sorted(kept, key=lambda name: name.startswith("train/"))
    kept = [name for name in named if any(fnmatchcase(name, glob) for glob in globs)]
    if not kept:
        hint = f"known: {' '.join(list(named)[:8]) or 'none'}"
        raise problem("E-USAGE-VALUE", f"no number is named {' '.join(globs)}", hint=hint)
    return kept


def _headline(change: Sequence[Change], result: Sequence[Result]) -> str:
    trained = [c for c in change if c.trains]
    what = ", ".join(c.path for c in change if c.area == "knob") or ", ".join(
        c.path for c in trained
    )
    first = next((r for r in result if r.verdict in WORDS or r.interval), None)
    said = f"; {first.metric} {WORDS.get(first.verdict, first.verdict)}".rstrip() if first else ""
    if not trained:
        return f"no change to training{said}"
    return f"{what} changed{said}"


def _document(
    invocation: Invocation,
    a: Run,
    b: Run,
    change: Sequence[Change],
    result: Sequence[Result],
    globs: tuple[str, ...],
) -> dict[str, Any]:
    trained = any(c.trains for c in change)
    verdict = "changed" if trained else "no-change-to-training" if change else "identical"
    shown, left = cut([_change(c) for c in change], invocation.limit)
    told = document(
        "diff",
        a=_side(a),
        b=_side(b),
        verdict=verdict,
        headline=_headline(change, result),
        changes=shown,
        results=[result_json(r) for r in result],
    )
    if left:
        told.update(omitted={"changes": left}, more=invocation.whole())
    return told


def _side(run: Run) -> dict[str, Any]:
    manifest = run.manifest
    return {
        "kind": "run",
        "name": run.path.name,
        "selection": manifest["selection"],
        "experiment_id": manifest["experiment_id"],
        "ir_sha256": manifest["ir_sha256"],
        "test_reads": run.test_reads,
    }


def _change(change: Change) -> dict[str, Any]:
    sides = {key: text for key, text in (("a", change.a), ("b", change.b)) if text is not None}
    text = f"{change.path}: {change.a or 'nothing'} to {change.b or 'nothing'}"
    kept = {"area": change.area, "path": change.path, "kind": change.kind, **sides}
    return {**kept, "text": text, "trains": change.trains}


def result_json(result: Result) -> dict[str, Any]:
    told: dict[str, Any] = {
        "metric": result.metric,
        "comparable": result.verdict != "not-comparable",
        "verdict": result.verdict,
    }
    told.update({key: s._asdict() for key, s in (("a", result.a), ("b", result.b)) if s})
    if result.a is not None and result.b is not None:
        told["difference"] = result.b.mean - result.a.mean
    if result.interval is not None:
        told.update(interval=list(result.interval), confidence=0.95)
    return told


def _table(
    found: Sequence[Run],
    metrics: Sequence[str],
    results: Sequence[Sequence[Result]],
    changes: Sequence[Sequence[Change]],
) -> list[str]:
    head = ["", *(run.path.name for run in found)]
    rows = []
    for at, metric in enumerate(metrics):
        column = [result[at] for result in results]
        rows.append([metric, _stat(column[0].a), *(_cell(result) for result in column)])
    for area, path in dict.fromkeys((c.area, c.path) for change in changes for c in change):
        rows.append([path if area == "knob" else f"{area} {path}", *_values(area, path, changes)])
    reads = [run.test_reads for run in found]
    if any(reads):
        rows.append(["reads of :test", *(f"{number:,}" for number in reads)])
    return table(head, rows)


def _cell(result: Result) -> str:
    word = WORDS.get(result.verdict, result.verdict)
    return _stat(result.b) + (f" {word}" if word else "")


def _stat(stat: Stat | None) -> str:
    if stat is None:
        return "-"
    if stat.deviation is None:
        return units.metric(stat.mean)
    return f"{units.metric(stat.mean)} ±{stat.deviation:.2g} n {stat.n}"


def _values(area: str, path: str, changes: Sequence[Sequence[Change]]) -> list[str]:
    """The first run's value, then each other's where it differs."""
    at = [{(c.area, c.path): c for c in change}.get((area, path)) for change in changes]
    first = next(c for c in at if c is not None)
    return [_short(first.a), *(_short(c.b) if c is not None else "same" for c in at)]


def _short(text: str | None) -> str:
    return "-" if text is None else text if len(text) <= 24 else text[:21] + "..."
