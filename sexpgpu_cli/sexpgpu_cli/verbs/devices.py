"""`devices`: a line a device: whether it is here, its memory, and how fast the usual one is."""

from __future__ import annotations

from ..answer import Answer, document
from ..flags import verb
from ..invocation import Invocation
from .doctor import Check, json_of, table_of
from .doctor import devices as probed


@verb("devices")
def devices(invocation: Invocation) -> Answer:
    """Say which devices are here, and measure the one that runs take: check tells time by it."""
    usual = invocation.settings.device or "cpu"
    checks = [_timed(invocation, c) if c.name == usual else c for c in probed(invocation, None)]
    told = document("doctor", exit=0, checks=[json_of(check) for check in checks])
    return Answer(told, table_of(checks))


def _timed(invocation: Invocation, check: Check) -> Check:
    """With the memory and the speed of a device that is here."""
    if check.status != "ok":
        return check
    from sexpgpu_core import api
    from sexpgpu_core.compile import forecast

    from .. import units

    device = api.device(check.name, invocation.registry)
    of, threads = api.operations(invocation.registry), invocation.settings.threads
    memory = device.probe().memory
    speed = forecast.measured(device, of, threads, anew=True)
    rate = f"{speed.facts()['product_per_s'] / 1e9:.0f} GFLOP/s with {speed.threads} threads"
    detail = f"{check.detail}, {units.size(memory)}, {rate}"
    return check._replace(detail=detail, facts={"memory_bytes": memory, **speed.facts()})
