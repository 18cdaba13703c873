"""A matrix product as a GPU is given it: cuBLASLt's call, its algorithm picked before step 0."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Protocol

from sexpgpu_core.ir.types import WIDTH

from .gemm import Gemm
from .picked import Picked
from .tuning import CANDIDATES, Choice

WORKSPACE = 32 << 20
"""Bytes that an algorithm may ask for; NVIDIA recommends this much on an H100."""
THIRD = {"matmul": (None, None), "matmul-bias": (2, None), "matmul-gelu": (2, 4)}
THIRD["matmul-gelu-slope"] = (None, 2)
"""Which pointer is the bias's, and which that of what GELU was given."""


class Described(Protocol):
    """A product that the library knows."""

    def pointers(self, bias: int, auxiliary: int) -> None: ...


class Multiplier(Protocol):
    """cuBLASLt's handle."""

    def version(self) -> int: ...
    def describe(self, gemm: Gemm) -> Described: ...
    def choices(self, of: Any, most: int, limit: int) -> list[Choice]: ...
    def run(
        self,
        of: Any,
        choice: Choice,
        gemm: Gemm,
        pointers: Sequence[int],
        workspace: int,
        stream: int,
    ) -> None: ...


@functools.cache
def multiplier() -> Multiplier:
    """Of the current GPU. Raises E-DEVICE-ABSENT, E-DEVICE-FAULT."""
    from .cublaslt import Handle

    return Handle()


class Multiply(Picked):
    """One product."""

    library = "cuBLASLt"

    def __init__(self, gemm: Gemm, arguments: tuple[int, ...]) -> None:
        super().__init__(gemm.key, arguments)
        self.gemm = gemm
        self._described: Described | None = None

    def version(self) -> int:
        return multiplier().version()

    def known(self) -> bool:
        return bool(multiplier().choices(self._description(), 1, WORKSPACE))

    def _description(self) -> Described:
        if self._described is None:
            self._described = multiplier().describe(self.gemm)
            self._described.pointers(*self._epilogue(self._arguments, self.gemm.calls[0]))
        return self._described

    def choices(self) -> list[Choice]:
        return multiplier().choices(self._description(), CANDIDATES, WORKSPACE)

    def build(self, choice: Choice) -> None:
        """Nothing: an algorithm is given with each call."""

    def launch(self, choice: Choice, arguments: Sequence[int], workspace: int, stream: int) -> None:
        gemm, of = self.gemm, self._described
        assert of is not None, "prepare comes first"
        out = 2 if gemm.epilogue == "matmul" else 3
        for offsets in gemm.calls:
            of.pointers(*self._epilogue(arguments, offsets))
            moved = [a + WIDTH[gemm.dtype] * o for a, o in zip(arguments, offsets)]
            where = moved[1], moved[0], moved[out]
            multiplier().run(of, choice, gemm, where, workspace, stream)

    def _epilogue(self, arguments: Sequence[int], offsets: Sequence[int]) -> tuple[int, int]:
        """Addresses of the bias and of what GELU was given, 0 where there is none."""
        width = WIDTH[self.gemm.dtype]
        bias, given = (
            0 if k is None else arguments[k] + width * offsets[k] for k in THIRD[self.gemm.epilogue]
        )
        return bias, given
