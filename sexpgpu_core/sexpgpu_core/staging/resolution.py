"""W-PRECISION-UPDATE: what an update does to a parameter that its dtype cannot hold (80 item 12).

Read from the traced body: a factor of the parameter that is 1 in its dtype at every step decays
nothing; steps as long as the rate are lost in an f16 weight that is much larger. What is kept in
bf16 is rounded at random, so that small updates are not lost in the mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import Problem
from ..ir.graph import Node
from ..ir.rounding import rounded
from .host import warn
from .initialize import Initializer, deviation
from .traced import Parameter, Update

HALF_SPACING = 2.0**-12
"""Of f16, relative to a number in it."""
SCALED = ("lecun", "he", "glorot")
Values = Callable[[Any], "list[float] | None"]
"""A step scalar at steps of the run; None where it reads what is not known now."""


def warn_of_lost_updates(
    parameter: Parameter, update: Update, hyper: dict[str, Any], values: Values
) -> None:
    """Of one parameter, in the group whose optimizer has these hyperparameters."""
    dtype = parameter.type.dtype if parameter.type.dtype == "f64" else "f32"
    if any(_is_one(node, update, dtype, values) for node in update.body.nodes):
        warn(
            "W-PRECISION-UPDATE",
            f"the factor by which {parameter.path} decays, 1 - lr weight-decay, is 1 in {dtype} at "
            "every step: it decays nothing",
            hint="a greater decay, or :weight-decay 0",
        )
    rate, size = _greatest(hyper.get("lr"), values), _size(parameter)
    if rate is None or "beta1" not in hyper or parameter.type.dtype != "f16":
        return
    if 0 < rate < size * HALF_SPACING:
        warn(
            "W-PRECISION-UPDATE",
            f"{parameter.path} is kept in f16: a step of {rate:.2g} does not change a weight "
            f"of {size:.2g}, its deviation at first",
            hint="keep it in f32 (:precision :f16 is enough), or in bf16, rounded at random",
        )


def _is_one(node: Node, update: Update, dtype: str, values: Values) -> bool:
    """Whether a node multiplies the parameter by what is 1 in its dtype at every step."""
    if node.operation != "multiply":
        return False
    sides = [v.node for v in node.operands]
    if not any(_is_parameter(n) for n in sides):
        return False
    for other in sides:
        if other.operation == "constant" and other.get("value") == 1:
            return True
        tree = update.scalars.get(str(other.get("name")))
        found = None if tree is None else values(tree)
        if found and all(_rounded(v, dtype) == 1 for v in found):
            return True
    return False


def _is_parameter(node: Node) -> bool:
    """The parameter of an update, or what it is cast to."""
    while node.operation == "cast":
        node = node.operands[0].node
    return bool(node.get("name") == "param")


def _rounded(value: float, dtype: str) -> float:
    try:
        return float(rounded(value, dtype))
    except Problem:  # too great for the dtype
        return float("inf")


def _greatest(rate: Any, values: Values) -> float | None:
    found = values(rate)
    return max(found) if found else None


def _size(parameter: Parameter) -> float:
    """The deviation of the initial value; 0 where it is not known."""
    init = parameter.init
    if init.__class__ is not Initializer:
        return 0.0
    if init.kind in SCALED:
        return deviation(init, parameter.type.shape)
    return init.numbers[0] if init.kind in ("normal", "truncated-normal") else 0.0
