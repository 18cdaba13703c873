"""Philox and the random operations (45.14)."""

from __future__ import annotations

import numpy as np
import pytest

from sexpgpu_core.ir import Builder
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.philox import site_key, words

# Known answers of Random123 1.09, kat_vectors: philox4x32 10.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (
        (0xFFFFFFFF,) * 4,
        (0xFFFFFFFF,) * 2,
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers(counter, key, answer) -> None:
    from sexpgpu_core.ir.ops.reference.random import philox

    assert words(key, counter) == answer
    assert tuple(int(w) for w in philox(key, [np.uint64(c) for c in counter])) == answer


def draw(
    operation: str, shape, step: int = 7, row: int | None = None, trip: int | None = None, **more
) -> np.ndarray:
    b = Builder(OPERATIONS)
    scalars = [b.input("step", "scalar", "i32", ())]
    if row is not None:
        scalars.append(b.input("row", "scalar", "i32", ()))
    if trip is not None:
        scalars.append(b.input("trip", "scalar", "i32", ()))
    at = {"site": "gpt/dropout#1", "domain": "train", "seed": 1, "shape": shape}
    named = {k.replace("_", "-"): v for k, v in more.items()}
    b.graph.results["x"] = b(operation, *scalars, **at, **named)
    given = {"step": np.int32(step), "row": np.int32(row or 0), "trip": np.int32(trip or 0)}
    return run(b.graph, given, OPERATIONS)["x"]


def test_a_place_has_the_word_that_the_contract_says() -> None:
    found = draw("random-bits", (4, 3, 5), batch_axis=1, row_offset=6)
    key = site_key(1, "train", "gpt/dropout#1")
    for i, row, k in [(0, 0, 0), (3, 2, 4), (1, 1, 3)]:
        column = i * 5 + k
        assert found[i, row, k] == words(key, (column // 4, row + 6, 7, 0))[column % 4]


def test_the_key_is_the_head_of_a_sha256() -> None:
    import hashlib

    digest = hashlib.sha256(b"sexpgpu-rng-1\x001\x00train\x00a/b#1").digest()
    low, high = site_key(1, "train", "a/b#1")
    assert low | high << 32 == int.from_bytes(digest[:8], "little")


@pytest.mark.parametrize("parts", [2, 4, 16])
@pytest.mark.parametrize("operation", ["random-uniform", "random-normal", "random-bernoulli"])
def test_rows_drawn_in_parts_are_the_rows_of_the_whole(operation: str, parts: int) -> None:
    more = {"p": 0.3} if operation == "random-bernoulli" else {"dtype": "f32"}
    whole = draw(operation, (16, 65), batch_axis=0, **more)
    n = 16 // parts
    pieces = [
        draw(operation, (n, 65), batch_axis=0, row_offset=n * i, **more) for i in range(parts)
    ]
    again = [draw(operation, (n, 65), batch_axis=0, row=n * i, **more) for i in range(parts)]
    assert (np.concatenate(pieces) == whole).all()
    assert (np.concatenate(again) == whole).all()


def test_without_a_batch_axis_rows_are_never_offset() -> None:
    plain = draw("random-bits", (4, 3))
    assert (plain == draw("random-bits", (4, 3), row_offset=5)).all()
    assert (plain == draw("random-bits", (4, 3), batch_axis=0)).all()


def test_steps_sites_domains_seeds_and_iterations_differ() -> None:
    base = draw("random-bits", (8,))
    others = [draw("random-bits", (8,), step=8), draw("random-bits", (8,), row=0, trip=1)]
    assert all((base != other).any() for other in others)
    assert site_key(1, "train", "a") != site_key(2, "train", "a") != site_key(1, "init", "a")


def test_distributions() -> None:
    u = draw("random-uniform", (200, 100), dtype="f32")
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(u.mean() - 0.5) < 0.01
    n = draw("random-normal", (200, 100), dtype="f32")
    assert abs(n.mean()) < 0.03
    assert abs(n.std() - 1) < 0.02
    assert abs((n**3).mean()) < 0.1
    assert np.isfinite(n).all()
    assert abs(draw("random-bernoulli", (200, 100), p=0.9).mean() - 0.9) < 0.01


def test_scalars_and_empty_tensors() -> None:
    assert draw("random-uniform", (), dtype="f32").shape == ()
    assert draw("random-uniform", (0, 3), dtype="f64").shape == (0, 3)
