"""`status RUN`: one run from its status file; --until waits, --follow goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sexpgpu_core.diagnostics import problem

from .. import answer, names, status_text
from ..answer import Answer
from ..flags import Real, verb
from ..invocation import Invocation

if TYPE_CHECKING:
    from sexpgpu_core.runtime.runs import Run
    from sexpgpu_core.runtime.watch import Watch

NOT_YET = 6
LOST = 3


@verb("status")
@click.argument("run", metavar="RUN", type=names.RUN)
@click.option("--until", metavar="step=K|done|METRIC<V", help="Wait for it; exit as the run did.")
@click.option("--timeout", type=Real(0), metavar="S", help="Wait no longer; exit 6 then.")
@click.option("--follow", is_flag=True, help="A line on each change, until the run ends.")
def status(
    invocation: Invocation, run: str, until: str | None, timeout: float | None, follow: bool
) -> Answer:
    """Say how RUN is: a path, a slug, the beginning of one, latest, best or best:METRIC."""
    if timeout is not None and until is None and not follow:
        hint = "sexpgpu status RUN --until done --timeout 60"
        raise problem("E-USAGE-VALUE", "--timeout is for --until and --follow", hint=hint)
    if (folder := names.sweep_of(invocation, run)) is not None:
        from .sweep import status_of

        return status_of(invocation, folder, "done" if follow else until, timeout)
    found = names.run_of(invocation, run)
    if until is None and not follow:
        return told(found, {})
    from sexpgpu_core.runtime import watch

    wanted = watch.condition(until) if until is not None else None
    remote = names.bringing(invocation, run)
    if remote is None:
        return waited(invocation, watch.Watch(found, wanted), timeout, follow)
    far = watch.Watch(found, wanted, bring=remote, poll=watch.FAR)
    return waited(invocation, far, timeout, follow)


def waited(invocation: Invocation, watch: Watch, timeout: float | None, follow: bool) -> Answer:
    """Watch until it is over; what it was then, and whether that was what was waited for."""
    before: dict[str, Any] | None = None
    for _ in watch.wait(timeout):
        now = status_text.status_json(watch.run, **_until(watch))
        if follow and status_text.steady(now) != before:
            before = status_text.steady(now)
            answer.write(answer.dumps(now) if invocation.json else status_text.line(now))
    code = _exit(watch)
    if follow:
        return Answer({}, "", code)
    if watch.over and not watch.met:
        invocation.say(f"it ended before {watch.until.text if watch.until else ''}")
    return told(watch.run, _until(watch))._replace(exit=code)


def _until(watch: Watch) -> dict[str, Any]:
    if watch.until is None:
        return {}
    return {"until": {"condition": watch.until.text, "met": watch.met}}


def _exit(watch: Watch) -> int:
    """6 while it is not yet so; with --until as the run did, 3 where its process is gone."""
    if not watch.over:
        return NOT_YET
    if watch.until is None or watch.run.live:
        return 0
    if watch.run.state == "lost":
        return LOST
    return int((watch.run.status or {}).get("exit") or 0)


def told(run: Run, more: dict[str, Any]) -> Answer:
    """A status as an answer."""
    document = status_text.status_json(run, **more)
    return Answer(document, status_text.text(document, document["path"], status_text.again(run)))
