"""Attention or a convolution as a GPU is given it: cuDNN's graph, its plan picked before step 0."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from sexpgpu_core.diagnostics import Problem

from .dnn import DnnGraph
from .tuning import CANDIDATES, WORKSPACE, Choice, timed, tuning

if TYPE_CHECKING:
    from .driver import Driver


class Known(Protocol):
    """A graph that the library has checked."""

    def choices(self, most: int, limit: int) -> list[Choice]: ...
    def build(self, choice: Choice) -> None: ...
    def run(self, choice: Choice, pointers: Sequence[int], workspace: int, stream: int) -> None: ...


class Library(Protocol):
    """cuDNN on the current GPU."""

    def version(self) -> int: ...
    def known(self, of: DnnGraph) -> Known: ...


@functools.cache
def library() -> Library:
    """Raises E-DEVICE-ABSENT, E-DEVICE-FAULT."""
    from .cudnn_graphs import Here

    return Here()


class Planned:
    """One call. `arguments`: the record's, which are timed on: nothing that lives is written,
    since no such result is kept from step to step."""

    def __init__(self, of: DnnGraph, arguments: tuple[int, ...]) -> None:
        self.of = of
        self._arguments = arguments
        self._known: Known | None = None
        self._choice = Choice("", 0)

    @property
    def workspace_bytes(self) -> int:
        return self._choice.workspace

    def refusal(self) -> str | None:
        """Why the library does not do it, or None."""
        try:
            self._graph()
        except Problem as refused:
            return refused.diagnostic.message
        return None

    def _graph(self) -> Known:
        if self._known is None:
            self._known = library().known(self.of)
        return self._known

    def prepare(self, driver: Driver) -> None:
        """Raises E-DEVICE-OPERATION where no engine does it."""
        if self._choice.algorithm:
            return
        known = self._graph()
        key = f"cuDNN {library().version()} {driver.properties().name} {self.of.key}"
        self._choice = tuning().pick(key, lambda: self._timed(driver, known))
        known.build(self._choice)

    def _timed(self, driver: Driver, known: Known) -> Choice:
        def launch(choice: Choice, workspace: int, stream: int) -> None:
            known.run(choice, self._arguments, workspace, stream)

        found = known.choices(CANDIDATES, WORKSPACE)
        return timed(driver, found, launch, f"{self.of.key} in cuDNN")

    def run(self, stream: int, pointers: Sequence[int]) -> None:
        """`pointers`: the record's arguments, then the workspace's address."""
        *arguments, workspace = pointers
        assert self._known is not None, "prepare comes first"
        self._known.run(self._choice, arguments, workspace, stream)
