"""Elementwise operations of ONNX in our builtins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builtin_calls import call
from onnx_node import Node, Unmapped, cast, onnx_dtype, rank

from sexpgpu_core.ir.types import FLOATS

UNARY = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh",
    "Atan": "atan", "Atanh": "atanh", "Ceil": "ceiling", "Cos": "cos", "Cosh": "cosh",
    "Erf": "erf", "Exp": "exp", "Floor": "floor", "HardSwish": "hard-swish", "IsNaN": "is-nan",
    "Log": "log", "Mish": "mish", "Neg": "-", "Not": "logical-not", "Reciprocal": "reciprocal",
    "Relu": "relu", "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin",
    "Sinh": "sinh", "Softplus": "softplus", "Softsign": "softsign", "Sqrt": "sqrt", "Tan": "tan",
    "Tanh": "tanh", "BitwiseNot": "lognot",
}  # fmt: skip
BINARY = {
    "Add": "+", "Sub": "-", "Mul": "*", "And": "logical-and", "Or": "logical-or",
    "Xor": "logical-xor", "BitwiseAnd": "logand", "BitwiseOr": "logior", "BitwiseXor": "logxor",
    "Equal": "=", "Greater": ">", "GreaterOrEqual": ">=", "Less": "<", "LessOrEqual": "<=",
    "Max": "max", "Min": "min", "Sum": "+",
}  # fmt: skip


def _unary(n: Node) -> Any:
    return call(UNARY[n.operation], n[0])


def _binary(n: Node) -> Any:
    name = BINARY[n.operation]
    if n.operation in ("Sum", "Max", "Min") and len(n) == 1:
        return n[0]
    return call(name, *n.all())


def _divide(n: Node) -> Any:
    return call("/" if n[0].dtype in FLOATS else "truncate", n[0], n[1])


def _power(n: Node) -> Any:
    x, y = n[0], n[1]
    if x.dtype == y.dtype and x.dtype in FLOATS:
        return call("expt", x, y)
    wide = "f64" if "64" in x.dtype + y.dtype else "f32"
    found = call("expt", cast(x, wide), cast(y, wide))
    return cast(found, x.dtype)


def _mod(n: Node) -> Any:
    return call("rem" if n.get("fmod", 0) else "mod", n[0], n[1])


def _bit_shift(n: Node) -> Any:
    x, count = n[0], n[1]
    if count.dtype[0] == "i" and (n.known(1) < 0).any():
        raise Unmapped("a negative count shifts the other way with us")
    if n.get("direction") == "LEFT":
        return call("ash", x, count)
    wide = "i64" if x.dtype == "u32" else "i32"
    if x.dtype == "u64":
        raise Unmapped("a count to the right is a negative number, which u64 has not")
    return cast(call("ash", cast(x, wide), call("-", cast(count, wide))), x.dtype)


def _clip(n: Node) -> Any:
    low = n.maybe(1) if n.opset >= 11 else n.get("min")
    high = n.maybe(2) if n.opset >= 11 else n.get("max")
    return call("clip", n[0], low, high)


def _mean(n: Node) -> Any:
    total = call("+", *n.all()) if len(n) > 1 else n[0]
    return call("/", total, len(n))


def _is_inf(n: Node) -> Any:
    x, found = n[0], call("is-inf", n[0])
    if not n.get("detect_negative", 1):
        found = call("logical-and", found, call(">", x, 0))
    if not n.get("detect_positive", 1):
        found = call("logical-and", found, call("<", x, 0))
    return found


def _hard_sigmoid(n: Node) -> Any:
    alpha, beta = n.get("alpha", 0.2), n.get("beta", 0.5)
    return call("clip", call("+", call("*", n[0], alpha), beta), 0, 1)


def _selu(n: Node) -> Any:
    if not n.attributes:
        return call("selu", n[0])
    alpha, gamma = n.get("alpha", 1.67326319217681884765625), n.get("gamma", 1.05070102214813232)
    return call("*", call("elu", n[0], alpha=alpha), gamma)


def _p_relu(n: Node) -> Any:
    x, slope = n[0], n[1]
    return call("where", call("<", x, 0), call("*", x, slope), x)


def _thresholded(n: Node) -> Any:
    return call("where", call(">", n[0], n.get("alpha", 1.0)), n[0], 0.0)


def _shrink(n: Node) -> Any:
    x, bias, edge = n[0], n.get("bias", 0.0), n.get("lambd", 0.5)
    above = call("where", call(">", x, edge), call("-", x, bias), call("zeros-like", x))
    return call("where", call("<", x, -edge), call("+", x, bias), above)


def _gelu(n: Node) -> Any:
    return call("gelu", n[0], approximate="tanh" if n.get("approximate") == "tanh" else None)


def _swish(n: Node) -> Any:
    return call("*", n[0], call("sigmoid", call("*", n[0], n.get("alpha", 1.0))))


def _cast(n: Node) -> Any:
    return _converted(n[0], onnx_dtype(n.get("to")))


def _cast_like(n: Node) -> Any:
    return _converted(n[0], n[1].dtype)


def _converted(x: Any, dtype: str) -> Any:
    return x if x.dtype == dtype else cast(x, dtype)


def _bitcast(n: Node) -> Any:
    return call("bitcast", n[0], onnx_dtype(n.get("to")))


def _hardmax(n: Node) -> Any:
    x = n[0]
    axis = n.get("axis", -1) % max(rank(x), 1)
    return call("one-hot", call("argmax", x, axis=axis), x.shape[axis], axis=axis, dtype=x.dtype)


def _swiglu(n: Node) -> Any:
    return call("*", _swish(n), n[1])


ROWS: dict[str, Callable[[Node], Any]] = {
    **dict.fromkeys(UNARY, _unary),
    **dict.fromkeys(BINARY, _binary),
    "Div": _divide,
    "Pow": _power,
    "Mod": _mod,
    "BitShift": _bit_shift,
    "Clip": _clip,
    "Mean": _mean,
    "IsInf": _is_inf,
    "HardSigmoid": _hard_sigmoid,
    "Elu": lambda n: call("elu", n[0], alpha=n.get("alpha", 1.0)),
    "Celu": lambda n: call("celu", n[0], alpha=n.get("alpha", 1.0)),
    "LeakyRelu": lambda n: call("leaky-relu", n[0], slope=n.get("alpha", 0.01)),
    "Selu": _selu,
    "PRelu": _p_relu,
    "ThresholdedRelu": _thresholded,
    "Shrink": _shrink,
    "Gelu": _gelu,
    "Swish": _swish,
    "SwiGLU": _swiglu,
    "Cast": _cast,
    "CastLike": _cast_like,
    "BitCast": _bitcast,
    "Where": lambda n: call("where", n[0], n[1], n[2]),
    "Hardmax": _hardmax,
    "Binarizer": lambda n: cast(call(">", n[0], n.get("threshold", 0.0)), n[0].dtype),
}
