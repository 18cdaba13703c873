"""A device without a compiler: linear regression with momentum in NumPy, and a job for it."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import numpy as np

from sexpgpu_core.data.loader import Loader
from sexpgpu_core.device import DeviceFacts, Outcome
from sexpgpu_core.experiment.declarations import (
    CheckpointDeclaration,
    DiagnosticsChoice,
    Experiment,
    Knob,
    LoaderDeclaration,
    ModuleRead,
    PassDeclaration,
    RunDeclaration,
    SourceDeclaration,
    StageDeclaration,
    TargetDeclaration,
    Variant,
)
from sexpgpu_core.ir.types import Type, numpy_dtype
from sexpgpu_core.plan.plan import Persistent
from sexpgpu_core.runtime import begin, run, runs
from sexpgpu_core.runtime.clock import Clock
from sexpgpu_core.runtime.job import Job, MetricSpec, PassFacts, ProgramFacts, StageFacts
from sexpgpu_core.runtime.machine import machine

ROWS, WIDTH, EXAMPLES = 8, 4, 100
LR = ("/", 0.05, ("+", 1, ("*", 0.01, ("ctx", "step"))))
LR_TEXT = "lr"


class Now:
    """A launch that is done."""

    def __init__(self, outcome):
        self._outcome = outcome

    def done(self):
        return True

    def outcome(self, timeout=None):
        return self._outcome


class FakeSnapshot:
    def __init__(self, arrays):
        self._arrays = arrays

    def array(self, name):
        return self._arrays[name]

    def release(self):
        self._arrays = {}


class FakeProgram:
    def __init__(self, session, name):
        self.session, self.name = session, name

    def launch(self, batch, scalars):
        return Now(self.session.launch(self.name, batch, scalars))


class FakeSession:
    """`at`: step number -> what happens in it (nan, index, or a function to call)."""

    def __init__(self, at=None, pause=0.0, skip=False):
        self.values, self.at, self.pause, self.skip = {}, at or {}, pause, skip
        self.steps, self.halted, self.seen, self.passes = 0, False, [], 0
        self.during_pass = None

    def program(self, name):
        return FakeProgram(self, name)

    def write(self, name, value):
        self.values[name] = np.array(value)

    def read(self, name):
        return self.values[name].copy()

    def snapshot(self, names):
        return FakeSnapshot({name: self.values[name].copy() for name in names})

    def close(self):
        self.values = {}

    def launch(self, name, batch, scalars):
        w = self.values["parameter:w"] + self.values.get("parameter:base", np.float32(0))
        error = batch["x"] @ w - batch["y"]
        total = np.float32((error * error).sum())
        metrics = {
            "metric:loss:sum": total,
            "metric:loss:weight": np.float32(len(error)),
            "metric:worst:value": np.float32(np.abs(error).max()),
        }
        if name != "step/train":
            self.passes += 1
            if self.during_pass:
                self.during_pass()
            return Outcome(True, metrics)
        return self.step(batch, scalars, error, metrics)

    def step(self, batch, scalars, error, metrics):
        time.sleep(self.pause)
        self.steps += 1
        self.seen.append((scalars, batch["x"].copy()))
        what = self.at.get(int(self.values["persistent:step"]))
        if callable(what):
            what()
        gradient = (2 / len(error)) * (error @ batch["x"])
        loss = np.float32((error * error).mean())
        if what == "nan":
            loss = np.float32(np.nan)
        norm = np.float32(np.sqrt((gradient * gradient).sum()))
        results = {**metrics, "loss": loss, "norm": norm}
        if what == "index":
            return Outcome(False, results, (3, 5))
        fine = bool(np.isfinite(loss)) and not self.halted
        self.values["persistent:step"] = self.values["persistent:step"] + np.int32(1)
        if fine:
            m = np.float32(0.5) * self.values["optimizer:w/m"] + gradient
            self.values["optimizer:w/m"] = m.astype(np.float32)
            lr = np.float32(scalars[LR_TEXT])
            self.values["parameter:w"] = (self.values["parameter:w"] - lr * m).astype(np.float32)
        self.halted = self.halted or (not fine and not self.skip)
        return Outcome(fine, results)


class FakeDevice:
    name, level = "fake", "graph"

    def __init__(self, key="1"):
        self.key = key

    def numerics(self):
        return {"device": "fake", "version": self.key}


def machine_of(key="1"):
    return machine(FakeDevice(key), DeviceFacts(True, None, 1 << 30, 2, ()))


def filled(kind, **given):
    return kind(**{**dict.fromkeys(kind._fields), **given})


def declaration():
    stages = {
        "train": filled(StageDeclaration, name="train", split=((0, 0.8),)),
        "val": filled(StageDeclaration, name="val", split=((0.8, 1),)),
    }
    return filled(
        LoaderDeclaration,
        name="points",
        source=SourceDeclaration("npz", ("points.npz",), {}, None),
        fields=(),
        whole=False,
        stages=stages,
        batch=ROWS,
        maps=(),
        counters={},
    )


def loaders_in(folder, seed=7):
    path = Path(folder) / "points.npz"
    if not path.exists():
        rng = np.random.default_rng(0)
        x = rng.normal(size=(EXAMPLES, WIDTH)).astype(np.float32)
        y = (x @ np.arange(1, WIDTH + 1)).astype(np.float32)
        np.savez(path, x=x, y=y)
    return {"points": Loader(declaration(), folder, seed)}


def a_pass(**given):
    return filled(
        PassDeclaration, **{"name": "val", "at": (), "stage": "val", "weights": "live", **given}
    )


def a_target(series, goal, bound, stop=False):
    return TargetDeclaration(series, goal, bound, stop, None)


def a_job(
    folder,
    steps=20,
    *,
    checkpoint=None,
    passes=None,
    targets=(),
    guard="halt",
    log_every=5,
    deadline=None,
    experiment_id="a530c507fd89",
    frozen=False,
):
    declared = passes if passes is not None else [a_pass(every=5)]
    settings = RunDeclaration(
        steps, None, None, 7, "f32", 1, True, None, checkpoint or CheckpointDeclaration(every=5),
        DiagnosticsChoice(), log_every, deadline, guard, None,
    )  # fmt: skip
    experiment = filled(
        Experiment,
        path=str(Path(folder) / "line.lisp"),
        text="(defrun)\n",
        sha256="0" * 64,
        knobs={"lr": Knob("lr", "0.05", "0.05", 0.05, None, (), "", None)},
        variants={"smoke": Variant("smoke", "", None, (), None)},
        sweeps={},
        passes={p.name: p for p in declared},
        targets=tuple(targets),
        run=settings,
        modules=(ModuleRead("sexpgpu/nn", "nn.lisp", "(provide nn)", "0" * 64),),
        selection={"variant": "smoke", "set:lr": "0.05"},
    )
    types = {
        "parameter:w": Type("f32", (WIDTH,)),
        "optimizer:w/m": Type("f32", (WIDTH,)),
        "persistent:step": Type("i32"),
    }
    fixed = {"parameter:base": Type("f32", (WIDTH,))} if frozen else {}
    types.update(fixed)
    fields = {"x": Type("f32", (ROWS, WIDTH)), "y": Type("f32", (ROWS,))}
    metrics = (MetricSpec("loss", "mean", "nat"), MetricSpec("worst", "max"))
    whole = {name: facts_of(name, fields, metrics, ROWS) for name in ("val", "again")}
    rest = {name: facts_of(f"{name}/rest", fields, metrics, 20 % ROWS) for name in whole}
    step = ProgramFacts("step/train", fields, {LR_TEXT: LR}, metrics, ROWS)
    return Job(
        experiment=experiment,
        stages={"points:train": StageFacts("points", "train", step, 1, {"numbers": 32}, 1000)},
        passes={
            p.name: PassFacts(p.name, "points", "val", whole[p.name], rest[p.name], p.batches)
            for p in declared
        },
        units=(),
        persistent=Persistent(dict.fromkeys(types, 0), types, 64),
        initial=lambda name: np.full(
            types[name].shape, 0.5 if name in fixed else 0, numpy_dtype(types[name].dtype)
        ),
        ir_hash="0" * 64,
        experiment_id=experiment_id,
        evaluation_ids={p.name: "97dfc65f7428" for p in declared},
        steps=steps,
        graphs={"step/train": "(graph)"},
        fixed=fixed,
    )


def facts_of(name, fields, metrics, rows):
    sized = {f: Type(t.dtype, (rows, *t.shape[1:])) for f, t in fields.items()}
    return ProgramFacts(f"eval/{name}", sized, {}, metrics, rows)


def start(folder, job, session=None, *, key="1", **given):
    """A whole new run below `folder`/runs: its summary and session."""
    session = session or FakeSession(skip=isinstance(job.experiment.run.finite_guard, tuple))
    loaders = loaders_in(folder)
    disk, clock = given.pop("disk", None), given.pop("clock", None) or Clock()
    began = begin.begin(
        job, root=Path(folder) / "runs", machine=machine_of(key), loaders=loaders, disk=disk,
        clock=clock, command=["sexpgpu", "run"],
    )  # fmt: skip
    return run.run(job, session, began, loaders=loaders, **given), session


def resume(folder, job, session=None, which="latest", *, key="1", changed=False, anew=(), **given):
    """The next attempt of the newest run."""
    session = session or FakeSession(skip=isinstance(job.experiment.run.finite_guard, tuple))
    found = runs.find(Path(folder) / "runs", "latest")
    opened, checkpoint = begin.reopen(
        found.path, job, which, machine=machine_of(key), changed=changed, anew=anew
    )
    made = run.run(job, session, opened, loaders=loaders_in(folder), resume=checkpoint, **given)
    return made, session


def main(folder, kill_at):
    """A run that kills its own process in the middle of step `kill_at`, then resumes are up."""

    def die():
        import os

        while not any(root.glob("*/checkpoints/step-*")):  # its writer is slow where much runs
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGKILL)

    job = a_job(folder, 30, checkpoint=CheckpointDeclaration(every=4))
    root = Path(folder) / "runs"
    session = FakeSession(at={kill_at: die}, pause=0.001)
    if root.exists() and runs.resumable(root, job.experiment_id):
        resume(folder, job, session)
    else:
        start(folder, job, session)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
