"""`load-params`: each array of theirs is one of ours, nothing is left over on either side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core import api
from sexpgpu_core.spans import Source

pytest.importorskip("sexpgpu_nn", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_optim", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_cpu", reason="what is compiled here is for its devices")

np = pytest.importorskip("numpy")
save_file = pytest.importorskip("safetensors.numpy").save_file

FILE = """
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d (source (digits)) (stage :train :split (0 0.8)) (batch 16))
(defmodel net (x)
  (defstate seen (10) :init 0)
  (let ((y (nn:linear (nn:linear x 16 :name (path "h" 0)) 10 :name (path "h" 1))))
    (setf seen (+ seen (mean y :axis 0)))
    y))
{load}
(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))
(defun optimizer () (groups :ema 0.9 (group :rest (optim:adamw :lr 1e-3))))
(defrun :steps 2)
"""
MAP = ':map (("layers.{i}.weight" "h/{i}/w") ("layers/{i}/bias" "h/{i}/b"))'
WHOLE = f'(load-params "w.safetensors" :from "model" :into "net" {MAP} :transpose ("**/weight"))'


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Arrays as another framework names and lays them out."""
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    arrays = {
        "model.layers.0.weight": rng.normal(size=(16, 64)).astype("f4"),
        "model.layers.0.bias": rng.normal(size=16).astype("f2"),
        "model.layers.1.weight": rng.normal(size=(10, 16)).astype("f8"),
        "model.layers.1.bias": rng.normal(size=10).astype("f4"),
    }
    save_file(arrays, "w.safetensors")
    return arrays


def compiled(load: str) -> Any:
    loaded = api.load(Source("x.lisp", FILE.format(load=load)))
    return api.compile(loaded, api.device("reference", loaded.registry)).job


def told(load: str) -> list[Any]:
    report = api.check(Source("x.lisp", FILE.format(load=load)), device="reference")
    return [d for d in report.diagnostics if d.is_error]


def test_arrays_are_renamed_transposed_and_cast(theirs: dict[str, Any]) -> None:
    job = compiled(WHOLE)
    for i in (0, 1):
        weight = theirs[f"model.layers.{i}.weight"].T.astype("f4")
        for kind in ("parameter", "ema"):
            found = job.initial(f"{kind}:net/h/{i}/w")
            assert found.dtype == np.float32
            assert found.flags.c_contiguous
            np.testing.assert_array_equal(found, weight)
        bias = theirs[f"model.layers.{i}.bias"].astype("f4")
        np.testing.assert_array_equal(job.initial(f"parameter:net/h/{i}/b"), bias)
    (file,) = job.weights
    assert Path(file["path"]).name == "w.safetensors"


def test_a_state_of_the_same_path_is_loaded_too(theirs: dict[str, Any]) -> None:
    arrays = {**theirs, "model.seen": np.arange(10, dtype="f4")}
    save_file(arrays, "w.safetensors")
    np.testing.assert_array_equal(compiled(WHOLE).initial("state:net/seen"), np.arange(10))


def test_shards_and_an_index_are_one_source(theirs: dict[str, Any]) -> None:
    whole = compiled(WHOLE)
    names = list(theirs)
    save_file({n: theirs[n] for n in names[:1]}, "part-1.safetensors")
    save_file({n: theirs[n] for n in names[1:]}, "part-2.safetensors")
    weight_map = {n: f"part-{1 + (n != names[0])}.safetensors" for n in names}
    Path("w.index.json").write_text(json.dumps({"weight_map": weight_map}))
    for source in ("part-*.safetensors", "w.index.json"):
        job = compiled(WHOLE.replace("w.safetensors", source))
        assert len(job.weights) == 2
        for name in whole.persistent.types:
            np.testing.assert_array_equal(job.initial(name), whole.initial(name))


def test_other_contents_are_another_experiment(theirs: dict[str, Any]) -> None:
    first = compiled(WHOLE).experiment_id
    assert compiled(WHOLE).experiment_id == first
    assert compiled("").experiment_id != first
    theirs["model.layers.1.bias"][3] += 1
    save_file(theirs, "w.safetensors")
    assert compiled(WHOLE).experiment_id != first


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (WHOLE.replace('("layers/{i}/bias" "h/{i}/b")', ""), ("layers/0/bias", "net/h/0/b")),
        (WHOLE.replace(':from "model" ', ""), ("model/layers/0/bias",)),
        (WHOLE.replace(':transpose ("**/weight")', ""), (":transpose", "layers/1/weight")),
        (WHOLE.replace(':into "net"', ':cast nil :into "net"'), ("is not cast",)),
        (WHOLE + WHOLE, ("loaded twice",)),
        (WHOLE.replace("w.safetensors", "x.lisp"), ("no safetensors file",)),
    ],
)
def test_what_does_not_fit_is_told_with_both_names(
    theirs: dict[str, Any], load: str, words: tuple[str, ...]
) -> None:
    Path("x.lisp").write_text("(no weights)")
    (found,) = told(load)
    assert found.code == "E-PARAM-LOAD"
    assert found.span is not None
    assert all(word in found.message + (found.hint or "") for word in words), found


def test_what_is_left_out_is_said(theirs: dict[str, Any]) -> None:
    first = '(load-params "w.safetensors" :from "model/layers/0" :into "net/h/0" :missing ("**/b")'
    first += ' :map (("weight" "w")) :ignore ("**/bias" "model/layers/1/*")'
    assert told(first + ' :transpose ("**/weight"))') == []
    (found,) = told(WHOLE.replace(':into "net"', ':into "net" :ignore ("**/1/*")'))
    assert "no value for net/h/1/w, net/h/1/b" in found.message


def test_a_number_that_its_type_cannot_hold_is_told(theirs: dict[str, Any]) -> None:
    theirs["model.layers.1.weight"][0, 0] = 1e300
    save_file(theirs, "w.safetensors")
    with pytest.raises(Exception, match="does not fit into f32"):
        compiled(WHOLE).initial("parameter:net/h/1/w")


def test_a_file_that_is_not_there_is_told(theirs: dict[str, Any]) -> None:
    (found,) = told(WHOLE.replace("w.safetensors", "v.safetensors"))
    assert found.code == "E-DATA-MISSING"
    assert "w.safetensors" in (found.hint or "")


@pytest.mark.parametrize(
    ("load", "code"),
    [
        ("(load-params)", "E-FORM-SHAPE"),
        ('(load-params "w.safetensors" :rename ())', "E-OPTION"),
        ('(load-params "w.safetensors" :map (("a")))', "E-FORM-SHAPE"),
        ('(load-params "w.safetensors" :into 3)', "E-OPTION-VALUE"),
        ('(load-params (run-checkpoint "none"))', "E-USAGE-RUN"),
        ("(load-params (run-checkpoint))", "E-FORM-SHAPE"),
    ],
)
def test_a_form_that_is_not_one_is_told(theirs: dict[str, Any], load: str, code: str) -> None:
    assert [d.code for d in told(load)] == [code]
