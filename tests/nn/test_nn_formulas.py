"""Layers beside formulas of their own in NumPy, from the same parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from layer_formulas import (
    ARRAYS,
    CAUSAL,
    IDS,
    NODES,
    PICTURE,
    C,
    P,
    X,
    ada,
    alibi,
    at,
    attention,
    batch_normed,
    block,
    both_ways,
    bottleneck,
    convnext,
    crossed,
    decoder,
    depthwise,
    excited,
    forward,
    gelu,
    graph_attention,
    graph_conv,
    group_normed,
    grouped,
    gru,
    inverted,
    latent,
    layer_normed,
    left_conv,
    linear_attention,
    lstm,
    mamba,
    mamba2,
    map_of,
    min_gru,
    moe,
    normed,
    pairs,
    post_block,
    quantized,
    relative,
    relu,
    residual,
    rg_lru,
    rnn,
    rope_attention,
    same_conv,
    sigmoid,
    silu,
    spectral,
    time_embedding,
    unet,
)
from layer_runs import evaluated, weighed

Rule = Callable[[P], Any]
LAYERS: dict[str, Rule] = {
    "(nn:linear x 5)": lambda p: X @ p["w"] + p["b"],
    "(nn:bilinear x x 3)": lambda p: np.einsum("bni,ijo,bnj->bno", X, p["w"], X) + p["b"],
    "(nn:embedding ids 5 3)": lambda p: p["w"][IDS],
    "(nn:position-embedding x)": lambda p: X + p["w"],
    "(nn:mlp x)": lambda p: forward(X, p),
    "(nn:gated-mlp x :hidden 12)": lambda p: (
        (silu(X @ p["gate/w"]) * (X @ p["up/w"])) @ p["down/w"]
    ),
    "(nn:gated-mlp x :hidden 12 :activation #'gelu)": lambda p: (
        (gelu(X @ p["gate/w"]) * (X @ p["up/w"])) @ p["down/w"]
    ),
    "(nn:layers x '(5 3))": lambda p: map_of(relu(map_of(X, p, "linear")), p, "linear-2"),
    "(nn:highway x)": lambda p: (
        (g := sigmoid(map_of(X, p, "gate"))) * relu(map_of(X, p, "map")) + (1 - g) * X
    ),
    "(nn:lora x (lambda (x) (nn:linear x 5)) 2 :alpha 6)": lambda p: (
        map_of(X, p, "linear") + 3 * X @ p["a"] @ p["b"]
    ),
    "(nn:fourier-features x 6)": lambda p: np.concatenate(
        [f(2 * np.pi * X @ p["frequencies"]) for f in (np.sin, np.cos)], -1
    ),
    "(nn:layer-norm x)": lambda p: normed(X) * p["weight"] + p["bias"],
    "(nn:rms-norm x)": lambda p: X / np.sqrt((X**2).mean(-1, keepdims=True) + 1e-6) * p["weight"],
    "(nn:group-norm picture 2)": lambda p: group_normed(
        PICTURE, {f"/{k}": v for k, v in p.items()}, ""
    ),
    "(nn:instance-norm picture)": lambda p: group_normed(
        PICTURE, {f"/{k}": v for k, v in p.items()}, "", 4
    ),
    "(nn:batch-norm picture)": lambda p: batch_normed(
        PICTURE, {f"/{k}": v for k, v in p.items()}, ""
    ),
    "(nn:layer-scale x)": lambda p: X * p["scale"],
    "(nn:weight-norm x 5)": lambda p: (
        X @ (p["v"] / np.linalg.norm(p["v"], axis=0)) * p["g"] + p["b"]
    ),
    "(nn:spectral-norm x 5 :steps 3)": lambda p: spectral(X, p),
    "(nn:ada-layer-norm x c)": lambda p: ada(X, p),
    "(nn:attention x :heads 2 :causal t)": lambda p: attention(X, p, allowed=CAUSAL),
    "(nn:attention x :heads 2 :mask (expand (reshape (> ids 0) '(2 1 1 6)) '(2 1 6 6)))": (
        lambda p: attention(X, p, allowed=(IDS > 0)[:, None, None])
    ),
    "(nn:attention x :heads 2 :rope t :causal t)": lambda p: rope_attention(X, p),
    "(nn:attention x :heads 4 :kv-heads 2 :qk-norm t :soft-cap 5 :causal t :window 3)": lambda p: (
        grouped(X, p)
    ),
    "(nn:attention x :heads 2 :position-bias (nn:alibi 2 6))": lambda p: attention(
        X, p, bias=alibi()
    ),
    "(nn:cross-attention x (* 2 x) :heads 2)": lambda p: crossed(X, 2 * X, p),
    "(nn:latent-attention x :heads 2 :rank 4 :rope-size 2 :causal t)": lambda p: latent(X, p),
    "(nn:linear-attention x :heads 2)": lambda p: linear_attention(X, p),
    "(nn:linear-attention x :heads 2 :causal t)": lambda p: linear_attention(X, p, CAUSAL),
    "(nn:transformer-block x :heads 2)": lambda p: block(X, p),
    "(nn:transformer-block x :heads 2 :order :post)": lambda p: post_block(X, p),
    "(nn:transformer x 2 :heads 2)": lambda p: layer_normed(
        block(block(X, at(p, "h/0")), at(p, "h/1")), p, "norm"
    ),
    "(nn:decoder-block x (* 2 x) :heads 2)": lambda p: decoder(X, p),
    "(nn:attention-pool x :heads 2)": lambda p: crossed(
        np.repeat(p["query"][None], 2, 0), X, at(p, "attention")
    )[:, 0],
    "(nn:patch-embedding picture 3 5)": lambda p: (
        PICTURE.reshape(2, 2, 3, 2, 3, 4).transpose(0, 1, 3, 2, 4, 5).reshape(2, 4, -1)
        @ p["w"].reshape(-1, 5)
        + p["b"]
    ),
    "(nn:conv picture 5)": lambda p: same_conv(PICTURE, p["w"], p["b"]),
    "(nn:conv x 5)": lambda p: (
        left_conv(np.pad(X, ((0, 0), (0, 1), (0, 0))), p["w"])[:, 1:] + p["b"]
    ),
    "(nn:depthwise-conv picture)": lambda p: depthwise(PICTURE, p["w"], p["b"]),
    "(nn:separable-conv picture 5)": lambda p: (
        depthwise(PICTURE, p["depthwise/w"]) @ p["pointwise/w"][0, 0] + p["pointwise/b"]
    ),
    "(nn:causal-conv x 5 :dilation 2)": lambda p: left_conv(X, p["w"], 2) + p["b"],
    "(nn:residual-block picture 5)": lambda p: residual(PICTURE, p),
    "(nn:residual-block picture 5 :stride 2)": lambda p: residual(PICTURE, p, 2),
    "(nn:bottleneck-block picture 3 :expansion 2)": lambda p: bottleneck(PICTURE, p),
    "(nn:bottleneck-block picture 3 :stride 2)": lambda p: bottleneck(PICTURE, p, 2),
    "(nn:squeeze-excite picture)": lambda p: excited(PICTURE, p),
    "(nn:inverted-residual picture 4 :expand 2 :squeeze 2)": lambda p: inverted(PICTURE, p),
    "(nn:convnext-block picture :kernel 5)": lambda p: convnext(PICTURE, p),
    "(nn:unet-block picture 6 c :groups 2)": lambda p: unet(PICTURE, p),
    "(nn:rnn x 3)": lambda p: rnn(X, p),
    "(nn:lstm x 3)": lambda p: lstm(X, p)[0],
    "(nn:gru x 3)": lambda p: gru(X, p),
    "(nn:bidirectional #'nn:lstm x 3)": lambda p: both_ways(X, p),
    "(nn:stacked #'nn:gru x 3 2)": lambda p: gru(gru(X, at(p, "layer/0")), at(p, "layer/1")),
    "(nn:min-gru x 3)": lambda p: min_gru(X, p),
    "(nn:mamba x :state-size 3)": lambda p: mamba(X, p),
    "(nn:mamba2 x :state-size 3 :head-size 4 :chunk 4)": lambda p: mamba2(X, p),
    "(nn:mamba2 x :state-size 3 :head-size 4 :chunk 2)": lambda p: mamba2(X, p),
    "(nn:mamba2 x :state-size 3 :head-size 4)": lambda p: mamba2(X, p),
    "(nn:rg-lru x)": lambda p: rg_lru(X, p),
    "(nn:moe x :experts 4 :hidden 5 :capacity nil)": lambda p: moe(X, p),
    "(nn:moe x :experts 4 :hidden 5 :capacity 0.6)": lambda p: moe(X, p, 2),
    "(nn:moe x :experts 4 :hidden 5 :top 1 :capacity 1)": lambda p: moe(X, p, 2, 1),
    "(nn:graph-conv nodes edges 3)": lambda p: graph_conv(NODES, p),
    "(nn:graph-attention nodes edges 3 :heads 2)": lambda p: graph_attention(NODES, p),
    "(nn:vector-quantize x 4)": lambda p: quantized(X, p),
}


@pytest.mark.parametrize("form", LAYERS)
def test_a_layer_is_its_formula(form: str) -> None:
    found, p = evaluated(form, ARRAYS)
    name = form.split()[0].removeprefix("(nn:")
    wanted = weighed(LAYERS[form](at(p, name)))
    assert found.loss == pytest.approx(wanted, rel=2e-4, abs=2e-4)


def test_a_relative_bias_is_by_distance() -> None:
    form = "(nn:attention x :heads 2 :position-bias (nn:relative-bias 2 6 :buckets 8 :limit 8))"
    found, p = evaluated(form, ARRAYS)
    wanted = attention(X, at(p, "attention"), bias=relative(p))
    assert found.loss == pytest.approx(weighed(wanted), rel=2e-4)


FUNCTIONS: dict[str, Any] = {
    "(nn:time-embedding times 6)": time_embedding(),
    "(nn:sinusoidal-positions 6 8)": np.concatenate(
        [f(np.arange(6)[:, None] * 10000.0 ** (-np.arange(4) / 4)) for f in (np.sin, np.cos)], -1
    ),
    "(nn:alibi 2 6)": alibi(),
    "(nn:pool x)": X.mean(1),
    "(nn:pool x :kind :max)": X.max(1),
    "(nn:pool x :mask (> ids 2))": (X * (IDS > 2)[..., None]).sum(1)
    / np.maximum((IDS > 2).sum(1), 1)[:, None],
    "(nn:global-pool picture :kind :max)": PICTURE.max((1, 2)),
    "(nn:dot-interaction x)": pairs(),
    "(nn:factorization-machine x)": pairs().sum(-1),
    "(nn:drop-path x 0)": X,
}


@pytest.mark.parametrize("form", FUNCTIONS)
def test_a_function_of_layers_is_its_formula(form: str) -> None:
    assert evaluated(form, ARRAYS)[0].loss == pytest.approx(weighed(FUNCTIONS[form]), rel=1e-4)


def test_the_last_state_of_an_lstm_is_h_and_c() -> None:
    for place, which in (("first", 1), ("second", 2)):
        found, p = evaluated(f"({place} (nth-value 1 (nn:lstm x 3)))", ARRAYS)
        assert found.loss == pytest.approx(weighed(lstm(X, at(p, "lstm"))[which]), rel=1e-4)


def test_a_recurrent_layer_goes_on_from_a_state() -> None:
    form = "(nn:gru (slice x :axis 1 :start 2) 3 :state (slice c :axis 1 :end 3))"
    found, p = evaluated(form, ARRAYS)
    assert found.loss == pytest.approx(weighed(gru(X[:, 2:], at(p, "gru"), h=C)), rel=1e-4)


def test_a_real_gated_layer_goes_on_from_a_state() -> None:
    form = "(nn:rg-lru (slice x :axis 1 :start 2) :state (tref x t 0))"
    found, p = evaluated(form, ARRAYS)
    wanted = rg_lru(X[:, 2:], at(p, "rg-lru"), X[:, 0])
    assert found.loss == pytest.approx(weighed(wanted), rel=1e-4)
    last, _ = evaluated("(nth-value 1 (nn:rg-lru x))", ARRAYS)
    assert last.loss == pytest.approx(weighed(rg_lru(X, at(p, "rg-lru"))[:, -1]), rel=1e-4)


def test_batch_statistics_move_by_their_momentum() -> None:
    found, p = evaluated("(nn:batch-norm picture :momentum 0.25)", ARRAYS)
    mean, variance = PICTURE.mean((0, 1, 2)), PICTURE.var((0, 1, 2))
    np.testing.assert_allclose(
        found.states["batch-norm/mean"], 0.75 * p["batch-norm/mean"] + 0.25 * mean, rtol=1e-5
    )
    np.testing.assert_allclose(
        found.states["batch-norm/variance"],
        0.75 * p["batch-norm/variance"] + 0.25 * variance,
        rtol=1e-5,
    )


def test_codes_follow_what_they_are_given() -> None:
    given = {"vector-quantize/count": np.array([1, 2, 3, 4], "f4")}
    found, p = evaluated("(nn:vector-quantize x 4 :decay 0.75)", ARRAYS, given)
    rows, book = X.reshape(-1, 8), p["vector-quantize/codebook"]
    index = ((rows[:, None] - book) ** 2).sum(-1).argmin(-1)
    one = np.eye(4)[index]
    count = 0.75 * given["vector-quantize/count"] + 0.25 * one.sum(0)
    wanted = (0.75 * given["vector-quantize/count"][:, None] * book + 0.25 * one.T @ rows) / count[
        :, None
    ]
    np.testing.assert_allclose(found.states["vector-quantize/count"], count, rtol=1e-5)
    np.testing.assert_allclose(found.states["vector-quantize/codebook"], wanted, rtol=1e-4)
    np.testing.assert_allclose(  # the gradient goes straight through
        found.gradients["x"].ravel(), np.cos(1.7 * np.arange(X.size)), atol=1e-4
    )
