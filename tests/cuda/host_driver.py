"""What a library's call asks of a driver while it is prepared, and no more."""

from __future__ import annotations

from types import SimpleNamespace


class HostDriver:
    def properties(self) -> SimpleNamespace:
        return SimpleNamespace(name="none")

    def allocate(self, size: int) -> int:
        return 0

    def stream(self) -> int:
        return 7

    def synchronize(self, stream: int) -> None: ...
