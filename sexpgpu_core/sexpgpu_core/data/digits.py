"""scikit-learn's handwritten digits (UCI, 8x8, 17 grey levels) to a table, without importing it."""

from __future__ import annotations

import gzip
import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..diagnostics import problem
from ..experiment.protocols import Header, Options
from .arrays import ArrayTable

if TYPE_CHECKING:
    import numpy as np

_COUNT, _PIXELS, _CLASSES = 1797, 64, 10


def header(options: Options) -> Header:
    """Known by heart: 1,797 examples of image f32 (64) and label i32, 10 classes."""
    return {
        "count": _COUNT,
        "fields": {"image": ("f32", (_PIXELS,)), "label": ("i32", ())},
        "arrays": {"image": ("f32", (_COUNT, _PIXELS)), "label": ("i32", (_COUNT,))},
        "classes": _CLASSES,
    }


class Digits(ArrayTable):
    """Rows of pixels from 0 to 16, and what digit they show, in the file's order."""

    def __init__(self, options: Options) -> None:
        rows = _rows()
        arrays = {"image": rows[:, :_PIXELS].astype("f4"), "label": rows[:, _PIXELS].astype("i4")}
        super().__init__(arrays, header(options))


def _rows() -> np.ndarray:
    """The file inside the package: importing scikit-learn takes a second, this 50 ms."""
    import numpy as np

    spec = find_spec("sklearn")
    if spec is None or not spec.submodule_search_locations:
        raise problem(
            "E-DATA-EXTRA",
            "(digits) needs scikit-learn",
            hint='python -m pip install "sexpgpu[digits]"',
            extra="sexpgpu[digits]",
        )
    for folder in spec.submodule_search_locations:
        path = os.path.join(folder, "datasets", "data", "digits.csv.gz")
        if os.path.isfile(path):
            with gzip.open(path, "rt") as file:
                text = file.read().replace("\n", ",").rstrip(",")
            return np.array(text.split(","), np.float32).reshape(_COUNT, _PIXELS + 1)
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return np.concatenate([images, labels[:, None]], axis=1)
