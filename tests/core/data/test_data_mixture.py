"""A mixture: exact shares, each source in its own order and epochs, nothing skipped."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from loader_text import loader_of

from sexpgpu_core.diagnostics import Problem, Problems


@pytest.fixture
def mixed(tmp_path):
    for name, values in (("a", range(0, 30)), ("b", range(100, 105))):
        (tmp_path / f"{name}.csv").write_text("v\n" + "".join(f"{v}\n" for v in values))
    return lambda more="", a=0.7, b=0.3: loader_of(
        f'(source (mixture (a {a} (csv "a.csv")) (b {b} (csv "b.csv")))) {more}', tmp_path
    )


def test_shares_are_exact_and_every_example_comes_as_often(mixed):
    loader = mixed()
    batches = [loader.batch("train", n) for n in range(1024)]  # two blocks of 1,024
    which = np.concatenate([b["source"] for b in batches])
    values = np.concatenate([b["v"] for b in batches])
    assert abs((which == 0).sum() - 0.7 * 2048) <= 1
    assert abs((which[:1024] == 0).sum() - 0.7 * 1024) <= 1
    for source, n in ((0, 30), (1, 5)):
        counts = Counter(values[which == source].tolist())
        assert len(counts) == n
        assert max(counts.values()) - min(counts.values()) <= 1 + 30 // n


def test_a_batch_of_a_mixture_is_a_function_of_its_number(mixed):
    inorder = mixed()
    wanted = {n: inorder.batch("train", n)["v"].tolist() for n in range(600)}
    again = mixed()
    assert all(again.batch("train", n)["v"].tolist() == wanted[n] for n in (599, 3, 512, 511))


def test_a_pass_takes_the_sources_in_turn_once(mixed):
    loader = mixed("(stage :train :split (0 0.6)) (stage :val :split (0.6 1))")
    batches = list(loader.evaluation("val"))
    assert np.concatenate([b["v"] for b in batches]).tolist() == [*range(18, 30), 103, 104]
    assert (loader.examples("train"), loader.batches("train")) == (21, 10)
    assert loader.check(["train"]) == []


@pytest.mark.parametrize("weights", [(0, 1), (-1, 2)])
def test_weights_are_above_0(mixed, weights):
    with pytest.raises(Problems) as raised:
        mixed("", *weights)
    found = raised.value.diagnostics[0]
    assert (found.code, found.span.text) == ("E-OPTION-VALUE", str(weights[0]))
    assert found.message.endswith("wants a number above 0")


def test_sources_of_unlike_fields_are_told(tmp_path):
    (tmp_path / "a.csv").write_text("v\n1\n")
    (tmp_path / "b.csv").write_text("w\n1\n")
    loader = loader_of('(source (mixture (a 1 (csv "a.csv")) (b 1 (csv "b.csv"))))', tmp_path)
    with pytest.raises(Problem, match="other fields"):
        loader.fields("train")


@pytest.mark.parametrize("order", ["shuffled", "sequential"])
def test_epochs_count_what_was_seen_of_each_source(mixed, order):
    loader = mixed(f"(stage :train :order :{order})")
    seen = Counter()
    for number in range(560):  # over the border of a block
        if number % 37 == 0:
            told = loader.epochs("train", number)
            assert told == {"a": seen[0] / 30, "b": seen[1] / 5}
        seen.update(loader.batch("train", number)["source"].tolist())
