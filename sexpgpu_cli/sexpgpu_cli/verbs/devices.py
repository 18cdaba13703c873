"""`devices`: a line a device: whether it is here, and with what."""

from __future__ import annotations

from ..answer import Answer, document
from ..flags import verb
from ..invocation import Invocation
from .doctor import devices as probed
from .doctor import json_of, line_of


@verb("devices")
def devices(invocation: Invocation) -> Answer:
    """Say which devices are installed, and whether each can be used here."""
    checks = list(probed(invocation, None))
    told = document("doctor", exit=0, checks=[json_of(check) for check in checks])
    return Answer(told, "\n".join(line_of(check) for check in checks))
