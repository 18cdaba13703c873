"""What falls due after which step: a function of the step alone, never of what has arrived."""

from __future__ import annotations

from collections.abc import Sequence


def due(step: int, every: int | None, at: Sequence[int | str], end: bool) -> bool:
    """After steps n, 2n, ... of `every`; at the steps of `at`, where 0 is before the first.

    `end`: this is the last step. `"end"` in `at` falls due there (R16).
    """
    if step in at or (end and "end" in at):
        return True
    return bool(every) and step > 0 and step % (every or 1) == 0


def pass_due(step: int, every: int | None, at: Sequence[int | str], end: bool) -> bool:
    """As `due`; a pass that says neither runs at the end."""
    return due(step, every, at if every or at else ("end",), end)


def steps(written: Sequence[int | str]) -> tuple[int | str, ...]:
    """Of `:at`, as a file has them, with "end"."""
    return tuple(at.lstrip(":") if isinstance(at, str) else at for at in written)
