"""A declared sweep to its points, in their order: each a choice of knobs and a seed."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, Problem, diagnostic, nearest, problem
from ..evaluator.builtins.listing import proper
from ..evaluator.definitions import core_symbol
from ..evaluator.printer import print_text
from ..evaluator.values import NIL, Ratio, String, Symbol, Value, first_value, make_list
from ..records import NamedTuple
from ..staging.forms.knobs import wants_float
from ..staging.lisp_text import lisp_text

if TYPE_CHECKING:
    from ..evaluator.evaluator import Evaluator
    from ..experiment.declarations import Experiment, Sweep

LET, QUOTE = map(core_symbol, ("LET", "QUOTE"))

DIGITS = 12
"""Of a log-uniform draw: the last bits of exp and log are the C library's own."""
MOST = 100_000
"""Points of a sweep."""
LONGEST = 150
"""Characters of a point's name, which its log is a file of."""

TEST = "a test of knobs that are varied: :where (< KNOB 64)"
"""What :where is."""

Row = tuple[tuple[str, str], ...]
"""Knobs with their Lisp texts."""


class Point(NamedTuple):
    """`values`: knob -> Lisp text, as `--set` takes it."""

    name: str
    values: dict[str, str]
    seed: int


class Chosen(NamedTuple):
    """One point as a selection. `name`: SWEEP/POINT; `variant`: what it is over."""

    name: str
    values: dict[str, str]
    seed: int
    variant: str | None


class Points(NamedTuple):
    """A sweep's points under the variant that they are over. `repeated`: the warning of those that
    are written more than once."""

    sweep: Sweep
    variant: str | None
    points: list[Point]
    repeated: Diagnostic | None = None

    def chosen(self, text: str) -> Chosen:
        """The point that SWEEP/POINT names. Raises E-SWEEP-UNKNOWN."""
        name, known = text.partition("/")[2], {point.name: point for point in self.points}
        if name not in known:
            raise _unknown(
                f"{self.sweep.name} has no point {name or 'without a name'}", name, known
            )
        return self.choice(known[name])

    def choice(self, point: Point) -> Chosen:
        """A point as a selection."""
        name = f"{self.sweep.name}/{point.name}"
        return Chosen(name, point.values, point.seed, self.variant)


def declared(experiment: Experiment, name: str) -> Sweep:
    """The sweep of a name. Raises E-SWEEP-UNKNOWN, and what `check` finds of its shape."""
    from .checks import check_shape

    if name not in experiment.sweeps:
        raise _unknown(f"no sweep {name}", name, experiment.sweeps)
    check_shape(experiment.sweeps[name], experiment)
    return experiment.sweeps[name]


def _unknown(told: str, name: str, known: Iterable[str]) -> Exception:
    near, listed = nearest(name, known), " ".join(list(known)[:8])
    none = "the file has none: (defsweep NAME ...) declares one"
    hint = f"did you mean {near}?" if near else f"there are: {listed}" if listed else none
    return problem("E-SWEEP-UNKNOWN", told, hint=hint, nearest=near)


def points(sweep: Sweep, variant: str | None, evaluator: Evaluator, seed: int) -> Points:
    """Every point: grid, then zip, then random are crossed, `where` filters, `seeds` repeats.

    Those that are equal are one. The evaluator is that of the file under the variant; `seed` the
    run's. Raises E-SWEEP-SHAPE.
    """
    found = rows(sweep, evaluator)
    count = _count(sweep, "seeds", 1)
    first: dict[Row, Row] = {}
    for row in found:
        first.setdefault(_read(row, evaluator), row)
    made = [_point(row, seed + at, count) for row in first.values() for at in range(count)]
    return Points(sweep, variant, _named(made), repeated(sweep, found, evaluator))


def _read(row: Row, evaluator: Evaluator) -> Row:
    """A row's values as the knobs hold them: 1 and 1.0 are one value of a knob of floats."""
    kinds = evaluator.host.collector.knob_types
    return tuple((knob, _held(text, kinds.get(knob, (NIL,))[0])) for knob, text in row)


def _held(text: str, kind: Value) -> str:
    whole = text.lstrip("-").isdecimal()
    return lisp_text(float(text)) if whole and wants_float(kind) else text


def repeated(sweep: Sweep, found: Sequence[Row], evaluator: Evaluator) -> Diagnostic | None:
    """W-SWEEP-SAME where rows are equal, whose points are run once."""
    counts = Counter(_read(row, evaluator) for row in found)
    more = {row: n for row, n in counts.items() if n > 1}
    if not more:
        return None
    shown = "; ".join(
        f"{' '.join(f'{knob} {text}' for knob, text in row)} ({n} times)"
        for row, n in list(more.items())[:3]
    )
    rest = f"; and {len(more) - 3} more" if len(more) > 3 else ""
    drawn = "random" in sweep.options
    return diagnostic(
        "W-SWEEP-SAME",
        f"{len(found)} choices of sweep {sweep.name} are {len(counts)}: {shown}{rest}",
        span=sweep.span,
        hint="a draw of few values meets them again; write them in :grid"
        if drawn
        else "write each value once; :seeds N runs a point N times",
        sweep=sweep.name,
    )


def rows(sweep: Sweep, evaluator: Evaluator) -> list[Row]:
    """The choices of knobs, before seeds repeat them. Raises E-SWEEP-SHAPE."""
    options = sweep.options
    few(sweep)
    axes = [
        [tuple(row) for row in product(*_columns(options.get("grid", ())))],
        [tuple(row) for row in _zipped(sweep, _columns(options.get("zip", ())))],
        _drawn(sweep),
    ]
    found = [sum(parts, ()) for parts in product(*axes)]
    if "where" in options:
        found = _held_of(sweep, found, evaluator)
    if not found:
        raise shape(sweep, "its :where leaves nothing", TEST)
    return found


def few(sweep: Sweep) -> None:
    """Refuse more points than can be planned, before they are made. Raises E-SWEEP-SHAPE."""
    options = sweep.options
    lengths = [len(_values(values)) for _, values in options.get("grid", ())]
    lengths += [max((len(_values(v)) for _, v in options.get("zip", ())), default=1)]
    draws = _count(sweep, "n", 1) if options.get("random") else 1
    count = math.prod(lengths) * draws * _count(sweep, "seeds", 1)
    if count > MOST:
        raise shape(sweep, f"it has {count:,} points before :where, and {MOST:,} are the most")


def _named(found: list[Point]) -> list[Point]:
    """Points whose values differ and whose names do not are numbered."""
    named: dict[str, Point] = {}
    for point in found:
        name, number = point.name, 1
        while name in named:
            number += 1
            name = f"{point.name}-{number}"
        named[name] = point._replace(name=name)
    return list(named.values())


class Rank(NamedTuple):
    """By which number points are ranked. `at`: last, best, or a step."""

    metric: str
    goal: str
    at: str | int = "last"

    def told(self) -> dict[str, Any]:
        """As documents say it."""
        said = {"metric": self.metric, "goal": self.goal}
        return said if self.at == "last" else {**said, "at": str(self.at)}

    @classmethod
    def of(cls, told: Mapping[str, Any] | None) -> Rank | None:
        """The inverse of `told`."""
        if told is None:
            return None
        at = told.get("at", "last")
        return cls(told["metric"], told["goal"], int(at) if at.isdecimal() else at)


def rank(sweep: Sweep) -> Rank | None:
    """What `:rank` says. Raises E-SWEEP-SHAPE."""
    if "rank" not in sweep.options:
        return None
    metric, goal, at = sweep.options["rank"]
    return Rank(metric, goal, _at(sweep, at))


def _at(sweep: Sweep, written: Value) -> str | int:
    if written is None:
        return "last"
    if isinstance(written, int) and not isinstance(written, bool) and written >= 0:
        return written
    word = print_text(written).lstrip(":").lower()
    if word in ("last", "best"):
        return word
    raise shape(sweep, ":at of :rank is :last, :best or a step")


def over(sweep: Sweep) -> tuple[str, ...]:
    """Knobs that only repeat, as seeds do."""
    return tuple(sweep.options.get("over", ()))


def _columns(rows: Sequence[Any]) -> list[list[tuple[str, str]]]:
    """A row a knob: its name with each of its values."""
    return [[(knob, lisp_text(value)) for value in _values(values)] for knob, values in rows]


def _values(values: Any) -> list[Value]:
    return list(values) if isinstance(values, tuple) else list(proper("defsweep", values))


def _zipped(sweep: Sweep, columns: list[list[tuple[str, str]]]) -> Iterator[Row]:
    if len({len(column) for column in columns}) > 1:
        told = ", ".join(f"{column[0][0]} {len(column)}" for column in columns)
        raise shape(sweep, f"the lists of :zip are of unlike length: {told}")
    return zip(*columns) if columns else iter([()])


def _drawn(sweep: Sweep) -> list[Row]:
    """`n` draws of each knob of :random; number i of a knob depends on their names alone."""
    rows = sweep.options.get("random")
    if not rows:
        return [()]
    return [
        tuple((knob, lisp_text(draw(sweep, knob, word, bounds, at))) for knob, word, bounds in rows)
        for at in range(_count(sweep, "n", 1))
    ]


def _uniform(*key: Any) -> float:
    """In [0, 1), of 53 bits of a hash of the key."""
    text = "/".join(map(str, key)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2.0**64


def draws(sweep: Sweep, knob: str, word: str, bounds: Sequence[Value]) -> list[Value]:
    """All that :random gives a knob. Raises E-SWEEP-SHAPE."""
    return [draw(sweep, knob, word, bounds, at) for at in range(_count(sweep, "n", 1))]


def draw(sweep: Sweep, knob: str, word: str, bounds: Sequence[Value], number: int) -> Value:
    """A knob's draw of a number. Raises E-SWEEP-SHAPE."""
    at = _uniform(sweep.name, knob, number)
    if word == "choice" and not bounds:
        raise shape(sweep, f"choice of {knob} names no values")
    if word == "choice":
        return bounds[min(int(at * len(bounds)), len(bounds) - 1)]
    if len(bounds) != 2:
        raise shape(sweep, f"{word} has two bounds")
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        told = " ".join(map(print_text, bounds))
        raise shape(sweep, f"the bounds of {word} are numbers, not {told}") from None
    if not low <= high:
        raise shape(sweep, f"the bounds of {word} are the lower, then the higher")
    if not math.isfinite(high - low):
        raise shape(sweep, f"the bounds of {word} are too far apart")
    if word == "uniform":
        return low + at * (high - low)
    if low <= 0:
        raise shape(sweep, "the bounds of log-uniform are above 0")
    drawn = math.exp(math.log(low) + at * (math.log(high) - math.log(low)))
    return min(max(float(f"{drawn:.{DIGITS}g}"), low), high)


def _count(sweep: Sweep, option: str, default: int) -> int:
    count = sweep.options.get(option, default)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise shape(sweep, f":{option} is a number of at least 1")
    return count


def _held_of(sweep: Sweep, found: list[Row], evaluator: Evaluator) -> list[Row]:
    """Rows for which `:where` holds. E-SWEEP-SHAPE if it gives numbers, texts or keywords only,
    which are all true."""
    said = [_said(sweep.options["where"], row, evaluator) for row in found]
    if all(isinstance(value, (int, float, Ratio, String)) or _is_keyword(value) for value in said):
        told = f":where gives {print_text(said[0])} and never t or nil: it leaves nothing out"
        raise shape(sweep, told, TEST)
    return [row for row, value in zip(found, said) if value is not NIL]


def _is_keyword(value: Value) -> bool:
    return isinstance(value, Symbol) and value.keyword


def _said(form: Value, row: Row, evaluator: Evaluator) -> Value:
    """The value of `where` with the point's knobs bound."""
    symbols = evaluator.host.collector.knob_symbols
    bound = [_list(symbols[knob], _list(QUOTE, _datum(text, evaluator))) for knob, text in row]
    return first_value(evaluator.value_of(_list(LET, _list(*bound), form)))


def _list(*forms: Value) -> Value:
    return make_list(forms)


def _datum(text: str, evaluator: Evaluator) -> Value:
    return evaluator.evaluate(f"'{text}")


def _point(row: Row, seed: int, seeds: int) -> Point:
    from ..runtime.slug import clean  # no check needs it

    parts = [knob.rpartition(":")[2] + text for knob, text in row]
    parts += [f"seed{seed}"] if seeds > 1 else []
    name = "-".join(clean(part) for part in parts)
    return Point(name[:LONGEST].rstrip("-._"), dict(row), seed)


def shape(sweep: Sweep, why: str, hint: str | None = None) -> Problem:
    """E-SWEEP-SHAPE at the sweep."""
    told = f"sweep {sweep.name}: {why}"
    return problem("E-SWEEP-SHAPE", told, hint=hint).locate(sweep.span)
