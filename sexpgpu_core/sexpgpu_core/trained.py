"""A checkpoint to a model: the run's file with its knobs, and the values that were trained."""

from __future__ import annotations

from pathlib import Path

from . import api
from .checkpoint.folder import Checkpoints, Saved
from .config import settings
from .runtime import runs
from .runtime.runs import Run
from .serving import Model


def model(
    run: Run,
    saved: Saved,
    *,
    file: str | Path | None = None,
    weights: str = "live",
    seed: int | None = None,
    device_name: str | None = None,
    threads: int | None = None,
) -> Model:
    """A run's checkpoint to predict and sample with. `file`: instead of the run's own copy; the
    knobs are the run's. `seed`: of what outputs draw."""
    Checkpoints(saved.path.parent).verify(saved)
    loaded = api.as_it_was(run, file, seed)
    chosen = api.device_of(loaded.registry, device_name)
    return Model(loaded, api.operations(loaded.registry), chosen, saved, weights, threads)


def trained(
    save: str | Path,
    *,
    file: str | Path | None = None,
    weights: str = "live",
    seed: int | None = None,
    device: str | None = None,
    threads: int | None = None,
    runs_root: str | Path | None = None,
) -> Model:
    """The model of a checkpoint, RUN or RUN@STEP as the program has it: see `model`."""
    root = settings().runs if runs_root is None else Path(runs_root)
    found = runs.save(root, str(save))
    return model(*found, file=file, weights=weights, seed=seed, device_name=device, threads=threads)
