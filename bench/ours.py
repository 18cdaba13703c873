"""Our side: whole launches of a run file's step program on exported batches, as the loop does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sexpgpu_core import api
from sexpgpu_core.ir import Graph, Node
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.scalars import evaluate
from sexpgpu_core.spans import Source


def context(step: int, steps: int) -> dict[str, Any]:
    """What step scalars may ask for."""
    names = ("step", "updates", "stage-step", "epoch", "examples", "tokens")
    shares = ("progress", "stage-progress", "epoch-progress")
    return dict.fromkeys(names, step) | dict.fromkeys(shares, step / max(1, steps))


class Ours:
    """A compiled step, its state on the device from the initial weights on. `flops`: of a step."""

    def __init__(
        self,
        file: Path | Source,
        sets: Iterable[tuple[str, str]],
        device: str = "cpu",
        threads: int = 1,
    ) -> None:
        self.loaded = api.load(file, sets=sets)
        made = api.device(device, self.loaded.registry)
        compiled = api.compile(self.loaded, made)
        self.job, self.flops = compiled.job, compiled.job.summary["flops_per_step"]
        self.session = made.open(self.job.units, self.job.persistent, threads=threads)
        for name in self.job.persistent.types:
            self.session.write(name, self.job.initial(name))
        self.stage = next(iter(self.job.stages.values()))
        self.program = self.session.program(self.stage.step.program)
        self.draws = draws(next(iter(compiled.stages.values())).traced.graph)

    def step(self, at: int, batch: dict[str, Any]) -> float:
        """The loss of a step, which is taken."""
        now = context(at, self.job.steps)
        scalars = {n: evaluate(tree, now) for n, tree in self.stage.step.scalars.items()}
        outcome = self.program.launch(batch, scalars).outcome()
        assert outcome.committed, outcome
        return float(outcome.results["loss"])

    def batch(self, at: int) -> dict[str, Any]:
        loader = self.loaded.loaders[self.stage.loader]
        return dict(loader.batch(self.stage.stage, at, self.stage.step.fields))

    def drawn(self, at: int) -> dict[str, Any]:
        """The random numbers of a step, which its twin is given."""
        step = np.int32(at)
        return {
            name: OPERATIONS[n.operation].reference((step,), dict(n.attributes), n.types)[0]
            for name, n in self.draws.items()
        }

    def weights(self) -> dict[str, Any]:
        """Initial parameters by path."""
        names = [n for n in self.job.persistent.types if n.startswith("parameter:")]
        return {n.partition(":")[2]: self.job.initial(n) for n in names}

    def knobs(self) -> dict[str, Any]:
        return {name: knob.value for name, knob in self.loaded.experiment.knobs.items()}

    def close(self) -> None:
        self.session.close()


def draws(graph: Graph) -> dict[str, Node]:
    """Random nodes by the ends of their sites: `random-normal#1` is `random_normal_1`."""
    found = [n for n in graph.nodes if n.operation.startswith("random-")]
    assert all(len(n.operands) == 1 for n in found), "of the step alone"
    names = [str(n.get("site")).rpartition("/")[2] for n in found]
    return {name.translate(_NAMES): n for name, n in zip(names, found)}


_NAMES = str.maketrans("-#", "__")


def export(ours: Ours, folder: Path, steps: int) -> None:
    """Initial weights, the batches of so many steps with what each step draws, and what the twin
    is built by."""
    np.savez(folder / "weights.npz", **ours.weights())
    found = [ours.batch(at) | ours.drawn(at) for at in range(steps)]
    np.savez(folder / "batches.npz", **{n: np.stack([b[n] for b in found]) for n in found[0]})
    plain = {n: v for n, v in ours.knobs().items() if isinstance(v, (int, float))}
    np.savez(folder / "knobs.npz", steps_of_run=ours.job.steps, **plain)


def batches(folder: Path) -> list[dict[str, Any]]:
    """What `export` wrote."""
    with np.load(folder / "batches.npz") as found:
        fields = {name: found[name] for name in found.files}
    count = len(next(iter(fields.values())))
    return [{name: field[at] for name, field in fields.items()} for at in range(count)]
