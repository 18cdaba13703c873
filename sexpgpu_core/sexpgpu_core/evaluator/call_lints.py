"""Warnings about calls as they are written, by the function's name; W-FORMAT: %s of C in format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..diagnostics import Change, Edit, diagnostic
from ..reader import element_span
from .identity_tests import IDENTITY, warn_identity
from .values import Cons, String

if TYPE_CHECKING:
    from .machine import Machine

_OF_C = re.compile(r"%(?:\.(\d+))?([sdifgexX])(?![A-Za-z])")
_OURS = {"s": "~a", "d": "~d", "i": "~d", "x": "~x", "X": "~x"}


def warn_of_c(m: Machine, name: str, form: Cons) -> None:
    """Warn of a control string that has directives of C, none of format's, and arguments."""
    control = form.cdr.cdr if form.cdr.__class__ is Cons else None
    if control.__class__ is not Cons or control.car.__class__ is not String:
        return
    found, span = _OF_C.search(control.car.text()), element_span(control)
    if (
        found is None
        or span is None
        or "~" in control.car.text()
        or control.cdr.__class__ is not Cons
    ):
        return
    new = _OF_C.sub(_ours, span.text)
    edit = Edit("write directives of format", (Change(span, new),)) if new != span.text else None
    m.warn(
        diagnostic(
            "W-FORMAT",
            f"format prints {found[0]} as it is: its directives begin with ~",
            span=span,
            hint=f"write {_ours(found)}",
            edit=edit,
        )
    )


def _ours(found: re.Match[str]) -> str:
    return _OURS.get(found[2]) or (f"~,{found[1]}f" if found[1] else "~f")


LINTS = {**dict.fromkeys(IDENTITY, warn_identity), "FORMAT": warn_of_c}
