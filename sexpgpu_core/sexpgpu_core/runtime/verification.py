"""A resume proved: fork at a checkpoint, replay, compare every bit with what the live run had."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..checkpoint.folder import Checkpoint, Checkpoints, Saved
from ..data.loader import Loader
from ..diagnostics import Diagnostic, Problem, diagnostic, problem
from ..records import NamedTuple
from . import events, runs
from .begin import begin
from .events import Event
from .fates import fitted
from .job import Job
from .machine import Machine
from .resume import differing_numerics
from .run import run
from .soundness import Evidence, unsound

if TYPE_CHECKING:
    from ..device import Session

COMPARED = {
    "step": ("metrics", "counters", "epoch"),
    "eval": ("metrics", "examples", "batches", "complete", "evaluation_id"),
}
"""What of an event a replay must give again."""

FLEETING = ("run", "time", "elapsed", "attempt", "device", "versions", "files", "sha256")


class Verified(NamedTuple):
    """`sound`: checkpoint -> whether nothing was found. `span`: from which step to which one it
    was replayed; None where it could not be."""

    saved: tuple[Saved, ...]
    found: tuple[Diagnostic, ...]
    span: tuple[int, int] | None

    def sound(self, name: str) -> bool:
        return not any(d.facts.get("checkpoint") in (name, None) for d in self.found)


def verify(
    path: Path,
    job: Job,
    opened: Callable[[], Session],
    *,
    loaders: Mapping[str, Loader],
    machine: Machine,
    scratch: Path,
    steps: int | None = None,
    origin: Callable[[], Saved] | None = None,
) -> Verified:
    """Hashes, tensors and fields of every checkpoint of a run; then a replay.

    Without `steps`, from the last checkpoint but one (or the beginning; of a fork, `origin`, asked
    for only then) to the last. With, so many steps from the newest checkpoint that has so many
    after it. The replay is written below `scratch`. Raises E-CHECKPOINT-NONE, and what a replay
    raises.
    """
    evidence = _evidence(path, job, loaders)
    checkpoints = Checkpoints(path / "checkpoints")
    entries = [saved for saved in checkpoints.entries() if ".attempt-" not in saved.name]
    if not entries:
        raise checkpoints.none("latest")
    found = [d for saved in entries for d in _examined(checkpoints, saved, evidence)]
    if found:
        return Verified(tuple(entries), tuple(found), None)
    own = [saved for saved in entries if not _earlier(saved, evidence)]
    if not own:
        raise checkpoints.none("latest")
    first, last = _span(own, steps, int(evidence.events[-1]["step"]), origin)
    if first is not None and (differs := differing_numerics(first.document, machine)):
        return Verified(tuple(entries), tuple(differs), None)
    found = _replayed(path, evidence, opened(), machine, scratch, first, last)
    return Verified(tuple(entries), tuple(found), (first.step if first else 0, last))


def _evidence(path: Path, job: Job, loaders: Mapping[str, Loader]) -> Evidence:
    """Of the program that a run ran last, which the job is of."""
    run = runs.read(path)
    log = events.current(events.read(path / "events.jsonl"))
    if run is None:
        return Evidence(job, loaders, {}, log)
    ids = {str(manifest["experiment_id"]) for manifest in run.manifests}
    return Evidence(job, loaders, run.manifest, log, frozenset(ids - {job.experiment_id}))


def _earlier(saved: Saved, evidence: Evidence) -> bool:
    """Whether a checkpoint is of an experiment that the run was before it was changed."""
    return saved.document.get("experiment_id") in evidence.before


def begins(run: runs.Run) -> Callable[[], Saved] | None:
    """What a run's last program began with, if that was a checkpoint."""
    return partial(began_with, run) if {"parent", "resumed"} & _given(run.manifest) else None


def _given(manifest: Mapping[str, Any]) -> set[str]:
    return {key for key, value in manifest.items() if value}


def began_with(run: runs.Run) -> Saved:
    """The checkpoint that a fork, or a run as another experiment, began with. Raises
    E-CHECKPOINT-NONE where it is gone."""
    manifest = run.manifest
    parent = manifest.get("resumed") or manifest["parent"]
    save = f"{parent.get('run', run.path.name)}@{parent['step']}"
    try:
        return runs.save(run.path.parent, save)[1]
    except Problem as gone:
        told = f"{run.path.name} began with {save}, which is not here: nothing can be replayed"
        hint = "A fork with two checkpoints is replayed from the first of them."
        raise problem("E-CHECKPOINT-NONE", told, hint=hint, wanted=save) from gone


def prove(
    path: Path,
    job: Job,
    opened: Callable[[], Session],
    *,
    loaders: Mapping[str, Loader],
    machine: Machine,
    scratch: Path,
    first: Saved,
    until: int,
) -> list[Diagnostic]:
    """What is wrong with one checkpoint of a run, wherever it lies: examined, then replayed to a
    step that the run has come past."""
    evidence = _evidence(path, job, loaders)
    found = _examined(Checkpoints(first.path.parent), first, evidence)
    return found or _replayed(path, evidence, opened(), machine, scratch, first, until)


def _examined(checkpoints: Checkpoints, saved: Saved, evidence: Evidence) -> list[Diagnostic]:
    try:
        checkpoints.verify(saved)
    except Problem as damaged:
        return [damaged.diagnostic]
    return [] if _earlier(saved, evidence) else unsound(saved, evidence)


def _span(
    entries: Sequence[Saved], steps: int | None, reached: int, origin: Callable[[], Saved] | None
) -> tuple[Saved | None, int]:
    if steps is None:
        first = entries[-2] if entries[1:] else origin and origin()
        return first, entries[-1].step
    fits = [saved for saved in entries if saved.step + steps <= reached]
    if fits:
        return fits[-1], fits[-1].step + steps
    raise problem(
        "E-CHECKPOINT-NONE",
        f"no checkpoint has {steps} steps of the run after it, which came to step {reached}",
        hint="Without --steps the last checkpoint is reached from the one before.",
        wanted=steps,
    )


def _replayed(
    path: Path,
    evidence: Evidence,
    session: Session,
    machine: Machine,
    scratch: Path,
    first: Saved | None,
    last: int,
) -> list[Diagnostic]:
    start = first.step if first else 0
    name = first.name if first else "the beginning"
    checkpoint: Checkpoint | None = None
    if first is not None:
        checkpoint = Checkpoints(first.path.parent).load(first)
        fitted(evidence.job, checkpoint, ["**"])  # of an earlier program: as it went on
    try:
        folder = begin(
            evidence.job, root=scratch, machine=machine, loaders=evidence.loaders, name=path.name
        )
        ended = run(
            evidence.job,
            session,
            folder,
            loaders=evidence.loaders,
            resume=checkpoint,
            deadline=float("inf"),
            until=last,
        )
        wrong = _values(Checkpoints(path / "checkpoints"), session, last)
    finally:
        session.close()
    wrong += [] if ended.error is None else [f"it ended with {ended.error.code}"]
    again = events.read(ended.folder / "events.jsonl")
    wrong += _events(evidence.events, again, start, last)
    wrong += _fields(Checkpoints(path / "checkpoints"), Checkpoints(ended.folder / "checkpoints"))
    told = f"replayed from {name} to step {last}"
    return [
        diagnostic("E-CHECKPOINT-VERIFY", f"{told}: {text}", checkpoint=first and first.name)
        for text in wrong
    ]


def _events(live: Sequence[Event], again: Sequence[Event], start: int, last: int) -> list[str]:
    """Numbers of the replay that the live run did not have, and the other way."""
    there, here = _numbers(live, start, last), _numbers(again, start, last)
    wrong = []
    for key in sorted({*there, *here}):
        kind, step, name = key
        what = f"{kind} {name}".strip() + f" of step {step}"
        if key not in there:
            wrong.append(f"{what} is not in the run's events")
        elif key not in here:
            # a deadline or a stop brings the passes of the end, which a replay does not come to
            if kind == "step" or step < last:
                wrong.append(f"{what} is missing")
        else:
            wrong += [f"{what}: {text}" for text in _unequal(there[key], here[key])]
    return wrong


def _numbers(found: Sequence[Event], start: int, last: int) -> dict[tuple[str, int, str], Any]:
    return {
        (e["event"], e["step"], e.get("pass", "")): {k: e.get(k) for k in COMPARED[e["event"]]}
        for e in found
        if e["event"] in COMPARED and start < e["step"] <= last
    }


def _unequal(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    wrong = []
    for key in {**a, **b}:
        old, new = a.get(key), b.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            wrong += [f"{key}/{text}" for text in _unequal(old, new)]
        elif old != new:
            wrong.append(f"{key} was {old}, is {new}")
    return wrong


def _values(live: Checkpoints, session: Session, last: int) -> list[str]:
    """What the device holds now against what the run wrote at that step, if it wrote then."""
    from ..checkpoint.difference import compared

    there = [saved for saved in live.whole() if saved.step == last]
    if not there:
        return []
    arrays = live.load(there[-1]).arrays
    return [change.text for change in compared(arrays, {n: session.read(n) for n in arrays})]


def _fields(live: Checkpoints, again: Checkpoints) -> list[str]:
    """Fields of every checkpoint that both have."""
    there = {saved.name: saved for saved in live.whole()}
    return [
        f"{new.name}: {text}"
        for new in again.whole()
        if new.name in there
        for text in _unlike(there[new.name].document, new.document)
    ]


def _unlike(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    if old["due"]:  # what was left undone at a stop is done by a replay, whose numbers say so
        return []
    left, right = ({k: _timeless(v) for k, v in d.items() if k not in FLEETING} for d in (old, new))
    return _unequal(left, right)


def _timeless(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _timeless(v) for k, v in value.items() if k != "elapsed"}
    return [_timeless(item) for item in value] if isinstance(value, list) else value
