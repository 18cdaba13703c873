"""What is done to a metric's mean on the host is what the device would do."""

from __future__ import annotations

import numpy as np
import pytest

from sexpgpu_core.compile.pipeline import FINISH

EDGES = (0.0, -0.0, 0.5, -0.5, -1.0, -2.0, 710.0, 1100.0, 1e300, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("name", FINISH)
@pytest.mark.parametrize("x", EDGES)
def test_every_function_answers_as_ieee_754_at_its_edges(name: str, x: float) -> None:
    with np.errstate(all="ignore"):
        wanted = getattr(np, {"negate": "negative"}.get(name, name))(np.float64(x))
    np.testing.assert_allclose(FINISH[name](x), wanted, rtol=1e-14)
