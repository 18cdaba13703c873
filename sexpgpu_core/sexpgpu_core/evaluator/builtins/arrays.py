"""Arrays: making them, their elements by subscripts, their shape, fill pointers, adjusting."""

from __future__ import annotations

from math import prod
from typing import Any

from ..definitions import builtin, core_symbol
from ..faults import bad_argument, claim_cells, wrong_type
from ..printer import brief
from ..sequence_parts import checked_element, items_of, stored, vector_of
from ..subtypes import is_subtype
from ..type_specifiers import is_all, parse_type, upgraded
from ..values import NIL, Array, Cons, String, T, Value, Vector, character
from .bounds import index, natural
from .defining import predicate
from .listing import list_from, proper
from .sequences import DEFAULTS

for _name, _test, _doc in (
    ("arrayp", lambda x: isinstance(x, Array), "Whether it is an array."),
    ("vectorp", lambda x: isinstance(x, Vector), "Whether it is a vector."),
    (
        "simple-vector-p",
        lambda x: isinstance(x, Vector) and x.element == "t" and _is_simple(x),
        "Whether it is a simple vector of any elements.",
    ),
    (
        "bit-vector-p",
        lambda x: isinstance(x, Vector) and x.element == "bit",
        "Whether it is a bit vector.",
    ),
    (
        "simple-bit-vector-p",
        lambda x: isinstance(x, Vector) and x.element == "bit" and _is_simple(x),
        "Whether it is a simple bit vector.",
    ),
):
    predicate(_name, "(object)", _doc, _test)


def _is_simple(x: Array) -> bool:
    return x.fill is None and not x.adjustable


def array_of(name: str, x: Any) -> Array:
    """The value, which must be an array."""
    if not isinstance(x, Array):
        raise wrong_type(name, x, "an array")
    return x


def dims_of(name: str, spec: Any) -> tuple[int, ...]:
    sizes = [spec] if spec is not NIL and spec.__class__ is not Cons else proper(name, spec)
    dims = tuple(natural(name, n) for n in sizes)
    claim_cells(name, prod(dims))
    return dims


_MAKE = "&key element-type initial-element initial-contents fill-pointer displaced-to"


@builtin("make-array", f"(dimensions {_MAKE} displaced-index-offset adjustable)")
def make_array(
    dimensions: Any,
    *,
    element_type: Any = None,
    initial_element: Any = None,
    initial_contents: Any = None,
    fill_pointer: Any = NIL,
    displaced_to: Any = NIL,
    displaced_index_offset: Any = 0,
    adjustable: Any = NIL,
) -> Value:
    """An array of dimensions; its elements start as given, else as 0."""
    if displaced_to is not NIL:
        raise bad_argument("make-array", "there are no displaced arrays: copy with subseq")
    dims = dims_of("make-array", dimensions)
    element = "t" if element_type is None else upgraded(element_type)
    if initial_contents is not None and initial_element is not None:
        raise bad_argument(
            "make-array", ":initial-element and :initial-contents exclude each other"
        )
    items = contents_of("make-array", dims, element, initial_element, initial_contents)
    made = built("make-array", dims, items, element)
    made.adjustable = adjustable is not NIL
    made.fill = fill_of("make-array", fill_pointer, dims)
    if element_type is not None:
        given = initial_element is not None or initial_contents is not None
        _declare(made, element_type, items if given else [])
    return made


def _declare(array: Array, spec: Value, items: list[Value]) -> None:
    """Let an array hold only elements of the type that it is made for."""
    if element_type_of(array.element) is spec or array.element == "nil":
        return
    kind = parse_type(spec)
    if is_all(kind) or is_subtype(parse_type(element_type_of(array.element)), kind)[0]:
        return
    array.declared = (spec, kind)
    for item in items:
        stored("make-array", array, item)


def contents_of(
    name: str, dims: tuple[int, ...], element: str, initial: Any, contents: Any
) -> list[Value]:
    if contents is None:
        return [DEFAULTS[element] if initial is None else initial] * prod(dims)
    level = [contents]
    for size in dims:
        deeper: list[Value] = []
        for part in level:
            items = items_of(name, part)
            if len(items) != size:
                raise bad_argument(name, f"{brief(part)} has not the {size} elements of its axis")
            deeper += items
        level = deeper
    return level


def built(name: str, dims: tuple[int, ...], items: list[Value], element: str) -> Array:
    if len(dims) == 1:
        return vector_of(name, items, element)
    return Array(dims, [checked_element(name, element, x) for x in items], element)


def fill_of(name: str, spec: Any, dims: tuple[int, ...]) -> int | None:
    if spec is NIL:
        return None
    if len(dims) != 1:
        raise bad_argument(name, "only a vector has a fill pointer")
    if spec is T:
        return dims[0]
    return index(name, spec, dims[0] + 1)


@builtin("vector", "(&rest objects)")
def vector(*objects: Any) -> Value:
    """A fresh vector of the objects."""
    return Vector(list(objects))


def offset(name: str, array: Array, subscripts: tuple[Any, ...]) -> int:
    """The row-major index of subscripts, each within its axis."""
    if len(subscripts) != len(array.dims):
        raise bad_argument(
            name, f"{len(subscripts)} subscripts for an array of rank {len(array.dims)}"
        )
    at = 0
    for size, subscript in zip(array.dims, subscripts):
        at = at * size + index(name, subscript, size)
    return at


def element_at(array: Array, at: int) -> Value:
    """The element of a row-major index."""
    found = array.data[at]
    return character(found) if isinstance(array, String) else found


def store_at(name: str, array: Array, at: int, new: Any) -> Value:
    array.data[at] = stored(name, array, new)
    return new


@builtin("aref", "(array &rest subscripts)")
def aref(array: Any, *subscripts: Any) -> Value:
    """The element of the subscripts."""
    if array.__class__ is Vector and len(subscripts) == 1:
        at = subscripts[0]
        if at.__class__ is int and 0 <= at < len(array.data):
            return array.data[at]
    found = array_of("aref", array)
    return element_at(found, offset("aref", found, subscripts))


@builtin("(setf aref)", "(new array &rest subscripts)")
def set_aref(new: Any, array: Any, *subscripts: Any) -> Value:
    """Set the element of the subscripts."""
    found = array_of("setf aref", array)
    return store_at("setf aref", found, offset("setf aref", found, subscripts), new)


def _bit_access(name: str) -> None:
    def get(array: Any, *subscripts: Any) -> Value:
        found = _bits(name, array)
        return found.data[offset(name, found, subscripts)]

    def put(new: Any, array: Any, *subscripts: Any) -> Value:
        found = _bits(name, array)
        return store_at(name, found, offset(name, found, subscripts), new)

    get.__doc__ = "The bit of the subscripts."
    put.__doc__ = "Set the bit of the subscripts."
    builtin(name, "(bit-array &rest subscripts)")(get)
    builtin(f"(setf {name})", "(new bit-array &rest subscripts)")(put)


def _bits(name: str, array: Any) -> Array:
    if not isinstance(array, Array) or array.element != "bit":
        raise wrong_type(name, array, "a bit array")
    return array


_bit_access("bit")
_bit_access("sbit")


def _simple_vector(name: str, x: Any) -> Vector:
    if not isinstance(x, Vector) or x.element != "t" or not _is_simple(x):
        raise wrong_type(name, x, "a simple vector")
    return x


@builtin("svref", "(vector index)")
def svref(items: Any, at: Any) -> Value:
    """The element of an index of a simple vector."""
    data = _simple_vector("svref", items).data
    return data[index("svref", at, len(data))]


@builtin("(setf svref)", "(new vector index)")
def set_svref(new: Any, items: Any, at: Any) -> Value:
    """Set the element of an index."""
    vector = _simple_vector("setf svref", items)
    return store_at("setf svref", vector, index("setf svref", at, len(vector.data)), new)


@builtin("row-major-aref", "(array index)")
def row_major_aref(array: Any, at: Any) -> Value:
    """The element of a row-major index."""
    found = array_of("row-major-aref", array)
    return element_at(found, index("row-major-aref", at, len(found.data)))


@builtin("(setf row-major-aref)", "(new array index)")
def set_row_major_aref(new: Any, array: Any, at: Any) -> Value:
    """Set the element of a row-major index."""
    found = array_of("setf row-major-aref", array)
    name = "setf row-major-aref"
    return store_at(name, found, index(name, at, len(found.data)), new)


@builtin("array-row-major-index", "(array &rest subscripts)")
def array_row_major_index(array: Any, *subscripts: Any) -> Value:
    """The row-major index of the subscripts."""
    name = "array-row-major-index"
    return offset(name, array_of(name, array), subscripts)


@builtin("array-in-bounds-p", "(array &rest subscripts)")
def array_in_bounds_p(array: Any, *subscripts: Any) -> Value:
    """Whether the subscripts are within the array."""
    found = array_of("array-in-bounds-p", array)
    if len(subscripts) != len(found.dims):
        raise bad_argument("array-in-bounds-p", f"wants {len(found.dims)} subscripts")
    for x in subscripts:
        if x.__class__ is not int:
            raise wrong_type("array-in-bounds-p", x, "an integer")
    return T if all(0 <= x < size for x, size in zip(subscripts, found.dims)) else NIL


@builtin("array-dimensions", "(array)")
def array_dimensions(array: Any) -> Value:
    """The sizes of its axes."""
    return list_from(array_of("array-dimensions", array).dims)


@builtin("array-dimension", "(array axis)")
def array_dimension(array: Any, axis: Any) -> Value:
    """The size of an axis."""
    dims = array_of("array-dimension", array).dims
    return dims[index("array-dimension", axis, len(dims))]


@builtin("array-rank", "(array)")
def array_rank(array: Any) -> Value:
    """The number of axes."""
    return len(array_of("array-rank", array).dims)


@builtin("array-total-size", "(array)")
def array_total_size(array: Any) -> Value:
    """The number of elements, fill pointer aside."""
    return len(array_of("array-total-size", array).data)


_ELEMENT_TYPES = {"t": "T", "character": "CHARACTER", "bit": "BIT", "float": "DOUBLE-FLOAT"}


def element_type_of(element: str) -> Value:
    """The specifier of an array's element type."""
    return NIL if element == "nil" else core_symbol(_ELEMENT_TYPES.get(element, "FIXNUM"))


@builtin("array-element-type", "(array)")
def array_element_type(array: Any) -> Value:
    """The type that its elements have."""
    return element_type_of(array_of("array-element-type", array).element)


@builtin("upgraded-array-element-type", "(type &optional environment)")
def upgraded_array_element_type(spec: Any, environment: Any = NIL) -> Value:
    """The element type of an array made for elements of a type."""
    return element_type_of(upgraded(spec))


predicate(
    "adjustable-array-p",
    "(array)",
    "Whether adjust-array changes it in place.",
    lambda x: array_of("adjustable-array-p", x).adjustable,
)
predicate(
    "array-has-fill-pointer-p",
    "(array)",
    "Whether it has a fill pointer.",
    lambda x: array_of("array-has-fill-pointer-p", x).fill is not None,
)
