"""Fourier transforms beside NumPy's, and the loss of alignments beside all of them counted."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from builtin_calls import both, call

from sexpgpu_core.diagnostics import Problem


@pytest.mark.parametrize("n", [0, 1, 3, 7, 8, 12, 31, 32, 37, 64, 97, 100, 1024])
def test_transforms_of_any_length(n: int) -> None:
    random = np.random.default_rng(n)
    real = random.standard_normal((3, n))
    found = both(lambda x: call("fft", x), real)
    wanted = np.fft.fft(real) if n else np.zeros((3, 0), complex)
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], wanted, atol=1e-10)
    pair = random.standard_normal((n, 3, 2))
    back = both(lambda x: call("fft", call("fft", x, axis=0), axis=0, inverse=True), pair)
    np.testing.assert_allclose(back, pair, atol=1e-12)


def test_a_transform_in_f32_is_rounded_once() -> None:
    x = np.random.default_rng(0).standard_normal((2, 1024)).astype("f4")
    found = both(lambda v: call("fft", v), x)
    wanted = np.fft.fft(x.astype("f8"))
    assert abs(found[..., 0] + 1j * found[..., 1] - wanted).max() < 7e-8 * abs(wanted).max()


def counted(p: Any, label: tuple[int, ...], blank: int) -> float:
    """-log of the summed probability of every path that becomes the label."""
    total = 0.0
    for path in itertools.product(range(p.shape[1]), repeat=len(p)):
        merged = [s for s, _ in itertools.groupby(path)]
        if tuple(s for s in merged if s != blank) == label:
            total += float(np.prod([p[i, s] for i, s in enumerate(path)]))
    return -float(np.log(total)) if total else np.inf


@pytest.mark.parametrize("blank", [0, 3])
@pytest.mark.parametrize("label", [(), (1,), (1, 2), (2, 2), (1, 2, 1), (2, 2, 2)])
@pytest.mark.parametrize("steps", [0, 1, 3, 5])
def test_alignments_are_all_counted(steps: int, label: tuple[int, ...], blank: int) -> None:
    logits = np.random.default_rng(7).standard_normal((1, 5, 4)) * 2
    padded = np.array([[*label, *[1] * (3 - len(label))]], "i4")
    found = both(
        lambda x, y, n, k: call("ctc-loss", x, y, n, k, blank=blank),
        logits,
        padded,
        np.array([steps], "i4"),
        np.array([len(label)], "i8"),
    )
    e = np.exp(logits[0, :steps])
    p = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(found[0], counted(p, label, blank), rtol=1e-6, atol=1e-6)


def test_probabilities_may_be_far_below_what_f32_holds() -> None:
    logits = np.zeros((1, 300, 40), "f4")
    logits[:, :, 0] = 60
    labels = np.arange(1, 31).reshape(1, 30).astype("i4")
    found = both(
        lambda x, y, n, k: call("ctc-loss", x, y, n, k),
        logits,
        labels,
        np.array([300], "i4"),
        np.array([30], "i4"),
        tolerance=1e-5,
    )
    assert 1600 < found[0] < 1800


def test_a_label_that_is_no_class_ends_the_run() -> None:
    with pytest.raises(Problem, match="label"):
        both(
            lambda x, y, n, k: call("ctc-loss", x, y, n, k),
            np.zeros((1, 2, 3), "f4"),
            np.array([[7]], "i4"),
            np.array([2], "i4"),
            np.array([1], "i4"),
        )
