"""Whose a product, a convolution or an attention is: a library's, or a kernel of ours and why. The
one place that decides.

A GPU's libraries are asked call by call; where there is no GPU they are taken for whole. With
SEXPGPU_LIBRARIES=none (or the names of some) the others are not used, on every device.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from sexpgpu_core.diagnostics import Problem, nearest, problem

if TYPE_CHECKING:
    from .driver import Work
    from .frame import Frame

VARIABLE = "SEXPGPU_LIBRARIES"
DTYPES: Mapping[str, tuple[str, ...]] = {
    "cuBLASLt": ("f64", "f32", "bf16", "f16"),
    "cuDNN": ("f32", "bf16", "f16"),
}
"""What a library computes in, with results of the same dtype."""


class Refused(NamedTuple):
    """A call that is a kernel of ours: its number, its operation, and why."""

    call: int
    operation: str
    why: str


class Libraries(NamedTuple):
    """`absent`: by library, why nothing is its; `asked`: each call is put to its library, which
    needs a GPU."""

    absent: tuple[tuple[str, str], ...] = ()
    asked: bool = False

    def refusal(self, library: str, dtype: str) -> str | None:
        """Why no call with results of a dtype is the library's, or None."""
        if dtype not in DTYPES[library]:
            return f"{library} has no {dtype}"
        return dict(self.absent).get(library)


WHOLE = Libraries()


def taken(frame: Frame, library: str, made: Callable[[], Work]) -> Work | None:
    """The library's work; None where it is ours, and the reason is kept."""
    call, libraries = frame.call, frame.places.libraries
    why = libraries.refusal(library, call.outputs[0].dtype)
    if why is None:
        work = made()
        why = work.refusal() if libraries.asked else None
        if why is None:
            return work
    frame.places.refused.append(Refused(frame.number, call.node.operation, why))
    return None


def wanted() -> Libraries:
    """As SEXPGPU_LIBRARIES has it. Raises E-USAGE-CONFIG."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return WHOLE
    known = {name.lower(): name for name in DTYPES}
    words = [] if text.lower() == "none" else text.lower().replace(",", " ").split()
    for word in words:
        if word not in known:
            near = nearest(word, (*known, "none"))
            hint = f"did you mean {near}?" if near else f"none, or of {' '.join(known)}"
            raise problem("E-USAGE-CONFIG", f"{VARIABLE} has {word!r}", hint=hint)
    left = [name for word, name in known.items() if word not in words]
    return Libraries(tuple((name, f"{VARIABLE} leaves {name} out") for name in left))


def here() -> Libraries:
    """Those of this machine's GPU, whose context is current. Raises E-USAGE-CONFIG."""
    from . import multiply, planned

    given = wanted()
    absent = dict(given.absent)
    for name, open_ in (("cuBLASLt", multiply.multiplier), ("cuDNN", planned.library)):
        if name in absent:
            continue
        try:
            open_()
        except Problem as gone:
            absent[name] = gone.diagnostic.message
    return Libraries(tuple(absent.items()), True)


def numerics() -> dict[str, str]:
    """What of a choice bits depend on."""
    return {"without": " ".join(name for name, _ in absent)} if (absent := wanted().absent) else {}
