"""Reductions, products and softmax of ONNX in our builtins."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from builtin_calls import call
from onnx_node import Node, Unmapped, axis_of, cast, rank

from sexpgpu_core.evaluator.values import String

INTEGER_MEAN = "mean of integers is an error with us"


def _axes(n: Node) -> list[int] | None:
    """None: all axes. Raises StopIteration for no axes at all."""
    found = n.get("axes")
    if found is None and n.has(1):
        found = n.numbers(1)
    if found is None or len(found) == 0:
        return [] if n.get("noop_with_empty_axes", 0) else None
    return list(found)


def _reduce(reduce: Callable[..., Any], n: Node) -> Any:
    axes = _axes(n)
    if axes == []:
        return reduce(n[0], axis=(), keep=True) if _elementwise(n) else n[0]
    return reduce(n[0], axis=axes, keep=bool(n.get("keepdims", 1)))


def _elementwise(n: Node) -> bool:
    return n.operation in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum")


def _named(name: str, x: Any, **at: Any) -> Any:
    return x if at["axis"] == () else call(name, x, **at)


def _log_sum(x: Any, **at: Any) -> Any:
    return call("log", _named("sum", x, **at))


def _sum_square(x: Any, **at: Any) -> Any:
    return _named("sum", call("square", x), **at)


def _norm(order: int, x: Any, **at: Any) -> Any:
    if x.dtype[0] in "iu":
        raise Unmapped("norms of integers: they are of floats with us")
    return call("abs", x) if at["axis"] == () else call("norm", x, order=order, **at)


def _greatest(name: str, x: Any, **at: Any) -> Any:
    if x.dtype == "bool":
        return call({"reduce-max": "any", "reduce-min": "all"}[name], x, **at)
    return call(name, x, **at)


def _log_sum_exp(x: Any, **at: Any) -> Any:
    if x.dtype[0] in "iu":
        raise Unmapped("logsumexp of integers: it is of floats with us")
    return call("logsumexp", x, **at)


def _mean(x: Any, **at: Any) -> Any:
    if x.dtype[0] in "iu":
        raise Unmapped(INTEGER_MEAN)
    return call("mean", x, **at)


REDUCED: dict[str, Callable[..., Any]] = {
    "ReduceSum": partial(_named, "sum"),
    "ReduceProd": partial(_named, "product"),
    "ReduceMax": partial(_greatest, "reduce-max"),
    "ReduceMin": partial(_greatest, "reduce-min"),
    "ReduceMean": _mean,
    "ReduceL1": partial(_norm, 1),
    "ReduceL2": partial(_norm, 2),
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": _sum_square,
}


def _index(name: str, n: Node) -> Any:
    x, axis = n[0], axis_of(n.get("axis", 0), n[0])
    keep = bool(n.get("keepdims", 1))
    if not n.get("select_last_index", 0):
        return cast(call(name, x, axis=axis, keep=keep), "i64")
    found = call(name, call("flip", x, axis=axis), axis=axis, keep=keep)
    return cast(call("-", x.shape[axis] - 1, found), "i64")


def _soft(name: str, n: Node) -> Any:
    x, axis = n[0], n.get("axis", -1 if n.opset >= 13 else 1)
    return call(name, x, axis=axis_of(axis, x))


def _running(name: str, n: Node) -> Any:
    axis = axis_of(int(n.known(1)), n[0])
    at = {"reverse": bool(n.get("reverse", 0)), "exclusive": bool(n.get("exclusive", 0))}
    return call(name, n[0], axis=axis, **at)


def _gemm(n: Node) -> Any:
    at = {f"transpose_{k}": bool(n.get(f"trans{a}", 0)) for k, a in (("x", "A"), ("y", "B"))}
    found = call("matmul", n[0], n[1], **at)
    if n.get("alpha", 1.0) != 1.0:
        found = call("*", found, n.get("alpha"))
    if not n.has(2):
        return found
    beta = n.get("beta", 1.0)
    return call("+", found, n[2] if beta == 1.0 else call("*", n[2], beta))


def _einsum(n: Node) -> Any:
    text = n.get("equation").replace(" ", "")
    return call("einsum", String(text), *n.all())


def _matmul_integer(n: Node) -> Any:
    x, y = cast(n[0], "i32"), cast(n[1], "i32")
    for at, side in ((2, "x"), (3, "y")):
        if n.has(at):
            zero = cast(n[at], "i32")
            if side == "x":
                column = call("unsqueeze", zero, -1) if rank(zero) else zero
                x = call("-", x, column)
            else:
                y = call("-", y, zero)
    return call("matmul", x, y)


ROWS: dict[str, Callable[[Node], Any]] = {
    **{name: partial(_reduce, reduce) for name, reduce in REDUCED.items()},
    "ArgMax": partial(_index, "argmax"),
    "ArgMin": partial(_index, "argmin"),
    "Softmax": partial(_soft, "softmax"),
    "LogSoftmax": partial(_soft, "log-softmax"),
    "CumSum": partial(_running, "cumsum"),
    "CumProd": partial(_running, "cumprod"),
    "MatMul": lambda n: call("matmul", n[0], n[1]),
    "Gemm": _gemm,
    "Einsum": _einsum,
    "MatMulInteger": _matmul_integer,
    "Det": lambda n: call("det", n[0]),
}
