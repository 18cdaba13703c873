"""When what lies in a plan's transient memory is gone: a checked device poisons it then."""

from __future__ import annotations

from .plan import Buffer, Plan, Region


def ends(plan: Plan) -> dict[int, list[Buffer]]:
    """Transient buffers by the call that touches them last, but for those whose bytes another
    takes over in that call."""
    alive = [b for b in plan.buffers if b.region is Region.TRANSIENT]
    found: dict[int, list[Buffer]] = {}
    for b in alive:
        heirs = (c for c in alive if c.first <= b.last < c.last)
        if not any(c.offset < b.offset + b.bytes and b.offset < c.offset + c.bytes for c in heirs):
            found.setdefault(b.last, []).append(b)
    return found
