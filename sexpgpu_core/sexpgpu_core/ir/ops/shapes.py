"""What type rules share: axes, broadcasting, dtype checks, and the messages where they fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...diagnostics import Problem, problem
from ..graph import Value
from ..types import FLOATS, INTEGERS, Type, broadcast

if TYPE_CHECKING:
    from ..builder import Builder
    from .op import Op

Shape = tuple[int, ...]


def text(shape: Sequence[int]) -> str:
    """(3 4)"""
    return "(" + " ".join(map(str, shape)) + ")"


def texts(operands: Sequence[Type], between: str = " and ") -> str:
    """f32 (3 4) and f32 (4)"""
    return between.join(map(str, operands))


def size(shape: Sequence[int]) -> int:
    n = 1
    for s in shape:
        n *= s
    return n


def resolve_axis(operation: str, axis: int, rank: int) -> int:
    """The axis counted from the front; negative ones count from the end. E-SHAPE-AXIS."""
    if not -rank <= axis < rank:
        raise problem(
            "E-SHAPE-AXIS",
            f"{operation}: axis {axis} of a tensor with {rank} axes",
            hint=axes_hint(rank),
            operation=operation,
            axis=axis,
            rank=rank,
        )
    return axis + rank if axis < 0 else axis


def resolve_axes(operation: str, axes: Sequence[int] | None, rank: int) -> Shape:
    """Ascending axes from the front; None is all. E-SHAPE-AXIS for one that is named twice."""
    if axes is None:
        return tuple(range(rank))
    found = sorted({resolve_axis(operation, a, rank) for a in axes})
    if len(found) != len(axes):
        raise problem("E-SHAPE-AXIS", f"{operation}: an axis is named twice in {text(axes)}")
    return tuple(found)


def axes_hint(rank: int) -> str:
    """Which axes a tensor of a rank has."""
    if rank == 0:
        return "a scalar has no axes"
    if rank == 1:
        return "its one axis is 0, or -1"
    return f"its axes are 0 to {rank - 1}, or -{rank} to -1 from the end"


def check_axes(op: Op, axes: Shape, rank: int) -> None:
    """Axes in a graph are ascending and not negative."""
    before = -1
    for a in axes:
        if not before < a < rank:
            raise problem(
                "E-SHAPE-AXIS",
                f"{op.name}: axes {text(axes)} of a tensor with {rank} axes",
                operation=op.name,
                axes=axes,
                rank=rank,
            )
        before = a


def check_axis(op: Op, axis: int, rank: int) -> None:
    if not 0 <= axis < rank:
        resolve_axis(op.name, axis if axis >= rank else rank, rank)


def check_count(op: Op, operands: Sequence[Type], *counts: int) -> None:
    if len(operands) not in counts:
        wanted = " or ".join(map(str, counts))
        raise argument(op, operands, f"takes {wanted} operands, not {len(operands)}")


def argument(op: Op, operands: Sequence[Type], why: str) -> Problem:
    """E-SHAPE-ARGUMENT with the operands' types."""
    return problem(
        "E-SHAPE-ARGUMENT",
        f"{op.name} of {texts(operands)}: {why}",
        operation=op.name,
        shapes=[o.shape for o in operands],
    )


def dtype_argument(op: Op, dtype: str, allowed: str) -> Problem:
    return problem(
        "E-DTYPE-ARGUMENT",
        f"{op.name} takes {allowed}, not {dtype}",
        operation=op.name,
        dtype=dtype,
    )


def want_float(op: Op, dtype: str) -> None:
    """E-DTYPE-INTEGER for an integer, E-DTYPE-ARGUMENT for a bool."""
    if dtype in FLOATS:
        return
    if dtype == "bool":
        raise dtype_argument(op, dtype, "floats")
    raise problem(
        "E-DTYPE-INTEGER",
        f"{op.name} of {dtype}: it takes floats",
        hint="cast the operand: (cast x :f32)",
        operation=op.name,
        dtype=dtype,
    )


def want_number(op: Op, dtype: str) -> None:
    if dtype == "bool":
        raise dtype_argument(op, dtype, "numbers")


def want_integer(op: Op, dtype: str) -> None:
    if dtype not in INTEGERS:
        raise dtype_argument(op, dtype, "integers")


def want_bool(op: Op, dtype: str) -> None:
    if dtype != "bool":
        raise dtype_argument(op, dtype, "bool")


def same_dtype(op: Op, operands: Sequence[Type]) -> str:
    """The one dtype of the operands, or E-DTYPE-MIX."""
    first = operands[0].dtype
    for t in operands:
        if t.dtype != first:
            raise problem(
                "E-DTYPE-MIX",
                f"{op.name} of {texts(operands)}: their dtypes differ",
                operation=op.name,
                dtypes=[o.dtype for o in operands],
            )
    return first


def broadcast_shape(op: Op, operands: Sequence[Type]) -> Shape:
    """The shapes broadcast, or E-SHAPE-BROADCAST naming the sizes that differ."""
    shape = operands[0].shape
    for t in operands[1:]:
        if t.shape is shape or t.shape == shape:
            continue
        wider = broadcast(shape, t.shape)
        if wider is None:
            raise _no_broadcast(op, operands, shape, t.shape)
        shape = wider
    return shape


def _no_broadcast(op: Op, operands: Sequence[Type], a: Shape, b: Shape) -> Problem:
    n = min(len(a), len(b))
    where, x, y = next(
        (i, a[-i], b[-i]) for i in range(1, n + 1) if a[-i] != b[-i] and 1 not in (a[-i], b[-i])
    )
    return problem(
        "E-SHAPE-BROADCAST",
        f"{op.name} of {texts(operands)}: sizes {x} and {y} of {from_end(where)} differ",
        hint=f"{from_end(where)} is counted from the end; only an axis of size 1 grows",
        operation=op.name,
        shapes=[o.shape for o in operands],
        sizes=(x, y),
        axis=-where,
    )


def from_end(place: int) -> str:
    """An axis by its place from the end, which counts from 1."""
    names = {1: "the last axis", 2: "the last axis but one"}
    return names.get(place) or f"axis {-place}"


def wanted(b: Builder, value: Value) -> bool:
    """Whether anybody will use this operand's cotangent (autodiff's builder knows)."""
    needs = getattr(b, "needs", None)
    return needs is None or needs(value)


def unbroadcast(b: Builder, g: Value, shape: Shape) -> Value:
    """Sum a cotangent over the axes that broadcasting made or stretched."""
    given = g.shape
    if given == shape:
        return g
    lead = len(given) - len(shape)
    axes = tuple(i for i, n in enumerate(given) if i < lead or (shape[i - lead] == 1 and n != 1))
    summed = b("reduce-sum", g, axes=axes, keep=False) if axes else g
    return summed if summed.shape == shape else b("reshape", summed, shape=shape)
