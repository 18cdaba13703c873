"""Schedules to plans: regions, results, order, in place."""

from __future__ import annotations

import pytest
from plan_schedules import TYPE, chain, element_call, given, parameter, temp, view

from sexpgpu_core.ir import Type
from sexpgpu_core.kernels.kernel import Schedule, Storage, View
from sexpgpu_core.plan.make import dense, layout_persistent, make_plan
from sexpgpu_core.plan.order import dependencies, order_calls, touches
from sexpgpu_core.plan.plan import Region
from sexpgpu_core.plan.verify import PlanError, verify_plan

NONE = layout_persistent({})


def test_every_kind_has_its_region() -> None:
    storages = [given(0), parameter(1), Storage(2, Type("f32"), "scalar", "(ctx :lr)"), temp(3)]
    storages.append(temp(4))
    calls = [element_call([0], 3), element_call([3], 4), element_call([4], 1, commit=True)]
    schedule = Schedule(storages, calls, 2, {"y": view(4)})
    plan = make_plan("m", schedule, layout_persistent({"parameter:p": TYPE}))
    regions = [b.region for b in plan.buffers]
    assert regions == [
        Region.INPUT,
        Region.PERSISTENT,
        Region.SCALAR,
        Region.TRANSIENT,
        Region.OUTPUT,
    ]
    assert plan.buffers[1].name == "parameter:p"
    assert plan.results[0].name == "y"


def test_a_chain_of_elementwise_calls_takes_one_buffer() -> None:
    plan = make_plan("m", chain(6), NONE)
    assert plan.bytes[Region.TRANSIENT] == TYPE.bytes


def test_an_input_is_never_written_in_place() -> None:
    plan = make_plan("m", chain(3), NONE)
    assert plan.buffers[1].region is Region.TRANSIENT


def test_a_value_that_is_used_again_keeps_its_buffer() -> None:
    storages = [given(0), temp(1), temp(2), temp(3)]
    calls = [element_call([0], 1), element_call([1], 2), element_call([1, 2], 3)]
    plan = make_plan("m", Schedule(storages, calls, 3, {"y": view(3)}), NONE)
    assert plan.buffers[1].offset != plan.buffers[2].offset


def test_a_constant_is_kept_beside_the_inputs() -> None:
    storages = [Storage(0, TYPE, "temp", "", tuple(range(64))), temp(1)]
    schedule = Schedule(storages, [element_call([0], 1)], 1, {"y": view(1)})
    plan = make_plan("m", schedule, NONE)
    assert plan.buffers[0].region is Region.INPUT
    assert plan.constants == {0: tuple(range(64))}


def test_calls_are_ordered_for_memory() -> None:
    # Four values made first and used last, though each could be made just before its use.
    storages = [given(0)] + [temp(i) for i in range(1, 10)]
    makes = [element_call([0], i) for i in (1, 2, 3, 4)]
    uses = [element_call([i, 4 + i], 5 + i) for i in (1, 2, 3, 4)]
    calls = [*makes, element_call([0], 5), *uses]
    given_calls = touches(calls)
    order = order_calls(storages, given_calls, len(calls), frozenset({9}))
    assert order != list(range(len(calls)))
    place = {number: i for i, number in enumerate(order)}
    for i, needs in enumerate(dependencies(given_calls)):
        assert all(place[j] < place[i] for j in needs)


def test_commit_calls_stay_last_and_in_order() -> None:
    storages = [given(0), temp(1), parameter(2, "p"), parameter(3, "q")]
    tail = [element_call([1, 2], 2, commit=True), element_call([1, 3], 3, commit=True)]
    calls = [element_call([0], 1), *tail]
    persistent = layout_persistent({"parameter:p": TYPE, "parameter:q": TYPE})
    plan = make_plan("m", Schedule(storages, calls, 1, {}), persistent)
    assert plan.calls[1:] == tail


def test_a_write_to_a_parameter_before_the_commit_is_refused() -> None:
    storages = [given(0), parameter(1)]
    schedule = Schedule(storages, [element_call([0], 1)], 1, {})
    with pytest.raises(PlanError, match="before the commit"):
        make_plan("m", schedule, layout_persistent({"parameter:p": TYPE}))


def test_a_reader_after_the_parameters_update_is_refused() -> None:
    storages = [given(0), parameter(1, "p"), parameter(2, "q")]
    calls = [element_call([0, 1], 1, commit=True), element_call([1], 2, commit=True)]
    persistent = layout_persistent({"parameter:p": TYPE, "parameter:q": TYPE})
    with pytest.raises(PlanError, match="after it was committed"):
        make_plan("m", Schedule(storages, calls, 0, {}), persistent)


def test_a_read_before_any_write_is_refused() -> None:
    storages = [given(0), temp(1), temp(2)]
    schedule = Schedule(storages, [element_call([1], 2)], 1, {"y": view(2)})
    with pytest.raises(PlanError, match="before it is written"):
        make_plan("m", schedule, NONE)


def test_overlapping_lifetimes_are_refused() -> None:
    storages = [given(0), temp(1), temp(2), temp(3)]
    calls = [element_call([0], 1), element_call([0], 2), element_call([1, 2], 3)]
    plan = make_plan("m", Schedule(storages, calls, 3, {"y": view(3)}), NONE)
    moved = plan.buffers[2].__class__(
        *(getattr(plan.buffers[2], f) for f in ("id", "type", "region")),
        plan.buffers[1].offset,
        *(getattr(plan.buffers[2], f) for f in ("bytes", "first", "last", "name")),
    )
    plan.buffers = (*plan.buffers[:2], moved, *plan.buffers[3:])
    with pytest.raises(PlanError, match="share bytes"):
        verify_plan(plan, touches(plan.calls), storages)


def test_dense_views() -> None:
    assert dense(View(0, "f32", (2, 3), (3, 1)))
    assert dense(View(0, "f32", (1, 3), (99, 1)))
    assert not dense(View(0, "f32", (3, 2), (1, 3)))


def test_persistent_values_have_one_layout() -> None:
    layout = layout_persistent({"parameter:a": Type("f32", (3,)), "state:b": Type("i64", ())})
    assert layout.offsets == {"parameter:a": 0, "state:b": 64}
    assert layout.bytes == 128
