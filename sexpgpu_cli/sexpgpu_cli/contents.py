"""What two checkpoints hold differently, as changes of a `diff` document: arrays, then fields."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sexpgpu_core.records import NamedTuple

if TYPE_CHECKING:
    from sexpgpu_core.checkpoint.folder import Saved

AREAS = {"parameter": "parameter", "optimizer": "optimizer"}
FIELDS = {
    **dict.fromkeys(("loaders",), "data"),
    **dict.fromkeys(("metrics", "best", "targets"), "evaluation"),
    **dict.fromkeys(("device", "versions", "numerics"), None),
}
UNTOLD = ("time", "elapsed", "files", "sha256", "run", "document", "version", "rng")


class Contents(NamedTuple):
    """`arrays`: how many differ."""

    headline: str
    changes: list[dict[str, Any]]
    arrays: int


def contents(a: Saved, b: Saved) -> Contents:
    from sexpgpu_core.checkpoint.difference import differences

    arrays = differences(a, b)
    changes: list[dict[str, Any]] = [
        {
            "area": AREAS.get(change.name.partition(":")[0], "run"),
            "path": change.name,
            "kind": change.kind,
            "text": change.text,
        }
        for change in arrays
    ]
    changes += _fields(a.document, b.document)
    total = a.document.get("tensors", 0)
    headline = f"{len(arrays)} of {total} tensors differ" if arrays else "all tensors are equal"
    return Contents(headline, changes, len(arrays))


def _fields(a: Any, b: Any) -> list[dict[str, str]]:
    found = []
    for key in dict.fromkeys([*a, *b]):
        old, new = a.get(key), b.get(key)
        if key in UNTOLD or old == new:
            continue
        kind = "added" if key not in a else "removed" if key not in b else "changed"
        sides = {"a": json.dumps(old), "b": json.dumps(new)}
        area = FIELDS.get(key, "run") or key
        text = f"{key}: {_short(sides['a'])} to {_short(sides['b'])}"
        found.append({"area": area, "path": key, "kind": kind, **sides, "text": text})
    return found


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
