"""A disk that fails at an act of one's choosing."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sexpgpu_core.checkpoint.disk import Disk


class Killed(BaseException):
    pass


class Full(Disk):
    """Fails at the n-th act, as a full or refusing disk does; or the process dies there."""

    def __init__(self, at: int, wrong: BaseException | None = None) -> None:
        self.left, self.wrong = at, wrong or OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _act(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise self.wrong

    def write(self, path: Path, pieces: Iterable[Any]) -> tuple[str, int]:
        self._act()
        return super().write(path, pieces)

    def sync(self, folder: Path) -> None:
        self._act()
        super().sync(folder)

    def link(self, old: Path, new: Path) -> None:
        self._act()
        super().link(old, new)

    def rename(self, old: Path, new: Path) -> None:
        self._act()
        super().rename(old, new)


class NoLinks(Disk):
    """A second name is refused, once `more` were given; or once a file has `names`."""

    def __init__(self, code: int = errno.EPERM, more: int = 0, names: int | None = None) -> None:
        self.code, self.more, self.names = code, more, names

    def link(self, old: Path, new: Path) -> None:
        self.more -= 1
        few = self.more >= 0 if self.names is None else old.stat().st_nlink < self.names
        if not few:
            raise OSError(self.code, os.strerror(self.code))
        super().link(old, new)
