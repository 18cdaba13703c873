"""`diagnostics RUN`: the numbers that a run samples, and those that it could; changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sexpgpu_core.diagnostics import Problem, problem

from .. import names
from ..answer import Answer, bounded, cut, document
from ..flags import verb
from ..invocation import Invocation

if TYPE_CHECKING:
    from sexpgpu_core.runtime.runs import Run


@verb("diagnostics")
@click.argument("run", metavar="RUN", type=names.RUN)
@click.option("--add", multiple=True, metavar="GLOB", help="Sample these too: grad/norm/**.")
@click.option("--remove", multiple=True, metavar="GLOB", help="No longer sample these.")
def diagnostics(
    invocation: Invocation, run: str, add: tuple[str, ...], remove: tuple[str, ...]
) -> Answer:
    """List the numbers that RUN samples and those that there are; change them while it runs."""
    from sexpgpu_core import rerun
    from sexpgpu_core.compile.observers import check_globs

    changed = bool(add or remove)
    found = (names.own_run_of if changed else names.run_of)(invocation, run)
    probes, selected = rerun.probes(found)
    available = [probe.name for probe in probes]
    if changed:
        try:
            check_globs(available, (*add, *remove))
        except Problem as unknown:  # E-SERIES is of a file; this is the command line
            why = unknown.diagnostic
            raise problem("E-USAGE-VALUE", why.message, hint=why.hint) from None
        found = asked(found, add, remove)
        _, selected = rerun.probes(found)
    shown = {
        key: cut(values, invocation.limit)
        for key, values in (("selected", selected), ("available", available))
    }
    told = document(
        "diagnostics", run=found.path.name, **{key: values for key, (values, _) in shown.items()}
    )
    again = invocation.beside("diagnostics", found.path.name)
    omitted = {key: left for key, (_, left) in shown.items() if left}
    if omitted:
        told.update(omitted=omitted, more=again)
    lines = []
    for key, (values, left) in shown.items():
        lines += [f"{key} {len(values) + left:,}", *(f"  {name}" for name in values)]
        lines += [f"  ... {left:,} more: {again}"] if left else []
    return Answer(told, bounded("\n".join(lines), again, invocation.limit))


def asked(run: Run, add: tuple[str, ...], remove: tuple[str, ...]) -> Run:
    """The run once it samples what is wanted. Raises E-USAGE-VALUE where it does not run, and
    W-RUN-DIAGNOSTIC's reason where it cannot."""
    from sexpgpu_core.runtime import control
    from sexpgpu_core.runtime.watch import Watch

    if not run.live:
        raise _ended(run)
    watch = Watch(run)
    watch.look()
    wanted = [*add, *(f"!{glob}" for glob in remove)]
    before = _times(wanted, watch.run)
    control.ask(run.path, "diagnostics", add=list(add), remove=list(remove))
    for events in watch.wait(None):
        for event in events:
            if event["event"] == "warning" and event["diagnostic"]["code"] == "W-RUN-DIAGNOSTIC":
                raise problem("E-USAGE-VALUE", event["diagnostic"]["message"])
        if _times(wanted, watch.run) > before and _taken(watch.run):
            return watch.run
    raise _ended(watch.run)


def _asked(run: Run) -> list[str]:
    """All that was asked of a run while it ran, in order."""
    return list((run.status or {}).get("diagnostics", {}).get("live", ()))


def _times(wanted: list[str], run: Run) -> int:
    """How often just this was asked: what is added, removed and added again is three requests."""
    live = _asked(run)
    return sum(live[at : at + len(wanted)] == wanted for at in range(len(live)))


def _taken(run: Run) -> bool:
    """Whether the run samples by all that was asked of it."""
    live = _asked(run)
    selected = list((run.status or {}).get("diagnostics", {}).get("select", ()))
    return selected[-len(live) :] == live


def _ended(run: Run) -> Problem:
    return problem(
        "E-USAGE-VALUE",
        f"{run.path.name} is not live: {run.state}",
        hint="Numbers of a run that is resumed are chosen by run --diagnostics GLOB.",
    )
