"""The summary that `check` prints. What graphs that were compiled before gave is remembered.

A check of a file whose graphs are unchanged costs reading, tracing and hashing (45.29). The stamp
holds all that memory and FLOPs follow from: graphs, updates, precision, device, compiler's files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..caches import remembered
from ..data.loader import Loader
from ..device import Device
from ..evaluator.evaluator import Evaluator
from ..experiment.declarations import Experiment
from ..ir import Operations
from ..ir.hash import graph_hash
from .phases import Phases, collector_off
from .summary import summarize
from .traces import Traces, trace_experiment

if TYPE_CHECKING:
    from .forecast import Speed
    from .observers import Sampled
    from .probes import Row

COMPILER = (
    *("autodiff", "compile", "ir", "ir/ops", "kernels", "passes", "passes/patterns", "plan"),
    *("staging", "step"),
)
"""Folders of core whose code decides what a graph becomes."""

LOADED = ("reader", "modules", "knobs", "evaluator", "run-file", "data")
TRACED = ("staging", "tensors", "parameters", "optimizer")
UNTIL = (*LOADED, *TRACED, "evaluation", "trust", "device")
"""Phases of a check in their order, by its parts: a file read, its graphs traced, all compiled."""


@collector_off()
def check_experiment(
    experiment: Experiment,
    evaluator: Evaluator,
    *,
    operations: Operations,
    device: Device,
    loaders: Mapping[str, Loader],
    rows: Callable[[], Sequence[Row]] = tuple,
    remember: bool = True,
    speed: Speed | None = None,
    until: str | None = None,
) -> dict[str, Any] | None:
    """What a compile would say, without its job. `remember` False: compile whatever is known.
    `speed`: of the device, for `predicted`. `until`: None after the part that has that phase.

    Raises Problem or Problems as `compile_experiment` does; only what compiled is remembered.
    """
    if until in LOADED:
        return None
    traces = trace_experiment(experiment, evaluator, operations, loaders, Phases())
    if until in TRACED:
        return None
    sampled: Mapping[str, Sampled] = {}
    if experiment.diagnostics or experiment.run.diagnostics.select:
        from .observers import observe

        sampled = observe(experiment, evaluator, operations, traces.stages, rows)
    stamp = _stamp(traces, operations, device, sampled)
    if experiment.outputs:
        _check_outputs(traces, evaluator, operations, loaders, stamp if remember else None)

    def compile_it() -> dict[str, Any]:
        from ..plan.work import works
        from .pipeline import compile_traces
        from .programs import nobody

        compiled = compile_traces(traces, operations, device, Phases(), nobody(), sampled)
        job = compiled.job
        summary = job.summary
        return {
            "memory": dict(summary["memory"]),
            "flops": summary["flops_per_step"],
            "persistent": job.persistent.saved_bytes,
            "judgements": compiled.judgements,
            "sampled": summary.get("diagnostics"),
            "work": works(job.units, operations),
        }

    found = remembered("checks", stamp, compile_it) if remember else compile_it()
    summary = summarize(traces, **{key: of for key, of in found.items() if key != "work"})
    if speed is not None:
        from .forecast import predicted, workload

        load = workload(
            found["work"],
            traces,
            found["flops"],
            found["memory"]["peak_bytes"],
            found["persistent"],
        )
        summary["predicted"] = predicted(load, speed)
    return summary


def _check_outputs(
    traces: Traces,
    evaluator: Evaluator,
    operations: Operations,
    loaders: Mapping[str, Loader],
    stamp: tuple[Any, ...] | None,
) -> None:
    """Raises Problems. Those of a text that was found sound without a warning are not traced."""
    done = []

    def warned() -> int:
        from .outputs import check_outputs

        before = len(evaluator.diagnostics)
        check_outputs(traces, evaluator, operations, loaders)
        done.append(True)
        return len(evaluator.diagnostics) - before

    experiment = traces.experiment
    texts = (experiment.sha256, *(module.sha256 for module in experiment.modules))
    chosen = tuple(sorted(experiment.selection.items()))
    found = warned() if stamp is None else remembered("outputs", (stamp, texts, chosen), warned)
    if found and not done:
        warned()


def _stamp(
    traces: Traces, operations: Operations, device: Device, sampled: Mapping[str, Sampled]
) -> tuple[Any, ...]:
    graphs = {key: s.traced.graph for key, s in traces.stages.items()}
    graphs.update({f"observe {k}": s.graph for k, s in sampled.items() if s.graph is not None})
    graphs.update(traces.pass_graphs())
    hashes = tuple((name, graph_hash(graph, operations)) for name, graph in graphs.items())
    blocks = tuple((s.rows, s.microbatches, s.precision) for s in traces.stages.values())
    every = traces.experiment.run.diagnostics.every
    return traces.ir, hashes, blocks, every, device.name, _code(device)


def _code(device: Device) -> tuple[tuple[str, int, int], ...]:
    """Path, size and time of change of every file of the compiler and of the device."""
    import sys

    core = Path(__file__).parents[1]
    folders = [core / name for name in COMPILER]
    folders.append(Path(str(sys.modules[type(device).__module__].__file__)).parent)
    found = []
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    stat = entry.stat()
                    found.append((entry.path, stat.st_size, stat.st_mtime_ns))
    return tuple(sorted(found))
