"""A library's call whose algorithm is picked before step 0: asked, timed, kept and run one way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sexpgpu_core.diagnostics import Problem

from .tuning import Choice, timed, tuning

if TYPE_CHECKING:
    from .driver import Driver


class Picked(ABC):
    """`key`: what it computes. `arguments`: the record's, which are timed on: nothing that lives
    is written, since no such result is kept from step to step."""

    library: str

    def __init__(self, key: str, arguments: tuple[int, ...]) -> None:
        self.key = key
        self._arguments = arguments
        self._choice = Choice("", 0)

    @abstractmethod
    def version(self) -> int:
        """Of the library."""

    @abstractmethod
    def known(self) -> bool:
        """Whether the library does it; described to it from then on. Raises why not."""

    @abstractmethod
    def choices(self) -> list[Choice]:
        """Algorithms, the likeliest first, at most tuning.CANDIDATES."""

    @abstractmethod
    def build(self, choice: Choice) -> None:
        """What is picked, ready to be run."""

    @abstractmethod
    def launch(
        self, choice: Choice, arguments: Sequence[int], workspace: int, stream: int
    ) -> None: ...

    @property
    def workspace_bytes(self) -> int:
        return self._choice.workspace

    def refusal(self) -> str | None:
        """Why the library does not do it, or None."""
        try:
            there = self.known()
        except Problem as refused:
            return refused.diagnostic.message
        return None if there else f"no algorithm of {self.library} does {self.key}"

    def prepare(self, driver: Driver) -> None:
        """Raises E-DEVICE-OPERATION where no algorithm does it."""
        if self._choice.algorithm:
            return
        self.known()
        key = f"{self.library} {self.version()} {driver.properties().name} {self.key}"
        self._choice = tuning().pick(key, lambda: self._timed(driver))
        self.build(self._choice)

    def _timed(self, driver: Driver) -> Choice:
        def launch(choice: Choice, workspace: int, stream: int) -> None:
            self.launch(choice, self._arguments, workspace, stream)

        return timed(driver, self.choices(), launch, f"{self.key} in {self.library}")

    def run(self, stream: int, pointers: Sequence[int]) -> None:
        """`pointers`: the record's arguments, then the workspace's address."""
        *arguments, workspace = pointers
        self.launch(self._choice, arguments, workspace, stream)
