"""Vectors that grow: fill pointers, `vector-push`, `adjust-array`; bit-array operations."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...diagnostics import problem
from ..definitions import builtin
from ..faults import bad_argument, claim_cells, wrong_type
from ..sequence_parts import stored
from ..values import NIL, Array, T, Value, Vector
from .arrays import array_of, built, contents_of, dims_of, element_at, fill_of
from .bounds import index
from .defining import define
from .sequences import DEFAULTS


def _filled_vector(name: str, x: Any) -> Vector:
    if not isinstance(x, Vector) or x.fill is None:
        raise wrong_type(name, x, "a vector with a fill pointer")
    return x


@builtin("fill-pointer", "(vector)")
def fill_pointer(vector: Any) -> Value:
    """The number of elements in use."""
    return _filled_vector("fill-pointer", vector).fill


@builtin("(setf fill-pointer)", "(new vector)")
def set_fill_pointer(new: Any, vector: Any) -> Value:
    """Set the number of elements in use."""
    found = _filled_vector("setf fill-pointer", vector)
    found.fill = index("setf fill-pointer", new, len(found.data) + 1)
    return new


@builtin("vector-push", "(element vector)")
def vector_push(element: Any, vector: Any) -> Value:
    """Store an element at the fill pointer; its index, nil if the vector is full."""
    found = _filled_vector("vector-push", vector)
    at = found.fill or 0
    if at >= len(found.data):
        return NIL
    found.data[at] = stored("vector-push", found, element)
    found.fill = at + 1
    return at


@builtin("vector-push-extend", "(element vector &optional extension)")
def vector_push_extend(element: Any, vector: Any, extension: Any = 1) -> Value:
    """Store an element at the fill pointer, growing the vector if it is full; its index."""
    found = _filled_vector("vector-push-extend", vector)
    if (found.fill or 0) >= len(found.data):
        if not found.adjustable:
            raise wrong_type("vector-push-extend", vector, "an adjustable vector")
        _grow(found, max(extension if extension.__class__ is int else 1, len(found.data), 1))
    return vector_push(element, found)


def _grow(vector: Vector, count: int) -> None:
    claim_cells("vector-push-extend", len(vector.data) + count)
    start = DEFAULTS[vector.element]
    vector.data += [stored("vector-push-extend", vector, start)] * count
    vector.dims = (len(vector.data),)


@builtin("vector-pop", "(vector)")
def vector_pop(vector: Any) -> Value:
    """Take the last element in use."""
    found = _filled_vector("vector-pop", vector)
    if not found.fill:
        raise problem("E-INDEX", "vector-pop: the vector is empty")
    found.fill -= 1
    return element_at(found, found.fill)


_ADJUST = "&key element-type initial-element initial-contents fill-pointer displaced-to"


@builtin("adjust-array", f"(array dimensions {_ADJUST} displaced-index-offset)")
def adjust_array(
    array: Any,
    dimensions: Any,
    *,
    element_type: Any = None,
    initial_element: Any = None,
    initial_contents: Any = None,
    fill_pointer: Any = NIL,
    displaced_to: Any = NIL,
    displaced_index_offset: Any = 0,
) -> Value:
    """The array with new dimensions: itself if it is adjustable, else a new one."""
    old = array_of("adjust-array", array)
    dims = dims_of("adjust-array", dimensions)
    if displaced_to is not NIL or len(dims) != len(old.dims):
        raise bad_argument("adjust-array", "the rank stays, and there are no displaced arrays")
    if initial_contents is None:
        items = _moved(
            old, dims, DEFAULTS[old.element] if initial_element is None else initial_element
        )
    else:
        items = contents_of("adjust-array", dims, old.element, None, initial_contents)
    made = built("adjust-array", dims, items, old.element)
    made.fill = fill_of("adjust-array", fill_pointer, dims)
    if fill_pointer is NIL and old.fill is not None:
        made.fill = min(old.fill, dims[0])
    made.adjustable, made.declared = old.adjustable, old.declared
    if not old.adjustable:
        return made
    old.dims, old.data, old.fill = made.dims, made.data, made.fill
    return old


def _moved(old: Array, dims: tuple[int, ...], start: Value) -> list[Value]:
    """Elements at the subscripts that both have, `start` elsewhere."""
    items = [start] * prod(dims)
    for at in range(len(items)):
        rest, source, step, inside = at, 0, 1, True
        for size, before in zip(reversed(dims), reversed(old.dims)):
            rest, subscript = divmod(rest, size)
            inside = inside and subscript < before
            source += subscript * step
            step *= before
        if inside:
            items[at] = element_at(old, source)
    return items


_BIT_OPERATIONS: tuple[tuple[str, Callable[[int, int], int]], ...] = (
    ("bit-and", lambda a, b: a & b),
    ("bit-ior", lambda a, b: a | b),
    ("bit-xor", lambda a, b: a ^ b),
    ("bit-eqv", lambda a, b: 1 ^ a ^ b),
    ("bit-nand", lambda a, b: 1 ^ (a & b)),
    ("bit-nor", lambda a, b: 1 ^ (a | b)),
    ("bit-andc1", lambda a, b: (1 ^ a) & b),
    ("bit-andc2", lambda a, b: a & (1 ^ b)),
    ("bit-orc1", lambda a, b: (1 ^ a) | b),
    ("bit-orc2", lambda a, b: a | (1 ^ b)),
)


def _bit_array(name: str, x: Any) -> Array:
    if not isinstance(x, Array) or x.element != "bit":
        raise wrong_type(name, x, "a bit array")
    return x


def _bitwise(name: str, of: Callable[[int, int], int]) -> Callable[..., Value]:
    def call(one: Any, two: Any, result: Any = NIL) -> Value:
        left, right = _bit_array(name, one), _bit_array(name, two)
        if left.dims != right.dims:
            raise bad_argument(name, "the arrays have different dimensions")
        bits = [of(a, b) for a, b in zip(left.data, right.data)]
        return _bit_result(name, left, bits, result)

    return call


def _bit_result(name: str, like: Array, bits: list[Any], result: Any) -> Value:
    if result is NIL:
        return built(name, like.dims, bits, "bit")
    target = like if result is T else _bit_array(name, result)
    if target.dims != like.dims:
        raise bad_argument(name, "the result has other dimensions")
    target.data[:] = bits
    return target


for _name, _of in _BIT_OPERATIONS:
    define(
        _name,
        "(bit-array1 bit-array2 &optional result)",
        f"The arrays combined bit by bit as by log{_name[4:]}.",
        _bitwise(_name, _of),
    )


@builtin("bit-not", "(bit-array &optional result)")
def bit_not(bits: Any, result: Any = NIL) -> Value:
    """The array with all bits turned over."""
    found = _bit_array("bit-not", bits)
    return _bit_result("bit-not", found, [1 - b for b in found.data], result)
