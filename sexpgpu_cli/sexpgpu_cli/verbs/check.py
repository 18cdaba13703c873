"""`check FILE...`: all that can be known without training."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import click

from sexpgpu_core.diagnostics import Diagnostic, Problem, nearest, problem
from sexpgpu_core.diagnostics.places import shown_path
from sexpgpu_core.records import NamedTuple
from sexpgpu_core.spans import Source

from .. import files
from ..answer import Answer, cut, document
from ..flags import verb
from ..invocation import Invocation

PRINTED = 2048
"""Characters of what a file prints that are shown."""


FORMATS = ("text", "json", "sarif", "github")
UNTOLD = ("exit", "output", "until", "diagnostics", "difference", "text")
"""Keys of a file's report that its document has not, or has otherwise."""


class How(NamedTuple):
    """What is asked of each file."""

    selection: dict[str, Any]
    device: str | None
    stdin_name: str | None
    every_variant: bool
    fix: bool
    unsafe: bool
    diff: bool
    deep: bool
    data: bool
    until: str | None


@verb("check", select=True)
@click.argument("names", metavar="FILE...", nargs=-1, required=True)
@click.option("--every-variant", is_flag=True, help="Check every variant of a file too.")
@click.option("--deep", is_flag=True, help="Try the file's promises on a small copy, trained.")
@click.option("--data", is_flag=True, help="Read the data: ranges, leaks, tokens out of range.")
@click.option("--fix", is_flag=True, help="Apply safe edits and write the files.")
@click.option("--unsafe", is_flag=True, help="With --fix: the other edits too.")
@click.option("--diff", is_flag=True, help="With --fix: write nothing; show what would change.")
@click.option("--format", "layout", type=click.Choice(FORMATS), default="text", help="Or --json.")
@click.option("--device", metavar="NAME", help="Check for a device by what its row says.")
@click.option("--until", metavar="PHASE", help="Go no further: knobs, data, tensors, ...")
@click.option("--stdin-name", metavar="PATH", help="What - is called in diagnostics.")
def check(
    invocation: Invocation,
    names: tuple[str, ...],
    selection: dict[str, Any],
    layout: str,
    **asked: Any,
) -> Answer:
    """Check files: every diagnostic, then a summary. Exit 1 if a file has an error."""
    how = How(selection, **asked)
    _exclude(how, names)
    start = time.perf_counter()
    with uncollected():
        checked = [found for name in names for found in _checked(invocation, name, how)]
    code = max(found["exit"] for found in checked)
    listed = [d for found in checked for d in found["diagnostics"]]
    told = document(
        "check",
        exit=code,
        elapsed=round(time.perf_counter() - start, 4),
        counts={
            "error": sum(d.is_error for d in listed),
            "warning": sum(not d.is_error for d in listed),
            "fixable": sum(d.edit is not None for d in listed),
        },
        files=[_file(found, invocation.limit) for found in checked],
    )
    left = sum(max(0, len(f["diagnostics"]) - invocation.limit) for f in checked)
    again = ""
    if left and invocation.limit:
        again = invocation.whole()
        told.update(omitted={"diagnostics": left}, more=again)
    if layout == "github":
        from sexpgpu_core.diagnostics.render_github import workflow_lines

        return Answer(told, workflow_lines(listed), code)
    if layout == "sarif":
        from sexpgpu_core import __version__
        from sexpgpu_core.diagnostics.render_sarif import sarif

        return Answer(told, sarif(listed, __version__), code)
    if how.diff:
        return Answer(told, "".join(found["difference"] for found in checked), code)
    text = _text(invocation, checked, again)
    if how.fix and names == ("-",):
        invocation.say(text)
        text = checked[0]["text"]
    return Answer(told, text, code)


def _exclude(how: How, names: tuple[str, ...]) -> None:
    """Flags that exclude or need each other. Raises E-USAGE-VALUE."""
    if (how.unsafe or how.diff) and not how.fix:
        raise problem("E-USAGE-VALUE", "--unsafe and --diff are for --fix")
    if how.until is not None:
        _phase(how)
    if how.every_variant and how.selection.get("variant") is not None:
        raise problem("E-USAGE-VALUE", "--every-variant and --variant exclude each other")
    if "-" in names and how.fix and len(names) > 1:
        raise problem("E-USAGE-VALUE", "check --fix takes - alone")


def _phase(how: How) -> None:
    from sexpgpu_core.compile.checked import UNTIL

    if how.until not in UNTIL:
        near = nearest(str(how.until), UNTIL)
        hint = f"did you mean {near}?" if near else f"phases: {' '.join(UNTIL)}"
        raise problem("E-USAGE-VALUE", f"no phase of a check is named {how.until}", hint=hint)
    if how.deep or how.data:
        raise problem("E-USAGE-VALUE", "--until excludes --deep and --data, which come after it")


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the cyclic collector: a check lives for a moment, and it would take a tenth of it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _checked(invocation: Invocation, name: str, how: How) -> list[dict[str, Any]]:
    """A file's report, edits applied; then those of its variants."""
    try:
        source = files.read(name, how.stdin_name)
    except Problem as error:
        if error.diagnostic.phase == "usage":
            raise
        called = how.stdin_name if name == "-" and how.stdin_name else name
        return [_unread(shown_path(called), error.diagnostic)]
    more: dict[str, Any] = {"difference": "", "text": source.text}
    if how.fix:
        source, more = _fixed(source, how, name != "-")
    found = [{**_report(invocation, source, how, how.selection), **more}]
    if how.every_variant:
        from sexpgpu_core.staging.scan import scan

        for variant in scan(source).variants:
            chosen = {**how.selection, "variant": variant}
            report = _report(invocation, source, how, chosen)
            found.append({**report, "difference": "", "text": source.text})
    return found


def _fixed(source: Source, how: How, file: bool) -> tuple[Source, dict[str, Any]]:
    """The file after its edits, which are written unless they are only to be shown."""
    from sexpgpu_core import api

    from .. import fixing
    from ..rewriting import difference

    def told(text: Source) -> list[Diagnostic]:
        return api.check(text, device=how.device, until=how.until, **how.selection).diagnostics

    after, edits = fixing.fixed(source, told, how.unsafe)
    if edits and file and not how.diff:
        fixing.write(source, after)
    changed = difference(source.name, source.text, after.text)
    return after, {"fixed": len(edits), "difference": changed, "text": after.text}


def _report(
    invocation: Invocation,
    source: Source,
    how: How,
    selection: dict[str, Any],
) -> dict[str, Any]:
    """One check with what the document adds to it."""
    from sexpgpu_core import api
    from sexpgpu_core.data.files import REACH

    REACH.tell = invocation.say
    report = api.check(source, device=how.device, asks=how.data, until=how.until, **selection)
    if report.summary is not None:
        from ..summary_text import here

        report.summary.update(here(invocation, report.summary["experiment_id"]))
    if report.output:
        invocation.say(_head(report.output.rstrip("\n")))
    deep: dict[str, Any] = {}
    found = report.diagnostics
    if how.deep and report.complete and report.summary is not None:
        from .. import examining

        deep, more = examining.examine(source, how.device, selection)
        found = [*found, *more]
    if how.data and report.complete and report.summary is not None:
        from .. import reading

        read, more = reading.read(source, selection)
        deep.update(read)
        found = [*found, *more]
    listed = invocation.judged(found)
    failed = invocation.denied(listed) or not report.complete
    return {
        "file": shown_path(source.name),
        "sha256": sha256(source.text.encode()).hexdigest(),
        "exit": int(failed),
        "diagnostics": listed,
        "complete": report.complete,
        "reached": report.reached,
        "summary": report.summary,
        "selection": report.selection,
        "output": report.output[:PRINTED],
        "until": how.until,
        **deep,
    }


def _head(printed: str) -> str:
    """What a file printed, at most PRINTED characters of it."""
    left = len(printed) - PRINTED
    return printed if left <= 0 else f"{printed[:PRINTED]}\n... {left:,} more characters"


def _unread(name: str, d: Diagnostic) -> dict[str, Any]:
    empty = {"complete": False, "reached": "reader", "summary": None, "selection": None}
    digest = sha256(b"").hexdigest()
    made = {"difference": "", "text": "", "output": ""}
    return {"file": name, "sha256": digest, "exit": 1, "diagnostics": [d], **made, **empty}


def _file(found: dict[str, Any], limit: int) -> dict[str, Any]:
    shown, _ = cut(found["diagnostics"], limit)
    told = {k: v for k, v in found.items() if k not in UNTOLD}
    told.update(ok=not found["exit"], diagnostics=_listed(shown))
    return {**told, "output": found["output"]} if found["output"] else told


def _listed(shown: list[Diagnostic]) -> list[dict[str, Any]]:
    if not shown:
        return []
    from sexpgpu_core.diagnostics.render_json import diagnostic_json

    return [diagnostic_json(d) for d in shown]


def _text(invocation: Invocation, checked: list[dict[str, Any]], again: str) -> str:
    from sexpgpu_core.diagnostics.render_text import counts, render_all

    from .. import summary_text

    color = invocation.colored(sys.stdout)
    parts: list[str] = []
    for found in checked:
        listed = found["diagnostics"]
        if listed:
            parts.append(render_all(listed, color=color, limit=invocation.limit, more=again))
        said = counts(listed) or "no errors"
        stopped = "" if found["complete"] else f"; stopped after {found['reached']}: check again"
        if found["complete"] and found.get("until"):
            stopped = f"; looked no further than {found['until']}"
        variant = (found["selection"] or {}).get("variant")
        edits = _edits(found)
        named = f"{found['file']} {variant}" if variant else found["file"]
        parts.append(f"{named}: {said}{edits}{stopped}")
        if found["summary"] is not None:
            parts.append(summary_text.text(found["summary"]))
        if "deep" in found:
            from .. import examining

            parts.append(examining.lines(found["deep"]))
        if "data" in found:
            from .. import reading

            parts.append(reading.lines(found["data"]))
    return "\n\n".join(parts)


def _edits(found: dict[str, Any]) -> str:
    """What --fix did, and what it left to --unsafe."""
    if "fixed" not in found:
        return ""
    made, left = found["fixed"], sum(d.edit is not None for d in found["diagnostics"])
    said = f", {made} {'edit' if made == 1 else 'edits'} made" if made else ""
    return f"{said}, {left} more with --fix --unsafe" if left else said
