"""The function that a training step is, as one graph (45-semantics, finding 1)."""

from .assemble import build_step
from .blocks import inline

__all__ = ["build_step", "inline"]
