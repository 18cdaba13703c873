"""`:precision :f64`: what f32 of a file is computed and kept in f64, on devices that have it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_file import HERE, arrays, events
from safetensors.numpy import load_file, save_file

from sexpgpu_core import api
from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.ir.types import FLOATS, Type
from sexpgpu_core.spans import Source
from sexpgpu_core.staging.initialize import Initializer, initial_value
from sexpgpu_core.trained import trained as trained_model

FED = ("graph", "lora")
"""Those whose data the tests make."""
FILES = sorted(p.stem for p in HERE.glob("*.lisp") if p.stem not in FED)
NEAR = 1e-10
"""How far two devices may be apart after 3 steps, of a value's greatest element: Adam divides
gradients near 0 by their size, so that a key's bias moves by what rounding left of it."""


def double(text: str, precision: str = "f64") -> str:
    assert ":precision" not in text
    assert text.count("(defrun ") == 1
    return text.replace("(defrun ", f"(defrun :precision :{precision} ")


def trained(path: Path, text: str, name: str, **options: Any) -> dict[str, Any]:
    """Every array that a run of a text at a path saves last."""
    options = {"device": "cpu", **options}
    done = api.run(Source(str(path), text), runs_root=path.parent / "runs", name=name, **options)
    assert done.exit == 0, done.error
    return arrays(done.folder)


def apart(a: dict[str, Any], b: dict[str, Any]) -> float:
    """The greatest difference, relative to each value's greatest element."""
    assert a.keys() == b.keys() != set()
    wide = [(a[n].astype("f8"), b[n].astype("f8")) for n in a if a[n].size]
    return max(float(np.abs(x - y).max() / max(np.abs(x).max(), 1e-30)) for x, y in wide)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(HERE / "names.txt", tmp_path)
    return tmp_path


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_run_in_f64_by_its_precision_alone(folder: Path, file: str) -> None:
    text = (HERE / f"{file}.lisp").read_text(encoding="utf-8")
    path = folder / f"{file}.lisp"
    ours, plain = (
        trained(path, double(text), device, device=device, steps=3)
        for device in ("cpu", "reference")
    )
    assert {str(a.dtype) for a in ours.values() if a.dtype.kind == "f"} == {"float64"}
    assert apart(ours, plain) < NEAR
    single = trained(path, double(text, "f32"), "single", steps=3)
    assert {str(a.dtype) for a in single.values() if a.dtype.kind == "f"} == {"float32"}
    assert apart(ours, single) < 1e-2


@pytest.mark.parametrize("file", FILES)
def test_nothing_that_is_trained_passes_through_f32(folder: Path, file: str) -> None:
    """Of f32 are data of the loader alone, each of which is cast at once, draws that end in a
    choice, and counts."""
    text = (HERE / f"{file}.lisp").read_text(encoding="utf-8")
    path = folder / f"{file}.lisp"
    loaded = api.load(Source(str(path), double(text)))
    compiled = api.compile(loaded, api.device("cpu", loaded.registry))
    for graph in compiled.steps.values():
        for node in graph.nodes:
            if node.operation != "cast" or node.get("dtype") not in FLOATS:
                continue
            operand = node.operands[0]
            assert node.get("dtype") == "f64" or operand.dtype == "bool", node
            if operand.dtype == "f32":
                assert operand.node.get("kind") == "batch", operand.node


PINN = """(require "sexpgpu/optim")
(defparameter *table* (tensor '(0.1 0.2)))
(defloader points (source (csv "p.csv")) (fields (x 0 :f64) (y 1)) (batch 4) (stage :train))
(defmodel net (x)
  (defparam w (2) :init 0.1)
  (defparam scale () :init (* 1.5 0.1))
  (defparam drawn (3 2) :init (normal 0.1))
  (defstate seen () :init 0.3)
  (setf seen (+ seen 0.1))
  (+ (* scale (sum (* w *table*)) x) (* 1/3 (sum drawn)) (* (ctx :step) 0.1)))
(defun objective (&key x y)
  (metric "third" (* 1/3 (stage-stat (points :train) x :mean)))
  (mean (square (- (net x) y))))
(defun optimizer ()
  (groups :clip-norm 0.1 :ema 0.9 :ema-state t
    (group :rest (optim:sgd :lr (* 0.1 (- 1.1 (ctx :progress)))))))
(defrun :steps 2 :log-every 1 :precision :f64 :checkpoint (:every 1))
"""
ROWS = np.asarray([[0.1, 1.5], [0.2, 0.25], [0.3, -1.5], [0.7, 2.0]])


def test_numbers_of_a_file_are_rounded_to_f64_alone(tmp_path: Path) -> None:
    """A step by hand, in Python's own doubles."""
    lines = ["x,y", *(f"{x},{y}" for x, y in ROWS.tolist())]
    (tmp_path / "p.csv").write_text("\n".join(lines) + "\n")
    path = tmp_path / "x.lisp"
    done = api.run(Source(str(path), PINN), runs_root=tmp_path / "runs")
    assert done.exit == 0, done.error
    saves = {step: arrays(done.folder, step) for step in (1, 2)}
    w, scale, table = np.full(2, 0.1), 1.5 * 0.1, np.asarray([0.1, 0.2])
    drawn = initial(tmp_path, PINN)["parameter:net/drawn"]
    assert drawn.dtype == np.float64
    of_f32 = PINN.replace(":f64 :checkpoint", ":f32 :checkpoint").replace("0 :f64", "0")
    single = initial(tmp_path, of_f32)
    assert np.allclose(drawn, single["parameter:net/drawn"], rtol=2e-7, atol=0)
    assert not np.array_equal(drawn, single["parameter:net/drawn"])
    x, y = ROWS.T
    seen, ema = 0.3, {}
    for step in (1, 2):
        out = scale * (w * table).sum() * x + drawn.sum() / 3 + (step - 1) * 0.1
        slope = 2 * (out - y) / len(x)
        rows = (slope * x).sum()
        gradients = {
            "w": scale * table * rows,
            "scale": (w * table).sum() * rows,
            "drawn": np.full((3, 2), slope.sum() / 3),
        }
        norm = np.sqrt(sum(np.square(g).sum() for g in gradients.values()))
        factor = 0.1 * (1.1 - (step - 1) / 2) * min(1, 0.1 / (norm + 1e-6))
        old = {"w": w, "scale": np.asarray(scale), "drawn": drawn}
        new = {n: v - factor * gradients[n] for n, v in old.items()}
        w, scale, drawn = new["w"], float(new["scale"]), new["drawn"]
        seen += 0.1
        for name, value in new.items():
            ema[name] = 0.9 * ema.get(name, old[name]) + 0.1 * value
            assert np.allclose(saves[step][f"params:net/{name}"], value, rtol=1e-14, atol=0)
            assert np.allclose(saves[step][f"state:ema:net/{name}"], ema[name], rtol=1e-14, atol=0)
        assert saves[step]["state:state:net/seen"] == pytest.approx(seen, rel=1e-15)
    for event in events(done.folder, "step"):
        assert event["metrics"]["train/third"] == pytest.approx(x.mean() / 3, rel=1e-15)


def initial(root: Path, text: str) -> dict[str, Any]:
    """Values at step 0."""
    loaded = api.load(Source(str(root / "x.lisp"), text))
    job = api.compile(loaded, api.device("reference", loaded.registry)).job
    return {name: job.initial(name) for name in job.persistent.types}


INITS = ("(uniform -0.1 0.1)", "(glorot)", "(he)", "(orthogonal)", "(truncated-normal 0.3)",
         "(lecun)", "(full '(5 4) 0.1)")  # fmt: skip


@pytest.mark.parametrize("init", INITS)
def test_first_values_are_those_of_f32_to_its_rounding(tmp_path: Path, init: str) -> None:
    text = PINN.replace("drawn (3 2) :init (normal 0.1)", f"drawn (5 4) :init {init}")
    text = text.replace('(source (csv "p.csv")) (fields (x 0 :f64) (y 1))', "(source (none))")
    text = text.replace("(stage-stat (points :train) x :mean)", "1")
    text = text.replace("(&key x y)", "(&aux (x (random-uniform '(4) :batch 0)) (y x))")
    wide = initial(tmp_path, text)["parameter:net/drawn"]
    single = initial(tmp_path, text.replace(":f64 :checkpoint", ":f32 :checkpoint"))
    near = single["parameter:net/drawn"]
    assert wide.dtype == np.float64
    assert near.dtype == np.float32
    assert np.allclose(wide, near, rtol=3e-6, atol=1e-7)
    assert not np.array_equal(wide, near)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_microbatches_are_the_whole_to_the_rounding_of_f64(folder: Path, device: str) -> None:
    text = double((HERE / "masked_gpt.lisp").read_text(encoding="utf-8"))
    path = folder / "masked_gpt.lisp"
    one, *others = (
        trained(path, text, f"m{n}", device=device, steps=1, sets=[("blocks", str(n))])
        for n in (1, 4, 16)
    )
    for parts in others:
        assert apart(one, parts) < 1e-13


def test_a_run_goes_on_bit_for_bit(folder: Path) -> None:
    text = double((HERE / "two_players.lisp").read_text(encoding="utf-8"))
    path = folder / "two_players.lisp"
    whole = trained(path, text, "whole", steps=8)
    trained(path, text, "half", steps=4)
    again = trained(path, text, "again", steps=8, resume="half", resume_changed=True)
    assert whole.keys() == again.keys()
    for name, array in whole.items():
        assert np.array_equal(array, again[name]), name


def test_weights_of_f32_are_loaded_and_no_run_goes_on_with_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`load-params` widens; `--from` says that it is what to use."""
    path = folder / "x.lisp"
    text = (HERE / "plateau.lisp").read_text(encoding="utf-8")
    single = trained(path, double(text, "f32"), "single", steps=2)
    where = text.index("(defun objective")
    loads = f'{text[:where]}(load-params (run-checkpoint "single"))\n{text[where:]}'
    monkeypatch.chdir(folder)
    loaded = api.load(Source(str(path), double(loads)))
    job = api.compile(loaded, api.device("cpu", loaded.registry)).job
    params = {n: a for n, a in single.items() if n.startswith("params:")}
    for name, array in params.items():
        first = job.initial(name.replace("params:", "parameter:"))
        assert first.dtype == np.float64
        assert np.array_equal(first, array)
    with pytest.raises(Problem) as refused:
        trained(path, double(text), "forked", steps=4, origin="single")
    found = refused.value.diagnostic
    assert found.code == "E-RESUME-PARAM"
    assert "of another dtype: " in found.message
    assert found.hint == '(load-params (run-checkpoint "single" :at 2)), without --from'


def test_frozen_weights_and_moments_may_be_kept_in_less(folder: Path) -> None:
    text = (HERE / "lora.lisp").read_text(encoding="utf-8")
    text = text.replace(":frozen)", ":frozen :dtype :bf16)")
    text = text.replace("(optim:adamw :lr 1e-2)", "(optim:adamw :lr 1e-2 :state-dtype :bf16)")
    drawn = np.random.default_rng(3)
    save_file(
        {
            f"layers.{n}.{p}": drawn.standard_normal(shape).astype("f4")
            for n, shapes in enumerate([((64, 32), (32,)), ((32, 10), (10,))])
            for p, shape in zip("wb", shapes)
        },
        folder / "base.safetensors",
    )
    path = folder / "lora.lisp"
    ours, plain = (
        trained(path, double(text), device, device=device, steps=3)
        for device in ("cpu", "reference")
    )
    dtypes = {n: str(a.dtype) for n, a in ours.items()}
    assert dtypes["params:net/in/w"] == dtypes["optimizer:net/in/up/m"] == "bfloat16"
    assert dtypes["params:net/in/up"] == "float64"
    assert apart(ours, plain) < 1e-2  # a moment between two of bf16 goes to either
    trainable = {n: a for n, a in ours.items() if n.endswith(("/up", "/down"))}
    assert apart(trainable, {n: plain[n] for n in trainable}) < 1e-3


def test_a_policy_of_the_file_narrows_products_of_a_run_in_f64(folder: Path) -> None:
    loaded = api.load(Source(str(folder / "x.lisp"), NARROW))
    compiled = api.compile(loaded, api.device("cpu", loaded.registry))
    (graph,) = (unit.graph for unit in compiled.job.units if unit.name.startswith("step"))
    products = [n for n in graph.nodes if n.operation == "matmul"]
    assert {n.types[0].dtype for n in products} == {"bf16"}
    done = api.run(Source(str(folder / "x.lisp"), NARROW), runs_root=folder / "runs")
    assert done.exit == 0, done.error
    saved = load_file(done.folder / "checkpoints" / "step-00000002" / "params.safetensors")
    assert {str(a.dtype) for a in saved.values()} == {"float64"}


NARROW = """(require "sexpgpu/optim")
(defloader points (source (none)) (batch 8) (stage :train))
(defmodel net (x) (defparam w (4 3)) (matmul x w))
(defun objective ()
  (mean (square (with-numerics (:matmul :bf16) (net (random-normal '(8 4) :batch 0))))))
(defun optimizer () (groups (group :rest (optim:sgd :lr 0.1))))
(defrun :steps 2 :precision :f64)
"""


@pytest.mark.parametrize(
    ("stage", "run", "word"),
    [(":bf16", ":f64", ":bf16"), (":f32", ":f64", ":f32"), (":f64", ":f32", ":f64")],
)
def test_f64_is_of_all_stages_or_of_none(stage: str, run: str, word: str) -> None:
    text = NARROW.replace("(stage :train)", f"(stage :train :precision {stage})")
    with pytest.raises(Problems) as refused:
        api.load(Source("x.lisp", text.replace("2 :precision :f64", f"2 :precision {run}")))
    (found,) = refused.value.diagnostics
    assert found.code == "E-OPTION-VALUE"
    assert found.span is not None
    assert found.span.text == word
    assert f"of {stage}, and the run of {run}" in found.message


def test_a_stage_may_say_what_the_run_is() -> None:
    text = NARROW.replace("(stage :train)", "(stage :train :precision :f64)")
    assert api.load(Source("x.lisp", text)).experiment.run.full == "f64"


def test_check_and_explain_tell_f64(folder: Path) -> None:
    text = NARROW.replace("(with-numerics (:matmul :bf16) ", "(progn ")
    path = folder / "x.lisp"
    path.write_text(text)
    report = api.check(path)
    assert report.summary is not None
    assert report.summary["precision"] == {"default": "f64", "scopes": {}}
    assert report.summary["memory"]["parameters_bytes"] == 8 * 12
    assert json.dumps(report.summary)


OUTPUTS = """
(defoutput twice (&key (z :shape (3 4))) (* z 2))
(defoutput drawn (&key (z :shape (3 4) :random (normal 0.1))) (net z))
"""


def test_outputs_take_and_give_doubles(folder: Path) -> None:
    path = folder / "x.lisp"
    text = NARROW.replace("(with-numerics (:matmul :bf16) ", "(progn ")
    done = api.run(
        Source(str(path), text.replace("(defrun ", f"{OUTPUTS}(defrun ")), runs_root=folder
    )
    assert done.exit == 0, done.error
    model = trained_model(done.folder.name, runs_root=folder)
    z = np.random.default_rng(1).standard_normal((3, 4))
    (twice,) = model.predict("twice", z=z).values()
    assert np.array_equal(twice, 2 * z)
    (drawn,) = model.predict("drawn").values()
    assert drawn.dtype == np.float64
    w = arrays(done.folder)["params:net/w"]
    first = initial_value(Initializer("normal", (0.1,)), Type("f64", (3, 4)), "output/drawn/z", 0)
    assert np.allclose(drawn, first @ w, rtol=1e-13)
