"""`(causal y x)` to a proof, or to the operation where later positions leak in.

The claim is of the traced graph: y at position t of an axis depends on x at positions up to t.
"""

from __future__ import annotations

from ..diagnostics import Change, Diagnostic, Edit, Related, diagnostic
from ..evaluator import machine
from ..ir.dependence import Dependence, Leak
from ..ir.graph import Node, Value
from ..ir.reach import FAR, Reach
from ..spans import Span
from .faults import operand_spans
from .origins import called, place_of
from .tracer import Tracer

LONGEST_WAY = 8
"""Operations of a path that are named."""


def check_causal(t: Tracer, y: Value, x: Value, axis: int) -> Diagnostic | None:
    """E-CAUSAL where a position of y's axis depends on a later one of x's; None: it is proved."""
    b = t.builder
    found = Dependence(b.graph, b.operations, [x], axis).leak(y, axis)
    return None if found is None else leaking(t, found, "E-CAUSAL", machine.current().call_span)


def leaking(t: Tracer, leak: Leak, code: str, claim: Span | None) -> Diagnostic:
    """The diagnostic of a leak, at the operation that lets it in. `claim`: what says that there is
    none."""
    return reading_ahead(leak, code, claim, place_of(leak.node, t.region))


def reading_ahead(leak: Leak, code: str, claim: Span | None, place: Span | None) -> Diagnostic:
    """The same of a leak in any graph. `place`: of its operation in the file."""
    node = leak.node
    related = [Related("it is claimed here", claim)] if claim is not None and place != claim else []
    related += [Related(f"the way: {way(leak.path)}", None)]
    return diagnostic(
        code,
        f"{called(node, place)} may read {seen(leak.reach)}",
        span=place or claim,
        hint=HINTS.get(node.operation, "read positions up to the own one only"),
        edit=_mask_edit(node, place),
        related=tuple(related),
        operation=node.operation,
        way=[n.operation for n in leak.path],
    )


def seen(reach: Reach) -> str:
    """Which positions a position reads, in words."""
    high = reach.high
    alone = [paces[0][1] for paces in reach.terms if len(paces) == 1]
    pace = max(alone, key=abs, default=1)
    fixed = reach.terms.get(())
    if fixed is not None and fixed[1] == high > 0:
        return f"every position from {max(fixed[0], 0)} to {high}, later ones too"
    if pace < 0:
        return "positions in reverse order, later ones too"
    if pace > 1 and high <= 0:
        return f"positions {pace} times as far, later ones too"
    if reach.everywhere or high <= 0:
        return "every position, later ones too"
    if high >= FAR // 2:
        return "all later positions"
    return f"up to {high} position{'s' * (high > 1)} later than its own"


def way(path: tuple[Node, ...]) -> str:
    """Operations from the source to the value; the middle of a long way is left out."""
    names = [str(n.get("name")) if n.operation == "input" else n.operation for n in path]
    kept = [n for i, n in enumerate(names) if i == 0 or n != names[i - 1]]
    if len(kept) > LONGEST_WAY:
        half = LONGEST_WAY // 2
        kept = [*kept[:half], "...", *kept[-half:]]
    return " > ".join(kept)


HINTS = {
    "attention": ":causal t, or a mask that is true where key <= query",
    "softmax": "mask it: (softmax scores :mask (causal-mask n)); true takes part",
    "matmul": "what is multiplied is 0 for later positions only if a mask makes it so",
    "slice": "a slice that starts later shifts to the left: the inputs end before the targets do",
    "pad": "put what is new in front of the positions, and cut at their end",
    "concat": "put what is new in front of the positions, and cut at their end",
    "conv": "pad on the left only: :padding '((2 0)) for a window of 3",
    "reduce-sum": "a sum or mean over all positions; (cumsum x :axis 1) sums up to the own one",
    "cumsum": "without :reverse",
    "gather": "indices up to the own position read what comes before",
    "flip": "positions in reverse order read what comes later",
    "scan": "without :reverse; what a scan ends with has seen all positions",
}
"""What to do about an operation that reads ahead."""


def _mask_edit(node: Node, place: Span | None) -> Edit | None:
    """`:causal t` at an attention that lacks it."""
    if node.operation != "attention" or node.get("causal") or place.__class__ is not Span:
        return None
    assert place is not None
    words = [p.text.lower() for p in operand_spans(place)]
    if not words or not words[0].endswith("attention") or ":causal" in words or ":mask" in words:
        return None
    end = Span(place.source, place.end - 1, place.end - 1)
    return Edit("let it see the positions before only", (Change(end, " :causal t"),))
