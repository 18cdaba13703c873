"""The click program: verbs come from rows, and a verb's module is imported when it is called."""

from __future__ import annotations

from typing import Any

import click

from sexpgpu_core import __version__
from sexpgpu_core.diagnostics import problem
from sexpgpu_core.registry import Registry

from .answer import Answer, document
from .flags import Helped, Verb

GROUPS = {
    "write": "Write",
    "run": "Run",
    "observe": "Observe",
    "ship": "Ship",
    "machine": "Machine",
    "learn": "Learn",
}


class Program(Verb, click.Group):
    """`sexpgpu VERB ...` over the verbs of a registry."""

    def __init__(self, registry: Registry) -> None:
        super().__init__(
            "sexpgpu",
            params=[
                click.Option(["--version"], is_flag=True, help="Print the version."),
                click.Option(["--json"], is_flag=True, help="The answer as a JSON document."),
            ],
            callback=_root,
            invoke_without_command=True,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )
        self.registry = registry

    def list_commands(self, ctx: click.Context) -> list[str]:
        return self.registry.names("verbs")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if ctx.resilient_parsing and self.registry.get("verbs", cmd_name) is None:
            return None  # shell completion asks for words that are half written
        command: click.Command = self.registry.load("verbs", cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """A reader that goes away while a verb writes is no error; click would exit 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise click.exceptions.Exit(0) from None

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write("Usage: sexpgpu VERB [ARGUMENTS]\n\n")
        formatter.write(
            "One experiment is one file of Common Lisp. `sexpgpu VERB --help` says more.\n"
        )
        rows = [self.registry.get("verbs", name) for name in self.list_commands(ctx)]
        for group, title in GROUPS.items():
            listed = [(row.name, row.summary) for row in rows if row.group == group]
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)


@click.pass_context
def _root(ctx: click.Context, /, version: bool, json: bool) -> Answer | None:
    if version:
        told = document("version", program=__version__)
        return Answer(told, f"sexpgpu {__version__}")
    if ctx.invoked_subcommand is not None:
        return None
    if json:
        raise problem("E-USAGE-MISSING", "no verb", hint="sexpgpu VERB --json")
    raise Helped(ctx.get_help())
