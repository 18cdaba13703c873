"""Stand-ins for commands of Slurm: `slurm_stand_in.py sbatch|squeue|sacct|scontrol|scancel ...`.

Jobs are processes of this machine, with a process of their own that watches each (slurmd's part).
$SLURM_STAND_IN is the cluster: a folder a job, and files that a test makes to say how it is:
`down` no answer, `full` no more jobs, `unaccounted` no sacct, `hold` jobs wait, `forget` squeue
knows no job that has ended. A job's folder takes `end` with a state that ends it.
Messages, formats and exits are the real ones' (Slurm 22.05).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CLUSTER = Path(os.environ.get("SLURM_STAND_IN", "."))
OVER = ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "PREEMPTED", "NODE_FAIL", "OUT_OF_MEMORY")


def installed(folder: Path, setenv: Callable[[str, str], object]) -> Path:
    """Put the commands on the PATH; the cluster's folder."""
    commands, cluster = folder / "bin", folder / "cluster"
    commands.mkdir()
    cluster.mkdir()
    for name in ("sbatch", "squeue", "sacct", "scontrol", "scancel"):
        script = commands / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} {name} "$@"\n')
        script.chmod(0o755)
    setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    setenv("SLURM_STAND_IN", str(cluster))
    return cluster


def say(told: str, code: int = 1) -> int:
    sys.stderr.write(told + "\n")
    return code


def job(id: str) -> dict[str, Any] | None:
    path = CLUSTER / id / "job.json"
    return dict(json.loads(path.read_text())) if path.is_file() else None


def change(id: str, **facts: Any) -> None:
    path = CLUSTER / id / "job.json"
    (path.parent / "new").write_text(json.dumps({**(job(id) or {}), **facts}))
    os.replace(path.parent / "new", path)


def parsed(argv: list[str], *names: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in names:
        flag = name.endswith("!")
        parser.add_argument(f"--{name.rstrip('!')}", **({"action": "store_true"} if flag else {}))  # type: ignore[arg-type]
    parser.add_argument("ids", nargs="*")
    return parser.parse_args(argv)


def sbatch(argv: list[str]) -> int:
    named = ("job-name", "output", "open-mode", "partition", "account", "time", "qos", "gres")
    given = parsed(
        argv, *named, "mem", "cpus-per-task", "signal", "constraint", "wrap", "parsable!"
    )
    failed = "sbatch: error: Batch job submission failed:"
    if (CLUSTER / "full").exists():
        return say(f"sbatch: error: QOSMaxSubmitJobPerUserLimit\n{failed} Job violates policy")
    if given.partition not in (None, "gpu", "debug"):
        told = f"sbatch: error: invalid partition specified: {given.partition}"
        return say(f"{told}\n{failed} Invalid partition name specified")
    id = str(len(list(CLUSTER.glob("*/job.json"))) + 1)
    (CLUSTER / id).mkdir()
    change(id, state="PENDING", exit="0:0", **vars(given))
    with open(CLUSTER / id / "slurmd", "w") as log:
        words = [sys.executable, __file__, "slurmd", id]
        subprocess.Popen(words, stdin=log, stdout=log, stderr=log, start_new_session=True)
    sys.stdout.write(f"{id}\n" if given.parsable else f"Submitted batch job {id}\n")
    return 0


def slurmd(argv: list[str]) -> int:
    """A job from its start to its end."""
    (id,) = argv
    told = job(id)
    assert told is not None
    while (CLUSTER / "hold").exists():
        time.sleep(0.02)
        if job(id)["state"] == "CANCELLED":  # type: ignore[index]
            return 0
    with open(told["output"].replace("%%", "%"), "ab") as out:
        words = ["/bin/sh", "-c", told["wrap"]]
        process = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True)
    change(id, state="RUNNING", pid=process.pid)
    limit = None if told["time"] is None else time.monotonic() + 60 * float(told["time"])
    state = watched(id, process, limit)
    code = process.wait()
    exit = f"0:{-code}" if code < 0 else f"{code}:0"
    change(id, state=state or ("COMPLETED" if code == 0 else "FAILED"), exit=exit)
    return 0


def watched(id: str, process: subprocess.Popen[bytes], limit: float | None) -> str | None:
    """What ended a job from outside, if anything did."""
    while process.poll() is None:
        time.sleep(0.02)
        end = CLUSTER / id / "end"
        asked = end.read_text() if end.exists() else ""  # a test may not have written it yet
        late = limit is not None and time.monotonic() > limit
        if asked or late:
            state = asked or "TIMEOUT"
            kill = state in ("NODE_FAIL", "OUT_OF_MEMORY")
            os.killpg(process.pid, signal.SIGKILL if kill else signal.SIGTERM)
            process.wait()
            return state
    return None


def squeue(argv: list[str]) -> int:
    if (CLUSTER / "down").exists():
        return say("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    given = parsed(argv, "noheader!", "format", "jobs", "states", "name")
    ids = given.jobs.split(",") if given.jobs else [p.name for p in CLUSTER.iterdir() if p.is_dir()]
    found = [(id, told) for id in ids if (told := job(id)) is not None]
    if given.states != "all" or (CLUSTER / "forget").exists():
        found = [(id, told) for id, told in found if told["state"] not in OVER]
    if given.jobs and not found:
        return say("slurm_load_jobs error: Invalid job id specified")
    found = [(id, told) for id, told in found if given.name in (None, told["job_name"])]
    sys.stdout.write("".join(f"{id}|{told['state']}\n" for id, told in found))
    return 0


def sacct(argv: list[str]) -> int:
    if (CLUSTER / "unaccounted").exists():
        return say("Slurm accounting storage is disabled")
    given = parsed(argv, "noheader!", "parsable2!", "allocations!", "format", "jobs")
    for id in given.jobs.split(","):
        if (told := job(id)) is None:
            continue
        by = " by 1000" if told["state"] == "CANCELLED" else ""
        sys.stdout.write(f"{id}|{told['state']}{by}|{told['exit']}\n")
    return 0


def scontrol(argv: list[str]) -> int:
    *_, id = argv
    told = job(id)
    if told is None or (CLUSTER / "forget").exists():
        return say("slurm_load_jobs error: Invalid job id specified")
    facts = {"JobId": id, "JobName": told["job_name"], "JobState": told["state"]}
    facts |= {"Reason": "None", "Dependency": "(null)", "ExitCode": told["exit"]}
    sys.stdout.write(" ".join(f"{key}={value}" for key, value in facts.items()) + "\n")
    return 0


def scancel(argv: list[str]) -> int:
    given = parsed(argv, "quiet!", "state", "signal", "batch!")
    if (CLUSTER / "down").exists():
        return say("scancel: error: Kill job error: Unable to contact slurm controller")
    for id in given.ids:
        told = job(id)
        if told is None or told["state"] in OVER or given.state not in (None, told["state"]):
            continue
        if told["state"] == "PENDING":
            change(id, state="CANCELLED")
        elif given.signal and given.batch:
            os.kill(told["pid"], getattr(signal, f"SIG{given.signal}"))
    return 0


if __name__ == "__main__":
    commands = (sbatch, slurmd, squeue, sacct, scontrol, scancel)
    sys.exit({c.__name__: c for c in commands}[sys.argv[1]](sys.argv[2:]))
