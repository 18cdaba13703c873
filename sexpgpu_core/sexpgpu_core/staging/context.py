"""`(ctx key)`: which keys each place knows, and of what kind (contracts/ctx.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..diagnostics import nearest, problem
from ..evaluator.values import NIL, String, Symbol, T, Value, keyword, make_list
from ..records import NamedTuple
from .faults import describe
from .tensor import StepScalar

PLACES = {
    "mode": "POEGU", "stage": "POEGCLU", "loader": "POEGL", "pass": "POEU", "steps": "POEGC",
    "seed": "POEGCU", "batch": "POEGL", "window": "POEGL", "microbatches": "POG", "world": "POEG",
    "step": "POEGC", "updates": "POEGC", "progress": "POEGC", "stage-step": "POGC",
    "stage-progress": "POGC", "epoch": "POEGC", "epoch-progress": "POEGC", "examples": "POEGC",
    "metric": "C",
}  # fmt: skip
"""Key -> places: P prepare, O objective, E evaluate, G optimizer, C curriculum, U output,
L counter."""

STEP_SCALARS = frozenset(
    [
        "step",
        "updates",
        "progress",
        "stage-step",
        "stage-progress",
        "epoch",
        "epoch-progress",
        "examples",
    ]
)
COUNTER_PLACES = "POEGC"

NAMES = {
    "P": "prepare", "O": "objective", "E": "evaluate", "G": "optimizer", "C": "curriculum",
    "U": "an output", "L": "a counter",
}  # fmt: skip


SCALED = {"batch": "PO", "microbatches": "POG", "world": "POG"}
"""Keys that tell how the batch is cut, and where that changes what is trained. B alone says nothing
of it, but in code of an example a block has fewer rows."""

WHICH = (":best", ":since-best", ":count")
"""What may be asked of a series but its last value."""


class Context(NamedTuple):
    """What `(ctx key)` answers in one trace. `values`: number and text keys, as Python values;
    in curriculum step scalars and counters too; "stage-steps": what a stage that trains declares.
    `counters`: names of all loaders' counters."""

    place: str
    values: Mapping[str, Any]
    counters: frozenset[str] = frozenset()
    metrics: Any = None  # (series, which) -> float, int or None; curriculum only
    full: str = "f32"  # what f32 of the file is computed and kept in: f64 in a run of that

    def ask(self, key: str, more: tuple[Value, ...]) -> Value:
        """The answer to `(ctx :key more...)`; E-CTX-KEY."""
        places = PLACES.get(key) or (COUNTER_PLACES if key in self.counters else "")
        if self.place not in places:
            raise self._unknown(key, places)
        if key == "metric":
            return self._metric(more)
        if more:
            raise problem("E-CTX-KEY", f"(ctx :{key}) takes nothing more", hint=f"(ctx :{key})")
        if key == "stage-progress" and self.values.get("stage-steps", 1) is None:
            raise self._no_value(key)
        if self.place != "C" and (key in STEP_SCALARS or key in self.counters):
            return StepScalar(("ctx", key))
        if key not in self.values:
            raise self._no_value(key)
        return lisp_value(self.values[key])

    def _metric(self, more: tuple[Value, ...]) -> Value:
        if not more or not isinstance(more[0], String) or len(more) > 2:
            raise problem(
                "E-CTX-KEY",
                "ctx :metric takes the name of a series, and one of " + " ".join(WHICH),
                hint='(ctx :metric "val/loss") or (ctx :metric "val/loss" :best)',
            )
        if len(more) == 1:
            return self._read(more[0].text(), "last")
        asked = more[1]
        which = asked.name.lower() if asked.__class__ is Symbol and asked.keyword else ""
        if f":{which}" not in WHICH:
            raise _no_reading(asked, which)
        return self._read(more[0].text(), which)

    def _read(self, series: str, which: str) -> Value:
        return lisp_value(self.metrics(series, which) if self.metrics else None)

    def _unknown(self, key: str, places: str) -> Exception:
        here = NAMES[self.place]
        if places:
            where = ", ".join(NAMES[p] for p in places)
            return problem(
                "E-CTX-KEY",
                f"(ctx :{key}) is not known in {here}",
                hint=f":{key} is known in {where}",
                key=key,
            )
        known = [k for k, p in PLACES.items() if self.place in p]
        known += sorted(self.counters) if self.place in COUNTER_PLACES else []
        near = nearest(key, known)
        hint = (
            f"did you mean :{near}?" if near else "keys here: " + " ".join(f":{k}" for k in known)
        )
        return problem("E-CTX-KEY", f"(ctx :{key}) is no key", hint=hint, key=key,
                       written=f":{key}", nearest=f":{near}" if near else None)  # fmt: skip

    def _no_value(self, key: str) -> Exception:
        if key in ("steps", "progress"):
            return problem(
                "E-STEPS-UNKNOWN", f"(ctx :{key}): the number of steps is not known here"
            )
        if key == "stage-progress":
            return problem(
                "E-CTX-KEY",
                f"(ctx :{key}) of the stage {self.values.get('stage')}, which declares no :steps",
                hint="say how long it is: (stage :train :steps 100 ...)",
                key=key,
            )
        return problem("E-CTX-KEY", f"(ctx :{key}) has no value in {NAMES[self.place]}", key=key)


def _no_reading(asked: Value, which: str) -> Exception:
    """E-CTX-KEY of what is no reading of a series."""
    near = nearest(which, [w[1:] for w in WHICH])
    return problem(
        "E-CTX-KEY",
        f"ctx :metric has {' '.join(WHICH)}, not {describe(asked)}",
        hint=f"did you mean :{near}?" if near else "without one it is the last value",
        written=f":{which}" if which else None,
        nearest=f":{near}" if near else None,
    )


def lisp_value(value: Any) -> Value:
    """A Python value as Lisp has it: None is nil, True t, ":text" a keyword, other text a string,
    a tuple a list."""
    if value is None or isinstance(value, bool):
        return T if value else NIL
    if isinstance(value, tuple):
        return make_list([lisp_value(item) for item in value])
    if isinstance(value, str):
        return keyword(value[1:].upper()) if value.startswith(":") else String(value)
    return value
