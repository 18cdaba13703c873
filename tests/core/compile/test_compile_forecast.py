"""What a run will take: launches as the loop makes them, times that grow with the work."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core import api
from sexpgpu_core.compile import forecast, speed
from sexpgpu_core.compile.forecast import ERROR, Speed, Workload, launches, predicted
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.runtime import room

pytest.importorskip("sexpgpu_cpu", reason="devices to run and to measure are another's")

FILE = """
(defloader d (source (digits)) (stage :train :split (0 0.8)) (stage :val :split (0.8 1))
  (batch 48))
(defmodel linear (x out)
  (defparam w ((dim x -1) out) :init (he))
  (matmul x w))
(defun objective (&key image label)
  (metric "loss" (mean (cross-entropy (linear image 10) label))))
{passes}
(defoptimizer sgd (&key (lr 0.1)) (optimizer-update (param grad) (- param (* lr grad))))
(defun optimizer () (groups {groups}))
(defrun :steps {steps} :seed 1 :checkpoint (:every 1000) {more})
"""
PLAIN = "(group :rest (sgd))"
SLOW = Speed(
    ((100, 1e6), (10_000, 1e7)), ((100, 1e6), (10_000, 1e5)), 1e6, 1e-6, 1e-4, 1, ((100, 1e5),),
    0.5, 1e3,
)  # fmt: skip


def file(
    tmp_path: Path, passes: str = "", groups: str = PLAIN, steps: int = 7, more: str = ""
) -> Path:
    path = tmp_path / "x.lisp"
    path.write_text(FILE.format(passes=passes, groups=groups, steps=steps, more=more))
    return path


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"passes": "(defeval val :loader (d :val) :every 3)"},
        {"passes": "(defeval val :loader (d :val) :every 7)"},
        {"passes": "(defeval val :loader (d :val) :at (0 3 5 :end))"},
        {"passes": "(defeval val :loader (d :val) :every 2 :at (0 4 7))"},
        {"passes": "(defeval val :loader (d :val) :every 2 :at (:end))", "steps": 8},
        {"passes": "(defeval val :loader (d :val) :batches 2)"},
        {"groups": "(group :rest (sgd) :every 3)"},
        {"more": ':diagnostics (:every 2 :select ("grad/norm/**"))'},
    ],
)
def test_programs_are_launched_as_often_as_was_said(
    tmp_path: Path, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sexpgpu_cpu.reference import ReferenceProgram

    counted: Counter[str] = Counter()
    real = ReferenceProgram.launch

    def counting(self: Any, batch: Any, scalars: Any) -> Any:
        counted[self.name] += 1
        return real(self, batch, scalars)

    monkeypatch.setattr(ReferenceProgram, "launch", counting)
    path = file(tmp_path, **given)
    loaded = api.load(path)
    compiled = api.compile(loaded, api.device("reference"))
    told = {name: n for name, n in launches(compiled.traces).items() if n}
    api.run(path, device="reference", runs_root=tmp_path / "runs")
    programs = {u.name for u in compiled.job.units}
    assert {n: c for n, c in told.items() if n in programs} == dict(counted)


def test_the_launches_of_a_very_long_run_are_counted_and_not_listed(tmp_path: Path) -> None:
    path = file(tmp_path)
    compiled = api.compile(api.load(path, steps=10**12), api.device("reference"))
    assert max(launches(compiled.traces).values()) == 10**12


def test_a_call_takes_its_arithmetic_or_its_bytes_whichever_is_longer() -> None:
    def step(*row: int, size: int = 100) -> float:
        load = Workload({"step": [row]}, {"step": 3}, "step", 1, size)
        return float(predicted(load, SLOW)["step_s"])

    rest = SLOW.launch + SLOW.call
    assert step(10_000, 0, 10, 1) == pytest.approx(rest + 1e-3, rel=1e-3)
    assert step(0, 10, 1_000, 1) == pytest.approx(rest + 1e-3, rel=1e-3)
    assert step(0, 10, 1_000, 1, size=10_000) == pytest.approx(rest + 1e-2, rel=1e-3)
    assert step(0, 0, 10, 1, 100) == pytest.approx(rest + 1e-3, rel=1e-3)  # a convolution
    assert step(100, 0, 10, 1) == pytest.approx(rest + 1e-4, rel=1e-3)
    assert step(0, 10, 10, 5) == pytest.approx(SLOW.launch + 5 * (SLOW.call + 1e-5), rel=1e-3)


@pytest.mark.parametrize(
    ("steps", "saves", "saved", "total"),
    [
        (10_000, 0, 0, 1.0),
        (10_000, 1, 500, 2.0),  # after the last step
        (10_000, 4, 500, 4.25),  # writing takes longer than the steps between
        (100_000, 4, 500, 11.0),  # the steps take longer
        (10_000, 4, 0, 2.25),
    ],
)
def test_checkpoints_are_written_beside_steps_and_waited_for(
    steps: int, saves: int, saved: int, total: float
) -> None:
    load = Workload({"step": [(0, 0, 0, 0)]}, {"step": steps}, "step", 1, 100, saves, saved)
    assert predicted(load, SLOW)["total_s"] == pytest.approx(total)


@pytest.mark.parametrize(
    "said",
    ["(:every 3)", "(:every 1)", "(:every 7)", "(:every 100)", "(:at (2 5))", "(:at (0 :end))",
     "(:every 2 :at (3 4))"],
)  # fmt: skip
def test_checkpoints_fall_due_as_often_as_was_said(tmp_path: Path, said: str) -> None:
    path = file(tmp_path)
    path.write_text(path.read_text().replace("(:every 1000)", said))
    traces = api.compile(api.load(path), api.device("reference")).traces
    done = api.run(path, device="reference", runs_root=tmp_path / "runs")
    lines = (done.folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert forecast.saves(traces) == sum('"event":"checkpoint"' in line for line in lines)


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert speed._writing(tmp_path / "file")[0] == 0
    small, rate = speed._writing(tmp_path)
    assert small > 0 < rate
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_speed_is_measured_once_and_check_measures_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path / "cache"))
    path, cpu = file(tmp_path), api.device("cpu")
    assert "predicted" not in api.check(path).summary  # type: ignore[operator]
    of = api.operations(api.plugins())
    found = forecast.measured(cpu, of, None)
    monkeypatch.setattr(speed, "measure", None)
    assert forecast.measured(cpu, of, None) == found == forecast.known("cpu", None)
    assert forecast.known("cpu", 97) is None
    assert min(r for _, r in (*found.product, *found.moved, *found.convolution)) > 1e6
    assert 0 < found.call < found.launch
    told = api.check(path).summary["predicted"]  # type: ignore[index]
    size = found.save + 64 * 10 * 4 / found.written  # the weights, at the end
    assert 7 * told["step_s"] + size == pytest.approx(told["total_s"], rel=1e-2)
    assert told["flops_per_step"] > 0 < told["bytes_per_step"]
    assert "measured on this machine" in told["basis"]


def test_a_deadline_that_no_step_meets_is_refused_and_an_early_one_is_told() -> None:
    told = {"step_s": 0.5, "total_s": 100.0, "basis": "a test"}
    with pytest.raises(Problem) as raised:
        room.in_time(told, 0.2, 200, 200, ERROR)
    assert raised.value.diagnostic.code == "E-DEVICE-TIME"
    found = room.in_time(told, 10.0, 200, 200, ERROR)
    assert found is not None
    assert found.code == "W-RUN-DEADLINE"
    assert "after about 20 of them" in found.message
    assert room.in_time(told, 10.0, 200, 20, ERROR) is None  # the rest of a resume
