"""The Fourier transform by NumPy's, in f64."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...operation import Attributes
from ...types import Type
from . import Reference


def _fft(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    x = [v.astype(np.float64) for v in x]
    value = x[0] + 1j * x[1] if len(x) > 1 else x[0]
    if not value.size:
        return np.zeros(t[0].shape)
    found = (np.fft.ifft if a.get("inverse") else np.fft.fft)(value, axis=a["axis"])
    return np.stack([found.real, found.imag], -1)


TABLE: dict[str, Reference] = {"fft": _fft}
