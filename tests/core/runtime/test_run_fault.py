"""What a halt says of a launch that went wrong."""

from __future__ import annotations

import numpy as np

from sexpgpu_core.device import Outcome
from sexpgpu_core.runtime import fault
from sexpgpu_core.spans import Source, Span

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


def test_an_operation_of_a_gradient_is_told_as_one_of_what_was_written():
    source = Source("x.lisp", "(* 2 (sqrt x))")
    cause = fault.Cause("divide", "net", Span(source, 5, 13), gradient=True)
    assert cause.told() == "; (divide ...) of the gradient of (sqrt ...) in net was first"
    named = cause._replace(span=Span(source, 11, 12))
    assert named.told() == "; (divide ...) of the gradient of x in net was first"
