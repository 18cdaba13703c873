"""Logits to tokens: temperature, the k most likely, the most likely up to a share p.

Holtzman and others, "The curious case of neural text degeneration", 2020 (top-p).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.philox import site_key, words
from ..records import NamedTuple

if TYPE_CHECKING:
    import numpy as np


class Sampler(NamedTuple):
    """`temperature` 0: the most likely token. A pure function of the logits, the seed and the
    token's number."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    site: str = "sample"

    def choose(self, logits: np.ndarray, number: int) -> int:
        """The token; `number` counts those that were drawn. ValueError where none is finite."""
        import numpy as np

        wide = np.asarray(logits, np.float64)
        if not np.isfinite(wide.max()):
            raise ValueError("no logit is finite")
        if not self.temperature:
            return int(wide.argmax())
        shares = _shares(wide / self.temperature)
        shares = self._kept(shares)
        total = np.cumsum(shares)
        at = self._uniform(number) * total[-1]
        return int(min(np.searchsorted(total, at, side="right"), np.flatnonzero(shares)[-1]))

    def _kept(self, shares: np.ndarray) -> np.ndarray:
        """Shares of the tokens that may be drawn; of equal ones the lower token comes first."""
        import numpy as np

        order = np.argsort(-shares, kind="stable")
        many = len(order) if self.top_k is None else min(max(self.top_k, 1), len(order))
        if self.top_p is not None:
            before = np.cumsum(shares[order]) - shares[order]
            many = min(many, max(1, int((before < self.top_p).sum())))
        found = np.zeros_like(shares)
        found[order[:many]] = shares[order[:many]]
        return found

    def _uniform(self, number: int) -> float:
        word = words(site_key(self.seed, "sample", self.site), (0, 0, number, 0))[0]
        return (word >> 8) * 2.0**-24


def _shares(logits: np.ndarray) -> np.ndarray:
    import numpy as np

    powers = np.exp(logits - logits.max())
    found: np.ndarray = powers / powers.sum()
    return found
