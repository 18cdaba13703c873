"""A run begins only where its device is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core.device import DeviceFacts
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.training import Asked, train


class Absent:
    """A device whose driver is not there."""

    name = "toy"

    def probe(self) -> DeviceFacts:
        return DeviceFacts(False, "no driver", 0, 0, ())


def test_a_device_that_is_not_here_is_told_before_anything_is_compiled(tmp_path: Path) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError

    with pytest.raises(Problem) as raised:
        train(
            None,
            Absent(),  # type: ignore[arg-type]
            never,
            never,
            asked=Asked(),
            root=tmp_path,
            progress=None,
        )
    assert raised.value.diagnostic.code == "E-DEVICE-ABSENT"
    assert "toy: no driver" in raised.value.diagnostic.message
    assert list(tmp_path.iterdir()) == []
