"""Whether one type is a part of another: an answer and whether it is certain."""

from __future__ import annotations

from typing import Any

from .numeric import compare
from .spending import spend
from .type_specifiers import (
    KINDS,
    Arrays,
    Complement,
    Conses,
    Intersection,
    Members,
    Named,
    Numbers,
    Satisfying,
    Union,
    is_all,
    is_type,
)

PAIR_CELLS = 80
"""What it costs to compare two types, as of a walk."""

Answer = tuple[bool, bool]
YES, NO, UNKNOWN = (True, True), (False, True), (False, False)


def is_subtype(a: Any, b: Any) -> Answer:
    """Whether type a is a part of type b."""
    spend("subtypep", PAIR_CELLS)
    if a is b or is_all(b) or is_empty(a):
        return YES
    if a.__class__ is Union:
        return _all([is_subtype(part, b) for part in a.of])
    if b.__class__ is Intersection:
        return _all([is_subtype(a, part) for part in b.of])
    if a.__class__ is Members:
        return _members(a, b)
    if a.__class__ is Intersection:
        return _from_intersection(a, b)
    if b.__class__ is Complement:
        return _disjoint(a, b.of)
    if b.__class__ is Union:
        return _into_union(a, b)
    if Satisfying in (a.__class__, b.__class__):
        return UNKNOWN
    if a.__class__ is Complement:
        return NO if is_empty(b) else UNKNOWN
    return _plain(a, b)


def is_empty(kind: Any) -> bool:
    """Whether a type is known to have no values."""
    if kind.__class__ is Union:
        return all(is_empty(part) for part in kind.of)
    if kind.__class__ is Conses:
        return is_empty(kind.car) or is_empty(kind.cdr)
    if kind.__class__ is Members:
        return not kind.of
    if kind.__class__ is Intersection and len(kind.of) > 1:
        return any(_disjoint(x, y) == YES for i, x in enumerate(kind.of) for y in kind.of[i + 1 :])
    return False


def _all(answers: list[Answer]) -> Answer:
    if all(answer == YES for answer in answers):
        return YES
    return NO if NO in answers else UNKNOWN


def _members(a: Members, b: Any) -> Answer:
    if b.__class__ is Satisfying:
        return UNKNOWN
    return YES if all(is_type(x, b) for x in a.of) else NO


def _from_intersection(a: Intersection, b: Any) -> Answer:
    """Some part of it within b is enough; else its complements may rule the rest of b out."""
    if not a.of:
        return YES if b.__class__ is Complement and is_empty(b.of) else NO
    if any(is_subtype(part, b) == YES for part in a.of):
        return YES
    if b.__class__ is Union:
        rest = [part for part in a.of if part.__class__ is Complement]
        wide = Union((*b.of, *(part.of for part in rest)))
        plain = [part for part in a.of if part.__class__ is not Complement]
        if rest and any(is_subtype(part, wide) == YES for part in plain):
            return YES
    if b.__class__ is Complement and any(_disjoint(part, b.of) == YES for part in a.of):
        return YES
    return UNKNOWN if len(a.of) > 1 else is_subtype(a.of[0], b)


def _into_union(a: Any, b: Union) -> Answer:
    answers = [is_subtype(a, part) for part in b.of]
    if YES in answers:
        return YES
    if a.__class__ is Numbers:
        return _numbers_in_union(a, b)
    holes = [part.of for part in b.of if part.__class__ is Complement]
    if any(is_subtype(hole, part) == YES for hole in holes for part in b.of):
        return YES
    return NO if all(answer == NO for answer in answers) and len(b.of) > 0 else UNKNOWN


def _numbers_in_union(a: Numbers, b: Union) -> Answer:
    """Cut what a part covers from the low end until nothing is left."""
    parts = [p for p in _flattened(b) if p.__class__ is Numbers]
    for kind in a.kinds:
        left: Any = a._replace(kinds=frozenset({kind}))
        for _ in range(len(parts) + 1):
            if left is None:
                break
            left = _cut(left, [p for p in parts if kind in p.kinds])
        if left is not None:
            return NO if all(p.__class__ is not Satisfying for p in _flattened(b)) else UNKNOWN
    return YES


def _flattened(kind: Any) -> list[Any]:
    if kind.__class__ is Union:
        return [p for part in kind.of for p in _flattened(part)]
    return [kind]


def _cut(left: Numbers, parts: list[Numbers]) -> Numbers | None:
    for p in parts:
        if not _low_within(left, p):
            continue
        if _high_within(left, p):
            return None
        if left.low is not None and compare("subtypep", p.high, left.low) < 0:
            continue
        if left.kinds == {"integer"}:
            high = p.high if p.high.__class__ is int else None
            if high is None:
                continue
            left = left._replace(low=high + 1, low_open=False)
        else:
            left = left._replace(low=p.high, low_open=not p.high_open)
    return left


def _low_within(a: Numbers, b: Numbers) -> bool:
    if b.low is None:
        return True
    if a.low is None:
        return False
    order = compare("subtypep", a.low, b.low)
    return order > 0 or (order == 0 and (a.low_open or not b.low_open))


def _high_within(a: Numbers, b: Numbers) -> bool:
    if b.high is None:
        return True
    if a.high is None:
        return False
    order = compare("subtypep", a.high, b.high)
    return order < 0 or (order == 0 and (a.high_open or not b.high_open))


def _plain(a: Any, b: Any) -> Answer:
    if a.__class__ is not b.__class__:
        return NO if b.__class__ is not Members or not _finite(a) else _small(a, b)
    if a.__class__ is Numbers:
        inside = a.kinds <= b.kinds and _low_within(a, b) and _high_within(a, b)
        return YES if inside else NO
    if a.__class__ is Arrays:
        return YES if _array_inside(a, b) else NO
    if a.__class__ is Conses:
        return _all([is_subtype(a.car, b.car), is_subtype(a.cdr, b.cdr)])
    return YES if b.name in _ancestors(a.name) else NO


def _finite(a: Any) -> bool:
    return (
        a.__class__ is Numbers
        and a.kinds == {"integer"}
        and a.low is not None
        and a.high is not None
        and a.high - a.low < 1000
    )


def _small(a: Numbers, b: Members) -> Answer:
    return YES if all(is_type(n, b) for n in range(a.low, a.high + 1)) else NO


def _array_inside(a: Arrays, b: Arrays) -> bool:
    if (b.simple and not a.simple) or (b.element is not None and a.element != b.element):
        return False
    if b.dims is None:
        return True
    return (
        a.dims is not None
        and len(a.dims) == len(b.dims)
        and all(want is None or want == have for have, want in zip(a.dims, b.dims))
    )


def _ancestors(name: Any) -> set[Any]:
    """A named type and all it is a part of."""
    found, todo = set(), [name]
    while todo:
        name = todo.pop()
        if name in found or name is None:
            continue
        found.add(name)
        if name.__class__ is str:
            todo.append(KINDS[name].parent)
        else:  # a class, some of which have rows in KINDS too
            found |= name.ancestors
            todo += [c.name.name.lower() for c in name.ancestors if c.name.name.lower() in KINDS]
    return found


def _disjoint(a: Any, b: Any) -> Answer:
    """Whether two types share no value."""
    if is_empty(a) or is_empty(b):
        return YES
    if b.__class__ is Complement:
        return is_subtype(a, b.of)
    if a.__class__ is Complement:
        return is_subtype(b, a.of)
    for x, y in ((a, b), (b, a)):
        if x.__class__ is Union:
            return _all([_disjoint(part, y) for part in x.of])
        if x.__class__ is Members:
            return YES if not any(is_type(v, y) for v in x.of) else NO
        if x.__class__ is Satisfying:
            return UNKNOWN
        if x.__class__ is Intersection:
            return YES if any(_disjoint(part, y) == YES for part in x.of) else UNKNOWN
    if a.__class__ is not b.__class__:
        return YES
    return _same_class_disjoint(a, b)


def _same_class_disjoint(a: Any, b: Any) -> Answer:
    if a.__class__ is Numbers:
        return YES if not a.kinds & b.kinds or _apart(a, b) or _apart(b, a) else NO
    if a.__class__ is Named:
        related = b.name in _ancestors(a.name) or a.name in _ancestors(b.name)
        return NO if related else UNKNOWN if _may_share(a.name, b.name) else YES
    if a.__class__ is Conses:
        return YES if YES in (_disjoint(a.car, b.car), _disjoint(a.cdr, b.cdr)) else UNKNOWN
    if a.element is not None and b.element is not None and a.element != b.element:
        return YES
    if a.dims is None or b.dims is None:
        return NO
    same = len(a.dims) == len(b.dims) and all(
        x is None or y is None or x == y for x, y in zip(a.dims, b.dims)
    )
    return NO if same else YES


def _may_share(a: Any, b: Any) -> bool:
    """Whether some class could be below two classes that are not one below the other."""
    return a.__class__ is not str and a.__class__ is b.__class__ and a.meta == "STANDARD-CLASS"


def _apart(a: Numbers, b: Numbers) -> bool:
    """Whether all of a is below all of b."""
    if a.high is None or b.low is None:
        return False
    order = compare("subtypep", a.high, b.low)
    return order < 0 or (order == 0 and (a.high_open or b.low_open))
