"""Distributions: the same numbers on both devices, and the moments they should have."""

from __future__ import annotations

import numpy as np
import pytest
from builtin_calls import both, call

X = np.zeros((3,), "f4")
MOMENTS = {
    "random-gumbel": (0.5772, 1.2825),
    "random-exponential": (1.0, 1.0),
    "random-truncated-normal": (0.0, 0.8796),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name: str) -> None:
    found = both(lambda _: call(name, [1000, 64], batch=None), X)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    np.testing.assert_allclose([found.mean(), found.std()], MOMENTS[name], atol=0.02)


def test_truncated_numbers_stay_within_their_bound() -> None:
    found = both(lambda _: call("random-truncated-normal", [50000], batch=None, bound=0.5), X)
    assert abs(found).max() <= 0.5
    moved = both(
        lambda _: call("random-truncated-normal", [5000], batch=None, bound=1, mean=3, std=2), X
    )
    assert 1 <= moved.min() < 1.1
    assert 4.9 < moved.max() <= 5


def test_categories_are_drawn_by_their_probabilities() -> None:
    p = np.array([0.1, 0.2, 0.7], "f4")
    logits = np.log(np.tile(p, (20000, 1)))
    found = both(lambda a: call("random-categorical", a), logits)
    assert found.dtype == np.int32
    np.testing.assert_allclose(np.bincount(found) / 20000, p, atol=0.02)
    never = np.tile(np.array([0, -np.inf], "f4"), (500, 1))
    assert not both(lambda a: call("random-categorical", a), never).any()


def test_permutations_hold_every_number_once() -> None:
    found = both(lambda _: call("random-permutation", 200), X)
    assert sorted(found.tolist()) == list(range(200))
    assert found.tolist() != list(range(200))
    x = np.arange(40).reshape(2, 20).astype("i4")
    mixed = both(lambda a: call("shuffle", a, axis=1), x)
    assert sorted(mixed[0].tolist()) == list(range(20))
    np.testing.assert_array_equal(mixed[1], mixed[0] + 20)
