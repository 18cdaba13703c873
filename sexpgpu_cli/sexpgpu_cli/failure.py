"""Whatever went wrong to diagnostics and an exit code: never a traceback, never an empty answer."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Iterable
from pathlib import Path

import click

from sexpgpu_core.diagnostics import Diagnostic, Problem, Problems, diagnostic, nearest

from .flags import VALUED, called, metavar

EXITS = {"usage": 2, "internal": 70, "device": 4, "plugins": 4, "run": 3, "checkpoint": 3}
"""Exit by the phase of a code; 1 for all others, which speak of the file."""

MACHINE = frozenset(
    (
        *("E-DATA-EXTRA", "E-STORE-DENIED", "E-STORE-UNKNOWN", "E-PLUGIN-BROKEN"),
        *("E-EXECUTOR-ABSENT", "E-EXECUTOR-REFUSED"),
    )
)
"""Codes that say that this machine cannot, whatever their phase."""

PRECEDENCE = (70, 2, 1, 4, 3, 5, 75)
ALWAYS = (2, 70)
"""Exits of every verb."""


def exit_of(diagnostics: Iterable[Diagnostic], exits: Collection[int] = ()) -> int:
    """The exit code of errors: the first of PRECEDENCE that one of them asks for.

    `exits`: those of the verb, where it has a table of them. What it has not becomes another.
    """
    asked = {_exit(d, exits) for d in diagnostics if d.is_error}
    return next((code for code in PRECEDENCE if code in asked), 0)


def _exit(d: Diagnostic, exits: Collection[int]) -> int:
    """What an error asks for, or the nearest that the verb has."""
    asked = 4 if d.code in MACHINE else EXITS.get(d.phase, 1)
    if not exits or asked in ALWAYS:
        return asked
    return next(code for code in (asked, *_instead(d), *ALWAYS) if code in (*exits, *ALWAYS))


def _instead(d: Diagnostic) -> tuple[int, ...]:
    """Of a verb that trains nothing: a name that is nothing's, and a checkpoint or store that
    cannot be read, are arguments that are wrong; the rest speaks of a file."""
    if d.span is None and d.code.endswith("-UNKNOWN"):
        return (2,)
    if d.span is None and d.phase == "checkpoint":
        return (3, 2)
    return (1, 4)


def diagnosed(error: BaseException) -> list[Diagnostic] | None:
    """The diagnostics of an expected error; None for one that nobody expected."""
    if isinstance(error, Problem):
        return [error.diagnostic]
    if isinstance(error, Problems):
        return error.diagnostics
    if isinstance(error, click.ClickException):
        return [_usage(error)]
    return None


def _usage(error: click.ClickException) -> Diagnostic:
    context = getattr(error, "ctx", None)
    verb = context.command_path.removeprefix("sexpgpu ") if context is not None else "sexpgpu"
    if isinstance(error, click.NoSuchOption):
        return _no_such_flag(error, verb)
    if isinstance(error, click.MissingParameter):
        name = called(error.param) if error.param else "an argument"
        return diagnostic("E-USAGE-MISSING", f"{verb} needs {name}", hint=_synopsis(context))
    if isinstance(error, click.FileError):
        return diagnostic("E-USAGE-FILE", f"{error.ui_filename}: {error.message}")
    message = f"{verb}: {error.format_message().rstrip('.')}"
    return diagnostic("E-USAGE-VALUE", message, hint=_synopsis(context))


def _no_such_flag(error: click.NoSuchOption, verb: str) -> Diagnostic:
    known: list[str] = []
    if error.ctx is not None:
        known = [o for p in error.ctx.command.get_params(error.ctx) for o in p.opts]
    long = [o for o in known if o.startswith("--")]
    near = nearest(error.option_name, long)
    path = error.ctx.command_path if error.ctx is not None else "sexpgpu"
    hint = f"did you mean {near}?" if near else f"{path} --help lists its flags"
    if near is None and path == "sexpgpu" and error.option_name in (*VALUED, "-q", "--quiet"):
        hint = f"flags stand behind the verb: sexpgpu VERB {error.option_name} ..."
    return diagnostic(
        "E-USAGE-FLAG",
        f"{verb} has no flag {error.option_name}",
        hint=hint,
        given=error.option_name,
        nearest=near,
    )


def _synopsis(context: click.Context | None) -> str:
    if context is None:
        return "sexpgpu --help lists the verbs"
    pieces = [p for p in context.command.collect_usage_pieces(context) if p != "[OPTIONS]"]
    needed = [p for p in context.command.params if isinstance(p, click.Option) and p.required]
    pieces += [f"{p.opts[0]} {metavar(p)}" for p in needed]
    return " ".join([context.command_path, *pieces, "[FLAGS]"])


def internal(error: BaseException, argv: list[str], cache: Path) -> tuple[Diagnostic, str | None]:
    """E-INTERNAL and the path of a report, or None where it could not be written."""
    import traceback

    told = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    if os.environ.get("SEXPGPU_DEBUG") == "1":
        sys.stderr.write(told)
    report = _report(told, argv, cache)
    where = f"; the report is {report}" if report else ""
    message = f"{type(error).__name__}: {str(error)[:200]}{where}"
    hint = "this is a bug of SexpGPU: please send the report; SEXPGPU_DEBUG=1 shows the traceback"
    return diagnostic("E-INTERNAL", message, hint=hint), report


def _report(told: str, argv: list[str], cache: Path) -> str | None:
    from sexpgpu_core import __version__

    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    file = cache / "reports" / f"{stamp}-{os.getpid()}.txt"
    head = f"sexpgpu {__version__}, Python {sys.version}, {sys.platform}\nsexpgpu {argv}\n\n"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(head + told, encoding="utf-8")
    except OSError:
        return None
    return str(file)
