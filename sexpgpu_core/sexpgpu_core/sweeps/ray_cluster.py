"""`--executor ray`: a task of a Ray cluster a point. Tasks are the sweep's: they end with it.

ray.init, ray.wait, ray.cancel and the exceptions of ray.get are as https://docs.ray.io says for 2.9
and later: a cancelled task raises TaskCancelledError, one whose worker or node died a RayError, one
that raised itself a RayTaskError.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

from ..diagnostics import problem
from . import ray_task
from .executor import FAILED, PREEMPTED, Ended

POLL = 0.5
"""Seconds between two questions to the cluster."""
ANSWER = 10.0
"""Seconds in which a cluster's address has to be there."""


class RayExecutor:
    """Each task wants `cpus` and `gpus` of the cluster, and waits until a node has them."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._ray = _connected(options["address"])
        sys.stdout = cast(TextIO, _Spoken(sys.stdout))
        self._ray.cloudpickle.register_pickle_by_value(ray_task)
        wanted = {"num_cpus": options["cpus"], "num_gpus": options["gpus"]}
        self._task = self._ray.remote(max_retries=0, **wanted)(ray_task.perform)
        self._tasks: dict[str, Any] = {}
        self._over: dict[str, Ended] = {}
        self._cancelled: set[str] = set()
        self._asked = 0.0

    def submit(self, command: Sequence[str], point: str, log: Path) -> str:
        log.write_bytes(b"")
        words = (list(command), str(log.resolve()), os.getcwd(), dict(os.environ))
        task = self._task.options(name=f"sexpgpu {point}").remote(*words)
        self._tasks[task.hex()] = task
        return str(task.hex())

    def find(self, point: str, log: Path) -> str | None:
        return None  # it ended with the process that began it

    def ended(self, jobs: Collection[str]) -> dict[str, Ended]:
        if time.monotonic() - self._asked >= POLL:
            self._ask()
            self._asked = time.monotonic()
        unknown = {job: Ended(None) for job in jobs if job not in self._tasks}
        return {**unknown, **{job: self._over[job] for job in jobs if job in self._over}}

    def cancel(self, jobs: Collection[str]) -> None:
        """By an interrupt, at which the task asks its process to save."""
        for job in jobs:
            if job in self._tasks and job not in self._over:
                self._cancelled.add(job)
                self._ray.cancel(self._tasks[job], force=False)

    def _ask(self) -> None:
        left = {task: job for job, task in self._tasks.items() if job not in self._over}
        if left:
            ready, _ = self._ray.wait(list(left), num_returns=len(left), timeout=0)
            self._over.update({left[task]: self._ended(left[task], task) for task in ready})

    def _ended(self, job: str, task: Any) -> Ended:
        errors = self._ray.exceptions
        try:
            code = int(self._ray.get(task))
        except errors.TaskCancelledError:
            return Ended(PREEMPTED)
        except errors.RayTaskError as raised:
            return Ended(FAILED, f"Ray: {raised.cause}")
        except errors.RayError as lost:
            return Ended(None, f"Ray: {type(lost).__name__}", again=job not in self._cancelled)
        return Ended(code, again=code == PREEMPTED and job not in self._cancelled)


def _connected(address: str) -> Any:
    """Ray, with a cluster that is there. Raises E-EXECUTOR-ABSENT.

    Importing it takes SIGTERM, which is the sweep's.
    """
    handler = signal.getsignal(signal.SIGTERM)
    try:
        import ray

        _answers(os.environ.get("RAY_ADDRESS", "auto") if address == "auto" else address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except ImportError as missing:
        hint = "pip install 'sexpgpu[ray]'"
        raise problem("E-EXECUTOR-ABSENT", f"ray: {missing}", hint=hint) from missing
    except (OSError, RuntimeError, ValueError) as refused:
        told = str(refused).partition("\n")[0]
        hint = "ray start --head begins one; --executor ray:address=HOST:PORT or RAY_ADDRESS"
        said = f"ray: no cluster answers at {address}: {told}"
        raise problem("E-EXECUTOR-ABSENT", said, hint=hint) from refused
    finally:
        _restore(handler)
    return ray


class _Spoken:
    """Standard output, for the main thread alone: a thread of Ray's prints errors of the cluster
    there, among what the program answers. They go to standard error."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        main = threading.current_thread() is threading.main_thread()
        return (self._stream if main else sys.stderr).write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _answers(address: str) -> None:
    """Whether something listens at HOST:PORT; ray.init tries for minutes. Raises OSError."""
    host, colon, port = address.rpartition("//")[2].rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), ANSWER).close()


def _restore(handler: Any) -> None:
    try:
        signal.signal(signal.SIGTERM, handler)
    except ValueError:  # not the main thread: it was not taken either
        return
