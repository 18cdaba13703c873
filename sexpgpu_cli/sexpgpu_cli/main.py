"""The entry point: arguments to one answer and one exit code.

It imports nothing that takes time before the signals of a scheduler are heard.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what signal imports takes time
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from pathlib import Path

HEARING = ("run", "sweep")
"""Verbs that SIGTERM and SIGUSR1 preempt, with exit 75, whenever they come."""


class Preempted(KeyboardInterrupt):
    """A signal that came while modules were read."""

    exit = 75


class Listening:
    """Hears SIGTERM and SIGUSR1 until that does which trains, and which leaves it behind."""

    until_a_run = True

    def __call__(self, number: int, frame: object) -> NoReturn:
        name = "SIGTERM" if number == _signal.SIGTERM else "SIGUSR1"
        raise Preempted(f"{name}: ended before the run had a folder; nothing of it is kept")


def main(argv: list[str] | None = None) -> NoReturn:
    """Run the program and leave with its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in HEARING:
        for number in (_signal.SIGTERM, _signal.SIGUSR1):
            _signal.signal(number, Listening())
    gc.disable()  # while modules are imported nothing becomes garbage
    code = run(argv, settle=True)
    gc.freeze()  # or the interpreter's end would walk through all that a graph is made of
    sys.exit(code)


def run(argv: list[str], settle: bool = False) -> int:
    """The program as a function of its arguments; writes the answer, returns the exit code.

    `settle`: the streams are the process's own, and are made as answers need them.
    """
    try:
        try:
            if settle:
                from . import answer

                answer.settle(asks_json(argv))
            return _answer(argv)
        except BrokenPipeError:
            return 0
        except KeyboardInterrupt as left:
            return _interrupted(argv, left)
        except Exception as error:
            return _failed(argv, error)
    except BrokenPipeError:
        return 0
    except Preempted as left:  # while a failure was told
        return left.exit


def _answer(argv: list[str]) -> int:
    import click

    from sexpgpu_core import config, plugins
    from sexpgpu_core.diagnostics import add_codes

    from . import answer
    from .flags import Helped
    from .invocation import Invocation
    from .program import Program

    _refuse_bytes(argv)
    chosen = flag(argv, "--config")
    settings = config.settings(config=chosen, runs=flag(argv, "--runs"))
    registry = plugins.installed(settings)
    add_codes(registry.codes())
    session = Invocation("", settings, registry, json=asks_json(argv), argv=tuple(argv))
    gc.enable()
    try:
        with _configured(settings.file if chosen is not None else None):
            given: Any = Program(registry).main(argv, "sexpgpu", standalone_mode=False, obj=session)
    except Helped as helped:
        given = answer.Answer(
            answer.document("help", verb=_verb(argv), text=helped.text), helped.text
        )
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.Abort as abort:
        cause = abort.__cause__
        raise (cause if isinstance(cause, KeyboardInterrupt) else KeyboardInterrupt()) from None
    if not isinstance(given, answer.Answer):
        return given if isinstance(given, int) else 0
    if given.document and asks_json(argv):
        answer.write(answer.dumps(given.document))
    elif given.text:
        answer.write(given.text)
    return given.exit


def _refuse_bytes(argv: list[str]) -> None:
    """E-USAGE-VALUE for a word that is not UTF-8: no file of ours and no JSON could hold it."""
    from . import answer

    wrong = next((word for word in argv if answer.shown(word) != word), None)
    if wrong is not None:
        from sexpgpu_core.diagnostics import problem

        told = f"an argument is not UTF-8: {answer.shown(wrong)}"
        raise problem("E-USAGE-VALUE", told, hint="rename what it names, or write it in UTF-8")


@contextmanager
def _configured(file: Path | None) -> Iterator[None]:
    """While a verb works, what it calls reads the file of --config too."""
    if file is None:
        yield
        return
    before = os.environ.get("SEXPGPU_CONFIG")
    os.environ["SEXPGPU_CONFIG"] = str(file)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SEXPGPU_CONFIG"]
        else:
            os.environ["SEXPGPU_CONFIG"] = before


def _interrupted(argv: list[str], left: KeyboardInterrupt) -> int:
    """Quiet, as a shell's user expects it, but for what is to be said and for a reader of JSON."""
    code: int = getattr(left, "exit", 130)
    if not asks_json(argv):
        sys.stderr.write(f"{left}\n" if str(left) else "")
        return code
    from sexpgpu_core.diagnostics import diagnostic

    return _fail(argv, [diagnostic("E-RUN-INTERRUPTED", str(left) or "interrupted")], code)


def _failed(argv: list[str], error: Exception) -> int:
    from . import failure

    found = failure.diagnosed(error)
    if found is not None:
        return _fail(argv, found, failure.exit_of(found, _exits(argv)) or 1)
    from sexpgpu_core.caches import cache_folder

    diagnostic, report = failure.internal(error, argv, cache_folder(os.environ))
    return _fail(argv, [diagnostic], 70, report)


def _fail(argv: list[str], found: list[Any], code: int, report: str | None = None) -> int:
    """Document `error`, or the diagnostics on stderr."""
    if asks_json(argv):
        from sexpgpu_core.diagnostics.render_json import diagnostic_json

        from . import answer

        verb = _verb(argv)
        listed = [diagnostic_json(d) for d in found]
        told = answer.document("error", verb=verb, exit=code, diagnostics=listed)
        answer.write(answer.dumps({**told, "report": report} if report else told))
        return code
    from sexpgpu_core.diagnostics.render_text import render_all

    from .invocation import wants_color

    color = wants_color(flag(argv, "--color") or "auto", sys.stderr)
    if found:
        sys.stderr.write(render_all(found, color=color) + "\n")
    return code


def _verb(argv: list[str]) -> str:
    """The verb that is called, "" without one: the first word that is no flag, nor its value."""
    from . import answer
    from .flags import VALUED

    before = ""
    for word in argv:
        if not word.startswith("-") and before not in VALUED:
            return answer.shown(word)
        before = word
    return ""


def _exits(argv: list[str]) -> tuple[int, ...]:
    """The exits of the verb that failed; none where what is installed cannot be read either."""
    from sexpgpu_core import config, plugins
    from sexpgpu_core.diagnostics import Problem

    try:
        settings = config.settings(config=flag(argv, "--config"), runs=flag(argv, "--runs"))
        row = plugins.installed(settings).get("verbs", _verb(argv))
    except Problem:
        return ()
    return row.exits if row is not None else ()


def flag(argv: list[str], name: str) -> str | None:
    """The value of a flag that is needed before the verb's own parser is known."""
    for at, word in enumerate(argv):
        if word == "--":
            return None
        if word == name and at + 1 < len(argv):
            return argv[at + 1]
        if word.startswith(name + "="):
            return word[len(name) + 1 :]
    return None


def asks_json(argv: list[str]) -> bool:
    """Whether the answer is to be JSON, even where the arguments do not parse."""
    before = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in before or flag(argv, "--format") == "json"
