"""What a Ray worker does for a point: its command as a process, asked to save by an interrupt.

It is sent to the worker as it is, so that a cluster's own Python needs no package of ours.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

OWN = ("RAY_", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")
"""Beginnings of variables that are the worker's to say."""
PREEMPTED, FAILED = 75, 3


def perform(command: Sequence[str], log: str, folder: str, environment: Mapping[str, str]) -> int:
    """Run it to its end; its exit. Ray cancels a task by a KeyboardInterrupt."""
    kept = {key: value for key, value in os.environ.items() if key.startswith(OWN)}
    given = {key: value for key, value in environment.items() if not key.startswith(OWN)}
    with open(log, "ab") as file:
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            env={**given, **kept},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_end_with_worker if sys.platform == "linux" else None,
        )
    while True:
        try:
            code = process.wait(0.2)
            break
        except subprocess.TimeoutExpired:
            continue
        except KeyboardInterrupt:
            process.terminate()
    if code >= 0:
        return code
    return PREEMPTED if code == -signal.SIGTERM else FAILED


def _end_with_worker() -> None:
    """SIGTERM to the process once its worker dies: PR_SET_PDEATHSIG of prctl(2)."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
