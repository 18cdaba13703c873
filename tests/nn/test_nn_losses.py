"""Losses and metrics beside formulas of their own in NumPy."""

from __future__ import annotations

from itertools import product
from math import lgamma
from typing import Any

import numpy as np
import pytest
from layer_runs import evaluated, weighed

random = np.random.default_rng(3)
X = random.normal(size=(2, 6, 8)).astype("f4")
Y = random.normal(size=(2, 6, 8)).astype("f4")
Z = random.normal(size=(2, 6, 8)).astype("f4")
IDS = random.integers(0, 8, (2, 6)).astype("i4")
NAMED = random.integers(0, 8, (2, 6)).astype("i4")
ON = Y > 0.3
W = random.uniform(0.5, 2, (2, 6)).astype("f4")
A = random.normal(size=(4, 5)).astype("f4")
B = (A + 0.5 * random.normal(size=(4, 5))).astype("f4")
ARRAYS = {"x": X, "y": Y, "z": Z, "ids": IDS, "named": NAMED, "on": ON, "w": W, "a": A, "b": B}


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def log_softmax(x: Any) -> Any:
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def picked(x: Any, index: Any) -> Any:
    return np.take_along_axis(x, index[..., None], -1)[..., 0]


EACH = -picked(log_softmax(X), IDS)
KEPT = IDS != 2
BINARY = np.log1p(np.exp(X)) - X * ON
CLASS = np.arange(1, 9) / 4
LENGTH = np.log(np.exp(X).sum(-1))


def weighted(values: Any, weights: Any = W) -> float:
    return float((values * weights).sum() / weights.sum())


def length(x: Any) -> Any:
    return np.linalg.norm(x, axis=-1)


def unit(x: Any) -> Any:
    return x / length(x)[..., None]


def focal() -> float:
    p = sigmoid(X)
    right, side = np.where(ON, p, 1 - p), np.where(ON, 0.25, 0.75)
    return float((-side * (1 - right) ** 2 * np.log(right)).mean())


def info_nce() -> Any:
    scores = unit(A) @ unit(B).T / 0.5
    rows, columns = (-np.diag(log_softmax(s)).mean() for s in (scores, scores.T))
    return rows, (rows + columns) / 2


def dice() -> float:
    p, y = sigmoid(X).reshape(2, -1), ON.reshape(2, -1)
    return float((1 - (2 * (p * y).sum(1) + 1) / (p.sum(1) + y.sum(1) + 1)).mean())


def balance() -> float:
    p = np.exp(log_softmax(X)).reshape(-1, 8)
    chosen = np.zeros_like(p)
    np.put_along_axis(chosen, np.argsort(-p, -1)[:, :2], 1, -1)
    return float(4 * (chosen.mean(0) * p.mean(0)).sum())


def collapsed(path: tuple[int, ...]) -> list[int]:
    kept = [k for n, k in enumerate(path) if n == 0 or k != path[n - 1]]
    return [k for k in kept if k]


def ctc() -> float:
    """Over all paths of the first three classes and four places."""
    p = log_softmax(X[:, :4, :3])
    found = []
    for row, want in ((0, [1, 2]), (1, [2])):
        every = [q for q in product(range(3), repeat=4) if collapsed(q) == want]
        found.append(
            -np.log(sum(np.exp(sum(p[row, n, k] for n, k in enumerate(q))) for q in every))
        )
    return float(np.mean(found))


CTC = """(nn:ctc (slice (slice x :axis 1 :end 4) :axis 2 :end 3) (tensor '((1 2) (2 0)))
                 (tensor '(4 4)) (tensor '(2 1)))"""
LOSSES: dict[str, Any] = {
    "(nn:cross-entropy x ids)": EACH.mean(),
    "(nn:cross-entropy x ids :weights w)": weighted(EACH),
    "(nn:cross-entropy x ids :ignore-index 2)": EACH[KEPT].mean(),
    "(nn:cross-entropy x ids :smoothing 0.1)": (
        0.9 * EACH.mean() - 0.1 * log_softmax(X).mean(-1).mean()
    ),
    "(nn:cross-entropy x ids :z-loss 0.01)": EACH.mean() + 0.01 * (LENGTH**2).mean(),
    "(nn:binary-cross-entropy x (cast on :f32))": BINARY.mean(),
    "(nn:binary-cross-entropy x (cast on :f32) :positive-weight 3)": (
        np.where(ON, 3 * np.log1p(np.exp(-X)), np.log1p(np.exp(X))).mean()
    ),
    "(nn:mse x y)": ((X - Y) ** 2).mean(),
    "(nn:mae x y)": np.abs(X - Y).mean(),
    "(nn:huber x y :delta 0.7)": np.where(
        np.abs(X - Y) < 0.7, (X - Y) ** 2 / 2, 0.7 * (np.abs(X - Y) - 0.35)
    ).mean(),
    "(nn:kl-divergence x y)": (
        (np.exp(log_softmax(Y)) * (log_softmax(Y) - log_softmax(X))).sum(-1).mean()
    ),
    "(nn:gaussian-kl x y)": (0.5 * (np.exp(Y) + X**2 - 1 - Y)).sum(-1).mean(),
    "(nn:gaussian-nll x y z)": (0.5 * (np.log(2 * np.pi) + Y + (Z - X) ** 2 / np.exp(Y))).mean(),
    "(nn:poisson-nll x (square y))": (np.exp(X) - Y**2 * X).mean(),
    "(nn:hinge x (where on 1.0 -1.0))": np.maximum(0, 1 - np.where(ON, 1, -1) * X).mean(),
    "(nn:cosine-loss x y)": (1 - (unit(X) * unit(Y)).sum(-1)).mean(),
    "(nn:triplet x y z)": np.maximum(0, length(X - Y) - length(X - Z) + 1).mean(),
    "(nn:triplet x y z :weights w)": weighted(np.maximum(0, length(X - Y) - length(X - Z) + 1)),
    "(nn:focal x (cast on :f32))": focal(),
    "(nn:info-nce a b :temperature 0.5)": info_nce()[0],
    "(nn:info-nce a b :temperature 0.5 :symmetric t)": info_nce()[1],
    "(nn:dice x (cast on :f32))": dice(),
    "(nn:dpo x y z (square x) :beta 0.5)": np.log1p(np.exp(-0.5 * ((X - Z) - (Y - X**2)))).mean(),
    "(nn:load-balance (softmax x))": balance(),
    "(nn:router-z-loss x)": (LENGTH**2).mean(),
    CTC: ctc(),
}


@pytest.mark.parametrize("form", LOSSES)
def test_a_loss_is_its_formula(form: str) -> None:
    assert evaluated(form, ARRAYS)[0].loss == pytest.approx(float(LOSSES[form]), rel=1e-4)


def test_even_routing_has_a_balance_of_one() -> None:
    even = np.full((2, 6, 8), 1 / 8, "f4")
    assert evaluated("(nn:load-balance x :top 8)", {"x": even})[0].loss == pytest.approx(1)


def test_poisson_nll_leaves_out_what_no_rate_changes() -> None:
    counts, rate = np.array([0, 1, 3]), 1.7
    full = [rate - k * np.log(rate) + lgamma(k + 1) for k in counts]
    given = {"x": np.full(3, np.log(rate), "f4"), "y": counts.astype("f4")}
    rest = np.mean([lgamma(k + 1) for k in counts])
    found = evaluated("(nn:poisson-nll x y)", given)[0].loss
    assert found + rest == pytest.approx(float(np.mean(full)))


def test_a_draw_has_the_mean_and_the_deviation() -> None:
    big = np.zeros((64, 64), "f4")
    form = "(let ((z (nn:reparameterize (+ x 3.0) (+ x (log 0.25))))) {})"
    mean = evaluated(form.format("(mean z)"), {"x": big})[0]
    assert mean.loss == pytest.approx(3, abs=0.05)
    np.testing.assert_allclose(mean.gradients["x"].sum(), 1, atol=0.05)
    assert evaluated(form.format("(std z)"), {"x": big})[0].loss == pytest.approx(0.5, abs=0.05)


SCORES, TRUE = X.ravel(), ON.ravel()


def auc() -> float:
    far = SCORES[TRUE][:, None] - SCORES[~TRUE]
    return float(((far > 0) + 0.5 * (far == 0)).mean())


def average_precision() -> float:
    hits = TRUE[np.argsort(-SCORES, kind="stable")]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())


def confusion() -> Any:
    found = np.zeros((8, 8))
    np.add.at(found, (IDS.ravel(), NAMED.ravel()), 1)
    return found


def iou() -> Any:
    both = [((k == IDS) & (k == NAMED)).sum() for k in range(8)]
    either = [((k == IDS) | (k == NAMED)).sum() for k in range(8)]
    return np.array(both) / np.maximum(either, 1)


def ranks(x: Any) -> Any:
    return np.argsort(np.argsort(x.ravel()))


PREDICTED = X > 0
HITS = (PREDICTED & ON).sum()
METRICS: dict[str, Any] = {
    "(nn:accuracy x ids)": (X.argmax(-1) == IDS).mean(),
    "(nn:accuracy x ids :ignore-index 2)": (X.argmax(-1) == IDS)[KEPT].mean(),
    "(nn:top-k-accuracy x ids 3)": ((np.argsort(-X, -1)[..., :3] == IDS[..., None]).any(-1).mean()),
    "(nn:perplexity (mean x))": np.exp(X.mean()),
    "(nn:bits-per-byte (mean x) :bytes-per-token 3)": X.mean() / np.log(2) / 3,
    "(nn:precision (> x 0) on)": HITS / PREDICTED.sum(),
    "(nn:recall (> x 0) on)": HITS / ON.sum(),
    "(nn:f1 (> x 0) on)": 2 * HITS / (PREDICTED.sum() + ON.sum()),
    "(nn:psnr x y :peak 2)": 10 * np.log10(4 / ((X - Y) ** 2).mean((1, 2))),
    "(cast (nn:confusion named ids 8) :f32)": confusion(),
    "(nn:r-squared x y)": 1 - ((Y - X) ** 2).sum() / ((Y - Y.mean()) ** 2).sum(),
    "(nn:iou named ids 8)": iou(),
    "(nn:auc (flatten x) (flatten on))": auc(),
    "(nn:auc (round (flatten x)) (flatten on))": None,
    "(nn:average-precision (flatten x) (flatten on))": average_precision(),
    "(nn:recall-at a b 2)": np.mean([i in np.argsort(-(A @ B.T)[i])[:2] for i in range(4)]),
    "(nn:correlation (flatten x) (flatten y))": np.corrcoef(X.ravel(), Y.ravel())[0, 1],
    "(nn:correlation (flatten x) (flatten y) :kind :spearman)": np.corrcoef(ranks(X), ranks(Y))[
        0, 1
    ],
}
TIED = np.round(X.ravel())
FAR = TIED[TRUE][:, None] - TIED[~TRUE]
METRICS["(nn:auc (round (flatten x)) (flatten on))"] = ((FAR > 0) + 0.5 * (FAR == 0)).mean()


@pytest.mark.parametrize("form", METRICS)
def test_a_metric_is_its_formula(form: str) -> None:
    wanted = METRICS[form]
    wanted = weighed(wanted) if np.ndim(wanted) else float(wanted)
    assert evaluated(form, ARRAYS)[0].loss == pytest.approx(wanted, rel=1e-4, abs=1e-5)
