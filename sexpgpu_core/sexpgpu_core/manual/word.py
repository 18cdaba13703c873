"""What `sexpgpu docs NAME` tells of a name."""

from __future__ import annotations

from ..records import NamedTuple


class Word(NamedTuple):
    """`usage` is a call of it; `place`: setf takes a call of it; `page` is the topic for more."""

    name: str
    kind: str
    usage: str
    doc: str
    examples: tuple[tuple[str, str], ...]
    place: bool
    page: str
