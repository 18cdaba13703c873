"""What sexpgpu-core adds, as rows. Nothing here imports what does the work."""

from __future__ import annotations

from collections.abc import Iterator

from . import entries as e
from .data.kinds import SOURCES, TOKENIZERS
from .hookspecs import hookimpl

SEXPGPU_API = 1


PROBES = "sexpgpu_core.step.probes:"
MEASURES = "sexpgpu_core.runtime.observation:"
DIAGNOSTICS = (
    ("grad/norm", "gradient", "norm", "", "Norm of a gradient before clipping.", PROBES, "itself"),
    ("grad/zero", "gradient", "mean", "", "Share of a gradient that is 0.", PROBES, "zeros"),
    ("param/norm", "parameter", "norm", "", "Norm of a parameter.", PROBES, "itself"),
    ("update/ratio", "update", "last", "", "Norm of an update over its parameter's.",
     PROBES, "ratio"),
    ("optimizer/norm", "optimizer", "norm", "", "Norm of an optimizer's state.",
     PROBES, "itself"),
    ("act/mean", "scope", "mean", "", "Mean of what a model gives.", PROBES, "itself"),
    ("act/std", "scope", "mean", "", "Its standard deviation.", PROBES, "deviation"),
    ("act/max", "scope", "max", "", "Its greatest magnitude.", PROBES, "magnitude"),
    ("act/zero", "scope", "mean", "", "The share of it that is 0.", PROBES, "zeros"),
    ("logits/max", "logits", "max", "", "Greatest magnitude that a cross-entropy is given.",
     PROBES, "magnitude"),
    ("attention/entropy", "attention", "mean", "nat", "Mean entropy of a query's shares.",
     PROBES, "entropy"),
    ("data/wait", "run", "last", "s", "Seconds that the step waited for its batch.",
     MEASURES, "data_wait"),
    ("memory/peak", "run", "last", "B", "The most memory that the process has held.",
     MEASURES, "peak_memory"),
)  # fmt: skip
"""Name, on, reduce, unit, doc, and where its function is."""


@hookimpl
def sexpgpu_diagnostics() -> Iterator[e.DiagnosticEntry]:
    for name, on, reduce, unit, doc, module, function in DIAGNOSTICS:
        yield e.DiagnosticEntry(name, on, reduce, unit, doc, module + function)


@hookimpl
def sexpgpu_sources() -> Iterator[e.SourceEntry]:
    """The rows of data.kinds."""
    for kind in SOURCES:
        options = tuple(e.Option(*option) for option in kind.options)
        yield e.SourceEntry(**{**kind._asdict(), "options": options})


@hookimpl
def sexpgpu_tokenizers() -> Iterator[e.TokenizerEntry]:
    for kind in TOKENIZERS:
        yield e.TokenizerEntry(*kind[:-1])


@hookimpl
def sexpgpu_stores() -> Iterator[e.StoreEntry]:
    yield e.StoreEntry(
        scheme="file",
        doc="A folder.",
        load="sexpgpu_core.checkpoint.store:LocalStore",
    )
    yield e.StoreEntry(
        scheme="s3",
        doc="Amazon's S3, or another server of its protocol.",
        load="sexpgpu_core.checkpoint.s3:S3Store",
        needs=("sexpgpu[s3]",),
    )


SINKS = (
    ("csv", "Numbers as rows of a table.", "string", "Table"),
    ("jsonl", "Every event as a line of JSON.", "string", "JsonLines"),
    ("tensorboard", "Numbers as TensorBoard's scalars, in a folder.", "string", "TensorBoard"),
)
"""Name, doc, type of `path`, class."""


@hookimpl
def sexpgpu_sinks() -> Iterator[e.SinkEntry]:
    for name, doc, type_, made in SINKS:
        options = (e.Option(name="path", type=type_, doc="Where to write."),)
        yield e.SinkEntry(name, doc, options, f"sexpgpu_core.runtime.written:{made}")


SLURM = (
    ("partition", "string", '""', "--partition of sbatch."),
    ("account", "string", '""', "--account."),
    ("time", "string", '""', "--time: minutes, or hours:minutes:seconds."),
    ("qos", "string", '""', "--qos."),
    ("gres", "string", '""', "--gres: gpu:1."),
    ("mem", "string", '""', "--mem: 16G."),
    ("cpus", "(integer 0)", "0", "--cpus-per-task, and --threads of a point; 0: not said."),
    ("signal", "string", '"B:USR1@120"', "--signal: so long before the time limit a run saves."),
    ("sbatch", "string", '""', "Other flags of sbatch, as a shell has them."),
    ("poll", "(integer 1)", "10", "Seconds between two questions to squeue."),
)
"""Options of the executor slurm: name, type, default, what it is."""

RAY = (
    ("address", "string", '"auto"', "Of the cluster; auto is RAY_ADDRESS, or one of this machine."),
    ("cpus", "(integer 1)", "1", "CPUs of a task, and --threads of a point."),
    ("gpus", "(real 0)", "0", "GPUs of a task."),
)


@hookimpl
def sexpgpu_executors() -> Iterator[e.EngineEntry]:
    yield e.EngineEntry(
        name="local",
        doc="Processes of this machine.",
        load="sexpgpu_core.sweeps.executor:LocalExecutor",
    )
    yield e.EngineEntry(
        name="slurm",
        doc="Jobs of a Slurm cluster, by sbatch.",
        load="sexpgpu_core.sweeps.slurm:SlurmExecutor",
        options=tuple(e.Option(*row) for row in SLURM),
        remote=True,
    )
    yield e.EngineEntry(
        name="ray",
        doc="Tasks of a Ray cluster that is there.",
        load="sexpgpu_core.sweeps.ray_cluster:RayExecutor",
        options=tuple(e.Option(*row) for row in RAY),
        needs=("sexpgpu[ray]",),
        remote=True,
    )
