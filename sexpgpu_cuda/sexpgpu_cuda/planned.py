"""Attention or a convolution as a GPU is given it: cuDNN's graph, its plan picked before step 0."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Protocol

from .dnn import DnnGraph
from .picked import Picked
from .tuning import CANDIDATES, WORKSPACE, Choice


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


class Planned(Picked):
    """One call."""

    library = "cuDNN"

    def __init__(self, of: DnnGraph, arguments: tuple[int, ...]) -> None:
        super().__init__(of.key, arguments)
        self.of = of
        self._known: Known | None = None

    def version(self) -> int:
        return library().version()

    def known(self) -> bool:
        """By the library's own check; plans are built when one is picked."""
        return self._graph() is not None

    def _graph(self) -> Known:
        if self._known is None:
            self._known = library().known(self.of)
        return self._known

    def choices(self) -> list[Choice]:
        return self._graph().choices(CANDIDATES, WORKSPACE)

    def build(self, choice: Choice) -> None:
        self._graph().build(choice)

    def launch(self, choice: Choice, arguments: Sequence[int], workspace: int, stream: int) -> None:
        assert self._known is not None, "prepare comes first"
        self._known.run(choice, arguments, workspace, stream)
