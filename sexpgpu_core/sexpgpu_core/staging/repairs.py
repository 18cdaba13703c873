"""What mends a call whose shapes or dtypes do not fit: tables of repairs to try, by code.

Repairs come in groups, the likelier first. The first group of which something fits decides: one
repair that fits is an edit, several are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..diagnostics import Diagnostic
from ..evaluator.values import Cons, Value, keyword, list_items, make_list
from ..ir.types import FLOATS, INTEGERS, WIDTH
from .attempt import Attempt, Repair
from .faults import operand_spans
from .tensor import GENERIC, Tensor

Groups = Iterator[list[Repair]]
Rule = Callable[[Attempt, Diagnostic], Groups]
REDUCTIONS = frozenset(
    (
        *("sum", "mean", "weighted-mean", "product", "reduce-max", "reduce-min", "any", "all"),
        *("variance", "std", "logsumexp", "norm", "argmax", "argmin", "quantile", "median"),
        "count-nonzero",
    )
)


def _call(name: str, *more: Value, **options: Value) -> Callable[[Value], Value]:
    """x -> (name x more... :key option...)"""
    pairs = [p for k, v in options.items() for p in (keyword(k.upper()), v)]
    return lambda x: GENERIC[name].call(x, *more, *pairs)


def transposed(attempt: Attempt, i: int) -> Repair:
    return attempt.wrapped(i, "(transpose {})", _call("transpose"), f"transpose {attempt.text(i)}")


def cast(attempt: Attempt, i: int, dtype: str) -> Repair:
    return attempt.wrapped(
        i, f"(cast {{}} :{dtype})", _call("cast", keyword(dtype.upper())), f"cast it to {dtype}"
    )


def unsqueezed(attempt: Attempt, i: int, axis: int) -> Repair:
    return attempt.wrapped(
        i, f"(unsqueeze {{}} {axis})", _call("unsqueeze", axis), f"give it an axis {axis} of size 1"
    )


def squeezed(attempt: Attempt, i: int, axis: int) -> Repair:
    return attempt.wrapped(
        i,
        f"(squeeze {{}} :axis {axis})",
        _call("squeeze", axis=axis),
        f"leave out its axis {axis} of size 1",
    )


def permuted(attempt: Attempt, i: int, order: tuple[int, ...], title: str) -> Repair:
    text = " ".join(map(str, order))
    return attempt.wrapped(
        i, f"(permute {{}} '({text}))", _call("permute", make_list(order)), title
    )


def kept(attempt: Attempt, i: int) -> Repair | None:
    """Operand i, a reduction that is written in the call, with `:keep t`."""
    part = attempt.part(i)
    inner = operand_spans(part) if part is not None else []
    value = attempt.arguments[i]
    if not inner or value.__class__ is not Tensor or inner[0].text.lower() not in REDUCTIONS:
        return None
    words = [p.text.lower() for p in inner]
    if ":keep" in words or ":axis" not in words:
        return None
    axis = words[words.index(":axis") + 1]
    rank = len(value.shape) + 1
    if not axis.lstrip("-").isdigit() or not -rank <= int(axis) < rank:
        return None
    assert part is not None
    made = _call("unsqueeze", int(axis) % rank)
    return attempt.replaced({i: part.text[:-1] + " :keep t)"}, {i: made}, "keep the reduced axis")


def both(first: Repair, second: Repair) -> Repair:
    """Two repairs of different operands at once."""
    return Repair(
        f"{first.title}, {second.title}",
        {**first.operands, **second.operands},
        {**first.options, **second.options},
        {**first.texts, **second.texts},
        f"{first.shown} and {second.shown}",
    )


# ---- shapes
def _matmul(a: Attempt, d: Diagnostic) -> Groups:
    wide = [i for i, v in a.tensors if len(v.shape) >= 2]
    yield [transposed(a, i) for i in wide]
    yield [a.swapped(0, 1)]
    if len(wide) == 2:
        yield [both(transposed(a, 0), transposed(a, 1))]


def _broadcast(a: Attempt, d: Diagnostic) -> Groups:
    """Only one side may grow: an axis of size 1 where the other has its size."""
    yield [r for i, _ in a.tensors if (r := kept(a, i)) is not None]
    ranks = [len(v.shape) for _, v in a.tensors]
    yield [
        unsqueezed(a, i, axis)
        for i, v in a.tensors
        if 0 < len(v.shape) < max(ranks)
        for axis in range(1, len(v.shape) + 1)
    ]
    yield [transposed(a, i) for i, v in a.tensors if len(v.shape) == 2]


def _outer(a: Attempt, d: Diagnostic) -> Groups:
    """An axis of size 1 that the other side lacks is left out."""
    yield [
        squeezed(a, i, axis) for i, v in a.tensors for axis, size in enumerate(v.shape) if size == 1
    ]


def _argument(a: Attempt, d: Diagnostic) -> Groups:
    yield _exchanged(a)
    if a.name == "einsum":
        yield [transposed(a, i) for i, v in a.tensors if len(v.shape) == 2]
    if a.name in ("concat", "stack"):
        yield from _joined(a)
    if a.name == "cross-entropy":
        yield from _labels(a)
    lower = [(i, v) for i, v in a.tensors if v.shape]
    yield [squeezed(a, i, len(v.shape) - 1) for i, v in lower if v.shape[-1] == 1]
    ranks = [len(v.shape) for _, v in a.tensors] or [0]
    yield [
        unsqueezed(a, i, axis)
        for i, v in lower
        if len(v.shape) < max(ranks)
        for axis in range(len(v.shape) + 1)
    ]


def _joined(a: Attempt) -> Groups:
    rank = max(len(v.shape) for _, v in a.tensors)
    yield [a.with_option("axis", str(i), i, f"join them on axis {i}") for i in range(rank)]
    if a.name == "stack":
        yield [a.renamed("concat")]


def _labels(a: Attempt) -> Groups:
    label = a.arguments[1]
    if label.dtype in FLOATS:
        yield [cast(a, 1, "i32")]
    rank = len(a.arguments[0].shape)
    if "axis" not in a.options:
        yield [a.with_option("axis", str(i), i, f"the classes are axis {i}") for i in range(rank)]


def _axis(a: Attempt, d: Diagnostic) -> Groups:
    """One edit is right where there is one axis."""
    rank = d.facts.get("rank")
    if rank == 1 and "axis" in a.options:
        yield [a.with_option("axis", "0", 0, "the one axis")]


def _reshape(a: Attempt, d: Diagnostic) -> Groups:
    """One size of a written list that makes the product right; -1 where that is the rows of a
    batch, which are fewer in the last batch of a pass."""
    if a.name not in ("reshape",) or a.arguments[1].__class__ is not Cons:
        return
    sizes, total = list_items(a.arguments[1]), a.arguments[0].type.size
    part = a.part(1)
    if part is None or not all(s.__class__ is int for s in sizes):
        return
    words = operand_spans(part._replace(start=part.start + part.text.startswith("'")))
    words = words[len(words) - len(sizes) :]
    if [w.text for w in words] != [str(s) for s in sizes]:
        return
    found: list[Repair] = []
    rows: list[Repair] = []
    for i, word in enumerate(words):
        rest = 1
        for j, size in enumerate(sizes):
            rest *= 1 if j == i else size
        if rest > 0 and total % rest == 0 and sizes[i] != total // rest:
            left = total // rest
            of_batch = i == 0 and left == a.t.rows and a.arguments[0].shape[:1] == (left,)
            right = [*sizes[:i], -1 if of_batch else left, *sizes[i + 1 :]]
            title = "as many as the batch has rows" if of_batch else f"{left} elements are left"
            made = _with_size(a, word.start - part.start, word.text, right, i, title)
            (rows if of_batch else found).append(made)
    yield rows
    yield found


def _with_size(a: Attempt, at: int, old: str, sizes: list[int], i: int, title: str) -> Repair:
    text = a.text(1)
    new = text[:at] + str(sizes[i]) + text[at + len(old) :]
    return a.replaced({1: new}, {1: lambda _: make_list(sizes)}, title)


def _slice(a: Attempt, d: Diagnostic) -> Groups:
    """A bound that is too large ends where the axis does."""
    size, end = d.facts.get("size"), a.options.get("end")
    part = a.option_part("end")
    if end.__class__ is int and size.__class__ is int and part is not None and end > size:
        yield [a.with_option("end", str(size), size, "end where the axis does")]


CHANNELS_LAST = {3: (0, 2, 1), 4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
KERNEL_LAST = {3: (2, 1, 0), 4: (2, 3, 1, 0), 5: (2, 3, 4, 1, 0)}


def _conv(a: Attempt, d: Diagnostic) -> Groups:
    """Channels first, of pictures and of kernels; a window that the picture is too small for."""
    (i, picture), (j, kernel) = a.tensors[0], a.tensors[-1]
    rank = len(picture.shape)
    if rank == len(kernel.shape) and rank in CHANNELS_LAST and i != j:
        x = permuted(a, i, CHANNELS_LAST[rank], "put the channels of the picture last")
        w = permuted(a, j, KERNEL_LAST[rank], "put the channels of the kernel last")
        yield [x, w]
        yield [both(x, w)]
    if "padding" not in a.options:
        yield [a.with_option("padding", ":same", keyword("SAME"), "put zeros around")]


# ---- dtypes
def _mix(a: Attempt, d: Diagnostic) -> Groups:
    """Towards floats, then towards the wider; else the other way."""
    dtypes = list(dict.fromkeys(v.dtype for _, v in a.tensors if v.dtype != "bool"))
    dtypes.sort(key=lambda t: (t in FLOATS, WIDTH[t], t == "f32"), reverse=True)
    for target in dtypes:
        for kept in ((target, "bool"), (target,)):  # a bool is cast where nothing else mends it
            others = [i for i, v in a.tensors if v.dtype not in kept]
            yield [cast(a, i, target) for i in others]
            if len(others) > 1:
                yield [_all(cast(a, i, target) for i in others)]


def _range(a: Attempt, d: Diagnostic) -> Groups:
    """The tensor in the narrowest wider dtype that holds the number; signed where it must be."""
    for i, v in a.tensors:
        family = FLOATS if v.dtype in FLOATS else INTEGERS
        wider = [t for t in family if WIDTH[t] > WIDTH[v.dtype]]
        for target in sorted(wider, key=lambda t: (t[0] != v.dtype[0], WIDTH[t])):
            yield [cast(a, i, target)]


def _all(repairs: Iterator[Repair]) -> Repair:
    first, *rest = repairs
    for other in rest:
        first = both(first, other)
    return first


SWAPPED = frozenset(
    (
        *("cross-entropy", "binary-cross-entropy", "gather", "take-along", "gather-nd"),
        *("segment-sum", "segment-mean", "segment-max", "segment-min", "segment-softmax"),
    )
)
"""What takes floats and integers in an order that others have the other way round."""


def _exchanged(a: Attempt) -> list[Repair]:
    """The first two operands swapped, where one is of floats and the other is not."""
    if a.name not in SWAPPED or [i for i, _ in a.tensors[:2]] != [0, 1]:
        return []
    kinds = {a.arguments[0].dtype in FLOATS, a.arguments[1].dtype in FLOATS}
    return [a.swapped(0, 1)] if len(kinds) == 2 else []


def _to_float(a: Attempt, d: Diagnostic) -> Groups:
    """Integers (and bools) as floats of the dtype that is there, or f32."""
    yield _exchanged(a)
    there = next((v.dtype for _, v in a.tensors if v.dtype in FLOATS), "f32")
    others = [i for i, v in a.tensors if v.dtype not in FLOATS]
    yield [cast(a, i, there) for i in others]
    if len(others) > 1:
        yield [_all(cast(a, i, there) for i in others)]


def _dtype(a: Attempt, d: Diagnostic) -> Groups:
    """What takes floats, integers or bools gets another."""
    yield from _to_float(a, d)
    yield [cast(a, i, "i32") for i, v in a.tensors if v.dtype in FLOATS]
    tests = [i for i, v in a.tensors if v.dtype != "bool"]
    yield [_tested(a, i) for i in tests]
    if len(tests) > 1:
        yield [_all(_tested(a, i) for i in tests)]


def _tested(a: Attempt, i: int) -> Repair:
    zero = 0 if a.arguments[i].dtype in INTEGERS else 0.0
    return a.wrapped(i, "(/= {} 0)", lambda x: GENERIC["/="].call(x, zero), "ask where it is not 0")


RULES: dict[str, Rule] = {
    "E-SHAPE-MATMUL": _matmul,
    "E-SHAPE-BROADCAST": _broadcast,
    "E-SHAPE-ARGUMENT": _argument,
    "E-SHAPE-AXIS": _axis,
    "E-SHAPE-RESHAPE": _reshape,
    "E-SHAPE-SLICE": _slice,
    "E-SHAPE-CONV": _conv,
    "E-DTYPE-MIX": _mix,
    "E-DTYPE-RANGE": _range,
    "E-DTYPE-WEAK": _to_float,
    "E-DTYPE-INTEGER": _to_float,
    "E-DTYPE-ARGUMENT": _dtype,
    "W-BROADCAST-OUTER": _outer,
}
"""Groups of repairs to try, by code."""
