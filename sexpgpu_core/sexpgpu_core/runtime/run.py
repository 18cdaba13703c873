"""One attempt, from step 0 or a checkpoint: the loop, and what is told at its end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..checkpoint.folder import Checkpoint
from ..data.loader import Loader
from ..diagnostics import Diagnostic, Problem, Problems, diagnostic
from ..diagnostics.render_json import diagnostic_json
from ..records import NamedTuple
from .fault import Cause, Fault
from .folder import RunFolder
from .job import Job
from .loop import Loop
from .machine import peak_bytes
from .sampling import Plan
from .signals import ENDINGS, Ending, Signals

if TYPE_CHECKING:
    from ..device import Session

_CANNOT = frozenset(
    {"E-DEVICE-MEMORY", "E-DEVICE-DISK", "E-DEVICE-TIME", "E-DEVICE-ABSENT", "E-STORE-DENIED"}
)


class Summary(NamedTuple):
    """How an attempt ended. `status`: the last status.json; `summary`: its key of that name."""

    state: str
    exit: int
    reason: str
    error: Diagnostic | None
    summary: Mapping[str, Any] | None
    status: Mapping[str, Any]
    folder: Path


def run(
    job: Job,
    session: Session,
    folder: RunFolder,
    *,
    loaders: Mapping[str, Loader],
    resume: Checkpoint | None = None,
    signals: Signals | None = None,
    deadline: float | None = None,
    explain: Callable[[Fault], Cause | None] | None = None,
    in_flight: int = 1,
    until: int | None = None,
    keep: bool = True,
    plan: Plan | None = None,
) -> Summary:
    """Run a compiled job to its end; closes `folder`, not `session`.

    `resume`: what `reopen` read. `deadline`: seconds, else the file's. `explain` finds what made a
    launch fault. `until`: the step after which it is broken off; not `keep`: without a checkpoint
    then. `plan`: to observers of another selection (runtime.sampling). `in_flight`: 2 where a
    device's verdict is sticky under :halt. A user's mistake
    or the machine's refusal is told in the Summary (exit 3 or 4); any other exception is written
    down (exit 70) and raised again.
    """
    limit = deadline if deadline is not None else job.experiment.run.deadline
    asked = signals or Signals()
    loop = Loop(job, session, folder, loaders, asked, limit, explain, in_flight, until, keep, plan)
    try:
        loop.begin(resume)
        reason = loop.steps()
        loop.end(reason)
    except (Problem, Problems) as raised:
        found = raised.diagnostic if isinstance(raised, Problem) else raised.diagnostics[0]
        return _failed(loop, found)
    except MemoryError:
        return _failed(loop, diagnostic("E-RUN-MEMORY"))
    except BaseException as raised:
        _failed(loop, diagnostic("E-INTERNAL", f"{type(raised).__name__}: {raised}"))
        raise
    finally:
        loop.close()
    return _ended(loop, reason)


def interrupted(folder: RunFolder, signals: Signals, resume: Checkpoint | None = None) -> Summary:
    """End a run that was asked to stop while it was compiled: no checkpoint, nothing lost."""
    reason = signals.reason or "SIGTERM"
    return _close(folder, None, _begun_at(resume), ENDINGS[reason], reason, None)


def failed(folder: RunFolder, found: Diagnostic, resume: Checkpoint | None) -> Summary:
    """End a run that failed before its first step: while its device was opened, say."""
    return _close(folder, None, _begun_at(resume), _ending(found), found.code, found)


def _begun_at(resume: Checkpoint | None) -> int:
    return 0 if resume is None else int(resume.document["step"])


def _ended(loop: Loop, reason: str) -> Summary:
    if reason in ENDINGS:
        late = reason == "deadline"
        error = diagnostic("E-RUN-DEADLINE", step=loop.progress.step) if late else None
        return _finish(loop, ENDINGS[reason], reason, error)
    step = loop.progress.step
    for target in loop.report.ledger.targets:
        if not target["met"]:
            loop.folder.events.write("target", step, target=target)
    missed = loop.report.ledger.missed
    if reason == "target" or not missed:
        return _finish(loop, Ending("finished", 0), reason, None)
    told = f"{missed[0]['metric']} did not come {missed[0]['goal']} {missed[0]['threshold']}"
    return _finish(loop, Ending("finished", 5), reason, diagnostic("E-RUN-TARGET", told))


def _failed(loop: Loop, found: Diagnostic) -> Summary:
    # the lock may not go while a checkpoint is being written
    with contextlib.suppress(Problem):
        loop.saver.collect(wait=True)
    return _finish(loop, _ending(found), found.code, found)


def _ending(found: Diagnostic) -> Ending:
    if found.code == "E-INTERNAL":
        return Ending("failed", 70)
    return Ending("failed", 4 if found.code in _CANNOT else 3)


def _finish(loop: Loop, ending: Ending, reason: str, error: Diagnostic | None) -> Summary:
    with contextlib.suppress(Problem):  # a full disk: the event of the end meets it again
        loop.report.flush()
        if loop.folder.doubles is not None:
            loop.folder.doubles.follow(loop.progress.step, wait=ending.state == "finished")
    summary = _summary(loop)
    return _close(loop.folder, summary, loop.progress.step, ending, reason, error)


def _close(
    folder: RunFolder,
    summary: Mapping[str, Any] | None,
    step: int,
    ending: Ending,
    reason: str,
    error: Diagnostic | None,
) -> Summary:
    told = diagnostic_json(error) if error is not None else None
    try:
        folder.events.write(
            "close",
            step,
            state=ending.state,
            exit=ending.exit,
            reason=reason,
            error=told,
            summary=summary or _nothing(folder, step),
        )
        folder.events.sync()
    except (Problem, OSError) as refused:
        # a full disk: what can still be told goes to status.json and to the caller
        told = told or diagnostic_json(diagnostic("E-RUN-WRITE", str(refused)))
    folder.log(f"{ending.state} at step {step}, exit {ending.exit}: {reason}")
    folder.status.set(state=ending.state, exit=ending.exit, error=told, summary=summary, eta=None)
    document = folder.status.document()
    folder.close()
    return Summary(ending.state, ending.exit, reason, error, summary, document, folder.path)


def _nothing(folder: RunFolder, step: int) -> dict[str, Any]:
    return {
        "steps": step,
        "elapsed": round(folder.events.elapsed, 6),
        "metrics": {},
        "best": {},
        "targets": [],
        "evaluation_ids": {},
    }


def _summary(loop: Loop) -> dict[str, Any]:
    progress, ledger = loop.progress, loop.report.ledger
    pace = loop.report.throughput.step_s
    return {
        "steps": progress.step,
        "elapsed": round(loop.folder.events.elapsed, 6),
        "examples": progress.examples,
        "counters": dict(progress.counters),
        "metrics": {name: value for name, (value, _) in ledger.last.items()},
        "best": dict(ledger.best),
        "targets": [dict(target) for target in ledger.targets],
        "evaluation_ids": dict(loop.job.evaluation_ids),
        **({"step_s": round(pace, 9)} if pace is not None else {}),
        "peak_memory_bytes": peak_bytes(),
        "warnings": dict(loop.folder.events.warnings),
        "test_reads": loop.passes.test_reads,
        "skipped_steps": progress.skipped,
    }
