"""A node's precision policy as text: "" the run's, "f32" an island, or "matmul=bf16 tf32=nil"."""

from __future__ import annotations

from ..records import NamedTuple
from .types import full_float

LOW = {"f32": None, "bf16": "bf16", "f16": "f16", "f64": None}
"""The 16-bit dtype of a precision's products, or None where they are not narrowed."""
CHOICES = {
    "matmul": ("f32", "bf16", "f16"),
    "accumulate": ("f32",),
    "tf32": ("nil", "t"),
}
"""What `with-numerics` may say. A device without TF32 has nothing to allow or forbid."""


class Policy(NamedTuple):
    """`low`: the dtype that products are narrowed to; `island`: nothing is. `full`: the dtype from
    which they are narrowed, f32, or f64 in a run of that."""

    low: str | None
    island: bool
    full: str = "f32"


def policy_of(text: str, run: str) -> Policy:
    """What a policy's text means in a run of a precision."""
    full = full_float(run)
    if text == "f32":
        return Policy(None, True, full)
    words = dict(word.split("=") for word in text.split() if "=" in word)
    return Policy(LOW[words.get("matmul", run)], False, full)


def narrows(text: str, run: str) -> bool:
    """Whether any operation is narrowed by it."""
    return policy_of(text or run, run).low is not None
