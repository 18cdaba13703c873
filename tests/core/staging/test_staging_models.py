"""Scopes and parameters: paths, sharing, numbering, sites."""

from __future__ import annotations

from staging_case import FIELDS, MODEL, declared, faults, only, traced, traced_pass, whole

from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.staging.trace import trace_stage


def paths(**parts: str) -> list[str]:
    return list(traced(whole(**parts)).parameters)


def test_unnamed_calls_in_a_model_are_numbered() -> None:
    model = "(defmodel net (x) (nn:linear (nn:linear x 4) 10))\n"
    assert paths(model=model) == [
        "net/linear/w", "net/linear/b", "net/linear-2/w", "net/linear-2/b",
    ]  # fmt: skip


def test_a_path_names_a_call() -> None:
    model = (
        "(defmodel net (x) (dotimes (i 2) (setq x (nn:linear x 10 :bias nil :name"
        ' (path "h" i)))) x)\n'
    )
    assert paths(model=model) == ["net/h/0/w", "net/h/1/w"]


def test_calls_at_the_root_under_one_name_share() -> None:
    objective = "(defun objective (&key image label) (mean (+ (net image) (net (* 2 image)))))\n"
    found = traced(whole(objective=objective)).parameters
    assert {p.path: p.uses for p in found.values()} == {"net/linear/w": 2, "net/linear/b": 2}


def test_another_name_at_the_root_is_another_scope() -> None:
    objective = '(defun objective (&key image) (mean (+ (net image) (net image :name "b"))))\n'
    assert paths(objective=objective)[::2] == ["net/linear/w", "b/linear/w"]


def test_a_helper_adds_to_its_callers_scope() -> None:
    model = "(defun gain (x) (defparam g ((dim x -1)) :init 1) (* g x))\n" + MODEL.replace(
        "x 10", "(gain x) 10"
    )
    assert "net/g" in paths(model=model)


def test_a_parameter_of_the_objective_is_at_the_root() -> None:
    objective = (
        "(defun objective (&key image) (defparam nu () :init 0.1) (* nu (mean (net image))))\n"
    )
    assert "nu" in paths(objective=objective)


def test_a_shared_parameter_of_another_shape_is_told() -> None:
    objective = (
        "(defun objective (&key image) (+ (mean (net image)) (mean (net (slice"
        " image :axis 1 :end 8)))))\n"
    )
    assert only(whole(objective=objective)).code == "E-PARAM-DUPLICATE"


def test_an_instance_shares_inside_a_model() -> None:
    model = """(defmodel layer (x) (nn:linear x 64))
(defmodel net (x) (let ((f (instance #'layer :name "twin"))) (+ (funcall f x) (funcall f (* 2 x)))))
"""
    assert paths(model=model) == ["net/twin/linear/w", "net/twin/linear/b"]


def test_with_scope_opens_a_scope_without_a_model() -> None:
    model = '(defmodel net (x) (with-scope "tower" (nn:linear x 10)))\n'
    assert paths(model=model)[0] == "net/tower/linear/w"


def test_a_model_is_a_function_with_keywords_and_values() -> None:
    model = """(defmodel pair (x &key (scale 2) &aux (y (* scale x))) (values y (nn:linear y 10)))
(defmodel net (x) (multiple-value-bind (y z) (funcall #'pair x :scale 3 :name "p") (+ z (mean y))))
"""
    assert paths(model=model)[0] == "net/p/linear/w"


def test_models_may_be_used_before_their_definition_and_recur() -> None:
    model = """(defmodel net (x) (deep x 2))
(defmodel deep (x n) (if (zerop n) x (nn:linear (deep x (1- n)) 64)))
"""
    assert paths(model=model)[0] == "net/deep/deep/linear/w"


def test_sites_are_scopes_with_numbers() -> None:
    model = "(defmodel net (x) (nn:linear (dropout (dropout x 0.1) 0.1) 10))\n"
    assert traced(whole(model=model)).sites == ("net/dropout#1", "net/dropout#2")


def test_the_second_opening_of_a_shared_scope_has_sites_of_its_own() -> None:
    model = "(defmodel net (x) (nn:linear (dropout x 0.1) 10))\n"
    objective = "(defun objective (&key image) (mean (+ (net image) (net image))))\n"
    assert traced(whole(model=model, objective=objective)).sites == (
        "net/dropout#1",
        "net@2/dropout#1",
    )


def test_dropout_is_the_identity_in_a_pass() -> None:
    model = "(defmodel net (x) (nn:linear (dropout x 0.1) 10))\n"
    assert not any(
        n.operation.startswith("random") for n in traced_pass(whole(model=model)).graph.nodes
    )


def test_dropout_knows_its_batch_axis() -> None:
    model = "(defmodel net (x) (nn:linear (dropout (transpose x) 0.1) 10))\n"
    objective = "(defun objective (&key image) (mean (net image)))\n"
    graph = traced(whole(model=model, objective=objective)).graph
    node = next(n for n in graph.nodes if n.operation == "random-uniform")
    assert node.get("batch-axis") == 1
    assert node.get("domain") == "train"


def test_an_axis_that_examples_share_is_divided_again() -> None:
    model = """(defmodel net (x)
      (let ((parts (nn:linear (reshape x '(-1 16)) 16)))
        (nn:linear (dropout (reshape parts (list (dim x 0) -1 16)) 0.1) 10)))\n"""
    objective = "(defun objective (&key image) (mean (net image)))\n"
    experiment, evaluator = declared(whole(model=model, objective=objective))
    found = trace_stage(experiment, evaluator, OPERATIONS, "data", "train", FIELDS, 8)
    node = next(n for n in found.graph.nodes if n.operation == "random-uniform")
    assert node.get("batch-axis") == 0
    assert [d.code for d in evaluator.diagnostics] == []


def test_a_part_of_the_batch_is_no_axis_of_it() -> None:
    model = "(defmodel net (x) (nn:linear (dropout (reshape x '(4 2 64)) 0.1) 10))\n"
    objective = "(defun objective (&key image) (mean (net image)))\n"
    experiment, evaluator = declared(whole(model=model, objective=objective))
    trace_stage(experiment, evaluator, OPERATIONS, "data", "train", FIELDS, 8)
    assert "W-RANDOM-BATCH" in [d.code for d in evaluator.diagnostics]


def test_frozen_forms_let_no_gradient_to_parameters() -> None:
    model = "(defmodel net (x) (with-frozen (nn:linear x 10)))\n"
    graph = traced(whole(model=model)).graph
    assert sum(n.operation == "stop-gradient" for n in graph.nodes) == 2


def test_with_mode_changes_what_ctx_answers() -> None:
    model = "(defmodel net (x) (with-mode :eval (nn:linear (dropout x 0.5) 10)))\n"
    assert traced(whole(model=model)).sites == ("net/dropout#1",)
    assert not any(n.operation.startswith("random") for n in traced(whole(model=model)).graph.nodes)


def test_an_f32_island_is_the_policy_of_its_nodes() -> None:
    model = "(defmodel net (x) (nn:linear (f32 (exp x)) 10))\n"
    graph = traced(whole(model=model)).graph
    assert [n.policy for n in graph.nodes if n.operation == "exp"] == ["f32"]


def test_a_state_proposes_its_next_value_in_training_only() -> None:
    model = """(defmodel net (x)
  (defstate total ((dim x -1)) :init 0)
  (setf total (+ total (mean x :axis 0)))
  (nn:linear (- x total) 10))
"""
    found = traced(whole(model=model))
    assert list(found.states) == ["net/total"]
    assert "proposal:net/total" in found.graph.results
    assert "proposal:net/total" not in traced_pass(whole(model=model)).graph.results


def test_batch_norm_may_be_cut_into_blocks() -> None:
    model = "(defmodel net (x) (nn:linear (nn:batch-norm x) 10))\n"
    found = traced(whole(model=model), microbatches=2)
    assert set(found.states) == {"net/batch-norm/mean", "net/batch-norm/variance"}


def test_defparam_needs_a_name_and_a_shape() -> None:
    assert faults(whole(model="(defmodel net (x) (defparam w) x)\n"))[0].code == "E-FORM-SHAPE"


def test_a_bad_init_names_the_initializers() -> None:
    model = '(defmodel net (x) (defparam w (64 10) :init "normal") (matmul x w))\n'
    assert only(whole(model=model)).code == "E-OPTION-VALUE"
