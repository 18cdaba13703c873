"""defoutput: its fields, its tensors, what it may not be; by the graph that it becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from staging_case import LOADER, OPTIMIZER, declared, whole

from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import Type
from sexpgpu_core.staging.trace import trace_output
from sexpgpu_core.staging.traced import TracedOutput

PREPARE = "(defun prepare (&key image label) (batch :pixels (/ image 16) :label label))\n"
OBJECTIVE = "(defun objective (&key pixels label) (nn:cross-entropy (net pixels) label))\n"


def code(output: str, **parts: str) -> str:
    """Of the one mistake."""
    try:
        traced(output, **parts)
    except Problems as problems:
        (found,) = problems.diagnostics
        return found.code
    except Problem as one:
        return one.diagnostic.code
    return ""


def traced(output: str, rows: int = 3, **parts: str) -> TracedOutput:
    chosen = {"prepare": PREPARE, "objective": OBJECTIVE, **parts}
    experiment, evaluator = declared(whole(**chosen, optimizer=f"{OPTIMIZER}{output}\n"))
    fields = {"image": Type("f32", (rows, 64)), "label": Type("i32", (rows,))}
    (name,) = experiment.outputs
    return trace_output(experiment, evaluator, OPERATIONS, name, "data", "train", fields, rows)


def values(found: TracedOutput, **given: Any) -> dict[str, Any]:
    inputs = {f"batch:{name}": array for name, array in given.items()}
    for path, parameter in found.parameters.items():
        inputs[f"parameter:{path}"] = np.ones(parameter.type.shape, np.float32)
    inputs |= {f"scalar:{name}": np.int32(0) for name in found.scalars}
    return run(found.graph, inputs, OPERATIONS)


def test_a_field_that_prepare_gives_is_fed_raw() -> None:
    found = traced("(defoutput scores (&key pixels) (net pixels))")
    assert dict(found.fields) == {"image": Type("f32", (3, 64))}
    assert dict(found.axes) == {"scores": 0}
    image = np.full((3, 64), 16, np.float32)
    assert values(found, image=image)["output:scores"] == pytest.approx(np.full((3, 10), 65.0))


def test_a_field_that_prepare_does_not_give_is_the_loaders() -> None:
    found = traced("(defoutput scores (&key image) (net image))")
    image = np.ones((3, 64), np.float32)
    assert values(found, image=image)["output:scores"] == pytest.approx(np.full((3, 10), 65.0))


def test_a_batch_gives_several_tensors_and_those_without_rows_are_known() -> None:
    found = traced(
        "(defoutput x (&key image) (batch :a (sum image :axis 1) :b (iota 4) :c (sum image)"
        " :d (transpose image)))"
    )
    assert dict(found.axes) == {"a": 0, "b": None, "c": -1, "d": 1}


def test_dropout_is_off_and_a_metric_is_reported() -> None:
    found = traced('(defoutput x (&key image) (metric "mean" (mean image)) (dropout image 0.5))')
    image = np.ones((3, 64), np.float32)
    results = values(found, image=image)
    assert (results["output:x"] == 1).all()
    assert results["metric:mean:sum"] / results["metric:mean:weight"] == 1
    assert [m.name for m in found.metrics] == ["mean"]


def test_random_numbers_are_keyed_by_the_output_and_by_the_row() -> None:
    found = traced("(defoutput x (&key image) (random-normal nil :like image))")
    (node,) = (n for n in found.graph.nodes if n.operation == "random-normal")
    assert node.get("domain") == "output/x"
    assert list(found.scalars) == ["(ctx :position)"]


def test_a_field_of_a_type_of_its_own_needs_no_loader() -> None:
    found = traced("(defoutput x (&key (noise :shape (4 (* 8 8)) :random (normal 1))) (net noise))")
    assert dict(found.own) == {"noise": Type("f32", (4, 64))}
    assert not found.fields
    assert found.rows is None


@pytest.mark.parametrize(
    ("output", "wrong"),
    [
        ("(defoutput x (&key imag) (net imag))", "E-FIELD"),
        ("(defoutput x (&key image) 3)", "E-OUTPUT"),
        ("(defoutput x (&key image) (losses :a (mean image)))", "E-OUTPUT"),
        ("(defoutput x (&key (image :dtype :f32)) (net image))", "E-OUTPUT"),
        ("(defoutput x (&key (n :shape (2) :dtype :i32 :random (normal 1))) n)", "E-OUTPUT"),
        ("(defoutput x (&key (image :shap (3))) (net image))", "E-OPTION"),
        ("(defoutput x (&key image) (:autoregresive t) (net image))", "E-OPTION"),
        ("(defoutput x (&key image) (:autoregressive) (net image))", "E-FORM-SHAPE"),
        ("(defoutput x (&key image) (:state t) (net image))", "E-OUTPUT"),
        ("(defoutput x (image) (net image))", "E-FORM-SHAPE"),
        ("(defoutput x (&key image image) (net image))", "E-FORM-SHAPE"),
        ('(defoutput x (&key image) "Nothing.")', "E-FORM-SHAPE"),
        ("(defoutput x (&key image) (* (ctx :step) image))", "E-CTX-KEY"),
    ],
)
def test_what_an_output_may_not_be(output: str, wrong: str) -> None:
    assert code(output) == wrong


def test_an_output_takes_and_returns_states_of_rows_where_it_says_so() -> None:
    model = "(defmodel net (x) (defstate h (64) :init 0 :per :row) (setf h x) (nn:linear h 10))\n"
    loader = LOADER.replace("(0 0.8))", "(0 0.8) :order :streams)")
    more = {"model": model, "loader": loader}
    assert code("(defoutput x (&key image) (net image))", **more) == "E-OUTPUT"
    found = traced("(defoutput x (&key image) (:state t) (net image))", **more)
    assert list(found.fed) == ["state/net/h"]
    assert set(found.graph.results) == {"output:x", "output:state/net/h"}
    assert set(found.given()) == {"image"}  # h is set before it is read


def test_an_output_is_of_no_step_in_prepare_either() -> None:
    prepare = "(defun prepare (&key image label) (batch :pixels (* (ctx :step) image)"
    prepare += " :label label))\n"
    assert code("(defoutput x (&key pixels) pixels)", prepare=prepare) == "E-CTX-KEY"


def test_a_pass_saves_nothing_without_an_output() -> None:
    passes = "(defeval pictures :loader (data :val) :save t :at (:end))\n"
    output = "(defoutput x (&key image) (net image))"
    assert code(output, passes=passes) == "E-OPTION-VALUE"
