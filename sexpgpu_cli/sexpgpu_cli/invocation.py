"""One call of the program: the flags that every verb has, settings, what is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
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

    def whole(self) -> str:
        """The same call as a command that cuts nothing."""
        return self._with(self.argv, "--limit", "0")

    def beside(self, *words: str) -> str:
        """Another call that cuts nothing, of the same runs and settings."""
        return self._with(self.near(*words), *(["--json"] if self.json else []), "--limit", "0")

    def near(self, *words: str) -> tuple[str, ...]:
        """Words of a call that has the --runs and --config of this one."""
        kept = [part for name in ("--runs", "--config") for part in _given(self.argv, name)]
        return (*words, *kept)

    def _with(self, words: Sequence[str], *flags: str) -> str:
        import shlex

        end = words.index("--") if "--" in words else len(words)
        limits = _at(words[:end], "--limit")
        kept = [word for at, word in enumerate(words[:end]) if at not in limits]
        return shlex.join(["sexpgpu", *kept, *flags, *words[end:]])

    def colored(self, stream: TextIO) -> bool:
        """Whether colours go to a stream."""
        return wants_color(self.color, stream)

    def judged(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Without the warnings that were allowed; a denied one stays even if allowed."""
        hidden = frozenset() if "warnings" in self.deny else self.allow - self.deny
        return [d for d in diagnostics if d.is_error or d.code not in hidden]

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


def _at(words: Sequence[str], name: str) -> set[int]:
    """Where a flag with a value stands among words, and where its value does."""
    found: set[int] = set()
    for at, word in enumerate(words):
        if word == name and at not in found:
            found |= {at, at + 1}
        elif word.startswith(f"{name}="):
            found.add(at)
    return found


def _given(words: Sequence[str], name: str) -> list[str]:
    before = words[: words.index("--")] if "--" in words else words
    return [word for at, word in enumerate(before) if at in _at(before, name)]


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
