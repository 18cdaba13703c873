"""What a check and a run import: the figures of 65 B12 that need no clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from e2e_program import EXAMPLES

SAFE = ("-P",) if sys.version_info >= (3, 11) else ()
CHECKED = """
import json, sys
from sexpgpu_cli.main import run
code = run(sys.argv[1:])
print(json.dumps({"code": code, "modules": sorted(sys.modules)}))
"""

HEAVY = {
    *("numpy", "numba", "llvmlite", "ml_dtypes", "safetensors", "boto3", "pluggy", "rich"),
    *("ctypes", "mmap", "dataclasses", "random", "csv", "zipfile", "tempfile", "shutil"),
    *("subprocess", "socket", "signal", "selectors", "email", "shlex", "traceback"),
    *("importlib.metadata", "importlib.resources", "concurrent.futures"),
}
"""None of these is needed to say all that can be known of a file."""

OURS = 348
"""Modules of ours that a check imports, a tenth of a millisecond or two each."""

THEIRS = 140
"""Modules of Python and of click."""


def imported(folder: Path, *arguments: str) -> set[str]:
    environment = {**os.environ, "SEXPGPU_CACHE": str(folder / "cache")}
    for _ in range(2):  # the first one makes the cache of rows, which imports the plug-ins
        done = subprocess.run(
            [sys.executable, *SAFE, "-c", CHECKED, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["code"] == 0, done.stdout + done.stderr
    return set(said["modules"])


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    return imported(tmp_path_factory.mktemp("start"), "check", str(EXAMPLES / "chars.lisp"))


def test_a_check_imports_nothing_heavy(checked: set[str]) -> None:
    assert sorted(HEAVY & checked) == []


def test_a_check_imports_neither_the_loop_nor_what_computes(checked: set[str]) -> None:
    ours = {m for m in checked if m.startswith("sexpgpu")}
    of_runtime = {m for m in ours if m.startswith("sexpgpu_core.runtime.")}
    assert of_runtime <= {"sexpgpu_core.runtime.job"}
    of_device = {m for m in ours if m.startswith("sexpgpu_cpu")}
    assert of_device <= {f"sexpgpu_cpu{m}" for m in ("", ".device", ".host", ".operations")}
    assert not [m for m in ours if ".checkpoint" in m or ".ir.ops.reference" in m]
    assert not [m for m in ours if m.endswith((".plugin", ".hookspecs", "render_json"))]


def test_a_check_imports_a_bounded_number_of_modules(checked: set[str]) -> None:
    ours = {m for m in checked if m.startswith("sexpgpu")}
    assert len(ours) <= OURS
    assert len(checked - ours) <= THEIRS


def test_a_check_for_a_device_that_is_not_here_knows_it_by_its_row(tmp_path: Path) -> None:
    """Lowerings and memory are told, and nobody looks whether there is one (65 B13)."""
    words = ("check", str(EXAMPLES / "chars.lisp"), "--device", "cuda")
    modules = imported(tmp_path, *words)
    assert not {m for m in modules if m.startswith(("sexpgpu_cuda.driver", "numba", "llvmlite"))}
    assert "numpy" not in modules
