"""Linear algebra by NumPy's own LAPACK, in f64; what a matrix is not is NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...operation import Attributes
from ...types import Type
from . import Reference


def _each(function: Callable[..., Any]) -> Reference:
    """A function of one matrix over all leading axes; its results are stacked."""

    def reference(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
        lead = x[0].shape[:-2]
        count = int(np.prod(lead))
        rows = [v.astype(np.float64).reshape(count, *v.shape[len(lead) :]) for v in x]
        found = [function(*(r[i] for r in rows), a) for i in range(count)]
        stacked = tuple(
            np.stack([np.asarray(f[k]) for f in found]).reshape(type_.shape)
            if found
            else np.zeros(type_.shape)
            for k, type_ in enumerate(t)
        )
        return stacked if len(t) > 1 else stacked[0]

    return reference


def _symmetric(x: Any) -> Any:
    return (x + x.T) / 2


def _cholesky(x: Any, a: Attributes) -> tuple[Any, ...]:
    try:
        return (np.linalg.cholesky(_symmetric(x)),)
    except np.linalg.LinAlgError:
        return (np.where(np.tri(len(x), dtype=bool), np.nan, 0.0),)


def _triangular(a: Any, y: Any, at: Attributes) -> tuple[Any, ...]:
    kept = np.triu(a) if at.get("upper") else np.tril(a)
    if at.get("unit"):
        np.fill_diagonal(kept, 1.0)
    matrix = kept.T if at.get("transpose") else kept
    try:
        return (np.linalg.solve(matrix, y),)
    except np.linalg.LinAlgError:
        return (np.full_like(y, np.nan),)


def _lu(x: Any, at: Attributes) -> tuple[Any, ...]:
    x, order, sign = x.copy(), np.arange(len(x)), 1.0
    for k in range(len(x)):
        p = k + int(np.argmax(np.abs(x[k:, k])))
        if p != k:
            x[[k, p]], order[[k, p]], sign = x[[p, k]], order[[p, k]], -sign
        if x[k, k] != 0:
            x[k + 1 :, k] /= x[k, k]
        x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return x, order, sign


def _qr(x: Any, at: Attributes) -> tuple[Any, ...]:
    q, r = np.linalg.qr(x)
    sign = np.where(np.diagonal(r) < 0, -1.0, 1.0)
    return q * sign, r * sign[:, None]


def _positive(columns: Any) -> Any:
    """The sign that makes the first greatest element of each column positive."""
    if not columns.size:
        return np.ones(columns.shape[1])
    at = np.argmax(np.abs(columns), axis=0)
    return np.where(columns[at, np.arange(columns.shape[1])] < 0, -1.0, 1.0)


def _svd(x: Any, at: Attributes) -> tuple[Any, ...]:
    u, s, v = np.linalg.svd(x, full_matrices=bool(at.get("full")))
    sign = _positive(u)
    k = len(s)
    u = u * sign
    v = np.concatenate([v[:k] * sign[:k, None], v[k:] * _positive(v[k:].T)[:, None]])
    return u, s, v


def _eigh(x: Any, at: Attributes) -> tuple[Any, ...]:
    w, v = np.linalg.eigh(_symmetric(x))
    return w, v * _positive(v)


TABLE: dict[str, Reference] = {
    "cholesky": _each(_cholesky),
    "solve-triangular": _each(_triangular),
    "lu": _each(_lu),
    "qr": _each(_qr),
    "svd": _each(_svd),
    "eigh": _each(_eigh),
}
