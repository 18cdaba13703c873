"""Logits to tokens."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_core.runtime.token_sampling import Sampler

LOGITS = np.log(np.array([0.1, 0.4, 0.2, 0.3], np.float32))


def drawn(sampler: Sampler, logits: np.ndarray = LOGITS, count: int = 4000) -> Counter[int]:
    return Counter(sampler.choose(logits, number) for number in range(count))


def test_tokens_come_as_often_as_their_shares_say() -> None:
    found = drawn(Sampler())
    assert [found[i] / 4000 for i in range(4)] == pytest.approx([0.1, 0.4, 0.2, 0.3], abs=0.03)


def test_temperature_sharpens_and_zero_takes_the_likeliest() -> None:
    found = drawn(Sampler(0.5, seed=1))
    assert found[1] / 4000 == pytest.approx(0.16 / 0.30, abs=0.03)
    assert drawn(Sampler(0.0), count=10) == {1: 10}


def test_top_k_and_top_p_leave_the_likeliest() -> None:
    assert set(drawn(Sampler(top_k=2))) == {1, 3}
    assert set(drawn(Sampler(top_p=0.65))) == {1, 3}
    assert set(drawn(Sampler(top_p=0.1))) == {1}
    assert set(drawn(Sampler(top_k=3, top_p=0.99))) == {1, 2, 3}


def test_of_equal_logits_the_lower_token_counts() -> None:
    assert set(drawn(Sampler(top_k=2), np.zeros(5, np.float32), 50)) == {0, 1}


def test_a_seed_and_a_number_say_which() -> None:
    first = [Sampler(seed=1).choose(LOGITS, n) for n in range(50)]
    assert first == [Sampler(seed=1).choose(LOGITS, n) for n in range(50)]
    assert first != [Sampler(seed=2).choose(LOGITS, n) for n in range(50)]


def test_logits_that_are_not_finite_are_refused() -> None:
    for bad in ([-np.inf, -np.inf], [np.nan, 0.0]):
        with pytest.raises(ValueError, match="finite"):
            Sampler().choose(np.array(bad), 0)


@given(
    st.integers(0, 1 << 30),
    st.integers(1, 40),
    st.sampled_from([0.05, 0.5, 1.0, 3.0]),
    st.integers(1, 50),
    st.sampled_from([0.01, 0.3, 0.9, 1.0]),
)
def test_a_token_is_always_one_of_those_kept(
    number: int, size: int, temperature: float, k: int, p: float
) -> None:
    array = np.random.default_rng(number).integers(-9, 9, size).astype(np.float32)
    token = Sampler(temperature, k, p).choose(array, number)
    assert (array > array[token]).sum() < k
