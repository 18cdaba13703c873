"""A seeded stream of random bits: SplitMix64 (Steele, Lea, Flood 2014). Same seed, same stream."""

from __future__ import annotations

_MASK = (1 << 64) - 1


class RandomState:
    """`seed` is also the current state: copying it copies the rest of the stream."""

    __slots__ = ("seed",)

    def __init__(self, seed: int) -> None:
        self.seed = seed & _MASK

    def bits(self) -> int:
        """The next 64 bits."""
        self.seed = (self.seed + 0x9E3779B97F4A7C15) & _MASK
        z = self.seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, limit: int) -> int:
        """Uniform in [0, limit): draws again where a remainder would favour small numbers."""
        words = (limit.bit_length() + 63) // 64
        span = 1 << (64 * words)
        while True:
            draw = 0
            for _ in range(words):
                draw = (draw << 64) | self.bits()
            if draw < span - span % limit:
                return draw % limit

    def fraction(self) -> float:
        """Uniform in [0, 1), 53 bits."""
        return (self.bits() >> 11) * 2.0**-53
