"""Alignments of label sequences by their PTX: what the reference gives, repeats and blanks, steps
that are too few, labels that are not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuda_programs import check, graph_of, launched, normal

from sexpgpu_core.ir import Builder, Value


def shares(rows: int, steps: int, classes: int) -> Any:
    x = np.exp(normal((rows, steps, classes), "f64"))
    return x / x.sum(-1, keepdims=True)


def aligned(blank: int = 0) -> Any:
    def make(b: Builder, p: Value, labels: Value, n: Value, k: Value) -> dict[str, Value]:
        found = b.several("ctc-alignment", p, labels, n, k, blank=blank)
        return dict(zip(("mantissa", "exponent", "shares"), found))

    return make


def test_all_alignments_are_summed_and_shared_by_class() -> None:
    labels = np.array([[1, 2, 2], [3, 3, 1], [1, 0, 0], [2, 1, 3], [1, 1, 1]], "i4")
    steps, counts = np.array([7, 6, 4, 2, 0], "i4"), np.array([3, 3, 1, 3, 0], "i4")
    found = check(aligned(), 1e-9, p=shares(5, 7, 4), labels=labels, n=steps, k=counts)
    assert found["mantissa"][3] == 0  # three labels do not fit into two steps
    np.testing.assert_allclose(found["shares"][0].sum(-1), 1)


@pytest.mark.parametrize(("steps", "width", "blank"), [(40, 18, 5), (3, 0, 1), (1, 1, 0)])
def test_more_states_than_a_warp_and_none_at_all(steps: int, width: int, blank: int) -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 5, (2, width)).astype("i8")
    lengths, counts = np.array([steps, max(steps - 3, 1)], "i8"), np.array([width, width // 2])
    check(aligned(blank), 1e-9, p=shares(2, steps, 6), labels=labels, n=lengths, k=counts)


def test_a_label_that_is_no_class_is_told_with_its_example() -> None:
    inputs = {
        "p": shares(2, 4, 3),
        "labels": np.array([[1], [3]], "i4"),
        "n": np.array([4, 4], "i4"),
        "k": np.array([1, 1], "i4"),
    }
    error = launched(graph_of(aligned(), **inputs), inputs).error
    assert error is not None
    assert error[1] == 1
