"""Factors, systems and spectra of matrices; the alignments of label sequences. All in f64."""

from __future__ import annotations

import math
from collections.abc import Callable

from . import alignment_source
from .eigen_source import EIGEN
from .frame import Frame
from .linear_source import FACTORS
from .singular_source import SINGULAR

TEXTS = {"FACTORS": FACTORS, "EIGEN": EIGEN, "SINGULAR": SINGULAR}
WIDTH = 8
"""Bytes of an f64."""
COLUMNS = 64
"""Of a triangular system's cell."""
STEP = 1e-9
"""Seconds of one multiplication and addition, about."""


def _sizes(frame: Frame) -> tuple[int, int, int]:
    """Matrices, rows, columns of the first operand."""
    shape = frame.call.inputs[0].shape
    return math.prod(shape[:-2]), shape[-2], shape[-1]


def _cholesky(frame: Frame) -> None:
    count, n, _ = _sizes(frame)
    words = [frame.input(0, "f64"), frame.output(0, "f64"), n]
    _add(frame, "FACTORS", "cholesky", words, count, n**3 / 3)


def _triangular(frame: Frame) -> None:
    count, n, _ = _sizes(frame)
    m = frame.call.inputs[1].shape[-1]
    upper, turned = bool(frame.attribute("upper")), bool(frame.attribute("transpose"))
    strides = (1, n) if turned else (n, 1)
    cells = -(-m // COLUMNS)
    words = [frame.input(0, "f64"), frame.input(1, "f64"), frame.output(0, "f64"), n, m, *strides]
    words += [int(upper == turned), int(bool(frame.attribute("unit"))), cells]
    _add(frame, "FACTORS", "triangular", words, count * cells, n * n * min(m, COLUMNS) / 8)


def _lu(frame: Frame) -> None:
    count, n, _ = _sizes(frame)
    words = [frame.input(0, "f64"), frame.output(0, "f64"), frame.output(1)]
    words += [frame.output(2, "f64"), n]
    _add(frame, "FACTORS", "lu", words, count, n**3 / 6)


def _qr(frame: Frame) -> None:
    count, m, n = _sizes(frame)
    k = min(m, n)
    words = [frame.input(0, "f64"), frame.output(0, "f64"), frame.output(1, "f64"), m, n, k, 0]
    room = m * n + k * m + k + max(n, k)
    _add(frame, "FACTORS", "qr", words, count, m * n * k, room, 6)


def _eigh(frame: Frame) -> None:
    count, n, _ = _sizes(frame)
    words = [frame.input(0, "f64"), frame.output(0, "f64"), frame.output(1, "f64"), n, 0]
    _add(frame, "EIGEN", "eigh", words, count, 5 * n**3, 2 * n * (n + 1), 4)


def _svd(frame: Frame) -> None:
    count, m, n = _sizes(frame)
    left, right = frame.call.outputs[0].shape[-1], frame.call.outputs[2].shape[-2]
    words = [frame.input(0, "f64"), *(frame.output(i, "f64") for i in range(3))]
    words += [m, n, left, right, 0]
    short, long = min(m, n), max(m, n)
    rows = right if m < n else left
    room = (rows + short + 1) * long + 2 * short * (short + 2)
    _add(frame, "SINGULAR", "svd", words, count, 8 * short * short * long, room, 8)


def _add(
    frame: Frame,
    family: str,
    name: str,
    words: list[int],
    cells: int,
    steps: float,
    room: int = 0,
    word: int = 0,
) -> None:
    unit = frame.text_unit(family, TEXTS[family], (name,))
    more = {"scratch": max(room, 1) * WIDTH, "scratch_word": word} if word else {}
    frame.add(unit, name, words, cells, 1e-7 + steps * STEP, **more)


def _align(frame: Frame) -> None:
    p, labels, lengths, counts = frame.call.inputs
    b, t, c = p.shape
    width = labels.shape[-1]
    unit = frame.text_unit(
        "ALIGNMENT",
        alignment_source.ALIGNMENT,
        ("align",),
        J=labels.dtype,
        K=lengths.dtype,
        L=counts.dtype,
    )
    words = [frame.input(0), frame.input(1), frame.input(2), frame.input(3)]
    words += [frame.output(i) for i in range(3)]
    words += [t, c, width, frame.attribute("blank", 0), 0, 0]
    room = 2 * (t + 1) * (2 * width + 1) * WIDTH
    seconds = 1e-7 + t * (2 * width + 1) * 1e-8
    frame.add(unit, "align", words, b, seconds, scratch=room, scratch_word=12, error=11)


ROWS: dict[str, Callable[[Frame], None]] = {
    "cholesky": _cholesky,
    "solve-triangular": _triangular,
    "lu": _lu,
    "qr": _qr,
    "eigh": _eigh,
    "svd": _svd,
    "ctc-alignment": _align,
}
