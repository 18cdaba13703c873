"""`predict FILE`: an output of a trained model, arrays in and arrays out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sexpgpu_core.checkpoint.tensors import dtype_of
from sexpgpu_core.diagnostics import Problem, problem
from sexpgpu_core.diagnostics.places import shown_path
from sexpgpu_core.runtime.events import numbers

from .. import arrays, names, units
from ..answer import Answer, bounded, document
from ..flags import verb
from ..invocation import Invocation

if TYPE_CHECKING:
    from sexpgpu_core.serving import Model

WEIGHTS = click.Choice(["live", "ema"])


@verb("predict")
@click.argument("file", metavar="FILE")
@click.option("--from", "save", metavar="RUN[@STEP]", type=names.SAVE, help="FILE's latest run.")
@click.option("--output", metavar="NAME", help="A defoutput of FILE; needed.")
@click.option("--in", "given", multiple=True, metavar="FIELD=PATH", help="npz, npy, safetensors.")
@click.option("-o", "--out", metavar="PATH", help="Write the arrays; npz, npy or safetensors.")
@click.option("--weights", type=WEIGHTS, default="live", help="Which; live.")
@click.option("--seed", type=click.IntRange(0), help="Of what is drawn, instead of the run's.")
@click.option("--device", metavar="NAME", help="cpu, reference, or a plug-in's; default cpu.")
def predict(
    invocation: Invocation,
    file: str,
    save: str | None,
    output: str | None,
    given: tuple[str, ...],
    out: str | None,
    **asked: Any,
) -> Answer:
    """Compute an output of FILE from a checkpoint, for any number of rows."""
    if out is not None:
        arrays.ending(Path(out))
    fields = arrays.given(given)
    model, told = opened(invocation, file, save, **asked)
    with model:
        if output is None:
            raise _unsaid(model)
        found = model.prediction(output, fields)
    if out is not None:
        arrays.write(Path(out), found.outputs)
    listed = [_row(name, array) for name, array in found.outputs.items()]
    shown = document(
        "predict",
        **told,
        output=output,
        rows=found.rows,
        outputs=listed,
        metrics=numbers(found.metrics),
        file=None if out is None else shown_path(out),
    )
    lines = [f"{r['name']} {r['dtype']} ({' '.join(map(str, r['shape']))})" for r in listed]
    lines += [f"{name} {units.metric(value)}" for name, value in found.metrics.items()]
    lines.append(shown_path(out) if out is not None else "-o PATH writes the arrays")
    return Answer(shown, bounded("\n".join(lines), "--json --limit 0", invocation.limit))


def _unsaid(model: Model) -> Problem:
    names = " ".join(model.experiment.outputs) or "none: (defoutput ...)"
    return problem("E-USAGE-MISSING", "predict needs --output NAME", hint=f"FILE has {names}")


def _row(name: str, array: Any) -> dict[str, Any]:
    return {"name": name, "dtype": dtype_of(array), "shape": list(array.shape)}


def opened(
    invocation: Invocation,
    file: str,
    save: str | None,
    *,
    weights: str,
    seed: int | None,
    device: str | None,
) -> tuple[Model, dict[str, Any]]:
    """The model of FILE with SAVE's values, and which run and step it is from (on stderr too)."""
    from sexpgpu_core import trained
    from sexpgpu_core.runtime import runs

    if save is not None:
        run, saved = names.save_of(invocation, save)
    else:
        run = runs.of_file(invocation.settings.runs, Path(file))
        run, saved = runs.save(run.path.parent, run.path.name)
        invocation.say(f"from {run.path.name}@{saved.step}")
    model = trained.model(
        run,
        saved,
        file=file,
        weights=weights,
        seed=seed,
        device_name=device or invocation.settings.device,
        threads=invocation.settings.threads,
    )
    told = {"run": run.path.name, "step": saved.step, "weights": weights}
    return model, {**told, "seed": model.experiment.run.seed}
