"""Command lines of every verb that the program has, right and wrong, made from its parameters."""

from __future__ import annotations

from collections.abc import Iterator

import click

from sexpgpu_cli.flags import metavar
from sexpgpu_cli.program import Program
from sexpgpu_core import config, plugins

OF_ARGUMENTS = {"bash|zsh|fish": "bash"}
NUMBERS = (click.IntRange, click.FloatRange, click.types.IntParamType)


def leaves() -> dict[str, click.Command]:
    """Every verb of the program, and every second word of one."""
    made = Program(plugins.installed(config.settings(config=None, runs=None)))
    context = click.Context(made)
    found: dict[str, click.Command] = {}
    for name in made.list_commands(context):
        of = made.get_command(context, name)
        assert of is not None
        inner = of.commands if isinstance(of, click.Group) else {}
        found.update({f"{name} {word}": command for word, command in inner.items()})
        if not inner or len(of.params) > 1:
            found[name] = of
    return found


LEAVES = leaves()


def line(name: str, chosen: str | None = None, given: str = "x") -> list[str]:
    """A call with --json whose arguments are all there, one of its words as given."""
    words, after = [*name.split(), "--json"], []
    for param in LEAVES[name].params:
        value = given if param.name == chosen else OF_ARGUMENTS.get(metavar(param), "x")
        if isinstance(param, click.Argument):
            after += [value] * max(1, len(metavar(param).split()))
        elif param.name == chosen or param.required:
            words += [param.opts[-1], value]
    return [*words, *after]


def wrong(name: str) -> Iterator[tuple[str, list[str]]]:
    """Calls that are wrong by their words alone, each with the code that tells it."""
    command, whole = LEAVES[name], line(name)
    yield "E-USAGE-FLAG", [*whole, "--nixx"]
    yield "E-USAGE-FLAG", [*whole, "--js"]  # no abbreviations
    yield "E-USAGE-VALUE", [*whole, "--limit", "-1"]
    yield "E-USAGE-VALUE", [*whole, "--color", "mauve"]
    yield "E-USAGE-VALUE", [*whole, "--deny", "E-NIX"]
    yield "E-USAGE-VALUE", [*whole, "--limit", "1", "--limit", "2"]
    yield "E-USAGE-CONFIG", [*whole, "--config", "nix.toml"]
    yield "E-USAGE-VALUE", [*whole, "--runs", "s3://b/p"]
    yield "E-USAGE-VALUE", [*whole, "--limit"]
    for param in command.params:
        if isinstance(param, click.Argument) and param.required:
            yield "E-USAGE-MISSING", [*name.split(), "--json"]
        if isinstance(param.type, (click.Choice, *NUMBERS)):
            yield "E-USAGE-VALUE", line(name, param.name, "nix")
    if not isinstance(command, click.Group) and all(param.nargs == 1 for param in command.params):
        yield "E-USAGE-VALUE", [*whole, "one", "too", "many"]
