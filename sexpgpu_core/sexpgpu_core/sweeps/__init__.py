"""Declared sweeps: to points, to runs of them, to a ranked table."""

from .points import Chosen, Point, Points, Rank, declared, points, rank

__all__ = ["Chosen", "Point", "Points", "Rank", "declared", "points", "rank"]
