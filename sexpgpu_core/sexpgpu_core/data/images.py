"""Pictures in a folder a class, PNG or JPEG, to a table: image u8 (h w channels) and label i32.

Sizes come from the files' first bytes; Pillow decodes when a batch is made.
"""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..experiment.protocols import Header, Options
from .files import missing

if TYPE_CHECKING:
    import numpy as np

_ENDINGS = (".png", ".jpg", ".jpeg")
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def header(options: Options) -> Header:
    """Fields of `(images FOLDER [:size n] [:channels 3])`; classes are folders sorted by name."""
    found, classes = _files(options)
    size = _size(options) or _first_size(found[0][0])
    fields = {"image": ("u8", (*size, _channels(options))), "label": ("i32", ())}
    return {
        "count": len(found),
        "fields": fields,
        "classes": len(classes),
        "split-by": ("stratify", "label"),  # where the file does not say how
        "paths": tuple(path for path, _ in found),
    }


def _files(options: Options) -> tuple[list[tuple[Path, int]], list[str]]:
    """Files with the number of their class, by class and name."""
    (written,) = options["arguments"]
    folder = Path(options["base"]) / written
    if not folder.is_dir():
        raise missing(written, Path(options["base"]))
    classes = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    found = [
        (folder / name / file, number)
        for number, name in enumerate(classes)
        for file in sorted(os.listdir(folder / name))
        if file.lower().endswith(_ENDINGS)
    ]
    if not found:
        told = f"{written} has no folder with a PNG or JPEG file"
        hint = "a folder a class: birds/a.png, cats/b.png"
        raise problem("E-DATA-FORMAT", told, hint=hint)
    return found, classes


def _channels(options: Options) -> int:
    return int(options.get("channels") or 3)


def _size(options: Options) -> tuple[int, int] | None:
    """`:size n` or `:size (h w)`."""
    size = options.get("size")
    if size is None:
        return None
    height, width = (size, size) if isinstance(size, int) else size
    return int(height), int(width)


def _first_size(path: Path) -> tuple[int, int]:
    """Height and width, from the header of a PNG or JPEG file. Raises E-DATA-FORMAT."""
    with open(path, "rb") as file:
        start = file.read(24)
        if start[:8] == b"\x89PNG\r\n\x1a\n" and len(start) == 24:
            width, height = struct.unpack(">II", start[16:24])
            return height, width
        if start[:2] == b"\xff\xd8":
            file.seek(2)
            while (marker := file.read(4)) and len(marker) == 4 and marker[0] == 0xFF:
                if 0xC0 <= marker[1] <= 0xCF and marker[1] not in (0xC4, 0xC8, 0xCC):
                    height, width = struct.unpack(">HH", file.read(5)[1:])
                    return height, width
                file.seek(struct.unpack(">H", marker[2:])[0] - 2, os.SEEK_CUR)
    raise _malformed(path, "no PNG and no JPEG header")


def _malformed(path: Path, why: str) -> Problem:
    told = f"{path.parent.name}/{path.name}: {why}"
    return problem("E-DATA-FORMAT", told, file_read=path.name)


class Images:
    """Pictures decoded as they are read; safe from several threads."""

    def __init__(self, options: Options) -> None:
        try:
            from PIL import Image
        except ImportError:
            raise problem(
                "E-DATA-EXTRA",
                "(images ...) needs Pillow",
                hint='python -m pip install "sexpgpu[images]"',
                extra="sexpgpu[images]",
            ) from None
        self._open = Image.open
        self._pool: Any = None
        self._files, _ = _files(options)
        self._resized, self._mode = _size(options), _MODES[_channels(options)]

    def __len__(self) -> int:
        return len(self._files)

    def read(self, indices: Any, out: Mapping[str, np.ndarray]) -> None:
        import numpy as np

        found = [self._files[at] for at in np.arange(len(self))[indices].tolist()]
        if "label" in out:
            out["label"][...] = [label for _, label in found]
        if "image" in out:
            paths = [path for path, _ in found]
            deque(self._threads().map(self._decode, paths, out["image"]), maxlen=0)

    def _threads(self) -> Any:
        """A thread a core: decoders hold no lock of the interpreter."""
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(min(16, os.cpu_count() or 1), "images")
        return self._pool

    def _decode(self, path: Path, target: np.ndarray) -> None:
        import numpy as np

        from .rows import lost

        try:
            with self._open(path) as picture:
                made = picture.convert(self._mode)
                if self._resized is not None and (made.height, made.width) != self._resized:
                    made = made.resize((self._resized[1], self._resized[0]))
                pixels = np.asarray(made).reshape(made.height, made.width, -1)
        except FileNotFoundError:
            raise lost(path, "it was removed") from None
        except (OSError, ValueError, SyntaxError) as wrong:
            raise _malformed(path, f"it cannot be decoded: {wrong}") from wrong
        if pixels.shape != target.shape:
            raise problem(
                "E-DATA-TYPE",
                f"{path.parent.name}/{path.name} is {pixels.shape[0]} by {pixels.shape[1]}, the "
                f"first picture {target.shape[0]} by {target.shape[1]}",
                hint="say :size, to which every picture is scaled",
                file_read=path.name,
            )
        target[...] = pixels
