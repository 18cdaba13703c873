"""`checkpoint list|show|verify|diff|export|prune`: a run's checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sexpgpu_core.diagnostics import Diagnostic, problem
from sexpgpu_core.diagnostics.places import shown_path
from sexpgpu_core.diagnostics.render_json import diagnostic_json

from .. import names, units
from ..answer import Answer, bounded, cut, document
from ..contents import contents
from ..flags import several, verb
from ..invocation import Invocation
from ..table import table

if TYPE_CHECKING:
    from sexpgpu_core.checkpoint.folder import Saved
    from sexpgpu_core.experiment.protocols import Store
    from sexpgpu_core.runtime.runs import Run


@verb("list")
@click.argument("run", metavar="RUN", type=names.RUN)
def list_(invocation: Invocation, run: str) -> Answer:
    """List RUN's checkpoints, the last one last."""
    found = names.run_of(invocation, run)
    saved = _entries(found, names.store_of(invocation, run, found))
    return _listed(invocation, found, saved)


def _entries(run: Run, store: Store | None) -> list[Saved]:
    from sexpgpu_core.checkpoint.folder import Checkpoints
    from sexpgpu_core.checkpoint.store import committed

    here = Checkpoints(run.path / "checkpoints")
    return here.entries() if store is None else committed(store)


def _listed(invocation: Invocation, run: Run, saved: Sequence[Saved]) -> Answer:
    again = invocation.whole()
    shown, left = cut([_entry(one) for one in saved], invocation.limit)
    told = document("checkpoints", run=run.path.name, checkpoints=shown)
    if left:
        told.update(omitted={"checkpoints": left}, more=again)
    head = ["step", "bytes", "time", "best of", "state"]
    best = _best(saved)
    rows = [_row(one, [n for n, at in best.items() if at is one]) for one in saved]
    lines = table(head, rows, left=0) if rows else ["no checkpoints"]
    return Answer(told, bounded("\n".join(lines), again, invocation.limit))


def _entry(saved: Saved) -> dict[str, Any]:
    """As its document, without the files; what is wrong with it, if anything is."""
    told = {key: value for key, value in saved.document.items() if key not in ("files", "sha256")}
    told.update(name=saved.name, bytes=saved.bytes, fault=None)
    if saved.fault is not None:
        told.update(step=saved.step, fault=f"{saved.fault[0]}: {saved.fault[1]}")
    return told


def _best(saved: Sequence[Saved]) -> dict[str, Saved]:
    """Of each number the last checkpoint that was its best when it was written."""
    return {
        name: one
        for one in saved
        for name, at in one.document.get("best", {}).items()
        if at.get("step") == one.step
    }


def _row(saved: Saved, best: Sequence[str]) -> list[str]:
    told = saved.document
    state = "earlier attempt" if ".attempt-" in saved.name else "ok"
    if saved.fault:
        state = "of a store" if saved.stored else "damaged"
    size = units.size(saved.bytes) if told else "-"
    return [f"{saved.step:,}", size, str(told.get("time", "-")), " ".join(best) or "-", state]


@verb("show")
@click.argument("save", metavar="RUN[@STEP]", type=names.SAVE)
def show(invocation: Invocation, save: str) -> Answer:
    """Show what a checkpoint holds: step, counters, positions, numbers, files."""
    run, saved = names.save_of(invocation, save)
    told = dict(saved.document)
    rows = [
        ("experiment", told["experiment_id"]),
        ("stage", f"{told['stage']['name']} after {told['stage']['step']:,} batches"),
        ("updates", f"{told.get('updates', saved.step):,}"),
        *((f"counter {name}", f"{n:,}") for name, n in list(told["counters"].items())[:4]),
        *((f"position {key}", _place(at)) for key, at in list(told["loaders"].items())[:4]),
        *((name, units.metric(n)) for name, n in list(told.get("metrics", {}).items())[:6]),
        *((f"best {n}", f"{units.metric(b['value'])} at step {b['step']:,}")
          for n, b in list(told["best"].items())[:2]),
        *((file["path"], units.size(file["bytes"])) for file in told["files"]),
        ("tensors", f"{told.get('tensors', 0)}"),
        ("folder", shown_path(str(saved.path))),
    ]  # fmt: skip
    width = max(len(name) for name, _ in rows)
    head = f"{run.path.name}@{saved.step}: {told['time']}"
    lines = [head, *(f"  {name:<{width}}  {value}" for name, value in rows)]
    again = invocation.whole()
    return Answer(told, bounded("\n".join(lines), again, invocation.limit))


def _place(at: dict[str, Any]) -> str:
    return f"example {at['position']:,}, epoch {at.get('epoch', 0)}"


@verb("verify")
@click.argument("run", metavar="RUN", type=names.RUN)
@click.option("--steps", type=click.IntRange(1), help="Replay so many instead of to the last one.")
def verify(invocation: Invocation, run: str, steps: int | None) -> Answer:
    """Prove that a resume of RUN is exact: hashes, contents, and a replay. Exit 1 if it is not."""
    from sexpgpu_core import rerun

    found = names.run_of(invocation, run, saves=True)
    done = rerun.verify(found, steps=steps, threads=invocation.settings.threads)
    code = int(bool(done.found))
    shown = [{**_entry(s), "verified": done.sound(s.name)} for s in done.saved]
    listed, omitted = cut([diagnostic_json(d) for d in done.found], invocation.limit)
    told = document(
        "checkpoints",
        run=found.path.name,
        checkpoints=shown,
        exit=code,
        replayed=None if done.span is None else {"from": done.span[0], "to": done.span[1]},
        diagnostics=listed,
    )
    if omitted:
        told.update(omitted={"diagnostics": omitted}, more=invocation.whole())
    _tell(invocation, done.found)
    lines = [f"step {s.step:,}: {'ok' if done.sound(s.name) else 'not sound'}" for s in done.saved]
    if done.span is not None:
        same = "not the same" if done.found else "the same bits"
        lines.append(f"replayed from step {done.span[0]:,} to {done.span[1]:,}: {same}")
    else:
        lines.append("not replayed")
    again = invocation.beside("checkpoint", "list", run)
    return Answer(told, bounded("\n".join(lines), again, invocation.limit), code)


def _tell(invocation: Invocation, found: Sequence[Diagnostic]) -> None:
    import sys

    from sexpgpu_core.diagnostics.render_text import render_all

    if found and not invocation.json:
        color = invocation.colored(sys.stderr)
        sys.stderr.write(render_all(list(found), color=color, limit=invocation.limit) + "\n")


@verb("diff")
@click.argument("a", metavar="RUN[@STEP]", type=names.SAVE)
@click.argument("b", metavar="RUN[@STEP]", type=names.SAVE)
def diff(invocation: Invocation, a: str, b: str) -> Answer:
    """Say which tensors and fields of two checkpoints differ."""
    sides = [names.save_of(invocation, text) for text in (a, b)]
    found = contents(sides[0][1], sides[1][1])
    changes, headline = found.changes, found.headline
    verdict = "no-change-to-training" if changes else "identical"
    verdict = "changed" if found.arrays else verdict
    shown, left = cut(changes, invocation.limit)
    told = document(
        "diff",
        a=_side(*sides[0]),
        b=_side(*sides[1]),
        verdict=verdict,
        headline=headline,
        changes=shown,
    )
    again = invocation.whole()
    if left:
        told.update(omitted={"changes": left}, more=again)
    most = min(15, invocation.limit) if invocation.limit else len(changes)
    lines = [headline, *(f"  {change['text']}" for change in changes[:most])]
    if changes[most:]:
        lines.append(f"... {len(changes) - most} more: {again}")
    return Answer(told, bounded("\n".join(lines), again, invocation.limit))


def _side(run: Run, saved: Saved) -> dict[str, Any]:
    told = saved.document
    return {
        "kind": "checkpoint",
        "name": f"{run.path.name}@{saved.step}",
        "experiment_id": told["experiment_id"],
        "ir_sha256": told["ir_sha256"],
    }


@verb("export")
@click.argument("save", metavar="RUN[@STEP]", type=names.SAVE)
@click.option("-o", "--out", metavar="FILE", required=True, help="The safetensors file to write.")
@click.option("--weights", type=click.Choice(["live", "ema"]), default="live", help="Which; live.")
@click.option("--rename", "renames", multiple=True, metavar="A=B", help="'net/{i}=layers.{i}', /=.")
@click.option("--transpose", multiple=True, metavar="GLOB", help="Reverse the axes: '**/w'.")
def export(
    invocation: Invocation,
    save: str,
    out: str,
    weights: str,
    renames: tuple[str, ...],
    transpose: tuple[str, ...],
) -> Answer:
    """Write a checkpoint's weights as one plain safetensors file, by parameter path."""
    from sexpgpu_core.checkpoint import export as exporting

    rules = [exporting.rule(text) for text in renames]
    run, saved = names.save_of(invocation, save)
    listed, size = exporting.export(saved, Path(out), weights, rules, transpose)
    shown, left = cut(listed, invocation.limit)
    told = document(
        "export",
        file=shown_path(out),
        run=run.path.name,
        step=saved.step,
        weights=weights,
        tensors=shown,
        bytes=size,
    )
    again = invocation.whole()
    if left:
        told.update(omitted={"tensors": left}, more=again)
    lines = [f"{shown_path(out)}: {len(listed)} tensors, {units.size(size)}", *listed[:10]]
    if listed[10:]:
        lines.append(f"... {len(listed) - 10} more: {again}")
    return Answer(told, bounded("\n".join(lines), again, invocation.limit))


@verb("prune")
@click.argument("run", metavar="RUN", type=names.RUN)
@click.option("--keep", type=click.IntRange(1), help="Keep the last N, and the best.")
@click.option("--best", is_flag=True, help="Keep only the best and the last.")
@click.option("--dry-run", is_flag=True, help="Remove nothing; say what would go.")
def prune(invocation: Invocation, run: str, keep: int | None, best: bool, dry_run: bool) -> Answer:
    """Remove RUN's checkpoints but some. The last one always stays."""
    from sexpgpu_core.checkpoint.shared import held
    from sexpgpu_core.runtime import retention

    if (keep is None) is not best:
        hint = "sexpgpu checkpoint prune RUN --keep 3 --dry-run"
        raise problem("E-USAGE-VALUE", "prune wants one of --keep N and --best", hint=hint)
    found = names.run_of(invocation, run)
    store = names.store_of(invocation, run, found)
    before = _entries(found, store)
    left_over = None
    if store is None:
        removed = retention.prune(found, keep or 1, dry=dry_run, best=best)
    else:
        removed, left_over = retention.prune_stored(store, found, keep or 1, dry=dry_run, best=best)
    gone = {saved.name for saved in removed}
    shown, left = cut([_entry(saved) for saved in removed], invocation.limit)
    freed = held(before) - held(saved for saved in before if saved.name not in gone)
    freed += left_over.bytes if left_over is not None else 0
    told = document(
        "checkpoints", run=found.path.name, checkpoints=shown, removed=not dry_run, bytes=freed
    )
    words = ["--best"] if best else ["--keep", str(keep)]
    again = invocation.beside("checkpoint", "prune", run, *words, "--dry-run")
    if left:
        told.update(omitted={"checkpoints": left}, more=again)
    word = "would remove" if dry_run else "removed"
    what = "checkpoint" if len(removed) == 1 else "checkpoints"
    lines = [f"{word} {len(removed)} {what}, {units.size(freed)}"]
    lines += [f"  {saved.name}  {units.size(saved.bytes)}" for saved in removed]
    if left_over is not None and (left_over.objects or left_over.puts):
        number = len(left_over.objects) + len(left_over.puts)
        lines.append(f"{word} {number} objects of uploads that never ended")
    return Answer(told, bounded("\n".join(lines), again, invocation.limit))


checkpoint = several("checkpoint", list_, show, verify, diff, export, prune)
