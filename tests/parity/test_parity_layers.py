"""Layers and losses beside torch.nn's: the result, and gradients of parameters and of x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from layer_runs import evaluated, weights
from torch.nn import functional

random = np.random.default_rng(0)
X = random.normal(size=(2, 6, 8)).astype("f4")
PICTURE = random.normal(size=(2, 6, 6, 4)).astype("f4")
VOLUME = random.normal(size=(2, 4, 4, 4, 2)).astype("f4")
TARGET = random.normal(size=(2, 6, 8)).astype("f4")
IDS = random.integers(0, 8, (2, 6)).astype("i4")
ON = TARGET > 0
ARRAYS = {"x": X, "picture": PICTURE, "volume": VOLUME, "target": TARGET, "ids": IDS, "on": ON}
T = torch.Tensor
Twin = Callable[[dict[str, T]], T]


def linear(x: T, p: dict[str, T], name: str) -> T:
    return functional.linear(x, p[f"{name}/w"].T, p.get(f"{name}/b"))


def conv(x: T, p: dict[str, T], **more: Any) -> T:
    """Channels last here, first in torch; w (k... i o) to (o i k...)."""
    n = x.ndim - 2
    w = p["w"].movedim((-1, -2), (0, 1))
    call = (functional.conv1d, functional.conv2d, functional.conv3d)[n - 1]
    return call(x.movedim(-1, 1), w, p["b"], **more).movedim(1, -1)


def heads(x: T) -> T:
    return x.reshape(*x.shape[:2], 2, -1).transpose(1, 2)


def attention(x: T, p: dict[str, T], causal: bool) -> T:
    q, k, v = (heads(t) for t in linear(x, p, "qkv").chunk(3, -1))
    y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return linear(y.transpose(1, 2).flatten(2), p, "out")


def encoder(p: dict[str, T], first: bool) -> T:
    """torch.nn's encoder layer with our weights."""
    layer = torch.nn.TransformerEncoderLayer(8, 2, 32, 0.0, functional.gelu, batch_first=True,
                                             norm_first=first).double()  # fmt: skip
    given = {
        "self_attn.in_proj_weight": p["attention/qkv/w"].T,
        "self_attn.in_proj_bias": p["attention/qkv/b"],
        "self_attn.out_proj.weight": p["attention/out/w"].T,
        "self_attn.out_proj.bias": p["attention/out/b"],
        "linear1.weight": p["mlp/up/w"].T, "linear1.bias": p["mlp/up/b"],
        "linear2.weight": p["mlp/down/w"].T, "linear2.bias": p["mlp/down/b"],
        "norm1.weight": p["norm/weight"], "norm1.bias": p["norm/bias"],
        "norm2.weight": p["norm-2/weight"], "norm2.bias": p["norm-2/bias"],
    }  # fmt: skip
    return torch.func.functional_call(layer, given, (p["x"],))


ZEROS = torch.zeros(1, 2, 3, dtype=torch.float64)


def lstm(p: dict[str, T], prefix: str = "") -> T:
    w, u, b = (p[prefix + n] for n in "wub")
    return torch.lstm(p["x"], (ZEROS, ZEROS), [w.T, u.T, b, 0 * b], True, 1, 0.0, True, False,
                      True)[0]  # fmt: skip


def gru(p: dict[str, T]) -> T:
    c = torch.cat([torch.zeros(6, dtype=torch.float64), p["c"]])
    given = [p["w"].T, p["u"].T, p["b"], c]
    return torch.gru(p["x"], ZEROS, given, True, 1, 0.0, True, False, True)[0]


def both(p: dict[str, T]) -> T:
    given = [
        t for n in ("forward/", "backward/")
        for t in (p[n + "w"].T, p[n + "u"].T, p[n + "b"], 0 * p[n + "b"])
    ]  # fmt: skip
    zeros = ZEROS.repeat(2, 1, 1)
    return torch.lstm(p["x"], (zeros, zeros), given, True, 1, 0.0, True, True, True)[0]


def rnn(p: dict[str, T]) -> T:
    given = [p["w"].T, p["u"].T, p["b"], 0 * p["b"]]
    return torch.rnn_tanh(p["x"], ZEROS, given, True, 1, 0.0, True, False, True)[0]


def norm(call: Any, p: dict[str, T], *more: Any) -> T:
    x = p["picture"].movedim(-1, 1)
    return call(x, *more, weight=p["weight"], bias=p["bias"]).movedim(1, -1)


def ctc(p: dict[str, T]) -> T:
    logs = functional.log_softmax(p["x"], -1).transpose(0, 1)
    labels = torch.tensor([[1, 2], [3, 0]])
    each = functional.ctc_loss(
        logs, labels, torch.tensor([6, 6]), torch.tensor([2, 1]), reduction="none"
    )
    return each.mean()


LABELS = torch.tensor(IDS, dtype=torch.int64)
TRUE = torch.tensor(ON, dtype=torch.float64)
CTC = "(nn:ctc x (tensor '((1 2) (3 0))) (tensor '(6 6)) (tensor '(2 1)))"
LAYERS: dict[str, Twin] = {
    "(nn:linear x 5)": lambda p: functional.linear(p["x"], p["w"].T, p["b"]),
    "(nn:bilinear x target 3)": lambda p: functional.bilinear(
        p["x"], p["target"], p["w"].movedim(-1, 0), p["b"]
    ),
    "(nn:embedding ids 8 3)": lambda p: functional.embedding(LABELS, p["w"]),
    "(nn:layer-norm x)": lambda p: functional.layer_norm(p["x"], (8,), p["weight"], p["bias"]),
    "(nn:rms-norm x)": lambda p: functional.rms_norm(p["x"], (8,), p["weight"], 1e-6),
    "(nn:group-norm picture 2)": lambda p: norm(functional.group_norm, p, 2),
    "(nn:instance-norm picture)": lambda p: norm(functional.instance_norm, p),
    "(nn:batch-norm picture)": lambda p: functional.batch_norm(
        p["picture"].movedim(-1, 1), None, None, p["weight"], p["bias"], True
    ).movedim(1, -1),
    "(nn:conv x 5)": lambda p: conv(p["x"], p, padding=1),
    "(nn:conv picture 6 :groups 2 :padding 1 :stride 2)": lambda p: conv(
        p["picture"], p, padding=1, stride=2, groups=2
    ),
    "(nn:conv picture 6 :padding 2 :dilation 2)": lambda p: conv(
        p["picture"], p, padding=2, dilation=2
    ),
    "(nn:conv volume 3 :padding 1)": lambda p: conv(p["volume"], p, padding=1),
    "(nn:depthwise-conv picture)": lambda p: conv(p["picture"], p, padding=1, groups=4),
    "(nn:conv-transpose picture 3 :padding 1)": lambda p: functional.conv_transpose2d(
        p["picture"].movedim(-1, 1), p["w"].movedim((2, 3), (0, 1)), p["b"], stride=2, padding=1
    ).movedim(1, -1),
    "(nn:attention x :heads 2)": lambda p: attention(p["x"], p, False),
    "(nn:attention x :heads 2 :causal t)": lambda p: attention(p["x"], p, True),
    "(nn:transformer-block x :heads 2)": lambda p: encoder(p, True),
    "(nn:transformer-block x :heads 2 :order :post)": lambda p: encoder(p, False),
    "(nn:rnn x 3)": rnn,
    "(nn:lstm x 3)": lstm,
    "(nn:gru x 3)": gru,
    "(nn:bidirectional #'nn:lstm x 3)": both,
    "(nn:cross-entropy x ids :smoothing 0.1)": lambda p: functional.cross_entropy(
        p["x"].flatten(0, 1), LABELS.flatten(), label_smoothing=0.1
    ),
    "(nn:cross-entropy x ids :ignore-index 2)": lambda p: functional.cross_entropy(
        p["x"].flatten(0, 1), LABELS.flatten(), ignore_index=2
    ),
    "(nn:binary-cross-entropy x (cast on :f32) :positive-weight 3)": lambda p: (
        functional.binary_cross_entropy_with_logits(p["x"], TRUE, pos_weight=torch.tensor(3.0))
    ),
    "(nn:mse x target)": lambda p: functional.mse_loss(p["x"], p["target"]),
    "(nn:mae x target)": lambda p: functional.l1_loss(p["x"], p["target"]),
    "(nn:huber x target :delta 0.7)": lambda p: functional.huber_loss(
        p["x"], p["target"], delta=0.7
    ),
    "(nn:poisson-nll x (square target))": lambda p: functional.poisson_nll_loss(
        p["x"], p["target"] ** 2
    ),
    "(nn:cosine-loss x target)": lambda p: (
        1 - functional.cosine_similarity(p["x"], p["target"], -1)
    ).mean(),
    "(nn:triplet x target (- x))": lambda p: functional.triplet_margin_loss(
        p["x"], p["target"], -p["x"]
    ),
    CTC: ctc,
}


@pytest.mark.parametrize("form", LAYERS)
def test_a_layer_and_its_gradients_are_those_of_torch(form: str, worst: Any) -> None:
    found, values = evaluated(form, ARRAYS)
    scope = form.split()[0].removeprefix("(nn:") + "/"
    given = {**values, **{n: a for n, a in ARRAYS.items() if a.dtype.kind == "f"}}
    leaves = {n: torch.tensor(np.asarray(v, "f8"), requires_grad=True) for n, v in given.items()}
    y = LAYERS[form]({n.removeprefix(scope): v for n, v in leaves.items()})
    loss = (y.flatten() * torch.from_numpy(weights(y.numel()))).sum()
    loss.backward()
    assert found.loss == pytest.approx(loss.item(), rel=1e-4, abs=1e-4)
    for name, gradient in found.gradients.items():
        wanted = leaves[name].grad
        wanted = np.zeros_like(gradient) if wanted is None else wanted.numpy()
        error = np.abs(gradient - wanted).max() / max(np.abs(wanted).max(), 1e-2)
        worst("layers, gradients", float(error))
        assert error < 1e-4, name
