"""Pieces of a scope, and what is said of a scope that there is not."""

from __future__ import annotations

import pytest

from sexpgpu_core.compile.scoped import of_scope, whole
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir.graph import Origin
from sexpgpu_core.ir.text import Piece

SCOPES = [(), ("network/linear", "network/linear-2"), ("",), ("network", "a b/c,d; e  ; f:3")]
PIECES: list[Piece] = [
    (tuple(Origin(None, scope) for scope in scopes), f"line {n}") for n, scopes in enumerate(SCOPES)
]


@pytest.mark.parametrize(
    ("glob", "kept"),
    [
        ("network", "13"),
        ("network/linear", "1"),
        ("*-2", "1"),
        ("net*", "13"),
        ("a b", "3"),
        ("*f:3", "3"),
    ],
)
def test_pieces_are_those_of_a_scope_and_below_whatever_its_name_is(glob: str, kept: str) -> None:
    assert "".join(line[-1] for line in of_scope(PIECES, glob).splitlines()) == kept
    assert len(whole(PIECES).splitlines()) == len(PIECES)


@pytest.mark.parametrize(
    ("glob", "hint"),
    [("network/linea", "did you mean network/linear?"), ("zzz", "there are: network network/")],
)
def test_a_scope_that_is_not_there_says_the_nearest(glob: str, hint: str) -> None:
    with pytest.raises(Problem) as raised:
        of_scope(PIECES, glob)
    assert str(raised.value.diagnostic.hint).startswith(hint)
