"""Each promise of a tokenizer that is broken is told, and a true one passes."""

from __future__ import annotations

from typing import Any

import pytest

from sexpgpu_core.data.encoding import Bytes
from sexpgpu_core.data.kinds import TokenizerKind
from sexpgpu_core.data.tokenizer_contract import broken

ROW = TokenizerKind("b", 256, "", exact=True)


class Halves(Bytes):
    def decode(self, ids: Any) -> bytes:
        return bytes(ids)[: len(list(ids)) // 2]


class Words(Bytes):
    def decode(self, ids: Any) -> Any:
        return bytes(ids).decode()


class Drifts(Bytes):
    count = 0

    def encode(self, data: bytes) -> list[int]:
        self.count += 1
        return [*data, self.count % 2]


class Parts(Bytes):
    def encode_parts(self, parts: Any) -> Any:
        return ([len(part)] for part in parts)


def test_a_true_one_breaks_nothing() -> None:
    assert not list(broken(ROW, Bytes()))


@pytest.mark.parametrize(
    ("row", "coder", "told"),
    [
        (ROW._replace(vocabulary=100), Bytes(), "is not below its vocabulary, 100"),
        (ROW, Halves(), "its row says exact"),
        (ROW, Words(), "gives str, not bytes"),
        (ROW, Drifts(), "other ids the second time"),
        (ROW, Parts(), "encode_parts by 1 bytes"),
    ],
)
def test_a_broken_promise_is_told_once(row: Any, coder: Any, told: str) -> None:
    assert len([why for why in broken(row, coder) if told in why]) == 1


def test_one_that_is_not_exact_may_lose_something() -> None:
    assert not list(broken(ROW._replace(exact=False), Halves()))
