"""The forms of run files, as macros over `%declare` and functions. Importing defines them."""

from . import contexts, knobs, loaders, metrics, models, optimizers, outputs, runs, states

__all__ = [
    "contexts",
    "knobs",
    "loaders",
    "metrics",
    "models",
    "optimizers",
    "outputs",
    "runs",
    "states",
]
