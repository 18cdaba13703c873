"""Alignments of label sequences in logarithms, an example at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....diagnostics import problem
from ...operation import Attributes
from ...types import Type
from ..alignment import UNIT
from . import Reference


def _states(labels: Any, blank: int) -> Any:
    """Labels with blanks around each."""
    found = np.full(2 * len(labels) + 1, blank, np.int64)
    found[1::2] = labels
    return found


def _forward(logs: Any, states: Any) -> Any:
    """Log probability of each prefix of alignments, (steps, states)."""
    found = np.full((len(logs), len(states)), -np.inf)
    found[0, :2] = logs[0, states[:2]]
    jump = np.zeros(len(states), bool)
    jump[2:] = (states[2:] != states[:-2]) & (np.arange(2, len(states)) % 2 == 1)
    for i in range(1, len(logs)):
        best = found[i - 1].copy()
        best[1:] = np.logaddexp(best[1:], found[i - 1, :-1])
        best[2:] = np.where(jump[2:], np.logaddexp(best[2:], found[i - 1, :-2]), best[2:])
        found[i] = best + logs[i, states]
    return found


def _one(p: Any, labels: Any, blank: int) -> tuple[float, Any]:
    """The logarithm of the sum, and the shares, of one example."""
    states, shares = _states(labels, blank), np.zeros_like(p)
    if len(p) == 0:
        return -np.inf if len(labels) else 0.0, shares
    logs = np.log(p)
    ahead = _forward(logs, states)
    # Behind: the same, of everything turned round, without the own step.
    behind = _forward(logs[::-1], states[::-1])[::-1, ::-1] - logs[:, states]
    total = float(np.logaddexp.reduce(ahead[-1, -2:]))
    if np.isfinite(total):
        np.add.at(shares.T, states, np.nan_to_num(np.exp(ahead + behind - total)).T)
    return total, shares


def _alignment(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    p, labels, lengths, counts = x
    totals, shares = np.zeros(t[0].shape), np.zeros(t[2].shape)
    for i, (n, k) in enumerate(zip(lengths, counts)):
        given = labels[i, : max(k, 0)]
        if not (0 <= n <= p.shape[1] and 0 <= k <= labels.shape[1]) or (
            given.size and not 0 <= given.min() <= given.max() < p.shape[2]
        ):
            raise problem("E-RUN-INDEX", f"example {i}: a length or label that is not there")
        totals[i], shares[i, :n] = _one(p[i, :n], given, a.get("blank") or 0)
    unit = UNIT * np.log(2)
    exponents = np.where(np.isfinite(totals), np.floor(totals / unit) + 1, 0)
    return np.exp(totals - exponents * unit), exponents, shares


TABLE: dict[str, Reference] = {"ctc-alignment": _alignment}
