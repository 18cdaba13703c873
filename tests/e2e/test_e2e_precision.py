"""`:precision`: 16-bit runs learn, and the loss scale of f16 grows, backs off and is resumed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from e2e_program import Folder, events, network, saved, series, validate

from sexpgpu_core.runtime import progress

MODEL = "(nn:layers (one-hot x 27 :dtype :f32) (list width 27))"


def trained(folder: Folder, name: str, options: str, *flags: str, **more: str) -> list[float]:
    """Losses of a run by step."""
    folder.write("x.lisp", network(run=f":seed 1 :log-every 1 {options}", model=MODEL, **more))
    done = folder.quick("run", "x.lisp", "--name", name, "-q", *flags)
    assert done.exit == 0, done.out + done.err
    found = series(folder.made(name), "step")
    return [metrics["train/loss"] for (_, _), metrics in sorted(found.items())]


def checkpoint(folder: Folder, name: str, step: int) -> dict[str, Any]:
    path = folder.made(name) / "checkpoints" / f"step-{step:08}" / "checkpoint.json"
    document: dict[str, Any] = json.loads(path.read_text())
    validate(document, "checkpoint")
    return document


@pytest.mark.parametrize("precision", ["bf16", "f16"])
def test_a_run_in_16_bits_learns_what_one_in_f32_learns(folder: Folder, precision: str) -> None:
    whole = trained(folder, "whole", ":steps 120")
    half = trained(folder, "half", f":steps 120 :precision :{precision}")
    assert half != whole
    assert half[-1] < 0.6 * half[0]
    assert abs(half[-1] - whole[-1]) < 0.1 * whole[0]


@pytest.mark.parametrize("precision", ["bf16", "f16"])
def test_16_bits_are_rounded_alike_on_both_devices(folder: Folder, precision: str) -> None:
    options = f":steps 3 :precision :{precision}"
    ours = trained(folder, "cpu", options, "--device", "cpu")
    plain = trained(folder, "reference", options, "--device", "reference")
    assert ours == pytest.approx(plain, rel=2e-3)


def test_parameters_and_states_of_a_16_bit_run_are_f32(folder: Folder) -> None:
    trained(folder, "half", ":steps 3 :precision :bf16")
    assert len(saved(folder.made("half"))) >= 2
    assert dtypes(folder, "half") == {"F32"}


def dtypes(folder: Folder, name: str) -> set[str]:
    """Of everything that the checkpoints of a run hold."""
    found = set()
    for data in saved(folder.made(name)).values():
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        found |= {entry["dtype"] for key, entry in header.items() if key != "__metadata__"}
    return found


@pytest.mark.parametrize(("optimizer", "rate"), [("adamw", "1e-2"), ("lion", "3e-3")])
def test_states_kept_in_bf16_train_as_those_in_f32_do(
    folder: Folder, optimizer: str, rate: str
) -> None:
    made = {"optimizer": f"optim:{optimizer}"}
    whole = trained(folder, "whole", ":steps 120", rate=rate, **made)
    half = trained(folder, "half", ":steps 120", rate=f"{rate} :state-dtype :bf16", **made)
    assert half != whole
    assert half[-1] < 0.6 * half[0]
    assert half == pytest.approx(whole, abs=0.05 * whole[0])
    assert dtypes(folder, "half") == {"F32", "BF16"}
    assert dtypes(folder, "whole") == {"F32"}


def test_states_in_bf16_are_the_same_for_any_thread_count(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for threads in ("1", "2"):
        monkeypatch.setenv("SEXPGPU_THREADS", threads)
        trained(folder, f"with-{threads}", ":steps 4", rate="1e-2 :state-dtype :bf16")
    assert saved(folder.made("with-1")) == saved(folder.made("with-2"))


def test_the_loss_scale_doubles_after_many_steps(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "STEADY", 4)
    trained(folder, "it", ":steps 10 :precision :f16 :checkpoint (:every 5)")
    first, last = (checkpoint(folder, "it", step) for step in (5, 10))
    assert (first["loss_scale"], first["loss_scale_steps"]) == (2.0**17, 1)
    assert (last["loss_scale"], last["loss_scale_steps"]) == (2.0**18, 2)


def test_gradients_that_overflow_f16_halve_the_scale_and_drop_the_update(folder: Folder) -> None:
    loss = "(* 100000.0 (nn:cross-entropy (network inputs) targets))"
    losses = trained(folder, "it", ":steps 40 :precision :f16", loss=loss)
    told = events(folder.made("it"))
    assert not [e for e in told if e["event"] == "guard"]
    warned = {e["diagnostic"]["code"]: e["step"] for e in told if e["event"] == "warning"}
    assert warned.pop("W-LOSS-SCALE") == 1
    assert set(warned) == {"W-SPLIT-LEAK"}  # the text repeats itself
    document = checkpoint(folder, "it", 40)
    dropped = 40 - document["updates"]
    assert 0 < dropped < 16
    assert document["loss_scale"] == 2.0 ** (16 - dropped)
    assert document["guard"]["skipped"] == 0
    assert losses[-1] < losses[0]


def test_a_loss_that_is_not_finite_is_the_guards_and_not_the_scales(folder: Folder) -> None:
    loss = "(/ (nn:cross-entropy (network inputs) targets) 0.0)"
    text = network(run=":seed 1 :steps 5 :precision :f16", model=MODEL, loss=loss)
    folder.write("x.lisp", text)
    done = folder.quick("run", "x.lisp", "--name", "it", "-q")
    assert done.exit == 3
    assert "E-RUN-NONFINITE" in done.err


def test_a_resumed_f16_run_has_the_scale_that_it_had(folder: Folder) -> None:
    loss = "(* 100000.0 (nn:cross-entropy (network inputs) targets))"
    options = ":steps 30 :precision :f16 :checkpoint (:every 10)"
    trained(folder, "whole", options, loss=loss)
    before = saved(folder.made("whole"), 30), checkpoint(folder, "whole", 30)["loss_scale"]
    trained(folder, "whole", options, "--resume", "whole@10", loss=loss)
    after = saved(folder.made("whole"), 30), checkpoint(folder, "whole", 30)["loss_scale"]
    assert before == after
    assert checkpoint(folder, "whole", 10)["loss_scale"] > 1.0


def test_a_stage_may_say_its_own_precision(folder: Folder) -> None:
    text = network(run=":seed 1 :steps 3", model=MODEL)
    folder.write("x.lisp", text.replace("(stage :train ", "(stage :train :precision :bf16 "))
    done = folder.quick("ir", "x.lisp", "--phase", "optimized", "--limit", "0")
    assert done.exit == 0, done.err
    assert "bf16" in done.out


def test_a_check_says_the_precision_and_the_scopes_that_have_another(folder: Folder) -> None:
    island = "(nn:layers (f32 (one-hot x 27 :dtype :f32)) (list width 27))"
    model = "(with-numerics (:matmul :f32) " + island + ")"
    folder.write("x.lisp", network(run=":steps 3 :precision :bf16", model=model))
    done = folder.quick("check", "x.lisp", "--json")
    said = done.document["files"][0]["summary"]["precision"]
    assert said["default"] == "bf16"
    assert "f32" in said["scopes"].values()
    assert "matmul=f32" in said["scopes"].values()
    (line,) = [
        x for x in folder.quick("check", "x.lisp").out.splitlines() if x.startswith("  a step ")
    ]
    assert ", bf16 (" in line


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("(:matmul :f64)", "matmul is one of f32 bf16 f16, not f64"),
        ("(:accumulate :bf16)", "accumulate is one of f32"),
        ("(:tf32 :yes)", "tf32 is one of nil t"),
    ],
)
def test_a_policy_that_no_device_has_is_told(folder: Folder, options: str, told: str) -> None:
    folder.write("x.lisp", network(model=f"(with-numerics {options} {MODEL})"))
    done = folder.quick("check", "x.lisp")
    assert done.exit == 1
    assert "E-OPTION-VALUE" in done.err + done.out
    assert told in done.err + done.out
