"""The standard's functions on ordinary values, one file a chapter. Importing this defines them."""

from . import (
    arithmetic,
    association,
    bits,
    characters,
    comparison,
    conses,
    control,
    division,
    integers,
    irrational,
    number_types,
    sets,
)

__all__ = [
    "arithmetic",
    "association",
    "bits",
    "characters",
    "comparison",
    "conses",
    "control",
    "division",
    "integers",
    "irrational",
    "number_types",
    "sets",
]
