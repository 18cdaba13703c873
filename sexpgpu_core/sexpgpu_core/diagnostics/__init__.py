"""Diagnostics are data: coded, placed, with a hint and an edit. Rendered at the edge, once."""

from .catalogue import PHASES, Code, add_codes, catalogue, lookup
from .diagnostic import (
    Change,
    Diagnostic,
    Edit,
    Expansion,
    Problem,
    Problems,
    Related,
    diagnostic,
    places_of,
    problem,
)
from .nearest import nearest

__all__ = [
    "PHASES",
    "Change",
    "Code",
    "Diagnostic",
    "Edit",
    "Expansion",
    "Problem",
    "Problems",
    "Related",
    "add_codes",
    "catalogue",
    "diagnostic",
    "lookup",
    "nearest",
    "places_of",
    "problem",
]
