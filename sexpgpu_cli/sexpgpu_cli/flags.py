"""Flags that verbs share, and the decorator that makes a function a verb."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import click

from sexpgpu_core.diagnostics import Problem, catalogue, nearest, problem

from .answer import Answer
from .invocation import Invocation, split_set

COMMON = ("json", "quiet", "limit", "color", "deny", "allow")

_COMMON_OPTIONS = (
    click.option("--json", is_flag=True, help="One JSON document on stdout, on every exit."),
    click.option("-q", "--quiet", is_flag=True, help="Nothing on stderr but errors."),
    click.option("--limit", type=click.IntRange(0), default=20, help="Entries of a list; 0: all."),
    click.option("--runs", metavar="DIR", help="Where runs are."),
    click.option("--config", metavar="FILE", help="Instead of the nearest sexpgpu.toml."),
    click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto"),
    click.option("--deny", multiple=True, metavar="CODE|warnings", help="Warnings that fail."),
    click.option("--allow", multiple=True, metavar="CODE", help="Warnings that are not shown."),
)

_SELECT_OPTIONS = (
    click.option("--variant", metavar="NAME", help="A variant of the file."),
    click.option("--point", metavar="SWEEP/POINT", help="A point of a sweep of the file."),
    click.option("-s", "--set", "sets", multiple=True, metavar="KNOB=VALUE", help="Set a knob."),
    click.option("--steps", type=click.IntRange(1), help="Instead of defrun's :steps."),
    click.option("--seed", type=click.IntRange(0), help="Instead of defrun's :seed."),
)
VALUED = frozenset(
    (
        *("--limit", "--runs", "--config", "--color", "--deny", "--allow"),
        *("--variant", "--point", "-s", "--set", "--steps", "--seed"),
    )
)
"""Those of them that have a value."""
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
SELECT = ("variant", "point", "sets", "steps", "seed")


def verb(name: str, *, select: bool = False) -> Callable[[Callable[..., Answer]], click.Command]:
    """Make a function (invocation, **its own arguments) -> Answer the verb NAME.

    With `select` it also gets `selection`: {"variant", "point", "sets", "steps", "seed"}.
    """

    def make(function: Callable[..., Answer]) -> click.Command:
        def callback(**given: Any) -> Answer:
            _refuse_words(name, given)
            invocation = _invocation(name, given)
            if select:
                given["selection"] = selected({key: given.pop(key) for key in SELECT})
            return function(invocation, **given)

        callback.__doc__ = function.__doc__
        callback.__click_params__ = list(  # type: ignore[attr-defined]
            getattr(function, "__click_params__", ())
        )
        # Decorators apply from the inside out: what is applied last comes first in --help.
        options = (*_SELECT_OPTIONS, *_COMMON_OPTIONS) if select else _COMMON_OPTIONS
        wrapped: Any = callback
        own = wrapped.__click_params__
        wrapped.__click_params__ = []
        for option in reversed(options):
            wrapped = option(wrapped)
        wrapped.__click_params__ = wrapped.__click_params__ + own
        return click.command(name, Verb, context_settings=_SETTINGS)(wrapped)

    return make


class Helped(Exception):
    """--help was asked for: `text` is the answer."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def _help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        raise Helped(ctx.get_help())


class Verb(click.Command):
    """A verb, or the words of one. Its help is an answer like others, so JSON where that is asked.
    Of an option that is given twice and takes one value, neither would be obeyed surely:
    it is told."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _help
        return option

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _refuse_twice(self, ctx, args)
        return super().parse_args(ctx, args)


def _refuse_twice(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """E-USAGE-VALUE for an option with a value that is said again."""
    _, _, order = command.make_parser(ctx).parse_args(list(args))
    seen: set[click.Parameter] = set()
    for param in order:
        takes = isinstance(param, click.Option) and not param.is_flag and not param.multiple
        if takes and param in seen:
            hint = f"{called(param)} {metavar(param)} once"
            raise problem("E-USAGE-VALUE", f"{called(param)} is given twice", hint=hint)
        seen.add(param)


class Several(Verb, click.Group):
    """A verb of several words: `checkpoint list`, `runs compare`. A wrong word says the nearest."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is None and not ctx.resilient_parsing:
            raise _no_word(str(ctx.info_name), cmd_name, list(self.commands))
        return command


def _no_word(verb: str, word: str, known: list[str]) -> Problem:
    near = nearest(word, known)
    hint = f"did you mean {verb} {near}?" if near else f"known: {' '.join(known)}"
    return problem("E-USAGE-VERB", f"{verb} has no {word}", hint=hint, nearest=near)


def several(name: str, *commands: click.Command, alone: click.Command | None = None) -> Several:
    """The verb NAME that is followed by one of the words of `commands`, or `alone` by none."""

    @click.pass_context
    def callback(ctx: click.Context, /, **given: Any) -> Any:
        if ctx.invoked_subcommand is not None:
            return _refuse_before(ctx, ctx.invoked_subcommand)
        if alone is not None and alone.callback is not None:
            return alone.callback(**given)
        words = [str(command.name) for command in commands]
        hint = f"sexpgpu {name} {'|'.join(words)}"
        raise problem("E-USAGE-MISSING", f"{name} needs one of {' '.join(words)}", hint=hint)

    return Several(
        name,
        commands={str(command.name): command for command in commands},
        callback=callback,
        params=alone.params if alone is not None else [click.Option(["--json"], is_flag=True)],
        help=alone.help if alone is not None else None,
        invoke_without_command=True,
        subcommand_metavar="[" + "|".join(str(command.name) for command in commands) + "]",
        context_settings=_SETTINGS,
    )


OF_ALL_WORDS = ("json", "runs", "config")
"""Flags that mean the same before a verb's second word."""


def _refuse_before(ctx: click.Context, word: str) -> None:
    """E-USAGE-FLAG for a flag before the second word of a verb, which would not hear of it."""
    for param in ctx.command.params:
        source = ctx.get_parameter_source(str(param.name))
        given = source is click.core.ParameterSource.COMMANDLINE
        if given and param.name not in OF_ALL_WORDS:
            told = f"{called(param)} stands before {word}, which does not see it"
            hint = f"{ctx.command_path} {word} --help lists the flags that come after it"
            raise problem("E-USAGE-FLAG", told, hint=hint)


MAY_BE_EMPTY = ("prompt",)
STDIN = ("check", "eval", "fmt", "ir")
"""Verbs that read standard input where their FILE is `-`."""
PLACES = frozenset(
    (
        *("FILE", "FILE...", "FILE|CODE", "F", "NEW.lisp", "TEMPLATE|FILE|RUN", "SIDE [SIDE]"),
        *("RUN", "RUN RUN...", "RUN[@STEP]", "auto|STEP|latest|best|RUN[@STEP]"),
        *("DIR", "PATH", "URL"),
    )
)
"""What names a file, a folder, a run or a store: `-` is none, but for the FILE of STDIN."""


def _refuse_words(name: str, given: dict[str, Any]) -> None:
    """E-USAGE-VALUE for a text without a letter (a shell's variable that is not set, mostly), and
    for `-` where the verb reads no standard input."""
    for param in click.get_current_context().command.params:
        value = given.get(str(param.name))
        if value == param.default:
            continue
        words = [w for w in (value if isinstance(value, tuple) else (value,)) if isinstance(w, str)]
        if param.name not in MAY_BE_EMPTY and not all(word.strip() for word in words):
            told = f"{called(param)} is {'empty' if '' in words else 'only blanks'}"
            hint = "give " if param.required else "leave it out, or give "
            raise problem("E-USAGE-VALUE", told, hint=hint + metavar(param))
        if "-" in words and metavar(param) in PLACES and not _reads(name, param):
            hint = f"give {metavar(param)}: only {', '.join(STDIN)} read standard input as -"
            raise problem("E-USAGE-VALUE", f"{called(param)} is -", hint=hint)


def _reads(name: str, param: click.Parameter) -> bool:
    return name in STDIN and isinstance(param, click.Argument)


def called(param: click.Parameter) -> str:
    """An option by its long flag, an argument as the synopsis has it."""
    long = [flag for flag in param.opts if flag.startswith("--")]
    return long[0] if long else param.human_readable_name


def metavar(param: click.Parameter) -> str:
    return param.metavar or param.human_readable_name.upper()


def selected(given: dict[str, Any]) -> dict[str, Any]:
    """The selection as keyword arguments of `sexpgpu_core.api`."""
    return {**given, "sets": split_set(given["sets"])}


def _check_codes(session: Invocation, said: str, given: Iterable[str], wrong: str) -> None:
    """A code that there is not would deny or allow nothing."""
    for code in given:
        known = [*catalogue(), *session.registry.names("codes"), "warnings"]
        if code not in known:
            near = nearest(code, known)
            hint = f"did you mean {near}?" if near else "sexpgpu docs errors lists all codes"
            raise problem(wrong, f"{said}: no code is named {code}", hint=hint, nearest=near)


def _invocation(name: str, given: dict[str, Any]) -> Invocation:
    """Takes the common flags out of `given`. --runs and --config are in the settings already."""
    session: Invocation = click.get_current_context().find_root().obj
    given.pop("runs")
    given.pop("config")
    flags = {key: given.pop(key) for key in COMMON}
    flags["json"] = flags["json"] or session.json
    for key in ("deny", "allow"):
        _check_codes(session, f"--{key}", flags[key], "E-USAGE-VALUE")
        _check_codes(session, f"{key} of [check]", getattr(session.settings, key), "E-USAGE-CONFIG")
    return session._replace(
        verb=name,
        **{**flags, "deny": frozenset(flags["deny"]) | frozenset(session.settings.deny)},
    )._replace(allow=frozenset(flags["allow"]) | frozenset(session.settings.allow))


class Real(click.FloatRange):
    """A number of a range. NaN lies in none and infinity is no number to count by, which Click
    takes for one."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return number
