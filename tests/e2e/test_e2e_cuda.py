"""Runs on the emulated CUDA device train as the reference does, and are resumed bit for bit.

CUDA_WHOLE=1 takes every example in every precision (`nox -s emulated`), else some of them.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import pytest
from e2e_program import EXAMPLES, Folder, events, network, saved, series, status, wait
from example_files import NAMES

from sexpgpu_core import api
from sexpgpu_core.ir.scalars import evaluate

pytestmark = pytest.mark.skipif(
    "cuda-emulated" not in api.plugins().names("devices"),
    reason="sexpgpu-cuda is not installed",
)
WHOLE = os.environ.get("CUDA_WHOLE") == "1"
TEXT = {"text": '"letters.txt"', "context": "11", "batch-size": "3", "depth": "1"}
HEADS = {**TEXT, "heads": "2", "width": "18"}
SIZES: dict[str, dict[str, str]] = {
    "bert-mlm": HEADS,
    "chars": HEADS,
    "digits": {"width": "23"},
    "dlrm": {"width": "3", "batch-size": "33"},
    "gcn-cora": {"hidden": "5"},
    "llama-chars": {**HEADS, "kv-heads": "1", "width": "20"},
    "lstm-names": {"width": "7", "batch-size": "5"},
    "mamba-chars": {**TEXT, "width": "17", "state-size": "3"},
    "mnist": {"width": "3"},
    "moe-chars": {**HEADS, "width": "20", "experts": "3", "hidden": "13"},
    "resnet-mnist": {"width": "3"},
    "unet-diffusion-mnist": {},
    "vae-mnist": {"hidden": "29", "latent": "3"},
    "vit-mnist": {"width": "18", "heads": "3"},
}
"""Odd sizes of the smoke variants: rows that are no whole number of vectors."""
LONG = ("bert-mlm", "mamba-chars", "moe-chars", "resnet-mnist", "unet-diffusion-mnist", "vit-mnist")
SAMPLE = [
    *((name, "f32") for name in NAMES if name != "unet-diffusion-mnist"),
    *((name, "bf16") for name in NAMES if name not in LONG),
    ("digits", "f16"),
    *((name, "f64") for name in ("digits", "chars", "dlrm")),
]
EACH = [(name, precision) for name in NAMES for precision in ("f32", "bf16", "f16", "f64")]
ALONE = [
    *(("chars", "f32"), ("chars", "bf16"), ("llama-chars", "bf16")),
    *(("mnist", "f32"), ("unet-diffusion-mnist", "f32")),
]
"""Without libraries; heads of 8 elements, which attention's own kernels take."""
TOLERANCE = {"f32": 2e-5, "bf16": 3e-2, "f16": 3e-2, "f64": 1e-10}
"""Of what a step gives, relative to the greatest of its kind."""


def small(folder: Folder, name: str, precision: str, sizes: dict[str, str]) -> Any:
    """An example, loaded: with few examples in a batch, and a precision."""
    text = (EXAMPLES / f"{name}.lisp").read_text("utf-8")
    text = re.sub(r"^( *)\(batch \d+\)", r"\1(batch 3)", text, flags=re.M)
    path = folder.write(
        f"{name}.lisp", text.replace("(defrun ", f"(defrun :precision :{precision} ")
    )
    return api.load(path, variant="smoke", sets=list(sizes.items()))


def stepped(loaded: Any, device: str) -> dict[str, Any]:
    """Results of the first step and all that it leaves, by name."""
    made = api.device(device, loaded.registry)
    job = api.compile(loaded, made).job
    session = made.open(job.units, job.persistent, threads=1)
    for name in job.persistent.types:
        session.write(name, job.initial(name))
    stage = next(iter(job.stages.values()))
    words = ("step", "updates", "stage-step", "epoch", "examples", "tokens")
    shares = ("progress", "stage-progress", "epoch-progress")
    now = {**dict.fromkeys((*words, *shares), 0), "loss-scale": 1024.0}
    scalars = {n: evaluate(tree, now) for n, tree in stage.step.scalars.items()}
    batch = dict(loaded.loaders[stage.loader].batch(stage.stage, 0, stage.step.fields))
    outcome = session.program(stage.step.program).launch(batch, scalars).outcome()
    assert outcome.error is None
    left = {name: session.read(name) for name in job.persistent.types}
    session.close()
    return {**outcome.results, **left}


def kind_of(name: str) -> str:
    """What is compared with each other: an optimizer's moments by their names."""
    return name.rpartition("/")[2] if name.startswith("optimizer:") else name


def significant(found: dict[str, Any], name: str) -> Any:
    """Where a parameter's gradient is more than rounding: Adam makes a whole step of either."""
    path = name.partition(":")[2]
    moments = [k for k in found if k.startswith("optimizer:") and k.endswith("/m")]
    own = f"optimizer:{path}/m"
    if not name.startswith(("parameter:", "ema:")) or own not in moments:
        return np.True_
    greatest = max(float(np.abs(found[k]).max()) for k in moments)
    return np.abs(found[own].astype("f8")) > 1e-3 * greatest


@pytest.fixture
def home(ready: Folder, name: str, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Where an example's data is; skips what wants a package that is not here."""
    if name == "digits":
        pytest.importorskip("sklearn")
    monkeypatch.chdir(ready.path)
    monkeypatch.setenv("SEXPGPU_CACHE", str(ready.cache))
    return ready


@pytest.mark.parametrize(("name", "precision"), EACH if WHOLE else SAMPLE)
def test_a_step_of_an_example_is_the_references(home: Folder, name: str, precision: str) -> None:
    agree(small(home, name, precision, SIZES[name]), precision)


@pytest.mark.parametrize(("name", "precision"), EACH if WHOLE else ALONE)
def test_a_step_without_libraries_is_the_references(
    home: Folder, name: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products, convolutions and attention by kernels of ours."""
    monkeypatch.setenv("SEXPGPU_LIBRARIES", "none")
    sizes = dict(SIZES[name])
    if "heads" in sizes:
        sizes["width"] = str(8 * int(sizes["heads"]))
    agree(small(home, name, precision, sizes), precision)


def agree(loaded: Any, precision: str) -> None:
    """A step of the device leaves what the reference's leaves."""
    ours, plain = (stepped(loaded, device) for device in ("cuda-emulated", "reference"))
    assert ours.keys() == plain.keys() >= {"loss"}
    scales: dict[str, float] = {}
    for key, value in plain.items():
        greatest = float(np.abs(value.astype("f8")).max()) if value.size else 0.0
        scales[kind_of(key)] = max(scales.get(kind_of(key), 0.0), greatest)
    for key, value in plain.items():
        assert ours[key].dtype == value.dtype
        apart = np.abs(ours[key].astype("f8") - value.astype("f8"))
        told = np.where(significant(plain, key), apart, 0)
        assert told.max(initial=0) <= TOLERANCE[precision] * scales[kind_of(key)], key


def test_a_run_and_its_passes_are_the_references(folder: Folder) -> None:
    pytest.importorskip("sklearn")
    folder.write("digits.lisp", (EXAMPLES / "digits.lisp").read_bytes())
    flags = ("--variant", "smoke", "-q", "-s", "width=24", "--steps", "2")
    for device in ("cuda-emulated", "reference"):
        done = folder("run", "digits.lisp", *flags, "--device", device, "--name", device)
        assert done.exit == 0, done.err
    for kind in ("step", "eval"):
        ours, plain = (series(folder.made(d), kind) for d in ("cuda-emulated", "reference"))
        assert ours.keys() == plain.keys() != set()
        for key, metrics in ours.items():
            assert metrics == pytest.approx(plain[key], rel=2e-4, abs=1e-6)


@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_a_killed_run_goes_on_bit_for_bit(folder: Folder, precision: str) -> None:
    """Dropout, moments in 16 bits that are rounded at random, and the order of the data."""
    run = f":steps 12 :seed 3 :log-every 1 :precision :{precision} :checkpoint (:every 2 :keep 9)"
    folder.write("x.lisp", network(run=run, rate="1e-2 :state-dtype :bf16", passes=""))
    flags = ("run", "x.lisp", "-q", "--device", "cuda-emulated")
    whole = folder.quick(*flags, "--name", "whole")
    assert whole.exit == 0, whole.err
    process = folder.start(*flags, "--name", "killed")
    wait(lambda: (folder.made("killed") / "checkpoints" / "step-00000004").exists())
    process.kill()
    process.wait()
    assert status(folder.made("killed"))["step"] < 12
    again = folder.quick("run", "x.lisp", "-q", "--device", "cuda-emulated", "--resume", "killed")
    assert again.exit == 0, again.err
    assert saved(folder.made("killed"), 12) == saved(folder.made("whole"), 12)
    assert series(folder.made("killed"), "step") == series(folder.made("whole"), "step")
    assert [e["event"] for e in events(folder.made("killed"))].count("resume") == 1


RESUME = ("--resume", "it", "--resume-changed")


def test_a_run_of_the_cpu_goes_on_on_cuda_where_it_is_told_to(folder: Folder) -> None:
    folder.write("x.lisp", network(run=":steps 4 :seed 3 :checkpoint (:every 2)", passes=""))
    for device, more in (("cpu", ("--steps", "2")), ("cuda-emulated", RESUME)):
        name = () if "--resume" in more else ("--name", "it")
        done = folder.quick("run", "x.lisp", *name, "--device", device, *more)
        assert done.exit == 0, done.err
    assert "W-RESUME-NUMERICS" in done.err
    assert status(folder.made("it"))["step"] == 4
