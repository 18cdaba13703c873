"""Whether a checkpoint says all that a resume needs: worked out anew from the job, the manifest and
the events, and compared with what the saver wrote. Nothing is replayed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..checkpoint.folder import Saved
from ..data.loader import Loader
from ..diagnostics import Diagnostic, diagnostic
from ..experiment.declarations import EMPTY
from ..ir.types import Type
from ..records import NamedTuple
from .curriculum import default_key
from .events import Event, numbers
from .fates import typed
from .job import Job
from .ledger import Ledger
from .manifest import goals

NUMBER = (int, float)


class Some(NamedTuple):
    """A value that only its type is known of."""

    kinds: tuple[type, ...]


_INT, _TEXT, _NUMBER, _LIST = Some((int,)), Some((str,)), Some(NUMBER), Some((list,))
_ABSENT = object()


class Evidence(NamedTuple):
    """What is known of a run without its checkpoints. `events`: those that stand."""

    job: Job
    loaders: Mapping[str, Loader]
    manifest: Mapping[str, Any]
    events: Sequence[Event]
    before: frozenset[str] = frozenset()
    """Experiments that the run was before it went on as the job's."""


def unsound(saved: Saved, evidence: Evidence) -> list[Diagnostic]:
    """E-CHECKPOINT-VERIFY for each tensor and each field that is missing, or is not as it was."""
    wrong = [f"tensor {text}" for text in _tensors(saved, evidence.job)]
    wrong += _differences("", expected(saved, evidence), saved.document)
    return [
        diagnostic("E-CHECKPOINT-VERIFY", f"{saved.name}: {text}", checkpoint=saved.name)
        for text in wrong
    ]


def _tensors(saved: Saved, job: Job) -> Iterator[str]:
    """Each persistent value lies in its file, of its type; nothing else does."""
    there: dict[str, Type] = {}
    for file in saved.document["files"]:
        there.update(typed(saved.path / file["path"], file["path"]))
    here = job.persistent.saved
    for name in sorted({*here, *there}):
        if name not in there:
            yield f"{name} is missing"
        elif name not in here:
            yield f"{name} is not of this experiment"
        elif here[name] != there[name]:
            yield f"{name} is {there[name]}, not {here[name]}"


# -- the document


def expected(saved: Saved, evidence: Evidence) -> dict[str, Any]:
    """checkpoint.json as it must be; `Some` where only the type can be known."""
    job, document = evidence.job, saved.document
    skipped = document.get("guard", {}).get("skipped", 0)
    guard = job.experiment.run.finite_guard
    said: dict[str, Any] = {
        "version": 1,
        "document": "checkpoint",
        "run": _name(document.get("attempt"), evidence),
        "attempt": _INT,
        "step": saved.step,
        "time": _TEXT,
        "elapsed": _NUMBER,
        "experiment_id": job.experiment_id,
        "ir_sha256": job.ir_hash,
        "seed": job.experiment.run.seed,
        "rng": {"seed": job.experiment.run.seed, "step": saved.step},
        "loss_scale": _NUMBER,
        "loss_scale_steps": _INT,
        "guard": {
            "skipped": _INT,
            "allowed": int(guard[1]) if isinstance(guard, (tuple, list)) else 0,
        },
        "updates": saved.step - skipped,
        "due": _LIST,
        "files": [{"path": _TEXT, "sha256": _TEXT, "bytes": _INT} for _ in document["files"]],
        "tensors": len(job.persistent.saved),
        "sha256": _TEXT,
    }
    counts = {name: _INT for stage in job.stages.values() for name in stage.cadences}
    if counts:
        said["group_updates"] = counts
    said.update(_progress(saved, evidence))
    said.update(_reported(saved, evidence))
    said.update(_place(saved, evidence))
    return said


def _name(attempt: Any, evidence: Evidence) -> str:
    """What the run's folder was called in an attempt, by its events: it may be renamed between."""
    told = (e["run"] for e in evidence.events if e["attempt"] == attempt and "run" in e)
    return str(next(told, evidence.manifest["run"]))


def _progress(saved: Saved, evidence: Evidence) -> dict[str, Any]:
    """Where each stage is, what was counted: batches are the steps."""
    job, loaders = evidence.job, saved.document.get("loaders", {})
    # a checkpoint of before the first step, or at a border, knows nothing of the next stage yet
    begun = [e for e in evidence.events if e["event"] == "stage" and e["step"] < saved.step]
    keys = dict.fromkeys([*(f"{e['loader']}:{e['stage']}" for e in begun), *loaders])
    counted = _batches(list(keys), saved, evidence)
    said = {key: _position(key, counted[key], evidence) for key in keys}
    counters: dict[str, Any] = {n: 0 for s in job.stages.values() for n in s.counters}
    for key, batches in counted.items():
        for name, amount in job.stages[key].counters.items() if key in job.stages else ():
            counters[name] = counters.get(name, 0) + amount * batches
    if EMPTY in saved.document.get("counters", {}):  # what batches weighed is not known here
        counters[EMPTY] = _INT
    last = f"{begun[-1]['loader']}:{begun[-1]['stage']}" if begun else default_key(job.stages)
    facts = job.stages[last]
    stage = {"loader": facts.loader, "name": facts.stage, "step": counted.get(last, 0)}
    return {"loaders": said, "counters": counters, "stage": stage}


def _batches(keys: list[str], saved: Saved, evidence: Evidence) -> dict[str, int]:
    """Batches drawn from each stage. With one stage they are the steps; with several the others'
    positions are believed, and the first has the rest."""
    told = saved.document.get("loaders", {})
    found: dict[str, int] = {}
    for key in keys[1:]:
        rows = evidence.job.stages[key].step.rows if key in evidence.job.stages else 1
        found[key] = int(told.get(key, {}).get("position", 0)) // rows
    first = {keys[0]: saved.step - sum(found.values())} if keys else {}
    return {**first, **found}


def _position(key: str, batches: int, evidence: Evidence) -> Any:
    facts = evidence.job.stages.get(key)
    if facts is None:
        return {"stage": _TEXT, "position": _INT, "epoch": _INT}
    epoch, _ = evidence.loaders[facts.loader].epoch(facts.stage, batches)
    return {"stage": facts.stage, "position": batches * facts.step.rows, "epoch": epoch}


def _reported(saved: Saved, evidence: Evidence) -> dict[str, Any]:
    """Last and best values and targets, by a ledger that takes the events again."""
    job = evidence.job
    ledger = Ledger(job.experiment.targets, goals(job))
    due = saved.document.get("due", [])
    for event in evidence.events:
        late = event["step"] == saved.step and f"eval/{event.get('pass')}" in due
        if event["event"] not in ("step", "eval") or event["step"] > saved.step or late:
            continue
        named = {name: float(value) for name, value in event["metrics"].items()}
        ledger.report(named, event["step"], 0, 0.0)
    said = numbers(
        {
            "metrics": {name: value for name, (value, _) in ledger.last.items()},
            "best": ledger.best,
            "targets": ledger.targets,
            **({"series": ledger.history()} if job.curriculum is not None else {}),
        }
    )
    for target in said["targets"]:
        # seconds and examples at that moment are in no event
        target.update({key: _NUMBER for key in ("examples", "elapsed") if key in target})
    if evidence.manifest.get("parent") or evidence.manifest.get("resumed"):
        said.update(_inherited(said, saved))
    return dict(said)


def _inherited(said: Mapping[str, Any], saved: Saved) -> dict[str, Any]:
    """A fork began with its parent's values, which only the parent's events say; a run that went on
    as another experiment with values of series that this one may not have."""
    told = saved.document
    metrics = {**dict.fromkeys(told.get("metrics", {}), _metric), **said["metrics"]}
    best = {"value": _metric, "step": _INT, "goal": _TEXT}
    row = {"last": _asked, "best": _asked, "best_step": _asked, "count": _INT}
    series = {"series": dict.fromkeys(told["series"], row)} if "series" in told else {}
    return {
        **series,
        "metrics": metrics,
        "best": dict.fromkeys({*said["best"], *told.get("best", {})}, best),
        "targets": [{**_shape(target), "met": Some((bool,))} for target in told["targets"]]
        if "targets" in told
        else said["targets"],
    }


_metric = Some((int, float, str))
_asked = Some((int, float, type(None)))


def _shape(target: Mapping[str, Any]) -> dict[str, Any]:
    keys = {"metric": _TEXT, "goal": _TEXT, "threshold": _metric, "stop": Some((bool,))}
    met = {"value": _metric, "step": _INT, "examples": _INT, "elapsed": _NUMBER}
    return {**keys, **met} if target.get("met") else keys


def _place(saved: Saved, evidence: Evidence) -> dict[str, Any]:
    """Device, versions and numerics: the manifest's, or those of the attempt that resumed."""
    attempt, manifest = saved.document.get("attempt", 1), evidence.manifest
    resumed = [e for e in evidence.events if e["event"] == "resume" and e["attempt"] == attempt]
    if not resumed:
        return {key: manifest[key] for key in ("device", "versions", "numerics")}
    return {
        "device": resumed[0]["device"],
        "versions": dict.fromkeys(manifest["versions"], _TEXT),
        "numerics": dict.fromkeys(manifest["numerics"], _TEXT),
    }


# -- comparing


def _differences(path: str, wanted: Any, there: Any) -> list[str]:
    """Where a document is not what it must be: `best/val/loss/value is missing`."""
    if isinstance(wanted, Mapping):
        if not isinstance(there, Mapping):
            return [f"{path} is {there!r}"]
        found = [f"{_at(path, key)} is missing" for key in wanted if key not in there]
        found += [f"{_at(path, key)} is not known" for key in there if key not in wanted]
        for key in wanted:
            if key in there:
                found += _differences(_at(path, key), wanted[key], there[key])
        return found
    if isinstance(wanted, list):
        if not isinstance(there, list) or len(there) != len(wanted):
            return [f"{path} is {there!r}"]
        return [
            text
            for at, item in enumerate(wanted)
            for text in _differences(_at(path, str(at)), item, there[at])
        ]
    if isinstance(wanted, Some):
        fits = isinstance(there, wanted.kinds) and (bool in wanted.kinds or there is not True)
        return [] if fits else [f"{path} is {there!r}"]
    return [] if wanted == there else [f"{path} is {there!r}, not {wanted!r}"]


def _at(path: str, key: str) -> str:
    return f"{path}/{key}" if path else str(key)
