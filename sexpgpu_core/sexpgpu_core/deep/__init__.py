"""A file that tests itself: the promises of a run, each tried on a copy made small by its knobs."""

from .report import Row, examined

__all__ = ["Row", "examined"]
