"""Small run files for the tests of staging: texts to experiments and traced graphs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core.data.kinds import SOURCES, TOKENIZERS, tokenizer_table
from sexpgpu_core.diagnostics import Diagnostic, Problem, Problems
from sexpgpu_core.evaluator.definitions import BUILTINS
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.evaluator.modules import ModuleText
from sexpgpu_core.evaluator.values import Function, MultipleValues, first_value
from sexpgpu_core.experiment.declarations import Experiment
from sexpgpu_core.ir import Graph
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import Type
from sexpgpu_core.spans import Source
from sexpgpu_core.staging.declare import declare
from sexpgpu_core.staging.trace import trace_optimizer, trace_pass, trace_stage
from sexpgpu_core.staging.traced import Optimization, Traced

OTHERS = "run files of these tests use nn and optim, other distributions"
NN = pytest.importorskip("sexpgpu_nn.plugin", reason=OTHERS)
OPTIM = pytest.importorskip("sexpgpu_optim.plugin", reason=OTHERS)
KINDS = {kind.kind: kind for kind in SOURCES}
ROOT = Path(__file__).parents[3]
MODULES = {
    row.name: ModuleText(
        f"{row.name}.lisp", (ROOT / row.package / row.package / row.path).read_text("utf-8")
    )
    for plugin in (NN, OPTIM)
    for row in plugin.sexpgpu_modules()
}
HEAD = '(require "sexpgpu/nn")\n(require "sexpgpu/optim")\n'
LOADER = """(defloader data
  (source (digits))
  (stage :train :split (0 0.8))
  (stage :val :split (0.8 1))
  (batch 8))
"""
MODEL = "(defmodel net (x) (nn:linear x 10))\n"
OBJECTIVE = (
    '(defun objective (&key image label) (metric "loss" (nn:cross-entropy (net image) label)))\n'
)
PASS = "(defeval val :loader (data :val))\n"
OPTIMIZER = "(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-3))))\n"
RUN = "(defrun :steps 100)\n"
FIELDS: dict[str, Type] = {"image": Type("f32", (8, 64)), "label": Type("i32", (8,))}


def whole(**parts: str) -> str:
    """A run file of the smallest parts, some of them replaced; "" leaves one out."""
    default = {
        "head": HEAD, "knobs": "", "loader": LOADER, "prepare": "", "model": MODEL,
        "objective": OBJECTIVE, "evaluate": "", "passes": PASS, "optimizer": OPTIMIZER, "run": RUN,
    }  # fmt: skip
    assert set(parts) <= set(default), parts
    return "".join({**default, **parts}.values())


def declared(text: str, **more: Any) -> tuple[Experiment, Evaluator]:
    known = {"sources": KINDS, "tokenizers": tokenizer_table(TOKENIZERS)}
    return declare(Source("test.lisp", text), modules=MODULES, **known, **more)


def traced(
    text: str, *, fields: Mapping[str, Type] = FIELDS, rows: int = 8, microbatches: int = 1
) -> Traced:
    experiment, evaluator = declared(text)
    loader = next(iter(experiment.loaders))
    return trace_stage(
        experiment, evaluator, OPERATIONS, loader, "train", fields, rows, microbatches=microbatches
    )


def traced_pass(
    text: str, *, fields: Mapping[str, Type] = FIELDS, rows: int = 8, whole: int | None = None
) -> Traced:
    experiment, evaluator = declared(text)
    loader = next(iter(experiment.loaders))
    return trace_pass(
        experiment, evaluator, OPERATIONS, "val", loader, "val", fields, rows, whole_rows=whole
    )


def optimized(text: str, fields: Mapping[str, Type] = FIELDS) -> tuple[Traced, Optimization]:
    experiment, evaluator = declared(text)
    loader = next(iter(experiment.loaders))
    found = trace_stage(experiment, evaluator, OPERATIONS, loader, "train", fields, 8)
    return found, trace_optimizer(experiment, evaluator, OPERATIONS, found)


def faults(text: str, phase: str = "trace", **more: Any) -> list[Diagnostic]:
    """What is wrong with a file: declared, then traced, then its optimizer."""
    try:
        experiment, evaluator = declared(text, **more)
        if phase == "declare":
            return []
        loader = next(iter(experiment.loaders))
        found = trace_stage(experiment, evaluator, OPERATIONS, loader, "train", FIELDS, 8)
        trace_optimizer(experiment, evaluator, OPERATIONS, found)
    except Problems as problems:
        return list(problems.diagnostics)
    except Problem as one:
        return [one.diagnostic]
    return []


def only(text: str, **more: Any) -> Diagnostic:
    """The one mistake of a file."""
    (found,) = faults(text, **more)
    return found


def warnings(evaluator: Evaluator) -> list[str]:
    """Codes of the warnings, those of names that a small file does not use apart."""
    return [d.code for d in evaluator.diagnostics if d.code != "W-UNUSED"]


def body(form: str) -> str:
    """A file whose model's value is a form of x, f32 (8 64)."""
    return whole(
        model=f"(defmodel net (x) {form})\n",
        objective="(defun objective (&key image) (mean (net image)))\n",
        optimizer="(defun optimizer () (groups))\n",
    )


def value_of(form: str, fields: Mapping[str, Type] = FIELDS) -> Type:
    """The type of a form of x, f32 (8 64)."""
    experiment, evaluator = declared(body(form))
    net = evaluator.cell(evaluator.module.symbols["NET"]).function
    assert net is not None
    seen: list[Type] = []

    def objective(_: Any, image: Any) -> Any:
        seen.append(first_value(net.call(image)).type)
        return BUILTINS["MEAN"].call(image)

    experiment = experiment._replace(objective=Function("objective", objective))
    trace_stage(experiment, evaluator, OPERATIONS, "data", "train", fields, 8)
    return seen[0]


def evaluated(form: str, image: Any, dtype: str = "f32", f64: bool = False) -> list[Any]:
    """The values of a form of x, computed by the references; with `f64`, all floats in f64."""
    graph = graph_of(form, Type(dtype, image.shape))
    return list(run(graph, {"image": image}, OPERATIONS, f64=f64).values())


def graph_of(form: str, type: Type = FIELDS["image"]) -> Graph:
    """The traced graph of a form of x, whose values are the results "0", "1", ..."""
    experiment, evaluator = declared(body(form))
    net = evaluator.cell(evaluator.module.symbols["NET"]).function
    assert net is not None
    found: list[Any] = []

    def objective(_: Any, image: Any) -> Any:
        made = net.call(image)
        several = made if made.__class__ is MultipleValues else (made,)
        found.extend(v.value for v in several)
        return BUILTINS["MEAN"].call(image)

    experiment = experiment._replace(objective=Function("objective", objective))
    fields = {"image": type, "label": FIELDS["label"]}
    graph = trace_stage(experiment, evaluator, OPERATIONS, "data", "train", fields, 8).graph
    graph.results = {str(i): v for i, v in enumerate(found)}
    return graph
