"""The parameters and states (marked *) that layers make, by path below the layer, with shapes."""

from __future__ import annotations

import re

import pytest
from test_nn_layers import FIELDS, PICTURES, traced

from sexpgpu_core.ir.types import Type

NODES = {"x": Type("f32", (5, 4)), "ids": Type("i32", (2, 6))}
LINEAR = "w 8 3 | b 3"
ATTENTION = "qkv/w 8 24 | qkv/b 24 | out/w 8 8 | out/b 8"
CROSS = "q/w 8 8 | q/b 8 | kv/w 8 16 | kv/b 16 | out/w 8 8 | out/b 8"
MLP = "up/w 8 32 | up/b 32 | down/w 32 8 | down/b 8"
LSTM = "w 8 12 | u 3 12 | b 12"


def below(name: str, rows: str) -> str:
    """Rows of a part, which has a scope of its own."""
    return " | ".join(f"{name}/{row}" for row in rows.split(" | "))


def norm(name: str, d: int) -> str:
    return f"{name}/weight {d} | {name}/bias {d}"


def batch_norm(name: str, d: int) -> str:
    return f"{norm(name, d)} | {name}/mean* {d} | {name}/variance* {d}"


BLOCK = " | ".join(
    [norm("norm", 8), below("attention", ATTENTION), norm("norm-2", 8), below("mlp", MLP)]
)
SEQUENCES = {
    "(nn:linear x 3)": LINEAR,
    "(nn:bilinear x x 3)": "w 8 8 3 | b 3",
    "(nn:embedding ids 20 5)": "w 20 5",
    "(nn:position-embedding x)": "w 6 8",
    "(nn:fourier-features x 6)": "frequencies* 8 3",
    "(nn:mlp x)": MLP,
    "(nn:gated-mlp x)": "gate/w 8 64 | up/w 8 64 | down/w 64 8",
    "(nn:layers x '(5 3))": "linear/w 8 5 | linear/b 5 | linear-2/w 5 3 | linear-2/b 3",
    "(nn:lora x (lambda (x) (nn:linear x 3)) 2)": f"{below('linear', LINEAR)} | a 8 2 | b 2 3",
    "(nn:highway x)": "gate/w 8 8 | gate/b 8 | map/w 8 8 | map/b 8",
    "(nn:layer-norm x)": "weight 8 | bias 8",
    "(nn:rms-norm x)": "weight 8",
    "(nn:group-norm x 2)": "weight 8 | bias 8",
    "(nn:instance-norm x)": "weight 8 | bias 8",
    "(nn:batch-norm x)": "weight 8 | bias 8 | mean* 8 | variance* 8",
    "(nn:weight-norm x 3)": "v 8 3 | g 3 | b 3",
    "(nn:spectral-norm x 3)": "w 8 3 | b 3 | u* 3",
    "(nn:ada-layer-norm x (tref x t 0))": "map/w 8 16 | map/b 16",
    "(nn:layer-scale x)": "scale 8",
    "(nn:attention x :heads 2)": ATTENTION,
    "(nn:attention x :heads 4 :kv-heads 2 :head-size 4 :qk-norm t :bias nil)": (
        "qkv/w 8 32 | q-norm/weight 4 | k-norm/weight 4 | out/w 16 8"
    ),
    "(nn:cross-attention x (* 2 x) :heads 2)": CROSS,
    "(nn:latent-attention x :heads 2 :rank 4 :rope-size 2)": (
        "q/w 8 12 | down/w 8 6 | norm/weight 4 | up/w 4 16 | out/w 8 8"
    ),
    "(nn:linear-attention x :heads 2)": "qkv/w 8 24 | out/w 8 8",
    "(+ x (sum (nn:relative-bias 2 6)))": "w 32 2",
    "(nn:transformer-block x :heads 2)": BLOCK,
    "(nn:transformer x 1 :heads 2)": f"{below('h/0', BLOCK)} | {norm('norm', 8)}",
    "(nn:decoder-block x x :heads 2)": " | ".join(
        [
            *(norm(n, 8) for n in ("norm", "norm-2", "norm-3")),
            below("attention", ATTENTION),
            below("cross-attention", CROSS),
            below("mlp", MLP),
        ]
    ),
    "(nn:moe x :experts 4 :hidden 5)": "router/w 8 4 | gate/w 4 8 5 | up/w 4 8 5 | down/w 4 5 8",
    "(nn:attention-pool x)": f"query 1 8 | {below('attention', CROSS)}",
    "(nn:rnn x 3)": "w 8 3 | u 3 3 | b 3",
    "(nn:lstm x 3)": LSTM,
    "(nn:gru x 3)": "w 8 9 | u 3 9 | b 9 | c 3",
    "(nn:bidirectional #'nn:lstm x 3)": f"{below('forward', LSTM)} | {below('backward', LSTM)}",
    "(nn:min-gru x 3)": "z/w 8 3 | z/b 3 | h/w 8 3 | h/b 3",
    "(nn:rg-lru x)": "a/w 8 8 | a/b 8 | i/w 8 8 | i/b 8 | lambda 8",
    "(nn:mamba x :state-size 3)": (
        "in/w 8 32 | conv/w 4 1 16 | conv/b 16 | x/w 16 7 | dt/w 1 16 | dt/b 16 | a-log 16 3 | "
        "skip 16 | out/w 16 8"
    ),
    "(nn:mamba2 x :state-size 3 :head-size 4)": (
        "in/w 8 42 | conv/w 4 1 22 | conv/b 22 | dt-bias 4 | a-log 4 | skip 4 | norm/weight 16 | "
        "out/w 16 8"
    ),
    "(nn:causal-conv x 3)": "w 4 8 3 | b 3",
    "(nn:vector-quantize x 5)": "codebook* 5 8 | count* 5",
}
OVER_PICTURES = {
    "(nn:patch-embedding x 4 6)": "w 4 4 4 6 | b 6",
    "(nn:conv x 6 :groups 2)": "w 3 3 2 6 | b 6",
    "(nn:conv-transpose x 6)": "w 4 4 4 6 | b 6",
    "(nn:depthwise-conv x)": "w 3 3 1 4 | b 4",
    "(nn:separable-conv x 6)": "depthwise/w 3 3 1 4 | pointwise/w 1 1 4 6 | pointwise/b 6",
    "(nn:residual-block x 6)": " | ".join(
        [
            *("conv/w 3 3 4 6", "conv-2/w 3 3 6 6", "shortcut/w 1 1 4 6"),
            *(batch_norm("norm", 6), batch_norm("norm-2", 6)),
        ]
    ),
    "(nn:bottleneck-block x 6 :groups 2)": " | ".join(
        [
            *("conv/w 1 1 4 6", "conv-2/w 3 3 3 6", "conv-3/w 1 1 6 24", "shortcut/w 1 1 4 24"),
            *(batch_norm("norm", 6), batch_norm("norm-2", 6), batch_norm("norm-3", 24)),
        ]
    ),
    "(nn:inverted-residual x 6 :squeeze 4)": " | ".join(
        [
            *("expand/w 1 1 4 24", "depthwise/w 3 3 1 24", "project/w 1 1 24 6"),
            below("squeeze-excite", "down/w 24 6 | down/b 6 | up/w 6 24 | up/b 24"),
            *(batch_norm("norm", 24), batch_norm("norm-2", 24), batch_norm("norm-3", 6)),
        ]
    ),
    "(nn:squeeze-excite x)": "down/w 4 1 | down/b 1 | up/w 1 4 | up/b 4",
    "(nn:convnext-block x)": (
        "depthwise/w 7 7 1 4 | depthwise/b 4 | layer-norm/weight 4 | layer-norm/bias 4 | "
        "mlp/up/w 4 16 | mlp/up/b 16 | mlp/down/w 16 4 | mlp/down/b 4 | layer-scale/scale 4"
    ),
    "(nn:unet-block x 6 (mean x :axis '(1 2)) :groups 2)": " | ".join(
        [
            *(norm("group-norm", 4), norm("group-norm-2", 6), "time/w 4 6 | time/b 6"),
            *("conv/w 3 3 4 6 | conv/b 6", "conv-2/w 3 3 6 6 | conv-2/b 6", "shortcut/w 1 1 4 6"),
        ]
    ),
}
GRAPHS = {
    "(nn:graph-conv x ids 3)": "w 4 3 | b 3",
    "(nn:graph-attention x ids 3 :heads 2)": "w 4 2 3 | source 2 3 | target 2 3",
}
EVERY = [
    (form, rows, fields)
    for table, fields in ((SEQUENCES, FIELDS), (OVER_PICTURES, PICTURES), (GRAPHS, NODES))
    for form, rows in table.items()
]


BEGUN = (
    (r"(lstm|forward|backward)/b|mamba/dt/b|dt-bias|a-log|lambda|weight-norm/g", "(program "),
    (r"(position-)?embedding/w|relative-bias/w|query", "(normal 0.02)"),
    (r"frequencies|codebook|spectral-norm/u", "(normal 1)"),
    (r"(rnn|lstm|gru|forward|backward)/u", "(orthogonal 1)"),
    (r"convnext-block/layer-scale/scale", "1e-06"),
    (r"layer-scale/scale", "1e-05"),
    (r"ada-layer-norm/map/w|lora/b", "0"),
    (r"moe/(gate|up|down)/w", "(lecun :batch-axes 1)"),
    (r"graph-[\w-]+/(w|source|target)", "(glorot)"),
    (r"(conv[\d-]*|conv-transpose|[\w-]+-conv)/w", "(he)"),
    (r"(shortcut|expand|project|depthwise|pointwise)/w", "(he)"),
    (r".*/(w|v|a)", "(lecun)"),
    (r".*/(b|bias|c|mean)", "0"),
    (r".*/(weight|skip|variance|count)", "1"),
)
"""How what a path ends in begins; the first that fits."""


@pytest.mark.parametrize(("form", "rows", "fields"), EVERY, ids=[form for form, _, _ in EVERY])
def test_a_layer_makes_what_its_row_says(form: str, rows: str, fields: dict[str, Type]) -> None:
    found = traced(form, fields)
    name = re.findall(r"\(nn:([\w-]+)", form)[0]
    made = {p.path: p.type.shape for p in found.parameters.values()}
    made |= {f"{path}*": state.type.shape for path, state in found.states.items()}
    wanted = {}
    for row in rows.split(" | "):
        path, *shape = row.split()
        wanted[f"net/{name}/{path}"] = tuple(map(int, shape))
    assert made == wanted


@pytest.mark.parametrize(("form", "rows", "fields"), EVERY, ids=[form for form, _, _ in EVERY])
def test_what_a_layer_makes_begins_as_is_usual(
    form: str, rows: str, fields: dict[str, Type]
) -> None:
    found = traced(form, fields)
    begun = {p.path: str(p.init) for p in found.parameters.values()}
    begun |= {path: str(state.init) for path, state in found.states.items()}
    assert len(begun) == len(rows.split(" | "))
    for path, init in begun.items():
        usual = next(text for ending, text in BEGUN if re.fullmatch(f".*/({ending})", path))
        assert init.startswith(usual) if usual == "(program " else init == usual, path
