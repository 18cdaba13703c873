"""Drafts of programs without their memory: addresses alone, for what is only looked at."""

from __future__ import annotations

from sexpgpu_core.plan.plan import Persistent, Plan, Region

from .draft import Draft
from .providers import wanted
from .rooms import Addresses


def drafted(plan: Plan, persistent: Persistent) -> Draft:
    """A program's records as a device would be given them. Raises E-USAGE-VALUE."""
    rooms = Addresses()
    held, halt = rooms.room(persistent.bytes), rooms.room(8)
    transient = rooms.room(plan.bytes.get(Region.TRANSIENT, 0))
    return Draft(plan, rooms, held, transient, halt.address, libraries=wanted())
