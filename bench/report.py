"""What a bench prints: JSON lines on stdout, a table on stderr, and with --save a results file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("sexpgpu-core", "numpy", "llvmlite", "numba", "torch")
Row = Mapping[str, Any]


def machine() -> dict[str, Any]:
    """Processor, cores this process may use, load of the last minute, versions."""
    return {
        "processor": _processor(),
        "cores": _cores(),
        "system": f"{platform.system()} {platform.release()}",
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }


def _cores() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """A parser with what every bench takes."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--save", metavar="NAME", help="also write results/NAME.json")
    return parser


def tell(row: Row) -> None:
    """One JSON line, at once."""
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def table(rows: Sequence[Row]) -> str:
    """Rows in columns by their keys; numbers to three places."""
    every = {k: v for row in rows for k, v in row.items()}
    keys = [k for k, v in every.items() if not isinstance(v, (list, dict))]
    cells = [keys, *([_cell(row.get(k)) for k in keys] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return "".join(
        "  ".join(word.rjust(width) for word, width in zip(line, widths)) + "\n" for line in cells
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "" if value is None else str(value)


def finish(bench: str, tables: Iterable[Sequence[Row]], save: str | None) -> None:
    """The tables, and the results file."""
    found = [list(rows) for rows in tables if rows]
    sys.stderr.write("\n".join(table(rows) for rows in found))
    for path in places(save, None):
        write(bench, found, path)


def places(save: str | None, file: Path | None) -> list[Path]:
    """Where results are written: results/NAME.json, and a file."""
    named = [] if save is None else [RESULTS / f"{save}.json"]
    return named if file is None or file in named else [*named, file]


def write(bench: str, tables: Iterable[Sequence[Row]], path: Path) -> None:
    """A results file: the machine, the versions, all rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "bench": bench,
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "rows": [row for rows in tables for row in rows],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")
