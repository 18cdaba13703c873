"""What optimizers keep in 16 bits, and W-PRECISION-UPDATE."""

from __future__ import annotations

import pytest
from optimizer_runs import FILE, MODULES, update_of

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.spans import Source
from sexpgpu_core.staging.declare import declare
from sexpgpu_core.staging.trace import trace_optimizer, trace_stage

WITH_STATES = ["sgd :momentum 0.9", "lion", "lars", "adam", "adam :amsgrad t", "adamw", "nadam",
    "radam", "adamax", "adagrad", "rmsprop :momentum 0.9 :centered t", "lamb",
    "schedule-free-adamw", "muon", "shampoo", "soap", "lookahead (optim:sgd)"]  # fmt: skip


def kept(form: str, path: str = "w", defined: str = "") -> dict[str, str]:
    return {s.name: s.type.dtype for s in update_of(form, path, defined).states}


@pytest.mark.parametrize("call", WITH_STATES)
def test_states_of_each_optimizer_are_kept_in_bf16_where_it_is_asked(call: str) -> None:
    assert "bf16" not in kept(f"(optim:{call})").values()
    found = kept(f"(optim:{call} :state-dtype :bf16)")
    own = {"left", "right", "left-axes", "right-axes", "total", "product"}
    assert {n for n, dtype in found.items() if dtype != "bf16"} <= own
    assert "bf16" in found.values()


def test_the_optimizer_that_muon_hands_vectors_to_keeps_what_muon_keeps() -> None:
    assert set(kept("(optim:muon :state-dtype :bf16)", "b").values()) == {"bf16"}


def test_an_inner_optimizer_keeps_what_it_says_itself() -> None:
    form = "(optim:lookahead (optim:sgd :momentum 0.9 :state-dtype :bf16))"
    assert kept(form) == {"slow": "f32", "m": "bf16"}


def test_a_state_says_itself_what_it_is_kept_in() -> None:
    defined = """(defoptimizer mine ()
      (defstate m :like param :dtype :bf16)
      (optimizer-update (param grad) (setf m (+ m grad)) (- param m)))"""
    assert kept("(mine)", defined=defined) == {"m": "bf16"}


def test_each_parameter_has_random_bits_of_its_own() -> None:
    sites = set()
    for path in ("w", "b"):
        nodes = update_of("(optim:adamw :state-dtype :bf16)", path).body.nodes
        sites |= {n.get("site") for n in nodes if n.operation == "random-bits"}
    assert sites == {f"net/{p}/{s}/kept" for p in "wb" for s in "mv"}


def test_another_dtype_of_states_is_refused() -> None:
    with pytest.raises(Problem) as raised:
        update_of("(optim:adamw :state-dtype :f16)")
    assert raised.value.diagnostic.code == "E-TYPE"


def warnings(form: str, dtype: str = "f32", init: str = "1") -> list[str]:
    text = FILE.format(groups=f"(group :rest {form})", dtype=f":{dtype}", defined="")
    text = text.replace(":init 1", f":init {init}").replace("(+ (sum w) (sum b))", SUM)
    experiment, evaluator = declare(Source("t.lisp", text), modules=MODULES)
    stage = trace_stage(experiment, evaluator, OPERATIONS, "data", "train", {}, 4)
    trace_optimizer(experiment, evaluator, OPERATIONS, stage)
    return [d.message for d in evaluator.diagnostics if d.code == "W-PRECISION-UPDATE"]


SUM = "(+ (sum (cast w :f32)) (sum (cast b :f32)))"


@pytest.mark.parametrize("lr", ["1e-4", "(optim:warmup-cosine 1e-4 :warmup 10)"])
def test_a_decay_that_rounds_to_nothing_is_told(lr: str) -> None:
    assert "decays nothing" in warnings(f"(optim:adamw :lr {lr} :weight-decay 1e-6)")[0]
    assert not warnings(f"(optim:adamw :lr {lr} :weight-decay 0.1)")
    assert not warnings(f"(optim:adam :lr {lr} :weight-decay 1e-6)")  # coupled: not alone


def test_steps_below_the_spacing_of_f16_weights_are_told() -> None:
    init = "(normal 0.5)"
    assert "is kept in f16" in warnings("(optim:lion :lr 1e-5)", "f16", init)[0]
    assert not warnings("(optim:lion :lr 1e-3)", "f16", init)
    assert not warnings("(optim:lion :lr 1e-5)", "bf16", init)
    assert not warnings("(optim:lion :lr 1e-5)", "f32", init)
