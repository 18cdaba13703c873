"""`stop RUN`: end a live run after its step, with a checkpoint; the state it ended in."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import click

from .. import names
from ..answer import Answer
from ..flags import Real, verb
from ..invocation import Invocation
from .status import NOT_YET, told

if TYPE_CHECKING:
    from sexpgpu_core.runtime.runs import Run

PATIENCE = 2.0
"""Seconds that --now gives a run to leave by itself, between two steps."""


@verb("stop")
@click.argument("run", metavar="RUN", type=names.RUN)
@click.option("--now", is_flag=True, help="Without a checkpoint; kill it if it does not leave.")
@click.option("--timeout", type=Real(0), metavar="S", help="Wait no longer; exit 6 then.")
def stop(invocation: Invocation, run: str, now: bool, timeout: float | None) -> Answer:
    """End RUN after its step, with a checkpoint, and wait until it has ended."""
    from sexpgpu_core.runtime import control

    if (folder := names.sweep_of(invocation, run)) is not None:
        from .sweep import stopped

        return stopped(invocation, folder, timeout)
    found = names.own_run_of(invocation, run)
    if not found.live:
        invocation.say(f"{found.path.name} is not live: {found.state}")
        return told(found, {})
    control.ask(found.path, "stop", now=now)
    patience = min(PATIENCE, timeout) if now and timeout is not None else PATIENCE
    found = waited(found, patience if now else timeout)
    if now and found.live and timeout != 0:
        found = killed(found)
    return told(found, {})._replace(exit=NOT_YET if found.live else 0)


def waited(run: Run, timeout: float | None) -> Run:
    """The run once it has ended, or as it is after some seconds."""
    from sexpgpu_core.runtime.watch import Watch

    watch = Watch(run)
    for _ in watch.wait(timeout):
        pass
    return watch.run


def killed(run: Run) -> Run:
    """End the process of this machine that has the run, and write the end that it did not.

    Its last checkpoint is whole. On another machine it is left to find the request.
    """
    from sexpgpu_core.runtime import afterwards
    from sexpgpu_core.runtime.process import living, this_host

    told = run.status
    if told is None or told["host"] != this_host() or not living(int(told["pid"]), told):
        return run.now()
    os.kill(int(told["pid"]), signal.SIGKILL)
    while living(int(told["pid"]), told):
        time.sleep(0.01)
    return run._replace(status=afterwards.close(run.path, "stop --now"))
