"""The graph of one place: fed place by place it gives what the whole graph gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sexpgpu_core import api
from sexpgpu_core.compile.incremental import Incremental, incremental
from sexpgpu_core.compile.outputs import Serving, check_autoregressive
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.spans import Source
from sexpgpu_core.staging.traced import TracedOutput

pytest.importorskip("sexpgpu_nn", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_optim", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_cpu", reason="what is compiled here is for its devices")

PLACES = 12
EMBED = "(nn:embedding tokens 256 16)"
MODELS = {
    "a table": f"(nn:linear {EMBED} 256)",
    "attention": f"(nn:linear (nn:attention {EMBED} :heads 2 :causal t) 256)",
    "grouped, turned, in a window": f"(nn:linear (nn:attention {EMBED} :heads 4 :kv-heads 2"
    " :rope t :window 5 :causal t) 256)",
    "with a bias of positions": "(progn (defparam w (16 16) :init (normal 1))"
    f" (nn:linear (nn:attention (+ {EMBED} (slice w :axis 0 :end (dim tokens 1)))"
    " :qk-norm t :soft-cap 4.0 :causal t) 256))",
    "two layers": f"(nn:linear (nn:transformer {EMBED} 2 :heads 2 :causal t) 256)",
    "attention by hand": f'(let* ((x {EMBED}) (n (dim x 1)) (k (nn:linear x 16 :name "k"))'
    " (s (matmul x (transpose k))) (p (softmax s :axis -1 :mask (causal-mask n))))"
    " (nn:linear (matmul p x) 256))",
    "a mask by hand": f"(let* ((x {EMBED}) (n (dim x 1))"
    " (q (reshape x (list (dim x 0) n 2 8))) (y (attention q q q :mask (causal-mask n))))"
    " (nn:linear (reshape y (list (dim x 0) n 16)) 256))",
    "running sums": f"(nn:linear (cumsum {EMBED} :axis 1) 256)",
    "places before": f"(nn:linear (concat (zeros (list (dim tokens 0) 2 16))"
    f" (slice {EMBED} :axis 1 :end -2) :axis 1) 256)",
    "a recurrence": f"(let* ((x (permute {EMBED} '(1 0 2))))"
    " (multiple-value-bind (h ys) (scan (lambda (h x) (let ((n (tanh (+ h x)))) (values n n)))"
    " (zeros (list (dim tokens 0) 16)) x) (declare (ignore h))"
    " (nn:linear (permute ys '(1 0 2)) 256)))",
}


def serving(model: str) -> Serving:
    text = f"""(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader text
  (source (python-stdlib :limit 20000))
  (windows {PLACES + 1})
  (stage :train :split (0 0.9))
  (batch 4))
(defun prepare (&key tokens)
  (batch :inputs (slice tokens :axis 1 :end -1) :targets (slice tokens :axis 1 :start 1)))
(defmodel net (tokens) {model})
(defun objective (&key inputs targets)
  (metric "loss" (nn:cross-entropy (net inputs) targets)))
(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-3))))
(defoutput next (&key tokens) (:autoregressive t) (net tokens))
(defrun :steps 1)
"""
    loaded = api.load(Source("x.lisp", text))
    return Serving(loaded.experiment, loaded.evaluator, OPERATIONS, loaded.loaders)


def parameters(traced: TracedOutput) -> dict[str, Any]:
    draw = np.random.default_rng(3)
    return {
        f"parameter:{path}": draw.normal(0, 0.5, p.type.shape).astype(np.float32)
        for path, p in traced.parameters.items()
    }


def by_place(made: Incremental, tokens: Any, values: dict[str, Any]) -> Any:
    """Logits of each place, from launches of one place."""
    kept = {n: np.zeros(t.shape, numpy_dtype(t.dtype)) for n, t in made.kept.items()}
    found = []
    for place, token in enumerate(tokens[0]):
        inputs = {**values, **kept, "batch:tokens": np.array([[token]], np.int32)}
        inputs["scalar:(ctx :place)"] = np.int32(place)
        results = run(made.traced.graph, inputs, OPERATIONS)
        kept = {name: results[f"next:{name}"] for name in kept}
        found.append(results["output:next"][0, 0])
    return np.stack(found)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_places_one_by_one_give_what_all_give_at_once(model: str) -> None:
    found = serving(model)
    traced = found.longest("next")
    check_autoregressive(found.output("next"), traced, OPERATIONS)
    values = parameters(traced)
    places = next(iter(traced.fields.values())).shape[1]
    tokens = np.random.default_rng(1).integers(0, 256, (1, places)).astype(np.int32)
    whole = run(traced.graph, {**values, "batch:tokens": tokens}, OPERATIONS)["output:next"][0]
    assert by_place(incremental(traced, OPERATIONS), tokens, values) == pytest.approx(
        whole, abs=2e-5
    )


@pytest.mark.parametrize(
    ("model", "kept"),
    [("a table", 0), ("attention", 2), ("two layers", 4), ("a recurrence", 1)],
)
def test_only_what_later_places_read_is_kept(model: str, kept: int) -> None:
    assert len(incremental(serving(MODELS[model]).longest("next"), OPERATIONS).kept) == kept


def test_a_place_costs_one_place() -> None:
    found = incremental(serving(MODELS["two layers"]).longest("next"), OPERATIONS)
    products = [n for n in found.traced.graph.nodes if n.operation == "matmul"]
    assert products
    assert {n.types[0].shape[1] for n in products} == {1}


@pytest.mark.parametrize(
    ("model", "code"),
    [
        (f"(nn:linear (nn:attention {EMBED}) 256)", "E-CAUSAL"),
        (f"(nn:linear (flip {EMBED} :axis 1) 256)", "E-CAUSAL"),
        (f"(mean {EMBED} :axis 1)", "E-OUTPUT"),
    ],
)
def test_what_sees_later_places_or_gives_no_logits_is_told(model: str, code: str) -> None:
    found = serving(model)
    with pytest.raises(Problem) as refused:
        check_autoregressive(found.output("next"), found.longest("next"), OPERATIONS)
    told = refused.value.diagnostic
    assert told.code == code
    assert code != "E-CAUSAL" or told.message.endswith("later ones too")
