"""What the compiler makes of a file: graphs as text, what each pass did, values of forms.

Like `api`: a path or a `spans.Source` and a selection, Problem or Problems for a user's mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import api
from .api import Sets
from .device import Code
from .diagnostics import nearest, problem
from .lisp_files import read_source
from .registry import Registry
from .spans import Source

if TYPE_CHECKING:
    from .checkpoint.folder import Saved
    from .runtime.job import Job


def graph_text(
    file: str | Path | Source,
    *,
    stage: str | None = None,
    graph: str = "train",
    phase: str = "optimized",
    after: str | None = None,
    scope: str | None = None,
    variant: str | None = None,
    sets: Sets = (),
    steps: int | None = None,
    seed: int | None = None,
    point: str | None = None,
    device_name: str | None = None,
) -> str:
    """A program's graph as text that parses back; phase lowered: its kernels and calls.

    `graph`: train, a pass or an output. `after`: instead, the graph after a pass of the compiler.
    `scope`: only its lines, or its calls, of the scopes that a glob matches and of those below.
    """
    from .compile.scoped import of_scope, whole
    from .compile.show import AfterPass, show

    seen = AfterPass(after) if after is not None else None
    loaded = api.load(file, variant=variant, sets=sets, steps=steps, seed=seed, point=point)
    device = api.device_of(loaded.registry, device_name)
    if graph in loaded.experiment.outputs and graph not in loaded.experiment.passes:
        pieces = _of_output(loaded, device, graph, phase, seen)
    else:
        compiled = api.compile(loaded, device, seen.watch if seen else None)
        pieces = seen.show(compiled, graph, stage) if seen else show(compiled, graph, stage, phase)
    return whole(pieces) if scope is None else of_scope(pieces, scope)


def _of_output(loaded: Any, device: Any, name: str, phase: str, seen: Any) -> Iterable[Any]:
    """The graph of a declared output, for a batch of its loader's stage."""
    from .compile.output_programs import compile_output
    from .compile.outputs import Serving
    from .compile.show import of_unit
    from .ir.text import lines

    if phase == "differentiated":
        raise problem(
            "E-USAGE-VALUE", f"output {name} is not differentiated", hint="--phase traced"
        )
    operations = api.operations(loaded.registry)
    serving = Serving(loaded.experiment, loaded.evaluator, operations, loaded.loaders)
    whole = serving.output(name).autoregressive
    traced = serving.longest(name) if whole else serving.trace(name, serving.rows(name))
    if phase == "traced" and seen is None:
        return lines(traced.graph)
    program = f"output/{name}"
    watch = seen.watch if seen is not None else None
    compiled = compile_output(serving, name, {program: traced}, device, watch=watch)
    units = compiled.units
    return seen.pieces[program] if seen is not None else of_unit(units[0], phase)


def explanation(
    file: str | Path | Source,
    *,
    variant: str | None = None,
    sets: Sets = (),
    steps: int | None = None,
    seed: int | None = None,
    point: str | None = None,
    device_name: str | None = None,
    model: str = "",
    saved: Saved | None = None,
) -> dict[str, Any]:
    """What the compiler made of a file, by the keys of schemas/explain.json. `model`: of a device
    that reports what its programs would take on it, such as H200. The speed of any other device
    is measured, where it is not known yet. `saved`: a checkpoint that it would go on from."""
    from .compile.explanation import explained
    from .compile.forecast import measured

    loaded = api.load(file, variant=variant, sets=sets, steps=steps, seed=seed, point=point)
    device = api.device_of(loaded.registry, device_name)
    compiled = api.compile(loaded, device)
    facts = {"selection": loaded.experiment.chosen(), "experiment_id": compiled.job.experiment_id}
    row = loaded.registry.get("devices", device.name)
    operations = api.operations(loaded.registry)
    if row is not None and row.report:
        report = loaded.registry.load("devices", device.name, "report")(compiled, model)
        told = {**facts, **explained(compiled, device, operations), **report}
    elif model:
        raise problem("E-USAGE-VALUE", f"--gpu says nothing of the device {device.name}")
    else:
        speed = measured(device, operations, None)
        told = {**facts, **explained(compiled, device, operations, speed)}
    return told if saved is None else _foreseen(told, compiled.job, saved)


def _foreseen(told: dict[str, Any], job: Job, saved: Saved) -> dict[str, Any]:
    """With what would become of each parameter in a resume, and what would be dropped."""
    from .runtime.fates import foreseen

    fates = foreseen(job, saved)
    rows = [{**row, "fate": fates.get(row["path"], "kept")} for row in told["parameters"]]
    return {**told, "parameters": rows, "missing": [p for p, k in fates.items() if k == "missing"]}


def evaluate(
    file: str | Path | Source,
    form: str,
    *,
    variant: str | None = None,
    sets: Sets = (),
    steps: int | None = None,
    seed: int | None = None,
    point: str | None = None,
    expand: bool = False,
    run: bool = False,
    length: int | None = None,
    written: Callable[[str], Any] = str,
) -> list[tuple[str, str]]:
    """The values of a form in a file's environment: (text, type) each. The file may be no run.

    `expand`: what its macro makes of the form instead; `run`, `length`: as compile.evaluating has
    them; `written`: told what was printed."""
    from .compile.evaluating import Forms
    from .staging.scan import is_run, scan

    source = file if isinstance(file, Source) else read_source(Path(file))
    chosen = (variant, steps, seed, point)
    registry = api.plugins()
    if sets or any(c is not None for c in chosen) or is_run(scan(source)):
        loaded = api.load(source, variant=variant, sets=sets, steps=steps, seed=seed, point=point)
        of = api.operations(registry)
        forms = Forms(loaded.evaluator, of, loaded.experiment, loaded.loaders)
    else:
        forms = Forms(api.library(source), api.operations(registry), None)
    try:
        value = forms.values(f"(macroexpand-1 '{form})" if expand else form)
        return forms.shown(value, run, length)[: 1 if expand else None]
    finally:
        written("".join(forms.evaluator.output))


def machine_code(
    file: str | Path | Source,
    target: str,
    *,
    variant: str | None = None,
    sets: Sets = (),
    steps: int | None = None,
    seed: int | None = None,
    point: str | None = None,
) -> list[Code]:
    """The machine code of all programs of a file, for a target that some device has. E-USAGE-VALUE
    where none has it, and what that device raises."""
    loaded = api.load(file, variant=variant, sets=sets, steps=steps, seed=seed, point=point)
    name = _device_for(loaded.registry, target)
    compiled = api.compile(loaded, api.device(name, loaded.registry))
    return list(loaded.registry.load("devices", name, "compile")(compiled, target))


def _device_for(registry: Registry, target: str) -> str:
    targets: dict[str, str] = {}
    for name in registry.names("devices"):
        targets.update(dict.fromkeys(registry.get("devices", name).targets, name))
    if target not in targets:
        near = nearest(target, targets)
        known = f"known: {' '.join(targets)}" if targets else "pip install sexpgpu-cuda"
        hint = f"did you mean {near}?" if near else known
        raise problem("E-USAGE-VALUE", f"no device makes code for {target}", hint=hint)
    return targets[target]


def steps_of(loaded: api.Loaded) -> int:
    """How many steps a run of a file has, as far as that is known before."""
    from .compile.stages import Tracing

    operations = api.operations(loaded.registry)
    return Tracing(loaded.experiment, loaded.evaluator, operations, loaded.loaders).steps()
