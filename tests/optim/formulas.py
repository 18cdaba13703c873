"""The papers' formulas of optimizers in NumPy: (parameter, gradient, states, t) -> parameter."""

from __future__ import annotations

from typing import Any

import numpy as np

P = Any


def _moments(g: P, s: Any, beta1: float = 0.9, beta2: float = 0.999) -> tuple[P, P]:
    s["m"] = beta1 * s["m"] + (1 - beta1) * g
    s["v"] = beta2 * s["v"] + (1 - beta2) * g * g
    return s["m"], s["v"]


def sgd(p: P, g: P, s: Any, t: int) -> P:
    return p - 0.01 * (g + 0.01 * p)


def momentum(p: P, g: P, s: Any, t: int) -> P:
    s["m"] = 0.9 * s["m"] + (g if t == 1 else 0.7 * g)
    return p - 0.01 * s["m"]


def nesterov(p: P, g: P, s: Any, t: int) -> P:
    s["m"] = 0.9 * s["m"] + g
    return p - 0.01 * (g + 0.9 * s["m"])


def lion(p: P, g: P, s: Any, t: int) -> P:
    step = np.sign(0.9 * s["m"] + 0.1 * g)
    s["m"] = 0.99 * s["m"] + 0.01 * g
    return p * (1 - 1e-2 * 0.1) - 1e-2 * step


def lars(p: P, g: P, s: Any, t: int) -> P:
    n = np.linalg.norm(p)
    rate = 0.1 * n / (np.linalg.norm(g) + 0.01 * n)
    s["m"] = 0.9 * s["m"] + 0.1 * rate * (g + 0.01 * p)
    return p - s["m"]


def adam(p: P, g: P, s: Any, t: int) -> P:
    m, v = _moments(g, s, beta2=0.99)
    return p - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)


def amsgrad(p: P, g: P, s: Any, t: int) -> P:
    m, v = _moments(g, s)
    s["most"] = np.maximum(s["most"], v)
    return p - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(s["most"] / (1 - 0.999**t)) + 1e-8)


def adamw(p: P, g: P, s: Any, t: int) -> P:
    return adam(p * (1 - 0.01 * 0.1), g, s, t)


def nadam(p: P, g: P, s: Any, t: int) -> P:
    m, v = _moments(g, s)
    ahead = 0.9 * m / (1 - 0.9 ** (t + 1)) + 0.1 * g / (1 - 0.9**t)
    return p - 0.01 * ahead / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


def nadam_warmed(p: P, g: P, s: Any, t: int) -> P:
    m, v = _moments(g, s)
    now, after = (0.9 * (1 - 0.5 * 0.96 ** (n * 4e-3)) for n in (t, t + 1))
    s["product"] = now * (s["product"] or 1.0)
    ahead = after * m / (1 - after * s["product"]) + (1 - now) * g / (1 - s["product"])
    return p - 0.01 * ahead / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


def radam(p: P, g: P, s: Any, t: int) -> P:
    m, v = _moments(g, s)
    m = m / (1 - 0.9**t)
    most = 2 / (1 - 0.999) - 1
    length = most - 2 * t * 0.999**t / (1 - 0.999**t)
    if length <= 5:
        return p - 0.01 * m
    part = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
    return p - 0.01 * m * np.sqrt(part) * np.sqrt(1 - 0.999**t) / (np.sqrt(v) + 1e-8)


def adamax(p: P, g: P, s: Any, t: int) -> P:
    s["m"] = 0.9 * s["m"] + 0.1 * g
    s["u"] = np.maximum(0.999 * s["u"], np.abs(g) + 1e-8)
    return p - 0.01 / (1 - 0.9**t) * s["m"] / s["u"]


def adagrad(p: P, g: P, s: Any, t: int) -> P:
    s["v"] = (s["v"] if t > 1 else 0.1) + g * g
    return p - 0.1 * g / (np.sqrt(s["v"]) + 1e-10)


def rmsprop(p: P, g: P, s: Any, t: int) -> P:
    s["v"] = 0.99 * s["v"] + 0.01 * g * g
    s["m"] = 0.9 * s["m"] + g / (np.sqrt(s["v"]) + 1e-8)
    return p - 1e-3 * s["m"]


def rmsprop_centered(p: P, g: P, s: Any, t: int) -> P:
    s["v"] = 0.99 * s["v"] + 0.01 * g * g
    s["mean"] = 0.99 * s["mean"] + 0.01 * g
    return p - 1e-2 * g / (np.sqrt(s["v"] - s["mean"] ** 2) + 1e-8)


def lamb(p: P, g: P, s: Any, t: int) -> P:
    m, v = _moments(g, s)
    r = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-6) + 0.01 * p
    return p - 0.01 * np.linalg.norm(p) / np.linalg.norm(r) * r


def schedule_free(p: P, g: P, s: Any, t: int) -> P:
    z, x = s["z"] if t > 1 else p, s["x"] if t > 1 else p
    v = s["v"] = 0.999 * s["v"] + 0.001 * g * g
    lr = 0.01 * min(1, t / 10)
    s["total"] += lr**2
    z = s["z"] = z - lr * (g / (np.sqrt(v / (1 - 0.999**t)) + 1e-8) + 0.1 * p)
    c = lr**2 / s["total"]
    x = s["x"] = (1 - c) * x + c * z
    return 0.1 * z + 0.9 * x


def adafactor(p: P, g: P, s: Any, t: int) -> P:
    new, squares = t**-0.8, g * g + 1e-30
    if p.ndim == 1:
        v = s["v"] = (1 - new) * s["v"] + new * squares
    else:
        r = s["r"] = (1 - new) * s["r"] + new * squares.sum(1, keepdims=True)
        c = s["c"] = (1 - new) * s["c"] + new * squares.sum(0, keepdims=True)
        v = r @ c / r.sum()
    u = g / np.sqrt(v)
    u = u / max(1, np.sqrt((u**2).mean()))
    return p - 0.01 * max(1e-3, np.sqrt((p**2).mean())) * u


def muon(p: P, g: P, s: Any, t: int) -> P:
    if p.ndim == 1:
        return adam(p, g, s, t)
    s["m"] = 0.95 * s["m"] + g
    x = g + 0.95 * s["m"]
    x = x.T / (np.linalg.norm(x) + 1e-7)  # the wide side first, as the iteration wants it
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return p - 0.02 * x.T


def _root(a: P, power: float) -> P:
    w, v = np.linalg.eigh(a)
    return (v * (np.maximum(w, 0) + 1e-8) ** power) @ v.T


def shampoo(p: P, g: P, s: Any, t: int) -> P:
    if p.ndim == 1:
        return adam(p, g, s, t)
    s["m"] = 0.9 * s["m"] + 0.1 * g
    left = s["l"] = 0.99 * s["l"] + 0.01 * g @ g.T
    right = s["r"] = 0.99 * s["r"] + 0.01 * g.T @ g
    left, right = (_root(a / (1 - 0.99**t), -0.25) for a in (left, right))
    return p - 0.01 * left @ (s["m"] / (1 - 0.9**t)) @ right


def _next_basis(squares: P, basis: P) -> P:
    q, r = np.linalg.qr(squares @ basis + 1e-4 * np.diag(squares).mean() * basis)
    return q * np.where(np.diag(r) < 0, -1, 1)


def soap(p: P, g: P, s: Any, t: int) -> P:
    if t == 1:
        s["ql"], s["qr"] = np.eye(p.shape[0]), np.eye(p.shape[-1])
    if p.ndim == 1:
        return _turned(p, g, s, t, lambda x: x, lambda x: x)
    left, right = s["ql"], s["qr"]
    new = _turned(p, g, s, t, lambda x: left.T @ x @ right, lambda x: left @ x @ right.T)
    s["l"] = 0.95 * s["l"] + 0.05 * g @ g.T
    s["r"] = 0.95 * s["r"] + 0.05 * g.T @ g
    s["ql"], s["qr"] = _next_basis(s["l"], left), _next_basis(s["r"], right)
    return new


def _turned(p: P, g: P, s: Any, t: int, into: Any, back: Any) -> P:
    s["m"] = 0.95 * s["m"] + 0.05 * g
    s["v"] = 0.95 * s["v"] + 0.05 * into(g) ** 2
    step = into(s["m"]) / (1 - 0.95**t) / (np.sqrt(s["v"] / (1 - 0.95**t)) + 1e-8)
    return p * (1 - 0.01 * 0.01) - 0.01 * back(step)


def lookahead(p: P, g: P, s: Any, t: int) -> P:
    slow = s["slow"] if t > 1 else p
    fast = adam(p, g, s, t)
    if t % 5 == 0:
        slow = fast = slow + 0.5 * (fast - slow)
    s["slow"] = slow
    return fast


def centered(p: P, g: P, s: Any, t: int) -> P:
    return p - 0.01 * (g if g.ndim == 1 else g - g.mean(0))


def adaptive(p: P, g: P, s: Any, t: int) -> P:
    axis = 0 if p.ndim > 1 else None
    most = 0.1 * np.maximum(np.linalg.norm(p, axis=axis, keepdims=True), 1e-3)
    length = np.linalg.norm(g, axis=axis, keepdims=True)
    return p - 0.1 * np.where(length > most, g * most / length, g)
