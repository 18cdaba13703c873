"""The order of superclasses and the merging of slots."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.evaluator.classes import TOP, Class, Slot
from sexpgpu_core.evaluator.values import Symbol


def named(name: str, *supers: Class, slots: tuple[Slot, ...] = ()) -> Class:
    return Class(Symbol(name, "user"), supers or (TOP,), slots)


def order(cls: Class) -> list[str]:
    return [c.name.name for c in cls.precedence]


def test_related_superclasses_stand_together() -> None:
    food, spice = named("food"), named("spice")
    pie = named("pie", food)
    apple = named("apple", food, spice)
    assert order(named("apple-pie", pie, apple)) == [
        "apple-pie", "pie", "apple", "food", "spice", "T",
    ]  # fmt: skip


def test_orders_that_contradict_each_other_are_refused() -> None:
    fruit = named("fruit")
    apple = named("apple", fruit)
    with pytest.raises(Problem) as caught:
        named("bad", fruit, apple)
    assert caught.value.diagnostic.code == "E-CLASS-ORDER"


def test_a_new_definition_reaches_the_classes_below() -> None:
    above = named("above")
    below = named("below", above)
    name = Symbol("X", "user")
    above.define((TOP,), [Slot(name)])
    assert list(below.layout.slots) == [name]


def test_a_slot_says_what_the_most_specific_class_says_with_the_initargs_of_all() -> None:
    name, one, two = Symbol("X", "user"), Symbol("ONE", "user"), Symbol("TWO", "user")
    above = named("above", slots=(Slot(name, (one,), lambda: 1),))
    below = named("below", above, slots=(Slot(name, (two,), lambda: 2),))
    slot = below.layout.slots[name]
    assert slot.initargs == (two, one)
    assert slot.initform is not None
    assert slot.initform() == 2


@given(st.lists(st.sets(st.integers(0, 7)), min_size=1, max_size=8))
def test_a_class_stands_before_its_superclasses_and_these_in_their_order(
    rows: list[set[int]],
) -> None:
    made: list[Class] = []
    for at, above in enumerate(rows):
        supers = [made[i] for i in sorted(above, reverse=True) if i < at]
        made.append(named(f"c{at}", *supers))
    for cls in made:
        places = {c: i for i, c in enumerate(cls.precedence)}
        assert cls.precedence[0] is cls
        assert cls.precedence[-1] is TOP
        for part in cls.precedence:
            local = [places[c] for c in (part, *part.supers)]
            assert local == sorted(local)
