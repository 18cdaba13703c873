"""The big models as a device would be given them: programs with addresses and no memory."""

from __future__ import annotations

from pathlib import Path

from sexpgpu_core import api
from sexpgpu_core.compile.pipeline import Compiled
from sexpgpu_cuda.addresses import drafted
from sexpgpu_cuda.cubins import code_of
from sexpgpu_cuda.work import Record, Unit

FOLDER = Path(__file__).parent / "models"
MODELS = ("gpt2", "llama", "resnet50")


def compiled(name: str, variant: str | None = None) -> Compiled:
    loaded = api.load(FOLDER / f"{name}.lisp", variant=variant)
    return api.compile(loaded, api.device("cuda-emulated", loaded.registry))


def records(found: Compiled) -> list[Record]:
    """Of all programs."""
    plans = [u.plan for u in found.job.units if u.plan is not None]
    return [r for plan in plans for r in drafted(plan, found.job.persistent).records]


def kernels(found: Compiled) -> list[tuple[Unit, int]]:
    """Distinct ones, with the threads of a block."""
    return list(code_of(records(found)).values())
