"""Which code multiplies matrices: a table of BLAS libraries tried in order, and our own kernel.

Ours is first where vectors have 16 lanes (docs/decisions/0002) and last elsewhere; it is always
there. A library runs one thread a call: threads are ours, cells are fixed by shapes (45.11).
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sexpgpu_core.records import NamedTuple

from .host import host

EMITTED_WIDTH = 16


class Provider(NamedTuple):
    """`single`, `double`: addresses of cblas_sgemm and cblas_dgemm; 0 for the emitted kernel.
    `long`: whether its integers have 64 bits."""

    name: str
    version: str
    core: str
    single: int = 0
    double: int = 0
    long: bool = False

    @property
    def emitted(self) -> bool:
        return self.single == 0

    def address(self, dtype: str) -> int:
        return self.single if dtype == "f32" else self.double


class Symbols(NamedTuple):
    """How a library spells its names."""

    prefix: str
    suffix: str
    long: bool


SPELLINGS = (
    Symbols("scipy_", "64_", True),
    Symbols("scipy_", "", False),
    Symbols("", "64_", True),
    Symbols("", "", False),
)
APPLE = Symbols("", "$NEWLAPACK", False)
EMITTED = Provider("emitted", "1", "")


@functools.cache
def provider() -> Provider:
    """The one to use. SEXPGPU_BLAS=emitted or =library overrides the order, for tests."""
    asked = os.environ.get("SEXPGPU_BLAS", "")
    ours_first = host().width >= EMITTED_WIDTH and asked != "library"
    if asked == "emitted" or ours_first:
        return EMITTED
    return next(iter(libraries()), EMITTED)


def libraries() -> Iterable[Provider]:
    """BLAS libraries that are there, in order: NumPy's own, Accelerate, MKL, the system's."""
    for name, path, spellings in _candidates():
        found = _open(name, path, spellings)
        if found is not None:
            yield found


def _candidates() -> Iterable[tuple[str, str, tuple[Symbols, ...]]]:
    for path in _bundled():
        yield "openblas (numpy)", str(path), SPELLINGS
    if sys.platform == "darwin":
        path = "/System/Library/Frameworks/Accelerate.framework/Accelerate"
        yield "accelerate", path, (APPLE, SPELLINGS[-1])
    suffix = "dylib" if sys.platform == "darwin" else "so"
    base = Path(sys.prefix) / "lib"
    for stem in ("libmkl_rt", "libopenblas", "libcblas"):
        here = base / f"{stem}.{suffix}"
        yield stem[3:], str(here) if here.exists() else f"{stem}.{suffix}", SPELLINGS[2:]
    yield "mkl_rt", str(base / "libmkl_rt.so.2"), SPELLINGS[3:]
    yield "openblas", "libopenblas.so.0", SPELLINGS[3:]


def _bundled() -> Iterable[Path]:
    """The libraries that NumPy's wheel brings along."""
    import numpy

    root = Path(numpy.__file__).parent
    for folder in (root.parent / "numpy.libs", root / ".libs", root / ".dylibs"):
        if folder.is_dir():
            yield from sorted(p for p in folder.iterdir() if "openblas" in p.name)


def _open(name: str, path: str, spellings: tuple[Symbols, ...]) -> Provider | None:
    try:
        library = ctypes.CDLL(path)
    except OSError:
        return None
    for spelling in spellings:
        single = _symbol(library, spelling, "cblas_sgemm")
        double = _symbol(library, spelling, "cblas_dgemm")
        if single and double:
            _one_thread(library, spelling)
            version = _text(library, spelling, "openblas_get_config")
            core = _text(library, spelling, "openblas_get_corename")
            return Provider(name, version, core, single, double, spelling.long)
    return None


def _symbol(library: Any, spelling: Symbols, name: str) -> int:
    try:
        found = getattr(library, f"{spelling.prefix}{name}{spelling.suffix}")
    except AttributeError:
        return 0
    return ctypes.cast(found, ctypes.c_void_p).value or 0


def _one_thread(library: Any, spelling: Symbols) -> None:
    for name in ("openblas_set_num_threads", "MKL_Set_Num_Threads"):
        address = _symbol(library, spelling, name)
        if address:
            ctypes.CFUNCTYPE(None, ctypes.c_int)(address)(1)


def _text(library: Any, spelling: Symbols, name: str) -> str:
    address = _symbol(library, spelling, name)
    if not address:
        return ""
    given = ctypes.CFUNCTYPE(ctypes.c_char_p)(address)()
    return given.decode().strip() if given else ""
