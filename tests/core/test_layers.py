"""sexpgpu_core in layers: a module imports only from layers above its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "sexpgpu_core" / "sexpgpu_core"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("__init__",),
    ("records",),
    ("spans", "caches"),
    ("object_cache",),
    ("diagnostics",),
    ("buckets",),
    ("reader",),
    ("evaluator",),
    ("ir",),
    ("autodiff",),
    ("experiment",),
    ("staging",),
    ("step",),
    ("passes",),
    ("kernels",),
    ("plan",),
    ("device",),
    ("data", "checkpoint"),
    ("runtime",),
    ("entries", "config"),
    ("hookspecs", "registry"),
    ("manual",),
    ("plugins", "plugin"),
    ("compile",),
    ("sweeps", "lisp_files", "registered", "chosen", "preset"),
    ("remote",),
    ("training", "serving", "differences"),
    ("generation", "reloaded", "proving"),
    ("api",),
    ("inspection", "trained", "rerun", "deep", "surveyed"),
    ("warm", "prove"),
)
"""In the order in which data flows; those of one layer know nothing of each other, but `plugins`
reads the hook specs, and a package may import within itself."""

ALLOWED = {("reader", "evaluator.values")}
"""Edges against the order: forms are Lisp values, so the reader makes them."""

RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def modules() -> list[Path]:
    return sorted(p for p in CORE.rglob("*.py"))


def layer(path: Path) -> str:
    return path.relative_to(CORE).with_suffix("").parts[0]


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Names below sexpgpu_core that a file imports, wherever in it, with their lines."""
    package = path.relative_to(CORE).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("sexpgpu_core."):
                    yield alias.name.partition(".")[2], node.lineno
        elif isinstance(node, ast.ImportFrom):
            yield from _from(node, package)


def _from(node: ast.ImportFrom, package: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    if node.level == 0:
        if (node.module or "").split(".")[0] != "sexpgpu_core":
            return
        base = (node.module or "").split(".")[1:]
    else:
        base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
    base = [part for part in base if part]
    for alias in node.names:
        yield ".".join(base or [alias.name]), node.lineno


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(CORE)))
def test_a_module_imports_only_from_layers_above_its_own(path: Path) -> None:
    own = layer(path)
    assert own in RANK, f"{own} is in no layer"
    wrong = [
        f"{path.name}:{line} imports {name}"
        for name, line in imported(path)
        if (other := name.split(".")[0]) in RANK
        and other != own
        and RANK[other] >= RANK[own]
        and (own, name) not in ALLOWED
    ]
    assert not wrong


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(CORE)))
def test_no_phase_imports_the_registry(path: Path) -> None:
    if RANK[layer(path)] < RANK["registry"]:
        assert not [n for n, _ in imported(path) if n.split(".")[0] in ("registry", "plugins")]
