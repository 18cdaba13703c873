"""`events RUN`: a run's numbers as a small table, or its events a line each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from sexpgpu_core.diagnostics import diagnostic, nearest, problem
from sexpgpu_core.diagnostics.places import printable
from sexpgpu_core.records import NamedTuple

from .. import answer, lines, names, units
from ..answer import Answer, bounded
from ..flags import verb
from ..invocation import Invocation
from ..table import table, thinned

if TYPE_CHECKING:
    from sexpgpu_core.runtime.watch import Watch

Event = Mapping[str, Any]
NUMBERS = ("step", "eval")
KINDS = (
    *("open", "compile", "stage", *NUMBERS, "diagnostic", "checkpoint", "target", "guard"),
    *("annotation", "warning", "resume", "close"),
)
COLUMNS = 6


class Wanted(NamedTuple):
    """Which events, and which of their numbers."""

    kinds: tuple[str, ...]
    globs: tuple[str, ...]
    since: int
    every: int

    def of(self, event: Event) -> Event | None:
        """An event with the numbers that are wanted, or None."""
        if event["seq"] <= self.since or (self.kinds and event["event"] not in self.kinds):
            return None
        if self.every > 1 and event["event"] in NUMBERS and event["step"] % self.every:
            return None
        if not self.globs:
            return event
        kept = {n: v for n, v in event.get("metrics", {}).items() if self.fits(n)}
        return {**event, "metrics": kept} if kept else None

    def fits(self, name: str) -> bool:
        return any(fnmatchcase(name, glob) for glob in self.globs)


@verb("events")
@click.argument("run", metavar="RUN", type=names.RUN)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    metavar="K",
    help="step, eval, checkpoint, ...",
)
@click.option("--metric", "globs", multiple=True, metavar="GLOB", help="val/*; * also crosses /.")
@click.option("--since", type=int, default=-1, metavar="SEQ", help="Only events after that seq.")
@click.option("--last", type=click.IntRange(1), help="Only the last N.")
@click.option("--every", type=click.IntRange(1), default=1, help="Only steps that N divides.")
@click.option("--follow", is_flag=True, help="Each as it comes, until the run ends.")
def events(
    invocation: Invocation,
    run: str,
    kinds: tuple[str, ...],
    globs: tuple[str, ...],
    since: int,
    last: int | None,
    every: int,
    follow: bool,
) -> Answer:
    """Show RUN's numbers by step; with --kind of other events, a line each."""
    from sexpgpu_core.runtime.events import current
    from sexpgpu_core.runtime.watch import FAR, POLL, Watch

    wanted = Wanted(kinds, globs, since, every)
    remote = names.bringing(invocation, run) if follow else None
    watch = Watch(names.run_of(invocation, run), bring=remote, poll=FAR if remote else POLL)
    if follow:
        return followed(invocation, watch, wanted, last)
    there = current(watch.look())
    kept = chosen(wanted, there)
    if globs and not any(e.get("metrics") for e in kept):
        known_numbers(watch, there, wanted)
    told_broken(invocation, watch)
    numbers = not invocation.json and (not kinds or set(kinds) <= set(NUMBERS))
    if last is not None:
        kept = [e for e in kept if not numbers or e["event"] in NUMBERS][-last:]
    again = invocation.whole()
    if invocation.json:
        return listed(invocation, kept, again)
    none = "no numbers yet" if watch.run.live else "no numbers" + " that fit" * bool(there)
    shown = (
        curves(kept, invocation.limit, none, again)
        if numbers
        else written(kept, invocation.limit, again)
    )
    return Answer({}, bounded("\n".join(shown), again, invocation.limit))


def known_numbers(watch: Watch, there: Iterable[Event], wanted: Wanted) -> None:
    """E-USAGE-VALUE where no number of a run that has some is named as it is asked for."""
    known = list(dict.fromkeys(name for event in there for name in event.get("metrics", {})))
    if not known or any(wanted.fits(name) for name in known):
        return
    globs = " ".join(wanted.globs)
    near = nearest(globs, known)
    hint = f"did you mean {near}?" if near else f"known: {' '.join(known[:8])}"
    told = f"{watch.run.path.name} reports no {globs}"
    raise problem("E-USAGE-VALUE", told, hint=hint, nearest=near)


def chosen(wanted: Wanted, found: Iterable[Event]) -> list[Event]:
    """Events that are wanted."""
    return [kept for event in found if (kept := wanted.of(event)) is not None]


def followed(invocation: Invocation, watch: Watch, wanted: Wanted, last: int | None) -> Answer:
    """Each event as it comes. What a resume drops was shown; its own line says so."""
    from sexpgpu_core.runtime.events import current

    steps = watch.run.manifest.get("steps")
    first = True
    for new in watch.wait(None):
        kept = chosen(wanted, current(new) if first else new)
        for event in kept[-last:] if first and last else kept:
            line = answer.dumps(event) if invocation.json else _line(event, steps)
            answer.write(line)
        first = False
    told_broken(invocation, watch)
    if watch.run.state == "lost":
        invocation.say(f"{watch.run.path.name} is lost: its process is gone")
    return Answer({}, "")


def listed(invocation: Invocation, kept: list[Event], again: str) -> Answer:
    """JSON, a line each; those that are left out are told on stderr."""
    rows = thinned(range(len(kept)), invocation.limit)
    if len(rows) < len(kept):
        invocation.say(f"... {len(kept) - len(rows)} more: {again}")
    dumped = [json.dumps(kept[at], allow_nan=False, ensure_ascii=False) for at in rows]
    return Answer({}, "\n".join(dumped))


def curves(kept: list[Event], limit: int, none: str, more: str) -> list[str]:
    """A table of step by metric. Each kind is thinned by itself, so a pass is not lost."""
    numbers = [event for event in kept if event["event"] in NUMBERS]
    named = list(dict.fromkeys(name for event in numbers for name in event["metrics"]))
    if not named:
        return [none]
    shown = named if not limit else named[:COLUMNS]
    rows: dict[int, dict[str, Any]] = {}
    for event in numbers:
        rows.setdefault(event["step"], {}).update(event["metrics"])
    steps = _steps(numbers, limit)
    cells = [
        [f"{step:,}", *(units.metric(rows[step][n]) if n in rows[step] else "" for n in shown)]
        for step in steps
    ]
    made = table(["step", *shown], cells, left=0)
    if len(steps) < len(rows):
        made.append(f"... {len(rows) - len(steps)} more steps: {more}")
    if named[len(shown) :]:
        made.append(f"... {len(named) - len(shown)} more metrics: {' '.join(named[len(shown) :])}")
    return made


def _steps(numbers: list[Event], limit: int) -> list[int]:
    by_kind = {kind: sorted({e["step"] for e in numbers if e["event"] == kind}) for kind in NUMBERS}
    scarce, plenty = sorted(by_kind.values(), key=len)
    kept = thinned(scarce, max(1, limit // 2) if limit else 0)
    rest = [step for step in plenty if step not in kept]
    return sorted({*kept, *thinned(rest, max(1, limit - len(kept)) if limit else 0)})


def written(kept: list[Event], limit: int, more: str) -> list[str]:
    """A line each, the last ones where there are too many."""
    shown = kept[-limit:] if limit else kept
    made = [_line(event, None) for event in shown]
    if len(shown) < len(kept):
        made.append(f"... {len(kept) - len(shown)} earlier: {more}")
    return made or ["none"]


SHOWN = frozenset(("v", "event", "run", "attempt", "seq", "time", "elapsed", "step"))


def _line(event: Event, steps: int | None) -> str:
    told = lines.describe(event, steps)
    if told is None:
        rest = {k: v for k, v in event.items() if k not in SHOWN}
        told = " ".join(f"{k} {_short(v)}" for k, v in rest.items())
    return f"{event['seq']} {event['event']} at {event['step']:,}: {told}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    text = printable(text).replace("\n", "\\n")
    return text if len(text) <= 60 else text[:57] + "..."


def told_broken(invocation: Invocation, watch: Watch) -> None:
    """Lines that could not be read, as a warning."""
    broken = watch.broken
    if not broken:
        return
    told = (
        f"{watch.run.path.name}/events.jsonl: {len(broken)} lines do not parse, first {broken[0]}"
    )
    found = diagnostic("W-RUN-LINE", told, lines=broken[:20])
    invocation.warn([found])
