"""The lowering report: times by a roofline, every call counted, GPT-2's step within its targets."""

from __future__ import annotations

import pytest
from cuda_models import compiled

from sexpgpu_core.diagnostics import Problem
from sexpgpu_cuda import roofline
from sexpgpu_cuda.lowering import report

LEAST = 155e9
"""Bytes that a step of GPT-2 124M moves at least: decision 0036."""


def test_time_is_the_longer_of_moving_and_computing() -> None:
    h200 = roofline.gpu("h200")
    moving = roofline.seconds(h200, "product", 4_320_000_000, 1, True)
    assert moving == pytest.approx(1e-3)
    assert roofline.seconds(h200, "product", 1, 791_200_000_000, True) == pytest.approx(1e-3)
    few = roofline.seconds(h200, "element", 4_320_000_000, 1, False, 512 * 132 // 4)
    assert few == pytest.approx(4e-3)


def test_a_gpu_that_is_not_known_is_answered_with_the_nearest() -> None:
    with pytest.raises(Problem) as raised:
        roofline.gpu("H20")
    assert "did you mean H200?" in str(raised.value.diagnostic.hint)


def test_a_step_of_gpt2_is_predicted_within_its_targets() -> None:
    found = report(compiled("gpt2"))
    predicted = found["predicted"]
    rows = found["kernels"]
    assert predicted["step_s"] == pytest.approx(sum(r["predicted_s"] for r in rows))
    assert predicted["bytes_per_step"] == sum(r["bytes"] for r in rows)
    assert predicted["step_s"] < 0.118
    assert predicted["bytes_per_step"] < 1.15 * LEAST
    assert found["memory"][0]["peak_bytes"] < 38e9
    calls = {r["name"].split()[0]: 0 for r in rows if r["kind"] == "library"}
    ends = {"matmul-bias", "matmul-gelu", "matmul-gelu-slope"}
    assert set(calls) == {"matmul", *ends, "attention-forward", "attention-backward"}
    assert found["not_fused"] == []


def test_what_no_library_takes_is_named_with_its_place() -> None:
    from cuda_models import FOLDER

    from sexpgpu_core import api

    loaded = api.load(FOLDER / "gpt2.lisp", variant="small", sets=(("precision", ":f32"),))
    made = api.compile(loaded, api.device("cuda", loaded.registry))
    rows = {row["operations"][0]: row for row in report(made, "A100")["not_fused"]}
    assert set(rows) == {"attention", "gelu"}
    assert rows["attention"]["reason"] == "not cuDNN's: it is not in 16 bits"
    assert rows["attention"]["file"].endswith("gpt2.lisp")
    assert rows["gelu"]["reason"] == "not cuBLASLt's: it is not in 16 bits"


@pytest.mark.parametrize("name", ["llama", "resnet50"])
def test_other_models_are_predicted_too(name: str) -> None:
    predicted = report(compiled(name, "small"), "H100")["predicted"]
    assert 0 < predicted["step_s"] < 0.1
    assert predicted["basis"].startswith("roofline of one H100, not measured")


def test_without_libraries_the_report_names_kernels_of_ours_and_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = compiled("gpt2", "small")
    called = {r["name"]: r for r in report(model)["kernels"] if r["kind"] == "library"}
    monkeypatch.setenv("SEXPGPU_LIBRARIES", "none")
    found = report(model)
    rows = {r["name"]: r for r in found["kernels"]}
    assert all(r["kind"] == "kernel" and "library" not in r for r in rows.values())
    for name, row in called.items():
        assert rows[f"plain {name}"]["predicted_s"] >= row["predicted_s"]
    reasons = {row["operations"][0]: row["reason"] for row in found["not_fused"]}
    told = "SEXPGPU_LIBRARIES leaves cuBLASLt out"
    assert reasons["matmul"] == reasons["matmul-gelu"] == told
    assert reasons["attention-backward"] == told.replace("cuBLASLt", "cuDNN")
