"""The parts of the pages that are made from data: codes, hooks, flags, words of the language.

`--check` only compares.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from pkgutil import iter_modules
from textwrap import fill
from typing import Any

import click

from sexpgpu_cli.program import GROUPS, Program
from sexpgpu_core import config, hookspecs, plugins
from sexpgpu_core.data.kinds import SOURCES
from sexpgpu_core.diagnostics import Diagnostic, Problems, catalogue
from sexpgpu_core.diagnostics.example import Example, example
from sexpgpu_core.diagnostics.facts import facts_line
from sexpgpu_core.diagnostics.render_text import render
from sexpgpu_core.entries import VerbEntry
from sexpgpu_core.evaluator.definitions import BUILTINS
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.manual import CHAPTERS, entries, find
from sexpgpu_core.manual.lookup import call_of, cut_example, sentence
from sexpgpu_core.manual.module_words import definitions, provided, whole
from sexpgpu_core.plugin import sexpgpu_diagnostics
from sexpgpu_core.registry import BUILTIN, HOOKS, merge
from sexpgpu_core.spans import Source
from sexpgpu_core.staging import builtins as tensor_builtins
from sexpgpu_core.staging.context import NAMES, PLACES, STEP_SCALARS

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
                said = f"{row.title[0].upper()}{row.title[1:]}. {row.meaning} {row.fix}{edit}"
                facts = facts_line(row.code)
                lines += [f"### {row.code}", _filled(said), ""]
                lines += [_filled(facts), ""] if facts else []
                lines += _example(example(row.code))
    return "\n".join(lines).rstrip()


REMARKS = {"shell": "#", "words": ""}


def _example(shown: Example | None) -> list[str]:
    """A wrong and a right text of a code, with the files beside them."""
    if shown is None:
        return ["Nothing raises it yet.", ""]
    mark = REMARKS.get(shown.frame, ";;")
    where = {"body": ", in a model of x, f32 (8 64)", "run": ", when it runs"}.get(shown.frame, "")
    lines = [
        "```text",
        f"{mark} wrong{where}:".strip(),
        shown.wrong,
        f"{mark} right:".strip(),
        shown.right,
    ]
    for name, text in shown.files.items():
        lines += [f"{mark} {name}:", text.rstrip()]
    return [*lines, "```", ""]


def _filled(text: str, indent: str = "") -> str:
    """A paragraph in lines of the pages' width."""
    return fill(text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


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
            lines += _verb(program, root, row, title, common)
    return "\n".join(lines).rstrip()


def _verb(
    program: Program, root: click.Context, row: VerbEntry, title: str, common: set[str]
) -> list[str]:
    name = row.name
    command = program.get_command(root, name)
    assert command is not None
    exits = f"Exits {' '.join(map(str, row.exits))}."
    lines = [f"### {name}", f"{title}. {row.summary} {exits}", ""]
    lines += _usage(command, root, name, common)
    common = common & _flags(program, root, "doctor")  # `--steps` of these is their own
    for word, inner in getattr(command, "commands", {}).items():
        said = (inner.help or "").splitlines()[0]
        lines += [said, "", *_usage(inner, root, f"{name} {word}", common)]
    return lines


def _usage(command: click.Command, root: click.Context, name: str, common: set[str]) -> list[str]:
    """How it is called, and its own flags."""
    context = click.Context(command, info_name=name, parent=root)
    pieces = [p for p in command.collect_usage_pieces(context) if p != "[OPTIONS]"]
    lines = [f"`sexpgpu {' '.join([name, *pieces])}`", ""]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not (
            parameter.hidden or common & set(parameter.opts)
        ):
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


def tensors() -> str:
    """Tensor builtins with their lambda lists, a table a family."""
    lines: list[str] = []
    for family in iter_modules(tensor_builtins.__path__):
        module = import_module(f"{tensor_builtins.__name__}.{family.name}")
        of = [f for n, f in BUILTINS.items() if n[0] != "%" and _home(f.call) == module.__name__]
        rows = [
            _tensor_row(f.name, f.lambda_list, f.doc) for f in of if not f.doc.startswith(LATER)
        ]
        if rows:
            lines += [f"## {family.name.capitalize()}", "", *TENSORS, *rows, ""]
    return "\n".join(lines).rstrip()


TENSORS = ("| call | what it is | example |", "| --- | --- | --- |")
LATER = "Not there yet"
WORDS = ("| call | what it is |", "| --- | --- |")


def _home(call: Any) -> str:
    """The module of a builtin's implementation, which a wrapper may hold."""
    for cell in getattr(call, "__closure__", None) or ():
        if callable(cell.cell_contents) and cell.cell_contents.__module__.startswith(
            tensor_builtins.__name__
        ):
            return str(cell.cell_contents.__module__)
    return str(getattr(call, "__module__", ""))


def _row(name: str, lambda_list: str, doc: str) -> str:
    call = f"({name} {lambda_list[1:]}".replace(" )", ")")
    words = re.sub(r" \((?:R\d+|45[\d.]+)\)", "", " ".join(doc.split()))  # pages of the design
    words = words.removesuffix(".").replace("|", "\\|")
    example = words.rfind(f"({name}")
    if example > 0:  # the docstring of a tensor builtin ends in an example
        words, shown = words[:example].rstrip(" ."), words[example:]
        words = words if shown == call else f"{words}: `{shown}`"
    return f"| `{call}` | {words} |"


def _tensor_row(name: str, lambda_list: str, doc: str) -> str:
    """A call, what it is, and the example that a test runs."""
    words, example = cut_example(name, sentence(doc))
    cells = (call_of(name, lambda_list), words.removesuffix("."), example)
    call, words, shown = (cell.replace("|", "\\|") for cell in cells)
    return f"| `{call}` | {words} | `{shown}` |"


def module_words(module: str) -> Callable[[], str]:
    """What a Lisp module provides, under the comments of three semicolons in its parts."""

    def write() -> str:
        found, _ = plugins.distributions(config.settings().cache)
        texts = [text for _, text in whole(merge([d for d in found if d.name in BUILTIN]), module)]
        names = provided(texts[0])
        prefix = module.rpartition("/")[2]
        lines: list[str] = []
        for part in [p for text in texts for p in re.split(r"^;;; ", text, flags=re.M)[1:]]:
            title, _, body = part.partition("\n")
            rows = [
                _row(f"{prefix}:{d.name}", d.lambda_list, d.doc)
                for d in definitions(body)
                if d.name in names
            ]
            if rows:
                lines += [f"## {title.partition('.')[0]}", "", *WORDS, *rows, ""]
        return "\n".join(lines).rstrip()

    return write


def listed_words(page: str) -> Callable[[], str]:
    """The words of a page by chapter: a call, what it is, examples with their values."""

    def write() -> str:
        lines: list[str] = []
        for chapter in [c for c in CHAPTERS if c.page == page]:
            lines += [f"## {chapter.title}", ""]
            for name in entries(chapter):
                lines += _listed(name)
            lines.append("")
        return "\n".join(lines).rstrip()

    return write


def _listed(name: str) -> list[str]:
    word = find(name)
    assert word is not None
    place = " *A place.*" if word.place and word.kind == "function" else ""
    shown = [f"  {_code(f)} → {_code(v)}" for f, v in word.examples]
    return [
        _filled(f"- {_code(word.usage)} {word.doc}{place}", "  ") + "  " * bool(shown),
        *(s + "  " for s in shown[:-1]),
        *shown[-1:],
    ]


def _code(text: str) -> str:
    """Text as code, on one line."""
    line = " ".join(part.strip() for part in text.split("\n"))
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def told(text: str) -> list[Diagnostic]:
    """What the evaluator says of a text as a file of its own."""
    evaluator = Evaluator()
    try:
        evaluator.load(Source("page.lisp", text))
    except Problems as problems:
        return [*problems.diagnostics, *evaluator.diagnostics]
    return evaluator.diagnostics


SHOWN = re.compile(
    r"(```lisp values [EW][^\n]*\n((?:(?!```).)*)```\n\n```text diagnostic\n).*?```", re.S
)


def diagnostics(page: str) -> str:
    """A page with what is said of its wrong examples under each."""

    def show(found: re.Match[str]) -> str:
        return found[1] + "\n\n".join(render(d) for d in told(found[2])) + "\n```"

    return SHOWN.sub(show, page)


def sources() -> str:
    """Kinds of sources with their options."""
    lines = ["| source | kind | what it is | options |", "| --- | --- | --- | --- |"]
    for kind in SOURCES:
        options = " ".join(f"`:{o.name}`" for o in kind.options if o.name != "*")
        lines.append(f"| `{kind.kind}` | {kind.shape} | {kind.doc} | {options} |")
    return "\n".join(lines)


ON = {
    "parameter": "parameter",
    "gradient": "parameter",
    "update": "parameter",
    "optimizer": "optimizer state",
    "scope": "model call",
    "logits": "cross-entropy",
    "attention": "attention",
    "run": "the process",
}


def probes() -> str:
    """The diagnostic numbers that every run has."""
    lines = ["| number | of each | what it is | unit |", "| --- | --- | --- | --- |"]
    for entry in sexpgpu_diagnostics():
        lines.append(f"| `{entry.name}` | {ON[entry.on]} | {entry.doc} | {entry.unit} |")
    return "\n".join(lines)


def context() -> str:
    """The keys of `ctx` and where each is known."""
    lines = ["| key | kind | known in |", "| --- | --- | --- |"]
    for key, places in PLACES.items():
        kind = "step scalar" if key in STEP_SCALARS else "number or text"
        lines.append(f"| `:{key}` | {kind} | {', '.join(NAMES[p] for p in places)} |")
    return "\n".join(lines)


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "errors.md": {"codes": codes},
    "plugins.md": {"hooks": hooks},
    "cli.md": {"verbs": verbs},
    "tensors.md": {"words": tensors},
    "nn.md": {"words": module_words("sexpgpu/nn")},
    "optim.md": {"words": module_words("sexpgpu/optim")},
    "special-forms.md": {"words": listed_words("special-forms")},
    "prelude.md": {"words": listed_words("prelude")},
    "builtins.md": {"words": listed_words("builtins")},
    "functions.md": {},
    "control.md": {},
    "macros.md": {},
    "require.md": {},
    "data.md": {"sources": sources},
    "objective.md": {"context": context},
    "diagnostics.md": {"probes": probes},
}
"""Page -> part -> what writes it, between `<!-- PART -->` and `<!-- end -->`. What is said of
wrong examples is written into these pages too."""


def written(page: str) -> str:
    """A page with its parts as they are now."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for part, write in PARTS[page].items():
        made = f"<!-- {part} -->\n{write()}\n<!-- end -->"
        text = re.sub(rf"<!-- {part} -->.*?<!-- end -->", lambda _: made, text, flags=re.S)  # noqa: B023
    return diagnostics(text)


def main(check: bool) -> int:
    stale = [p for p in PARTS if written(p) != (DOCS / p).read_text(encoding="utf-8")]
    for page in stale:
        if not check:
            (DOCS / page).write_text(written(page), encoding="utf-8")
    sys.stderr.write("".join(f"{'stale' if check else 'wrote'} docs/{p}\n" for p in stale))
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
