"""Kernels of records as functions of a driver: PTX for the emulator, cubins for a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from sexpgpu_core.device import COMPILED

from . import toolchain
from .cache import PtxCache
from .cubins import build, code_of
from .driver import Driver, Handle
from .work import Record, Unit


class Body(NamedTuple):
    """A module of one kernel. `cached`: nothing was compiled for it."""

    unit: Unit
    body: bytes
    cached: bool


class Codes:
    """What is loaded, by key. `made`: keys of what was compiled, not found in a cache."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._architecture = driver.properties().architecture
        self.functions: dict[str, Handle] = {}
        self.made: set[str] = set()

    def take(self, records: Iterable[Record]) -> set[str]:
        """Make ready what the records run; the keys of their code. Raises E-DEVICE-COMPILE."""
        code = code_of(records)
        new = {key: given for key, given in code.items() if key not in self.functions}
        watch = COMPILED.get()
        for number, found in enumerate(bodies(new, self._driver.code, self._architecture), 1):
            module = self._driver.load(found.body)
            function = self._driver.function(module, found.unit.name)
            self.functions[found.unit.key] = function
            if not found.cached:
                self.made.add(found.unit.key)
                if watch is not None:
                    watch(number, len(new))
        return set(code)


def bodies(code: Mapping[str, tuple[Unit, int]], kind: str, architecture: str) -> Iterable[Body]:
    """Each kernel's module. As cubins: of the folder SEXPGPU_CUBINS where it has them, by ptxas
    where that is here, else PTX, which the driver compiles."""
    left = dict(code)
    if kind == "cubin":
        for key, (unit, _) in code.items():
            known = shipped(unit.name)
            if known is not None:
                del left[key]
                yield Body(unit, known, True)
        if left and toolchain.found("ptxas"):
            for (unit, _), cubin in zip(left.values(), build(left.values(), architecture)):
                yield Body(unit, cubin.code, cubin.cached)
            return
    for unit, _ in left.values():
        yield ptx(unit, architecture)


def shipped(name: str) -> bytes | None:
    """A cubin that `sexpgpu compile --for ... -o FOLDER` made elsewhere."""
    folder = os.environ.get("SEXPGPU_CUBINS")
    path = Path(folder or "", f"{name}.cubin")
    return path.read_bytes() if folder and path.is_file() else None


def ptx(unit: Unit, architecture: str, cache: PtxCache | None = None) -> Body:
    kept, key = cache or PtxCache(), f"{unit.key}-{architecture}"
    found = kept.get(key)
    if found is not None:
        return Body(unit, found, True)
    from .compiler import compile_text

    text = compile_text(unit.text(), unit.name, architecture).encode()
    kept.put(key, text)
    return Body(unit, text, False)
