"""The example in the docs entry of every tensor builtin runs, on both devices alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builtin_calls import both

from sexpgpu_core.evaluator import machine
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.evaluator.values import MultipleValues
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.spans import Source
from sexpgpu_core.staging.tensor import GENERIC, is_tensor

Spec = tuple[Any, ...]
"""A dtype and sizes of a tensor."""

USUAL: dict[str, Any] = {
    "x": ("f32", 4, 6, 8), "y": ("f32", 4, 6, 8), "w": ("f32", 8), "b": 4, "n": 6, "d": 8,
    "mask": ("bool", 4, 6), "label": ("i32", 4), "logits": ("f32", 4, 10), "ids": ("i32", 4),
    "index": ("i32", 3), "q": ("f32", 2, 5, 4, 8), "k": ("f32", 2, 5, 4, 8),
    "v": ("f32", 2, 5, 4, 8), "tokens": ("i32", 4, 6), "wte": ("f32", 9, 8), "g": ("f32", 4, 6),
    "gate": ("f32", 4, 6, 8), "loss": ("f32", 4, 6), "s": ("f32", 5), "scores": ("f32", 4, 6, 6),
    "qkv": ("f32", 4, 24), "queue": ("f32", 5, 3), "keys": ("f32", 2, 3), "a": ("f32", 3, 3),
    "l": ("f32", 3, 3), "grid": ("f32", 2, 5, 5, 2), "targets": ("f32", 4, 10), "bias": ("f32", 8),
    "labels": ("i32", 4, 3), "lengths": ("i32", 4), "counts": ("i32", 4), "row": ("f32", 5),
}  # fmt: skip
"""What a name stands for. Integers are below 3, bools mixed, floats in (0.1, 0.9)."""

INTEGERS = {name: {"x": ("i32", 4, 6)} for name in ("ash", "logand", "logior", "logxor", "lognot",
                                                    "popcount")}  # fmt: skip
LOGICAL = {name: {"x": ("bool", 4), "y": ("bool", 4)} for name in ("logical-and", "logical-or",
           "logical-xor", "logical-not", "any", "all")}  # fmt: skip
SQUARE = {name: {"x": ("f32", 3, 3)} for name in ("cholesky", "det", "eigh", "inverse", "logdet",
          "matrix-power")}  # fmt: skip
PICTURES = {name: {"x": ("f32", 2, 6, 8, 4), "w": ("f32", 3, 3, 4, 5)} for name in (
            "adaptive-avg-pool", "avg-pool", "max-pool", "conv", "conv-transpose", "grid-sample",
            "pixel-shuffle", "pixel-unshuffle", "interpolate", "unfold")}  # fmt: skip
SPECIAL: dict[str, dict[str, Any]] = {
    **INTEGERS, **LOGICAL, **SQUARE, **PICTURES,
    "crop": {"x": ("f32", 2, 30, 28, 3)},
    "gather-nd": {"x": ("f32", 4, 4)},
    "index-update": {"x": ("f32", 4, 5)},
    "kron": {"x": ("f32", 2, 3), "y": ("f32", 3, 2)},
    "layer-norm": {"b": ("f32", 8)},
    "matmul": {"w": ("f32", 8, 3)},
    "outer": {"x": ("f32", 4), "y": ("f32", 3)},
    "pad": {"x": ("f32", 4, 6)},
    "put-along": {"x": ("f32", 4, 6), "index": ("i32", 4, 1), "y": ("f32", 4, 1)},
    "take-along": {"x": ("f32", 4, 6), "index": ("i32", 4, 3)},
    "expand": {"x": ("f32", 4, 1)},
    "scatter-add": {"y": ("f32", 3, 6, 8)}, "scatter-set": {"y": ("f32", 3, 6, 8)},
    "scatter-max": {"y": ("f32", 3, 6, 8)}, "scatter-min": {"y": ("f32", 3, 6, 8)},
    "searchsorted": {"x": ("f32", 4)},
    "slice-set": {"y": ("f32", 4, 2, 8)},
    "solve": {"b": ("f32", 3, 2)}, "solve-triangular": {"b": ("f32", 3, 2)},
    "squeeze": {"x": ("f32", 4, 1)},
    "tile": {"x": ("f32", 4, 6)},
    "ctc-loss": {"logits": ("f32", 4, 6, 5)},
    "scan": {"x": ("f32", 5, 64)},
    "tref": {"x": ("f32", 4, 6)},
    "causal": {"logits": ("f32", 4, 6, 10)},
    "push-rows": {"key": ("f32", 2, 3)},
}  # fmt: skip
"""What differs in a builtin's example."""

ELSEWHERE = frozenset(
    [
        "batch",
        "batch-rows",
        "ctx",
        "diagnostic",
        "glorot",
        "group",
        "group-updates",
        "groups",
        "he",
        "initial",
        "instance",
        "lecun",
        "losses",
        "over-pass",
        "metric",
        "normal",
        "operation",
        "orthogonal",
        "optimizer-apply",
        "param-path",
        "path",
        "token-id",
        "truncated-normal",
        "uniform",
    ]
)
"""Builtins of run files, tested with them."""


def example_of(name: str) -> str | None:
    """The form that stands last in a docstring."""
    doc = " ".join((GENERIC[name].doc or "").split())
    at = doc.rfind(f"({name}")
    if at < 0:
        return None
    depth = 0
    for i, c in enumerate(doc[at:]):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return doc[at : at + i + 1]
    return None


def there() -> list[str]:
    return [n for n in sorted(GENERIC) if n[0] != "%" and "Not there yet" not in GENERIC[n].doc]


@pytest.mark.parametrize("name", there())
def test_every_builtin_has_an_example(name: str) -> None:
    assert example_of(name) is not None


def values(spec: Spec) -> Any:
    random = np.random.default_rng(sum(spec[1:]))
    dtype, shape = spec[0], spec[1:]
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype[0] == "i":
        return random.integers(0, 3, shape).astype(numpy_dtype(dtype))
    return random.uniform(0.1, 0.9, shape).astype(numpy_dtype(dtype))


RUN = [(n, f) for n in there() if n not in ELSEWHERE for f in ("f32", "f64")]
RUN.remove(("bitcast", "f64"))  # its example's u32 are as wide as f32


@pytest.mark.parametrize(("name", "full"), RUN)
def test_the_example_of_a_builtin_runs(name: str, full: str) -> None:
    form = example_of(name)
    assert form is not None
    words = {w.strip("()'#") for w in form.split()}
    known = {**USUAL, **SPECIAL.get(name, {})}
    used = {w: known[w] for w in sorted(words & set(known)) if w != name}
    tensors = {w: s for w, s in used.items() if isinstance(s, tuple)}
    numbers = [f"({w} {v})" for w, v in used.items() if not isinstance(v, tuple)]
    # A tensor that nothing uses gives the trace something to run.
    text = f"(defun example ({' '.join(tensors)} unused) (let ({' '.join(numbers)}) {form}))"

    def work(*given: Any) -> Any:
        evaluator = Evaluator(modules={})
        host = machine.current().host
        evaluator.host = host
        module = evaluator.load(Source("example.lisp", text))
        function = evaluator.cell(module.symbols["EXAMPLE"]).function
        assert function is not None
        found = evaluator.call(function, *given)
        results = list(found) if isinstance(found, MultipleValues) else [found]
        return [v for v in results if is_tensor(v)] or [given[-1]]

    given = (*(values(s) for s in tensors.values()), np.zeros(1, "f4"))
    near = 1e-5 if full == "f32" else 1e-11
    found = both(work, *given, tolerance=near, full=full)
    floats = [a for a in (found if isinstance(found, list) else [found]) if a.dtype.kind == "f"]
    assert {a.dtype.name for a in floats} <= {{"f32": "float32", "f64": "float64"}[full]}
