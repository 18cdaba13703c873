"""W-SCOPE-UNNAMED: unnamed calls of models in a loop whose length a knob decides (R13).

Their scopes are numbered in order of calls, so that another value of the knob gives other
parameters the same names. Loops are looked for in the text around the call; what counts them is
followed to where it comes from.
"""

from __future__ import annotations

import re

from ..diagnostics import Change, Edit
from ..evaluator import machine
from ..spans import Span
from .host import host, warn
from .loop_counts import Text
from .tracer import Tracer

LOOP = re.compile(r"\((dotimes|dolist|loop|do\*?|mapcar|mapc|mapcan|reduce)[\s(]", re.IGNORECASE)


def warn_unnamed(t: Tracer, model: str) -> None:
    """Of the unnamed call of a model below the root that is being made."""
    span = machine.current().call_span
    if span.__class__ is not Span or not LOOP.search(span.source.text):
        return
    assert span is not None
    key = id(span.source)
    if key not in t.loops:
        t.loops[key] = Text(span.source)
    text, knobs = t.loops[key], _knobs()
    around, outside = text.around(span)
    knob = next(filter(None, (text.knob(loop, knobs) for loop in [*around, *outside])), None)
    if knob is None:
        return
    counters = [loop.counter for loop in around]
    named = f':name (path "{model}" {" ".join(c or "i" for c in counters or [None])})'
    warn(
        "W-SCOPE-UNNAMED",
        f"calls of {model} are numbered in a loop whose length the knob {knob} decides",
        hint=f"give each a name: {named}",
        edit=_edit(span, named) if counters and all(counters) and not outside else None,
        knob=knob,
    )


def _knobs() -> dict[str, str]:
    """Knobs by their names in a text; one of a module also as the module itself calls it."""
    knobs = host().collector.knobs
    short = {name.rpartition(":")[2].upper(): name for name in knobs}
    return short | {name.upper(): name for name in knobs}


def _edit(call: Span, named: str) -> Edit | None:
    text = call.text
    if not text.endswith(")") or text[:7].lower() == "(apply ":
        return None
    end = Span(call.source, call.end - 1, call.end - 1)
    return Edit("name them by the loop's variable", (Change(end, f" {named}"),))
