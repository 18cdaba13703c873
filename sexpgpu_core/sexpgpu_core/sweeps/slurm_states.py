"""What Slurm says of a job, to how it ended.

Words of states are those of squeue(1) and sacct(1), "JOB STATE CODES", in their long form; sacct
writes `CANCELLED by UID`. ExitCode, sacct's and scontrol's, is `EXIT:SIGNAL` of the batch script.
squeue keeps a job for MinJobAge seconds (300) after its end; of jobs that are all forgotten it says
UNKNOWN, exit 1.
"""

from __future__ import annotations

import signal

from ..records import NamedTuple
from .executor import FAILED, PREEMPTED, Ended

UNKNOWN = "Invalid job id specified"
LIVE = frozenset(
    (
        *("PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING"),
        *("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "SIGNALING", "STAGE_OUT"),
        *("RESV_DEL_HOLD", "EXPEDITING", "POWER_UP_NODE", "LAUNCH_FAILED"),
    )
)
"""States of a job that waits, runs or will run again."""
TAKEN = frozenset(("TIMEOUT", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "DEADLINE"))
"""States of a job that was ended through no fault of its command."""
SAVING = (signal.SIGUSR1, signal.SIGTERM)
"""Signals at which a run saves and ends; before it listens they end it."""


class Told(NamedTuple):
    """A state's word, all that stands there, and ExitCode, if it is known."""

    state: str
    whole: str = ""
    exit: int | None = None
    signal: int = 0


def of_squeue(text: str) -> dict[str, Told]:
    """States by job, from `%i|%T`; the lines that name a cluster have no bar."""
    rows = (line.strip().split("|") for line in text.splitlines() if "|" in line)
    return {id: _told(state) for id, state in rows}


def of_sacct(text: str) -> dict[str, Told]:
    """States and exits by job, from JobIDRaw|State|ExitCode."""
    found = {}
    for line in text.splitlines():
        id, _, rest = line.strip().partition("|")
        state, _, code = rest.partition("|")
        left, _, right = code.partition(":")
        if left.isdigit() and right.isdigit():
            found[id] = _told(state)._replace(exit=int(left), signal=int(right))
    return found


def of_scontrol(text: str) -> dict[str, Told]:
    """States and exits by job, from `scontrol show job --oneliner`."""
    found = {}
    for line in text.splitlines():
        facts = dict(word.split("=", 1) for word in line.split() if "=" in word)
        left, _, right = facts.get("ExitCode", "").partition(":")
        if left.isdigit() and right.isdigit():
            told = _told(facts["JobState"])._replace(exit=int(left), signal=int(right))
            found[facts["JobId"]] = told
    return found


def _told(text: str) -> Told:
    return Told(text.split()[0].rstrip("+") if text.strip() else "", text.strip())


def ended(id: str, told: Told, ours: bool) -> Ended:
    """How a job ended that is in no live state. `ours`: we asked it to."""
    why = f"Slurm job {id}: {told.whole or 'not known any more'}"
    if told.state in TAKEN:
        return Ended(None, why, again=not ours)
    if told.state == "CANCELLED":
        return Ended(PREEMPTED, "" if ours else why)
    if told.state == "OUT_OF_MEMORY":
        return Ended(FAILED, why, error="E-RUN-MEMORY")
    if told.signal:
        saving = told.signal in SAVING
        return Ended(PREEMPTED if saving else FAILED, f"{why}, signal {told.signal}")
    if told.state == "COMPLETED":
        return Ended(0)
    if told.exit is None:
        return Ended(None, "" if told.state else why)
    return Ended(told.exit, again=told.exit == PREEMPTED and not ours)
