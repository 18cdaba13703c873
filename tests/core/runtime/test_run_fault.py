"""What a halt says of a launch that went wrong."""

from __future__ import annotations

import numpy as np

from sexpgpu_core.device import Outcome
from sexpgpu_core.runtime import fault

OUTCOME = Outcome(False, {"loss": np.float32(np.nan)})
FAULT = fault.Fault("nonfinite", "step/train", 9, {}, {}, OUTCOME)


def test_what_a_replay_did_not_see_again_is_said_to_be_so():
    assert fault.nonfinite(FAULT, None).diagnostic.message == (
        "the loss of step 9 is nan; not reproduced"
    )
    cause = fault.Cause("exp", "gpt/h/1")
    assert fault.nonfinite(FAULT, cause).diagnostic.message == (
        "the loss of step 9 is nan; (exp ...) in gpt/h/1 was first"
    )
