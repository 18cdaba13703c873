"""EXECUTOR on the command line, `NAME[:K=V,...]`: completed from what is installed."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from .invocation import Invocation


class Executor(click.ParamType):  # type: ignore[type-arg]  # of click 8.5 and later
    """Text that names an executor and its options; options are completed after a colon."""

    name = "executor"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        session: Invocation | None = ctx.find_root().obj
        from sexpgpu_core import config, plugins

        found = session.registry if session else plugins.installed(config.settings())
        name, colon, _ = incomplete.partition(":")
        if not colon:
            rows = [found.get("executors", known) for known in found.names("executors")]
            return [CompletionItem(r.name, help=r.doc) for r in rows if r.name.startswith(name)]
        begun, _, part = incomplete.rpartition("," if "," in incomplete else ":")
        before = incomplete[: len(begun) + 1]
        row = found.get("executors", name)
        options = () if row is None else row.options
        return [
            CompletionItem(f"{before}{option.name}=", help=option.doc)
            for option in options
            if option.name.startswith(part)
        ]


EXECUTOR = Executor()
