"""One call of the program: the flags that every verb has, settings, what is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from sexpgpu_core.config import Settings
from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.records import NamedTuple
from sexpgpu_core.registry import Registry


class Invocation(NamedTuple):
    """What a verb is handed besides its own arguments."""

    verb: str
    settings: Settings
    registry: Registry
    json: bool = False
    quiet: bool = False
    limit: int = 20
    color: str = "auto"
    deny: frozenset[str] = frozenset()
    allow: frozenset[str] = frozenset()
    argv: tuple[str, ...] = ()

    def say(self, text: str) -> None:
        """Progress and notes: to stderr, not under --quiet."""
        if not self.quiet:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def warn(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Warnings that are not allowed, to stderr."""
        from sexpgpu_core.diagnostics.render_text import render_all

        if listed := self.judged(diagnostics):
            self.say(render_all(listed, color=self.colored(sys.stderr), limit=5))

    def colored(self, stream: TextIO) -> bool:
        """Whether colours go to a stream."""
        return wants_color(self.color, stream)

    def judged(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Without the warnings that were allowed; a denied one stays even if allowed."""
        return [d for d in diagnostics if d.is_error or d.code not in self.allow - self.deny]

    def denied(self, diagnostics: Iterable[Diagnostic]) -> bool:
        """Whether one of them makes the exit 1."""
        return any(
            d.is_error or "warnings" in self.deny or d.code in self.deny for d in diagnostics
        )


def wants_color(choice: str, stream: TextIO) -> bool:
    """--color, then NO_COLOR, then FORCE_COLOR, then whether it is a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def split_set(pairs: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """`KNOB=VALUE` texts to pairs."""
    from sexpgpu_core.diagnostics import problem

    found: list[tuple[str, str]] = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            hint = f"--set {name or 'KNOB'}=VALUE"
            raise problem("E-USAGE-VALUE", f"--set wants KNOB=VALUE, not {pair}", hint=hint)
        found.append((name, value))
    return tuple(found)


def selection_flags(selection: dict[str, Any]) -> str:
    """A selection as flags again, for commands that are shown."""
    import shlex

    words = [f"--{k} {shlex.quote(selection[k])}" for k in ("variant", "point") if selection.get(k)]
    words += [f"-s {shlex.quote(f'{k}={v}')}" for k, v in selection.get("sets", ())]
    words += [f"--{k} {selection[k]}" for k in ("steps", "seed") if selection.get(k) is not None]
    return "".join(f" {word}" for word in words)
