"""Every extension point. A hook takes nothing and returns an iterable of rows (see entries.py).

A plug-in is a module named in the entry-point group `sexpgpu` that sets SEXPGPU_API and marks
functions with `hookimpl`:

    [project.entry-points.sexpgpu]
    sexpgpu-toy = "sexpgpu_toy.plugin"

Laws, each with a test:
1. A hook is a pure function of what is installed: no files, no environment, no devices. Its rows
   are cached.
2. Importing the module takes under 10 ms and brings in neither numpy, numba, boto3, click nor rich.
3. A name is claimed once. Core's names cannot be taken. Two third parties with one name: neither
   has it, until `[plugins] prefer` in sexpgpu.toml says who.
4. Operations, diagnostics, modules and codes carry the distribution's prefix (`toy/...`,
   `E-TOY-...`), which is its name without a leading `sexpgpu-`. Other names need not.
5. What goes wrong in a plug-in is a diagnostic that names its distribution; the program goes on
   without it.
"""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from . import entries as e
from .entries import API as API

hookspec = pluggy.HookspecMarker("sexpgpu")
hookimpl = pluggy.HookimplMarker("sexpgpu")


# What a file may say.
@hookspec
def sexpgpu_modules() -> Iterable[e.ModuleEntry]:  # type: ignore[empty-body]
    """Lisp modules for (require ...). The file is read when required; its exports are in the row
    so that an unknown word can be answered with the module that has it."""


@hookspec
def sexpgpu_operations() -> Iterable[e.OperationEntry]:  # type: ignore[empty-body]
    """Tensor operations. `load` gives one `ir.operation.Operation`. A file reaches it as
    (operation "toy/softsign" x), which the distribution's module wraps under a plain name."""


@hookspec
def sexpgpu_sources() -> Iterable[e.SourceEntry]:  # type: ignore[empty-body]
    """Loader sources. `header` is all that check runs. `load` gives a reader: `__len__` and
    read(indices, out), which fills the caller's buffers; it must be callable from several threads
    and be a pure function of the indices."""


@hookspec
def sexpgpu_tokenizers() -> Iterable[e.TokenizerEntry]:  # type: ignore[empty-body]
    """Tokenizers for (source (text-files ... :tokenizer name)): encode(bytes) -> u32 ids,
    decode(ids) -> bytes. The bytes are a whole text, a file or a document; encode_parts(parts of
    bytes) -> parts of ids, where it has that, takes texts of any size and gives the same ids.
    `vocabulary` or `header` is all that check wants once the tokens of a text are counted."""


@hookspec
def sexpgpu_diagnostics() -> Iterable[e.DiagnosticEntry]:  # type: ignore[empty-body]
    """Built-in numbers of a run. `load` adds nodes to the sampled graph only; the training graph
    does not change."""


@hookspec
def sexpgpu_codes() -> Iterable[e.CodeEntry]:  # type: ignore[empty-body]
    """Codes for errors and warnings, each with a wrong and a right example, which the plug-in's
    test session runs."""


# How it is compiled.
@hookspec
def sexpgpu_devices() -> Iterable[e.DeviceEntry]:  # type: ignore[empty-body]
    """Devices. `load` gives a `device.Device`. `probe` answers doctor and run; check never calls
    it."""


# Where it runs and what it leaves.
@hookspec
def sexpgpu_stores() -> Iterable[e.StoreEntry]:  # type: ignore[empty-body]
    """Checkpoint stores by URL scheme. `load` gives an `experiment.protocols.Store`. put_last is
    the commit: a reader ignores a folder without it."""


@hookspec
def sexpgpu_sinks() -> Iterable[e.SinkEntry]:  # type: ignore[empty-body]
    """Receivers of events: event(dict), close(). Called on a thread of its own with lines already
    in events.jsonl; it may be slow or raise (W-SINK-FAILED, once) and can neither stop nor change
    a run. (run, attempt, seq) says what it has seen."""


@hookspec
def sexpgpu_executors() -> Iterable[e.EngineEntry]:  # type: ignore[empty-body]
    """Engines for sweep --executor NAME[:K=V,...]: submit(command, point, log) -> job, a text;
    ended(jobs) -> {job: Ended}; cancel(jobs). See sweeps.executor."""


@hookspec
def sexpgpu_collectives() -> Iterable[e.EngineEntry]:  # type: ignore[empty-body]
    """All-reduce between ranks: init(environment), all_reduce(buffers), barrier(timeout),
    abort()."""


@hookspec
def sexpgpu_job_files() -> Iterable[e.EngineEntry]:  # type: ignore[empty-body]
    """bundle --for NAME: a function from a bundle to {file name: text}."""


# The program.
@hookspec
def sexpgpu_verbs() -> Iterable[e.VerbEntry]:  # type: ignore[empty-body]
    """Verbs. --help shows name, group and summary from the row; the click.Command is imported when
    the verb is called."""


@hookspec
def sexpgpu_docs() -> Iterable[e.DocEntry]:  # type: ignore[empty-body]
    """Markdown pages for docs TOPIC."""


@hookspec
def sexpgpu_templates() -> Iterable[e.TemplateEntry]:  # type: ignore[empty-body]
    """Run files that `new --from NAME` starts from."""
