"""Hash tables by eq, eql, equal or equalp: Python dicts on normalized keys, in insertion order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .equality import STRUCTURES, eql_key, equal_key, equalp_key
from .printer import COMPOUNDS, Parts, Settings
from .values import Value

KEYS: dict[str, Callable[[Value], Any]] = {
    "EQ": eql_key,
    "EQL": eql_key,
    "EQUAL": equal_key,
    "EQUALP": equalp_key,
}


class HashTable:
    """`entries`: normalized key -> (key, value). `test` is the upper-case name of the test."""

    __slots__ = ("entries", "key", "size", "test")

    def __init__(self, test: str, size: int = 16) -> None:
        self.test = test
        self.key = KEYS[test]
        self.size = size
        self.entries: dict[Any, tuple[Value, Value]] = {}


def _parts(table: HashTable, settings: Settings) -> Parts | str:
    return f"#<hash-table :test {table.test.lower()} :count {len(table.entries)}>"


def _contents(table: HashTable) -> list[Value]:
    pairs = sorted(table.entries.items(), key=lambda entry: repr(entry[0]))
    return [list(KEYS).index(table.test), len(pairs), *(part for _, pair in pairs for part in pair)]


COMPOUNDS[HashTable] = _parts
STRUCTURES[HashTable] = _contents
