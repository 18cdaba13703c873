"""Reverse mode on the graph: a loss and values to gradients, appended to the same graph."""

from .reverse import GradientBuilder, differentiate

__all__ = ["GradientBuilder", "differentiate"]
