"""`doctor`: whether a run can start here, a line a check."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from sexpgpu_core import __version__
from sexpgpu_core.records import NamedTuple

from .. import units
from ..answer import Answer, document
from ..flags import verb
from ..invocation import Invocation


class Check(NamedTuple):
    """`status`: ok warning failed skipped. `fix`: what to do about it."""

    name: str
    group: str
    status: str
    detail: str
    fix: str | None = None
    facts: dict[str, Any] | None = None
    code: str | None = None


Made = Callable[[], Iterator[Check]]
LIBRARIES = ("numpy", "llvmlite", "numba", "safetensors", "ml_dtypes", "click", "rich", "boto3")
NEEDED = ("numpy", "safetensors")


@verb("doctor")
@click.option("--device", metavar="NAME", help="Fail unless this device can be used.")
@click.option("--store", metavar="URL", help="Fail unless an object can be put there.")
@click.option("--quick", is_flag=True, help="Without what lies below the devices: drivers, BLAS.")
def doctor(invocation: Invocation, device: str | None, store: str | None, quick: bool) -> Answer:
    """Say whether a run can start here, and what to do where it cannot. Exit 4 on a failure."""
    if device is not None:
        invocation.registry.find("devices", device)
    below: list[Made] = [] if quick else [lambda: beneath(invocation)]
    made: list[Made] = [
        python,
        libraries,
        lambda: devices(invocation, device),
        *below,
        lambda: folders(invocation),
        lambda: stored(invocation, store),
        lambda: installed(invocation),
    ]
    checks = [check for make in made for check in make()]
    code = 4 if any(check.status == "failed" for check in checks) else 0
    told = document("doctor", exit=code, checks=[json_of(check) for check in checks])
    return Answer(told, table_of(checks), code)


def python() -> Iterator[Check]:
    """Interpreter, machine, cores."""
    detail = f"SexpGPU {__version__}, Python {platform.python_version()}, {platform.platform()}"
    yield Check("python", "python", "ok", detail)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Check("cores", "python", "ok", f"{cores} cores for this process", facts={"cores": cores})


def libraries() -> Iterator[Check]:
    """Versions of what the devices need."""
    from importlib.metadata import PackageNotFoundError, version

    for name in LIBRARIES:
        try:
            yield Check(name, "python", "ok", version(name))
        except PackageNotFoundError:
            needed = name in NEEDED
            fix = "pip install 'sexpgpu[s3]'" if name == "boto3" else "pip install 'sexpgpu[cpu]'"
            yield Check(name, "python", "failed" if needed else "skipped", "not installed", fix)


def devices(invocation: Invocation, wanted: str | None) -> Iterator[Check]:
    """Every device by its probe. Only the one that was asked for can fail."""
    for name in invocation.registry.names("devices"):
        row = invocation.registry.get("devices", name)
        try:
            found = invocation.registry.load("devices", name, "probe")()
            present, detail = bool(found["present"]), str(found.get("detail", ""))
        except Exception as error:  # a probe must not raise; if it does, that is the finding
            present, detail = False, f"{type(error).__name__}: {error}"
        missing = "failed" if name == wanted else "skipped"
        fix = f"pip install '{' '.join(row.needs)}'" if row.needs and not present else None
        code = None if present or name != wanted else "E-DEVICE-ABSENT"
        status = "ok" if present else missing
        yield Check(name, "devices", status, detail or row.doc, fix, code=code)


def beneath(invocation: Invocation) -> Iterator[Check]:
    """What devices say of what stands below them: drivers, libraries, memory."""
    for name in invocation.registry.names("devices"):
        if not invocation.registry.get("devices", name).checks:
            continue
        try:
            found = [Check(**row) for row in invocation.registry.load("devices", name, "checks")()]
        except Exception as error:  # a plug-in's mistake is a line, not the end of doctor
            found = [Check(name, "devices", "warning", f"{type(error).__name__}: {error}")]
        yield from found


def folders(invocation: Invocation) -> Iterator[Check]:
    """Where runs and caches go: room, and whether a file can be written."""
    yield from _folder("runs", "disk", invocation.settings.runs, "another --runs DIR")
    yield from _folder("cache", "cache", invocation.settings.cache, "set SEXPGPU_CACHE")


def _folder(name: str, group: str, folder: Path, fix: str) -> Iterator[Check]:
    there = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    free = shutil.disk_usage(there).free
    status = "warning" if free < 1 << 30 else "ok"
    detail = f"{folder}: {units.size(free)} free"
    facts = {"free_bytes": free}
    try:
        with tempfile.TemporaryFile(dir=there):
            yield Check(name, group, status, detail, fix if status != "ok" else None, facts)
    except OSError as error:
        failed = "failed" if name == "runs" else "warning"
        yield Check(name, group, failed, f"{there}: {error.strerror}", fix, facts)


def stored(invocation: Invocation, url: str | None) -> Iterator[Check]:
    """Put one object into the store that was asked for, and remove it."""
    if url is None:
        return
    from sexpgpu_core.checkpoint.store import probe
    from sexpgpu_core.diagnostics import Problem
    from sexpgpu_core.registered import store_of

    try:
        refused = probe(store_of(invocation.registry, url))
    except Problem as unknown:
        refused = unknown
    if refused is None:
        yield Check("store", "store", "ok", f"{url}: an object was put, found and removed")
        return
    d = refused.diagnostic
    yield Check("store", "store", "failed", d.message, d.hint or "", code=d.code)


def installed(invocation: Invocation) -> Iterator[Check]:
    """Plug-ins that do not load and names that clash."""
    faults = invocation.registry.faults
    for fault in faults:
        yield Check("plugins", "plugins", "warning", fault.message, fault.hint, code=fault.code)
    if not faults:
        n = len(invocation.registry.distributions)
        yield Check("plugins", "plugins", "ok", f"{n} distributions")


def json_of(check: Check) -> dict[str, Any]:
    """`fix` is always there; other keys only when they say something."""
    return {k: v for k, v in check._asdict().items() if v is not None or k == "fix"}


def table_of(checks: Sequence[Check]) -> str:
    """A line a check, in columns as wide as the longest name."""
    wide = max([11, *(len(check.name) for check in checks)])
    return "\n".join(_line(check, wide) for check in checks)


def _line(check: Check, wide: int) -> str:
    fix = f"\n{'':<{wide + 9}} help: {check.fix}" if check.fix else ""
    return f"{check.status:<8} {check.name:<{wide}} {check.detail}{fix}"
