"""Positions to examples: a keyed bijection of [0, N), so no shuffle is stored.

A balanced Feistel network over the next even power of two, walked until it falls below N
(Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). O(1) a position, vectorised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

ORDERS = ("shuffled", "sequential", "streams", "random")
_ROUNDS = 8
_MULTIPLY = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # splitmix64's finalizer


def key(*parts: object) -> tuple[int, ...]:
    """Eight 64-bit round keys of (seed, loader, stage, epoch) or any other texts and numbers."""
    import hashlib

    text = "\0".join(["sexpgpu-order-1", *map(str, parts)]).encode()
    digest = hashlib.sha512(text).digest()
    return tuple(int.from_bytes(digest[8 * i : 8 * i + 8], "little") for i in range(_ROUNDS))


def permute(n: int, keys: tuple[int, ...], positions: np.ndarray) -> np.ndarray:
    """The examples (i64, < n) at `positions` (integers, < n): one to one over [0, n)."""
    import numpy as np

    half = max(2, ((max(n, 2) - 1).bit_length() + 1) // 2)
    result = np.array(positions, np.uint64, ndmin=1)
    result = _network(result, keys, half)
    outside = result >= n
    while outside.any():
        result[outside] = _network(result[outside], keys, half)
        outside = result >= n
    indices: np.ndarray = result.astype(np.int64)
    return indices


def _network(x: np.ndarray, keys: tuple[int, ...], half: int) -> np.ndarray:
    import numpy as np

    bits, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = x >> bits, x & mask
    for k in keys:
        left, right = right, left ^ (_mix(right + np.uint64(k & ((1 << 63) - 1))) & mask)
    joined: np.ndarray = (left << bits) | right
    return joined


def _mix(x: np.ndarray) -> np.ndarray:
    """splitmix64's finalizer: every bit of the result depends on every bit of x."""
    import numpy as np

    x = (x ^ (x >> np.uint64(30))) * np.uint64(_MULTIPLY[0])
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_MULTIPLY[1])
    mixed: np.ndarray = x ^ (x >> np.uint64(31))
    return mixed


def draw(n: int, keys: tuple[int, ...], positions: np.ndarray) -> np.ndarray:
    """Numbers in [0, n), with replacement, each a function of its key and position alone."""
    import numpy as np

    x = np.array(positions, np.uint64, ndmin=1)
    for k in keys[:2]:
        x = _mix(x + np.uint64(k))
    # 64 random bits: the modulo's bias is below n / 2^64
    drawn: np.ndarray = (x % np.uint64(n)).astype(np.int64)
    return drawn


def run_starts(n: int, rows: int) -> np.ndarray:
    """Where each of `rows` runs of [0, n) starts; the first n mod rows are one longer."""
    import numpy as np

    run = np.arange(rows, dtype=np.int64)
    return run * (n // rows) + np.minimum(run, n % rows)
