"""Layers: the parameters that they make, the types that they give, and some against NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core.evaluator.modules import ModuleText
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import Type
from sexpgpu_core.spans import Source
from sexpgpu_core.staging.declare import declare
from sexpgpu_core.staging.initialize import initial_value
from sexpgpu_core.staging.trace import trace_stage
from sexpgpu_core.staging.traced import Traced
from sexpgpu_nn.plugin import sexpgpu_modules

np = pytest.importorskip("numpy")
FOLDER = Path(__file__).parents[2] / "sexpgpu_nn" / "sexpgpu_nn"
TEXT = (FOLDER / "lisp/nn.lisp").read_text("utf-8")
MODULES = {
    row.name: ModuleText(f"{row.name}.lisp", (FOLDER / row.path).read_text("utf-8"))
    for row in sexpgpu_modules()
}
FILE = """(require "sexpgpu/nn")
(defloader data (source (none :examples 100)) (stage :train) (batch 2))
(defmodel net (x ids) (declare (ignorable x ids)) {form})
(defun objective (&key x ids)
  (let ((y (net x ids))) (metric "max" y :reduce :max) (metric "sum" y :reduce :sum) (mean y)))
(defun optimizer () (groups))
(defrun :steps 1)
"""
FIELDS = {"x": Type("f32", (2, 6, 8)), "ids": Type("i32", (2, 6))}
PICTURES = {"x": Type("f32", (2, 8, 8, 4)), "ids": Type("i32", (2, 6))}


def traced(form: str, fields: Mapping[str, Type] = FIELDS) -> Traced:
    experiment, evaluator = declare(Source("t.lisp", FILE.format(form=form)), modules=MODULES)
    return trace_stage(experiment, evaluator, OPERATIONS, "data", "train", fields, 2)


def parameters(form: str, fields: Mapping[str, Type] = FIELDS) -> dict[str, tuple[int, ...]]:
    return {
        p.path.removeprefix("net/"): p.type.shape for p in traced(form, fields).parameters.values()
    }


def test_a_transformer_has_numbered_blocks_and_a_last_norm() -> None:
    made = parameters("(nn:transformer x 2 :heads 2 :causal t :norm #'nn:rms-norm)")
    assert [p for p in made if p.endswith("norm/weight") or p.endswith("norm-2/weight")] == [
        "transformer/h/0/norm/weight",
        "transformer/h/0/norm-2/weight",
        "transformer/h/1/norm/weight",
        "transformer/h/1/norm-2/weight",
        "transformer/norm/weight",
    ]


def values(form: str, x: Any, ids: Any, fields: Mapping[str, Type] = FIELDS) -> Any:
    """The sum of a layer's result, and the values of its parameters."""
    found = traced(form, fields)
    given = {p.path: initial_value(p.init, p.type, p.path, 1) for p in found.parameters.values()}
    result = run(found.graph, {"x": x, "ids": ids, **given}, OPERATIONS)
    return result["metric:sum:value"], {k.removeprefix("net/"): v for k, v in given.items()}


X = np.random.default_rng(0).normal(size=(2, 6, 8)).astype("f4")
IDS = np.arange(12).reshape(2, 6) % 5


def test_causal_attention_is_softmax_of_products() -> None:
    found, p = values("(square (nn:attention x :heads 2 :causal t))", X, IDS)
    qkv = X @ p["attention/qkv/w"] + p["attention/qkv/b"]
    q, k, v = (t.reshape(2, 6, 2, 4).transpose(0, 2, 1, 3) for t in np.split(qkv, 3, axis=-1))
    scores = q @ k.transpose(0, 1, 3, 2) / 2
    scores = np.where(np.tril(np.ones((6, 6), bool)), scores, -np.inf)
    share = np.exp(scores - scores.max(-1, keepdims=True))
    share /= share.sum(-1, keepdims=True)
    y = (share @ v).transpose(0, 2, 1, 3).reshape(2, 6, 8)
    y = y @ p["attention/out/w"] + p["attention/out/b"]
    assert float(found) == pytest.approx(float((y**2).sum()), rel=1e-4)


def test_an_embedding_with_a_padding_row_counts_it_as_zero() -> None:
    found, p = values("(square (nn:embedding ids 5 3 :padding-id 2))", X, IDS)
    table = p["embedding/w"].copy()
    table[2] = 0
    assert float(found) == pytest.approx(float((table[IDS] ** 2).sum()), rel=1e-5)


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("(nn:mse x 0.0)", float((X**2).mean())),
        ("(nn:mae x 0.0)", float(np.abs(X).mean())),
        ("(nn:huber x 0.0)", float(np.where(abs(X) < 1, X**2 / 2, abs(X) - 0.5).mean())),
        ("(nn:perplexity (mean x))", float(np.exp(X.mean()))),
        ("(nn:accuracy x ids)", float((X.argmax(-1) == IDS).mean())),
        ("(nn:cosine-loss x x)", 0.0),
    ],
)
def test_losses_and_metrics_are_their_formulas(form: str, value: float) -> None:
    assert float(values(form, X, IDS)[0]) == pytest.approx(value, rel=1e-4, abs=1e-6)


def log_softmax(x: Any) -> Any:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def test_cross_entropy_leaves_ignored_labels_out() -> None:
    each = -np.take_along_axis(log_softmax(X), IDS[..., None], -1)[..., 0]
    plain = values("(nn:cross-entropy x ids)", X, IDS)[0]
    assert float(plain) == pytest.approx(float(each.mean()), rel=1e-5)
    some = values("(nn:cross-entropy x ids :ignore-index 2)", X, IDS)[0]
    assert float(some) == pytest.approx(float(each[IDS != 2].mean()), rel=1e-5)


def test_the_module_offers_what_its_row_says() -> None:
    from sexpgpu_nn.plugin import EXPORTS

    provided = TEXT[TEXT.index("(provide") :].split(")")[0].split()[1:]
    assert list(EXPORTS) == provided


def test_every_layer_runs_once() -> None:
    forms = [
        "(nn:highway x)", "(nn:instance-norm x)", "(nn:layer-scale x)", "(nn:drop-path x 0.1)",
        "(nn:pool x)", "(nn:pool x :kind :last)", "(nn:pool x :mask (> ids 2))",
        "(+ x (nn:sinusoidal-positions 6 8))", "(nn:transformer-block x :heads 2)",
        "(nn:kl-divergence x (* 2 x))", "(nn:gaussian-kl x x)", "(nn:hinge x 1)",
        "(nn:top-k-accuracy x ids 3)", "(nn:bits-per-byte (mean x))",
        "(nn:binary-cross-entropy x (sigmoid x))",
        "(nn:f1 (> x 0) (> x 1))", "(nn:precision (> x 0) (> x 1))", "(nn:psnr x 0.0)",
    ]  # fmt: skip
    for form in forms:
        assert traced(form).losses == ("loss",), form
    for form in (
        "(nn:separable-conv x 5)", "(nn:residual-block x 8 :stride 2)", "(nn:global-pool x)",
        "(nn:patch-embedding x 4 16)", "(nn:conv-transpose x 3)",
    ):  # fmt: skip
        assert traced(form, PICTURES).losses == ("loss",), form
