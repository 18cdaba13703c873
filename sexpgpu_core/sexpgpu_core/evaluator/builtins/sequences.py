"""Making, measuring and copying sequences: `elt length subseq concatenate fill replace`."""

from __future__ import annotations

from typing import Any

from ..definitions import builtin
from ..faults import claim_cells
from ..sequence_parts import (
    alike,
    get_element,
    items_of,
    length_of,
    part_alike,
    sequence_of_type,
    stored,
    write_back,
)
from ..spending import spend
from ..values import NIL, Cons, Value, Vector
from .bounds import bounds, natural


@builtin("length", "(sequence)")
def length(sequence: Any) -> Value:
    """The number of elements, up to the fill pointer."""
    return length_of("length", sequence)


@builtin("elt", "(sequence index)")
def elt(sequence: Any, at: Any) -> Value:
    """The element of an index."""
    return get_element("elt", sequence, at)


@builtin("(setf elt)", "(new sequence index)")
def set_elt(new: Any, sequence: Any, at: Any) -> Value:
    """Set the element of an index."""
    get_element("setf elt", sequence, at)
    write_back("setf elt", sequence, [new], at)
    return new


@builtin("subseq", "(sequence start &optional end)")
def subseq(sequence: Any, start: Any, end: Any = NIL) -> Value:
    """A fresh copy of the part from start to before end."""
    items = items_of("subseq", sequence)
    first, last = bounds("subseq", start, end, len(items))
    return part_alike(sequence, items, first, last)


@builtin("(setf subseq)", "(new sequence start &optional end)")
def set_subseq(new: Any, sequence: Any, start: Any, end: Any = NIL) -> Value:
    """Replace a part, as far as the new elements reach."""
    first, last = bounds("setf subseq", start, end, length_of("setf subseq", sequence))
    write_back("setf subseq", sequence, items_of("setf subseq", new)[: last - first], first)
    return new


@builtin("copy-seq", "(sequence)")
def copy_seq(sequence: Any) -> Value:
    """A fresh copy."""
    items = items_of("copy-seq", sequence)
    return part_alike(sequence, items, 0, len(items))


@builtin("make-sequence", "(type size &key initial-element)")
def make_sequence(spec: Any, size: Any, *, initial_element: Any = None) -> Value:
    """A sequence of a type and length."""
    count = natural("make-sequence", size)
    claim_cells("make-sequence", count)
    if initial_element is None:
        initial_element = default_element(spec)
    return sequence_of_type("make-sequence", spec, [initial_element] * count)


def default_element(spec: Any) -> Value:
    """What a vector of a type starts with."""
    from ..sequence_parts import vector_element_of
    from ..type_specifiers import parse_type

    return DEFAULTS.get(vector_element_of(parse_type(spec)) or "t", 0)


def _defaults() -> dict[str, Value]:
    from ..values import character

    return {"t": 0, "nil": 0, "bit": 0, "integer": 0, "float": 0.0, "character": character("\0")}


DEFAULTS = _defaults()


@builtin("concatenate", "(type &rest sequences)")
def concatenate(spec: Any, *sequences: Any) -> Value:
    """The sequences joined, as a sequence of a type."""
    joined: list[Value] = []
    for part in sequences:
        joined += items_of("concatenate", part)
        claim_cells("concatenate", len(joined))
    return sequence_of_type("concatenate", spec, joined)


@builtin("reverse", "(sequence)")
def reverse(sequence: Any) -> Value:
    """A reversed copy."""
    return alike("reverse", sequence, items_of("reverse", sequence)[::-1])


@builtin("nreverse", "(sequence)")
def nreverse(sequence: Any) -> Value:
    """The sequence reversed in place."""
    items = items_of("nreverse", sequence)[::-1]
    if isinstance(sequence, Vector):
        write_back("nreverse", sequence, items)
        return sequence
    result: Value = NIL
    while sequence.__class__ is Cons:
        sequence.cdr, sequence, result = result, sequence.cdr, sequence
    return result


@builtin("fill", "(sequence item &key (start 0) end)")
def fill(sequence: Any, item: Any, *, start: Any = 0, end: Any = NIL) -> Value:
    """Set every element of the part to the item; the sequence."""
    first, last = bounds("fill", start, end, length_of("fill", sequence))
    spend("fill", last - first)
    if isinstance(sequence, Vector):
        sequence.data[first:last] = [stored("fill", sequence, item)] * (last - first)
    else:
        write_back("fill", sequence, [item] * (last - first), first)
    return sequence


@builtin("replace", "(sequence1 sequence2 &key (start1 0) end1 (start2 0) end2)")
def replace(
    sequence1: Any,
    sequence2: Any,
    *,
    start1: Any = 0,
    end1: Any = NIL,
    start2: Any = 0,
    end2: Any = NIL,
) -> Value:
    """Copy elements of the second part over the first; the first sequence."""
    first, last = bounds("replace", start1, end1, length_of("replace", sequence1))
    source = items_of("replace", sequence2)
    begin, finish = bounds("replace", start2, end2, len(source))
    count = min(last - first, finish - begin)
    write_back("replace", sequence1, source[begin : begin + count], first)
    return sequence1
