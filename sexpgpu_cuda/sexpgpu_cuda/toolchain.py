"""NVIDIA's own tools where they are installed: the assembler, and what shows machine code."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from sexpgpu_core.diagnostics import problem

INSTALL = "pip install 'sexpgpu-cuda[cuda-compile]', or say where it is: SEXPGPU_PTXAS=PATH"


def found(tool: str) -> str | None:
    """A tool's path: beside the assembler that SEXPGPU_PTXAS says, on the PATH, or in a package
    of the name nvidia."""
    said = os.environ.get("SEXPGPU_PTXAS")
    if said:
        path = Path(said).with_name(tool) if tool != "ptxas" else Path(said)
        return str(path) if os.access(path, os.X_OK) and path.is_file() else None
    on_path = shutil.which(tool)
    if on_path is not None:
        return on_path
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for found in sorted(Path(folder).glob(f"c*/bin/{tool}")):
            return str(found)
    return None


def ptxas() -> str:
    """The assembler's path. Raises E-DEVICE-ABSENT, with what to install."""
    path = found("ptxas")
    if path is None:
        said = os.environ.get("SEXPGPU_PTXAS")
        why = f"SEXPGPU_PTXAS is {said}, which is no program" if said else "ptxas is not here"
        raise problem("E-DEVICE-ABSENT", f"{why}: it makes cubins of PTX", hint=INSTALL)
    return path


@functools.lru_cache(maxsize=8)
def version(path: str) -> str:
    """13.0.88 of `release 13.0, V13.0.88`; empty where the tool says none."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    told = re.search(r"V(\d+(?:\.\d+)+)", done.stdout)
    return told[1] if told else ""
