"""The parts of the pages that are made from data: codes, hooks, flags. `--check` only compares."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from inspect import getdoc
from pathlib import Path

import click

from sexpgpu_cli.program import GROUPS, Program
from sexpgpu_core import config, hookspecs, plugins
from sexpgpu_core.diagnostics import catalogue
from sexpgpu_core.registry import BUILTIN, HOOKS, merge

DOCS = Path(__file__).parent


def codes() -> str:
    """Every code with its meaning and fix, by phase."""
    lines: list[str] = []
    phases = dict.fromkeys(row.phase for row in catalogue().values())
    for phase in phases:
        lines += [f"## {phase}", ""]
        for row in catalogue().values():
            if row.phase == phase:
                edit = " May come with an edit." if row.edit else ""
                lines += [f"### {row.code}", f"{row.title}. {row.meaning} {row.fix}{edit}", ""]
    return "\n".join(lines).rstrip()


def hooks() -> str:
    """Every hook with its row's fields and what it is for."""
    lines = ["| hook | row | fields | what it is |", "| --- | --- | --- | --- |"]
    for name, hook in HOOKS.items():
        doc = " ".join((getdoc(getattr(hookspecs, f"sexpgpu_{name}")) or "").split())
        fields = " ".join(hook.row._fields)
        lines.append(f"| `sexpgpu_{name}` | `{hook.row.__name__}` | {fields} | {doc} |")
    return "\n".join(lines)


def verbs() -> str:
    """Our verbs with their flags, by group."""
    found, _ = plugins.distributions(config.settings().cache)
    registry = merge([d for d in found if d.name in BUILTIN])
    program = Program(registry)
    root = click.Context(program, info_name="sexpgpu")
    # `run` has all flags that are shared; the page's head says them once.
    common = {o for o in _flags(program, root, "run") if o in _flags(program, root, "eval")}
    lines: list[str] = []
    for group, title in GROUPS.items():
        rows = [registry.get("verbs", name) for name in registry.names("verbs")]
        for row in [row for row in rows if row.group == group]:
            lines += _verb(program, root, row.name, row.summary, title, common)
    return "\n".join(lines).rstrip()


def _verb(
    program: Program, root: click.Context, name: str, summary: str, title: str, common: set[str]
) -> list[str]:
    command = program.get_command(root, name)
    assert command is not None
    context = click.Context(command, info_name=name, parent=root)
    pieces = [p for p in command.collect_usage_pieces(context) if p != "[OPTIONS]"]
    lines = [f"### {name}", f"{title}. {summary}", "", f"`sexpgpu {' '.join([name, *pieces])}`", ""]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not common & set(parameter.opts):
            lines.append(_flag(parameter))
    return [*lines, ""]


def _flag(option: click.Option) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    given = "|".join(getattr(option.type, "choices", ())) or option.metavar
    if option.is_flag:
        given = ""
    elif given is None:
        given = "N"
    return f"- `{f'{names} {given}'.strip()}` {option.help or ''}".rstrip()


def _flags(program: Program, root: click.Context, verb: str) -> set[str]:
    command = program.get_command(root, verb)
    assert command is not None
    return {o for p in command.params for o in p.opts if o.startswith("--")}


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "errors.md": {"codes": codes},
    "plugins.md": {"hooks": hooks},
    "cli.md": {"verbs": verbs},
}
"""Page -> part -> what writes it, between `<!-- PART -->` and `<!-- end -->`."""


def written(page: str) -> str:
    """A page with its parts as they are now."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for part, write in PARTS[page].items():
        made = f"<!-- {part} -->\n{write()}\n<!-- end -->"
        text = re.sub(rf"<!-- {part} -->.*?<!-- end -->", lambda _: made, text, flags=re.S)  # noqa: B023
    return text


def main(check: bool) -> int:
    stale = [p for p in PARTS if written(p) != (DOCS / p).read_text(encoding="utf-8")]
    for page in stale:
        if not check:
            (DOCS / page).write_text(written(page), encoding="utf-8")
    sys.stderr.write("".join(f"{'stale' if check else 'wrote'} docs/{p}\n" for p in stale))
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
