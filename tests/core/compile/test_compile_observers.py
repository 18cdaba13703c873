"""Observers: what is selected is made beside the step, which knows nothing of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core import api
from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.ir import Graph
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.text import write
from sexpgpu_core.plan.plan import Region
from sexpgpu_core.runtime.progress import evaluate
from sexpgpu_core.spans import Source

pytest.importorskip("sexpgpu_nn", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_optim", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_cpu", reason="what is compiled here is for its devices")

np = pytest.importorskip("numpy")

FILE = """
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d (source (digits)) (stage :train :split (0 0.8)) (batch 16))
{more}
(defmodel hidden (x) (relu (nn:linear x 8)))
(defmodel net (x)
  (let ((h (hidden x)))
    {inside}
    (nn:linear h 10)))
(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))
(defun optimizer ()
  (groups :clip-norm 0.1
    (group (select :rank 1) (optim:sgd :lr 0.5))
    (group :rest (optim:adamw :lr 1e-2))))
(defrun :steps 20 :seed 1 {run})
"""


def text(*globs: str, inside: str = "h", more: str = "", run: str = "") -> str:
    chosen = " ".join(f'"{glob}"' for glob in globs)
    run += f" :diagnostics (:every 10 :select ({chosen}))" if globs else ""
    return FILE.format(inside=inside, more=more, run=run)


def compiled(source: str) -> Any:
    loaded = api.load(Source("file.lisp", source))
    return api.compile(loaded, api.device("cpu", loaded.registry)), loaded


def observed(source: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Results of the observer by number, at the values of step 0, and what it was given."""
    job, loaded = compiled(source)
    unit = next(u for u in job.job.units if u.name == "observe/train")
    assert unit.plan is not None
    assert unit.plan.commit == len(unit.plan.calls)
    facts = job.job.stages["d:train"].observed.program
    scalars = evaluate(facts.scalars, {"updates": 0, "step": 0})
    rng = np.random.default_rng(7)
    inputs: dict[str, Any] = {}
    for node in unit.graph.inputs():
        kind, name, type = node.get("kind"), node.get("name"), node.types[0]
        if kind == "batch":
            wide = 10 if name == "label" else 1
            inputs[name] = rng.random(type.shape) * wide
        elif kind == "scalar":
            inputs[name] = scalars[name]
        else:
            inputs[f"{kind}:{name}"] = job.job.initial(f"{kind}:{name}")
    found = run(unit.graph, inputs, api.operations(loaded.registry), f64=False)
    return {n.removeprefix("probe:").removesuffix(":0"): v for n, v in found.items()}, inputs


def step_graph(job: Any) -> Graph:
    return next(u.graph for u in job.job.units if u.name == "step/train")


def test_what_is_named_or_selected_adds_no_node_to_the_step() -> None:
    plain, _ = compiled(text())
    named = '(diagnostic "spread" (sqrt (mean (square h))))'
    for source in (text(inside=named), text("**"), text("**", inside=named)):
        other, _ = compiled(source)
        assert write(step_graph(other)) == write(step_graph(plain))
        assert other.job.experiment_id == plain.job.experiment_id
        assert other.job.ir_hash == plain.job.ir_hash


def test_without_a_selection_there_is_no_observer() -> None:
    job, _ = compiled(text(inside='(diagnostic "spread" h)'))
    assert [u.name for u in job.job.units] == ["step/train"]
    assert job.job.stages["d:train"].observed is None


def test_an_observer_writes_nothing() -> None:
    job, _ = compiled(text("**"))
    unit = next(u for u in job.job.units if u.name == "observe/train")
    assert unit.plan is not None
    assert unit.plan.commit == len(unit.plan.calls)
    assert unit.plan.verdict is None
    assert all(name.startswith("probe:") for name in unit.graph.results)


def test_norms_shares_and_ratios_are_those_of_the_arrays() -> None:
    found, inputs = observed(text("**"))
    w = inputs["parameter:net/linear/w"]
    assert found["param/norm/net/linear/w"] == pytest.approx(np.linalg.norm(w), rel=1e-5)
    names = ("net/linear/w", "net/linear/b", "net/hidden/linear/w", "net/hidden/linear/b")
    each = [found[f"grad/norm/{name}"] for name in names]
    assert found["grad/norm"] == pytest.approx(math.hypot(*each), rel=1e-5)
    biases = math.hypot(each[1], each[3])
    assert found["group/1/grad/norm"] == pytest.approx(biases, rel=1e-5)
    # sgd of the clipped gradient: 0.5 * g * 0.1 / |g|
    clip = 0.1 / float(found["grad/norm"])
    assert clip < 1
    assert found["update/ratio/net/linear/b"] == math.inf  # begins as 0
    # the first update of adamw moves every element that has a gradient by lr
    moving = w.size * (1 - float(found["grad/zero/net/linear/w"]))
    moved = 1e-2 * math.sqrt(moving) / np.linalg.norm(w)
    assert found["update/ratio/net/linear/w"] == pytest.approx(moved, rel=0.05)
    assert found["optimizer/norm/net/linear/w/m"] == 0
    assert 0 < found["act/zero/net/hidden"] < 1
    assert found["act/max/net"] == found["logits/max"]


def test_numbers_of_the_file_see_the_trace_and_the_update() -> None:
    more = """
(defdiagnostic step-size (&key param new update grad state optimizer)
  (:for (select :rank 2))
  (if (equal optimizer "adamw")
      (+ (mean (abs (- new param))) (* 0.0 (mean update)) (* 0.0 (mean grad))
         (norm (getf state :m)))
      (mean update)))
(defdiagnostic both (&key loss grad-norm) (:for :step) (* loss grad-norm))
(defdiagnostic tail (&key output) (:for (:scope "net/*")) (:reduce :histogram) output)
"""
    inside = '(diagnostic "spread" (square h) :reduce :max)'
    found, _ = observed(text("step-size/**", "both", "tail/**", "net/spread", "act/max/net/hidden",
                             "grad/zero/**", more=more, inside=inside))  # fmt: skip
    moving = 1 - float(found["grad/zero/net/linear/w"])
    assert found["step-size/net/linear/w"] == pytest.approx(1e-2 * moving, rel=0.01)
    assert found["net/spread"] == pytest.approx(found["act/max/net/hidden"] ** 2, rel=1e-6)
    assert found["both"] > 0
    assert found["tail/net/hidden"].shape == (16 * 8,)
    assert found["tail/net/linear"].shape == (16 * 10,)


def test_blocks_of_a_step_make_one_number() -> None:
    globs = ("grad/norm/**", "act/*/net", "update/ratio/net/linear/w", "tail/**")
    tail = '(defdiagnostic tail (&key output) (:for (:scope "net")) (:reduce :sum) output)'
    whole, _ = observed(text(*globs, more=tail))
    parts, _ = observed(text(*globs, more=tail, run=":microbatches 4"))
    assert whole.keys() == parts.keys()
    for name in whole.keys() - {"act/std/net"}:  # of each block, then the mean
        np.testing.assert_allclose(parts[name], whole[name], rtol=2e-5, err_msg=name)


ATTENTION = """
(require "sexpgpu/optim")
(defloader d (source (digits)) (stage :train :split (0 0.8)) (batch 4))
(defmodel look (x)
  (let ((q (* 0.0 x)))
    (attention q x x :causal t)))
(defun objective (&key image)
  (bind-shape (b n) image
    (defparam w (8) :init 1)
    (mean (square (look (* w (reshape image (list b 8 1 8))))))))
(defun optimizer () (groups (group :rest (optim:sgd :lr 0.5))))
(defrun :steps 2 :diagnostics (:select ("attention/**")))
"""


def test_attention_that_cannot_choose_has_the_entropy_of_what_it_sees() -> None:
    found, _ = observed(ATTENTION)
    wanted = sum(math.log(k) for k in range(1, 9)) / 8
    assert found["attention/entropy/look"] == pytest.approx(wanted, rel=1e-6)


def refused(source: str) -> list[Any]:
    report = api.check(Source("file.lisp", source))
    return [d for d in report.diagnostics if d.is_error]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (text("grad/nrom"), "E-SERIES"),
        (text("**", "!act/maximum/**"), "E-SERIES"),
        (text("!act/**"), "E-SERIES"),
        (text("!act/**", "grad/norm"), "E-SERIES"),
        (text(more="(defdiagnostic x (&key parm) (:for :rest) parm)"), "E-FIELD"),
        (text(more="(defdiagnostic x (&key param) (:for :step) param)"), "E-FIELD"),
        (text(more="(defdiagnostic x (&key param) param (norm param))"), "E-FORM-SHAPE"),
        (text(more="(defdiagnostic x (&key param) (:for :rest) 1)"), "E-METRIC"),
        (text(more="(defdiagnostic x (&key param) (:for (select :rank 7)) param)"),
         "E-GROUP-EMPTY"),
        (text(more='(defdiagnostic x (&key output) (:for (:scope "nett")) output)'),
         "E-GROUP-EMPTY"),
        (text(more="(defdiagnostic x (&key param) (:for :rest) (:reduce :median) param)"),
         "E-OPTION"),
        (text(more="(defdiagnostic x (param) (:for :rest) param)"), "E-CONTRACT"),
        (text(more="(defdiagnostic x (&key param) (:for :rest) (matmul param param))"),
         "E-SHAPE-MATMUL"),
        (text(inside='(diagnostic "a" h) (diagnostic "a" h)'), "E-METRIC"),
        (text("**", more="(defdiagnostic grad/norm (&key loss) (:for :step) loss)"), "E-METRIC"),
    ],
)  # fmt: skip
def test_a_mistake_is_found_by_check_also_where_nothing_selects(
    source: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path))
    found = refused(source)
    assert [d.code for d in found] == [code]
    assert found[0].span is not None


def test_a_glob_that_matches_nothing_names_the_nearest() -> None:
    (found,) = refused(text("grad/nrom"))
    assert "grad/norm" in (found.hint or "")


def test_what_check_says_of_the_cost_is_the_work_of_the_observer() -> None:
    summary = api.check(Source("file.lisp", text("grad/norm/**"))).summary
    assert summary is not None
    assert summary["diagnostics"]["numbers"] == 4
    assert summary["diagnostics"]["every"] == 10
    assert 0 < summary["diagnostics"]["share"] < 0.2
    with pytest.raises((Problem, Problems)):
        compiled(text("no/such"))


def test_every_program_has_a_persistent_value_where_the_run_has_it() -> None:
    """Step, observer and pass: one layout (45.33)."""
    job, _ = compiled(text("grad/norm/**"))
    layout = job.job.persistent
    plans = [unit.plan for unit in job.job.units]
    assert len(plans) >= 2
    for plan in plans:
        held = [b for b in plan.buffers if b.region is Region.PERSISTENT]
        assert held
        assert all(b.offset == layout.offsets[b.name] for b in held)
