"""An `explain` document as text: a few rows of each section, or all that were kept of the sections
that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from . import units
from .lowered import head, kernel_lines
from .table import table

FEW = {"parameters": 3, "scopes": 4, "memory": 1, "kernels": 4, "passes": 0}
"""Rows of a section where none is asked for; 2 of one that is not named."""

LONGEST = 32
"""Characters of an option that is a form."""

Row = dict[str, Any]


def lines(found: dict[str, Any], asked: Collection[str]) -> list[str]:
    """Of the sections in `asked` all rows that are there, of none given a few of each."""
    told = head(found)
    for name, (title, make) in SECTIONS.items():
        if name not in found or (asked and name not in asked):
            continue
        rows = found[name] if asked else found[name][: FEW.get(name, 2)]
        if rows:
            left = len(found[name]) - len(rows)
            more = f", {len(found[name])} of them" if left else ""
            told += ["", f"{title}{more}:", *(f"  {line}" for line in make(rows))]
    if found.get("missing"):
        told += [f"dropped, as the file has none: {' '.join(found['missing'])}"]
    told += [_refused(row) for row in found.get("not_fused", ())]
    if not asked or "passes" in asked:
        told += ["", *_written(found)]
    return told


def _refused(row: Row) -> str:
    where = f"{row['file']}:{row['span']['line']}: " if "span" in row else ""
    return f"{where}{' '.join(row['operations'])} is made of our own kernels: {row['reason']}"


def _type(row: Row) -> str:
    return f"{row['dtype']} ({' '.join(map(str, row['shape']))})"


def _parameters(rows: list[Row]) -> list[str]:
    cells = [
        [
            r["path"], _type(r), _fate(r), _cut(r.get("lr", "-")), _cut(r.get("decay", "-")),
            r["stored"], _readers(r), r.get("init", ""),
        ]
        for r in rows
    ]  # fmt: skip
    head = ["parameter", "type", "group", "lr", "decay", "kept in", "read by", "init"]
    resumed = bool(rows) and "fate" in rows[0]
    if resumed:
        head.insert(1, "resumed")
        for cell, row in zip(cells, rows):
            cell.insert(1, row["fate"])
    return table(head, cells, left=2 + resumed)


def _readers(row: Row) -> str:
    """Operations that read it, each read where there are several."""
    return " ".join(row["tied"] if "tied" in row else row["through"]) or "-"


def _fate(row: Row) -> str:
    """Who trains it."""
    if row["trainable"]:
        return f"{row['group']}"
    return f"{row['group']}, frozen" if row["group"] else "not trained"


def _groups(rows: list[Row]) -> list[str]:
    return [
        f"{r['name']}: {r['count']:,} elements of {r['parameters']} parameters by {r['optimizer']}"
        + "".join(f", {key} {_cut(text)}" for key, text in list(r.get("hyper", {}).items())[:3])
        for r in rows
    ]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _scopes(rows: list[Row]) -> list[str]:
    cells = [
        [
            r["scope"], _type(r["type"]), f"{units.count(r['flops'])}FLOP", units.size(r["bytes"]),
            f"{100 * r['share']:.0f} %", f"{r['parameters']:,}",
        ]
        for r in rows
    ]  # fmt: skip
    return table(["scope", "gives", "work", "moved", "share", "parameters"], cells, left=2)


def _memory(rows: list[Row]) -> list[str]:
    return [f"{r.get('at', 'all')}: {_parts(r)}" for r in rows]


def _parts(row: Row) -> str:
    parts = {k.removesuffix("_bytes"): n for k, n in row.items() if k.endswith("_bytes")}
    return ", ".join(f"{name} {units.size(n)}" for name, n in parts.items())


def _passes(rows: list[Row]) -> list[str]:
    cells = [
        [p["program"], p["name"], str(p["before"]), str(p["after"]), f"{1e3 * p['duration_s']:.1f}"]
        for p in rows
    ]
    return table(["program", "pass", "nodes", "after", "ms"], cells, left=2)


def _numerics(rows: list[Row]) -> list[str]:
    return [f"{r['scope']}: products in {r['matmul']}, summed in {r['accumulate']}" for r in rows]


AXES = {0: "examples", 1: "positions"}


def _dependence(rows: list[Row]) -> list[str]:
    return [f"{r['output']} of {r['input']}, {AXES[r['axis']]}: {r['proved']}" for r in rows]


def _written(found: dict[str, Any]) -> list[str]:
    """Patterns of the file, and what no compiled code does."""
    patterns = found["patterns"]
    told = ["Written out in the file:" if patterns else "No pattern written out."]
    told += [_pattern(p) for p in patterns]
    names = " ".join(found["interpreted"])
    return [*told, f"Interpreted, not compiled: {names}" if names else "Nothing is interpreted."]


def _pattern(row: Row) -> str:
    where = f"{row['file']}:{row['span']['line']}" if "span" in row else row["program"]
    times = f" ({row['count']} times)" if row["count"] > 1 else ""
    if row["found"]:
        return f"  {where}: {row['name']}{times} in {row['program']}"
    return f"  {where}: no {row['name']}{times} in {row['program']}: {row['reason']}"


SECTIONS: dict[str, tuple[str, Callable[[list[Row]], list[str]]]] = {
    "parameters": ("Parameters", _parameters),
    "groups": ("Groups", _groups),
    "scopes": ("Scopes", _scopes),
    "memory": ("Memory", _memory),
    "kernels": ("Kernels and calls", kernel_lines),
    "passes": ("Passes", _passes),
    "numerics": ("Numerics", _numerics),
    "dependence": ("Dependence", _dependence),
}
