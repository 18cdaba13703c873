"""Each run file of this folder checks and trains a few steps, and does what it is there for."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from run_file import HERE, arrays, events, train

from sexpgpu_core import api

NAMES = sorted(path.stem for path in HERE.glob("*.lisp"))


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """graph.lisp beside a graph of 60 nodes, whose labels are its communities."""
    rng = np.random.default_rng(3)
    label = np.repeat([0, 1], 30).astype(np.int32)
    near = rng.random((60, 60)) < np.where(label[:, None] == label, 0.3, 0.02)
    edges = (near | near.T | np.eye(60, dtype=bool)).astype(np.float32)
    edges /= edges.sum(1, keepdims=True)
    split = (rng.random(60) < 0.4).astype(np.int32)
    x = rng.normal(size=(60, 8)).astype(np.float32)
    np.savez(tmp_path / "graph.npz", x=x, edges=edges, label=label, split=split)
    shutil.copy(HERE / "graph.lisp", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("graph", "lora")])
def test_a_run_file_checks_without_a_warning(name: str) -> None:
    report = api.check(HERE / f"{name}.lisp")
    assert report.complete
    assert [d.code for d in report.diagnostics] == []


def ends(folder: Path, series: str, kind: str = "step") -> tuple[float, float]:
    """The first and the last value of a series."""
    values = [e["metrics"][series] for e in events(folder, kind)]
    return values[0], values[-1]


def test_players_move_at_once_each_by_its_own_loss(tmp_path: Path) -> None:
    folder = train("two_players", tmp_path)
    last = events(folder, "step")[-1]["metrics"]
    assert {"train/objective/critic", "train/objective/generator"} <= set(last)
    begin = train("two_players", tmp_path, steps=1, name="one")
    moved = {n for n, a in arrays(folder).items() if not np.array_equal(a, arrays(begin)[n])}
    assert any("critic" in n for n in moved)
    assert any("generator" in n for n in moved)


def test_frozen_weights_stay_and_adapters_learn(tmp_path: Path) -> None:
    folder = train("adapters", tmp_path)
    one = train("adapters", tmp_path, steps=1, name="one")
    before, after = arrays(one), arrays(folder)
    frozen = [n for n in before if n.endswith("/w")]
    assert len(frozen) == 2
    assert not any(n.startswith("optimizer") and "/w/" in n for n in before)
    assert all(np.array_equal(before[n], after[n]) for n in frozen)
    adapters = [n for n in before if n.startswith("params") and n.endswith(("/up", "/down"))]
    assert not any(np.array_equal(before[n], after[n]) for n in adapters)
    first, last = ends(folder, "train/loss")
    assert last < first


def test_a_network_learns_by_its_own_derivatives(tmp_path: Path) -> None:
    first, last = ends(train("physics", tmp_path), "train/objective")
    assert last < first


def test_a_process_learns_by_its_factors(tmp_path: Path) -> None:
    folder = train("gaussian_process", tmp_path)
    first, last = ends(folder, "train/objective")
    assert last < first
    assert all(abs(v) < 1e-5 for v in ends(folder, "train/again"))  # Cholesky's and LU's


def test_its_factors_on_a_gpu_s_kernels_are_the_references(tmp_path: Path) -> None:
    if "cuda-emulated" not in api.plugins().names("devices"):
        pytest.skip("sexpgpu-cuda is not installed")
    ours, plain = (
        train("gaussian_process", tmp_path, steps=2, device=d, name=d)
        for d in ("cuda-emulated", "reference")
    )
    for name, a in arrays(plain).items():
        np.testing.assert_allclose(arrays(ours)[name], a, rtol=1e-4, atol=1e-6)
    for series in ("train/objective", "train/least", "train/condition"):
        assert ends(ours, series) == pytest.approx(ends(plain, series), rel=1e-4)


def test_masks_are_stages_of_one_graph(graph: Path, tmp_path: Path) -> None:
    done = api.run(graph / "graph.lisp", runs_root=tmp_path / "runs")
    assert done.exit == 0
    split = np.load(graph / "graph.npz")["split"]
    assert ends(done.folder, "train/nodes")[1] == (split == 0).sum()
    assert ends(done.folder, "val/nodes", "eval")[1] == (split == 1).sum()
    first, last = ends(done.folder, "train/loss")
    assert last < first
    assert [d.code for d in api.check(graph / "graph.lisp").diagnostics] == []


def test_a_teacher_is_the_average_of_the_step_before(tmp_path: Path) -> None:
    whole = train("teacher", tmp_path)
    parts = train("teacher", tmp_path, sets=[("blocks", "4")], name="parts")
    for name, a in arrays(whole).items():
        assert np.allclose(a, arrays(parts)[name], rtol=1e-4, atol=1e-5), name
    queue = next(a for n, a in arrays(whole).items() if n.endswith("queue"))
    assert queue.shape == (64, 10)
    assert np.allclose(queue.sum(1), 1, atol=1e-5)  # 64 of the last 4 steps
    one = train("teacher", tmp_path, steps=1, name="one")
    young = next(a for n, a in arrays(one).items() if n.endswith("queue"))
    assert np.allclose(young[:48], 0)
    assert np.allclose(young[48:].sum(1), 1, atol=1e-5)


def recurrent(folder: Path, which: str) -> float:
    """val/loss of carried_state.lisp, by NumPy: a row's h is carried from batch to batch."""
    loader = api.load(HERE / "carried_state.lisp").loaders["text"]
    found = {n.rpartition("reader/")[2]: a for n, a in arrays(folder).items() if which in n}
    table, w = found["table"], found["w"]
    weight = next(a for n, a in found.items() if n.startswith("linear") and a.ndim == 2)
    bias = next(a for n, a in found.items() if n.startswith("linear") and a.ndim == 1)
    h, total, count = np.zeros((6, 16)), 0.0, 0
    for batch in loader.evaluation("val"):
        tokens = batch["tokens"]
        h = h[: len(tokens)]
        for inputs, targets in zip(tokens[:, :-1].T, tokens[:, 1:].T):
            h = np.tanh(table[inputs] + h @ w)
            y = h @ weight + bias
            y = y - np.log(np.exp(y).sum(1, keepdims=True))
            total -= y[np.arange(len(y)), targets].sum()
            count += len(y)
    return total / count


def test_rows_carry_their_state_through_a_pass_by_averaged_weights(tmp_path: Path) -> None:
    folder = train("carried_state", tmp_path)
    value = ends(folder, "val/loss", "eval")[1]
    assert value == pytest.approx(recurrent(folder, "state:ema:"), rel=1e-5)
    assert value != pytest.approx(recurrent(folder, "params:"), rel=1e-5)


def test_rows_carry_their_state_in_any_number_of_blocks_and_over_a_resume(tmp_path: Path) -> None:
    whole = train("carried_state", tmp_path, name="it")
    parts = train("carried_state", tmp_path, sets=[("blocks", "4")], name="parts")
    wanted = arrays(whole)
    rows = [n for n in wanted if ":rows:" in n]
    assert len(rows) == 2  # of training and of the pass
    assert all(np.abs(wanted[n]).max() > 0 for n in rows)
    for name, a in wanted.items():
        assert np.allclose(a, arrays(parts)[name], rtol=1e-4, atol=1e-6), name
    again = arrays(train("carried_state", tmp_path, resume="it@8"))
    assert all(np.array_equal(again[n], a) for n, a in wanted.items())


def test_folds_hold_out_each_example_once(tmp_path: Path) -> None:
    held: list[int] = []
    for fold in range(5):
        loaded = api.load(HERE / "folds.lisp", sets=[("fold", str(fold))])
        loader = loaded.loaders["digits"]
        assert loader.check(["train"]) == []
        assert loader.examples("train") + loader.examples("val") == 1797
        images = [b["image"] for b in loader.evaluation("val")]
        held += [hash(image.tobytes()) for part in images for image in part]
    assert len(held) == 1797
    assert len(set(held)) > 1790  # a few digits are alike
    train("folds", tmp_path, sets=[("fold", "2")])
