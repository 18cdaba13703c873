"""The driver on the CPU: streams are queues, events order them, graphs replay what was captured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_cuda.codes import ptx
from sexpgpu_cuda.emulated_driver import ARCHITECTURE, EmulatedDriver
from sexpgpu_cuda.gate import gate_text
from sexpgpu_cuda.work import Launch, Span, Unit


def numbers(*values: int) -> Any:
    return np.array(values, np.uint8)


def test_a_stream_is_done_in_order_and_not_before_someone_waits() -> None:
    driver = EmulatedDriver()
    stream, address, out = driver.stream(), driver.allocate(4), driver.pinned(4)
    driver.fill(address, 4, 7, stream)
    driver.copy_in(address, numbers(1, 2), stream)
    driver.copy_out(out, address, stream)
    assert not out.any()
    driver.synchronize(stream)
    assert list(out) == [1, 2, 7, 7]


def test_a_pinned_array_is_read_when_the_stream_comes_to_it() -> None:
    driver = EmulatedDriver()
    stream, address, given = driver.stream(), driver.allocate(1), driver.pinned(1)
    driver.copy_in(address, given, stream)
    given[0] = 9
    out = driver.pinned(1)
    driver.copy_out(out, address, stream)
    driver.synchronize(stream)
    assert out[0] == 9


def test_a_stream_waits_for_what_an_event_was_recorded_behind_and_for_no_more() -> None:
    driver = EmulatedDriver()
    one, two, event = driver.stream(), driver.stream(), driver.event()
    address, seen = driver.allocate(8), driver.pinned(2)
    driver.fill(address, 1, 1, one)
    driver.record(event, one)
    driver.fill(address + 1, 1, 1, one)
    driver.wait(two, event)
    driver.record(event, one)  # a later record moves no wait that was asked for
    driver.copy_out(seen, address, two)
    driver.synchronize(two)
    assert list(seen) == [1, 0]
    assert not driver.reached(event)
    driver.attend(event)
    assert driver.reached(event)
    assert driver.reached(driver.event())


def test_a_forgotten_wait_shows() -> None:
    driver = EmulatedDriver()
    one, two, address, seen = driver.stream(), driver.stream(), driver.allocate(1), driver.pinned(1)
    driver.fill(address, 1, 5, one)
    driver.copy_out(seen, address, two)
    driver.synchronize(two)
    assert seen[0] == 0


def test_a_graph_is_what_was_captured_each_time_it_is_launched() -> None:
    driver = EmulatedDriver()
    stream, source, target = driver.stream(), driver.allocate(1), driver.allocate(1)
    driver.begin_capture(stream)
    driver.copy(target, source, 1, stream)
    graph = driver.instantiate(driver.end_capture(stream))
    seen = driver.pinned(1)
    for value in (3, 4):
        driver.copy_in(source, numbers(value), stream)
        driver.launch_graph(graph, stream)
        driver.copy_out(seen, target, stream)
        driver.synchronize(stream)
        assert seen[0] == value


def gate(driver: EmulatedDriver, errors: int) -> Launch:
    unit = Unit("g", "g0", lambda: gate_text("g0", False))
    halt, open_ = driver.allocate(8), driver.allocate(8)
    spans = (
        Span(errors, errors + 8, False),
        Span(halt, halt + 8, True),
        Span(open_, open_ + 8, True),
    )
    return Launch(unit, 1, 1, (0, errors, open_, halt, 1), spans)


def test_a_kernel_that_leaves_its_memory_is_a_problem_that_names_it_from_then_on() -> None:
    driver = EmulatedDriver()
    stream, errors = driver.stream(), driver.allocate(8)
    launch = gate(driver, errors)
    body = ptx(launch.unit, ARCHITECTURE).body
    function = driver.function(driver.load(body), launch.unit.name)
    driver.launch(function, launch._replace(spans=launch.spans[1:]), stream)
    assert driver.last_error() is None
    with pytest.raises(Problem, match="g0") as raised:
        driver.synchronize(stream)
    assert raised.value.diagnostic.code == "E-DEVICE-FAULT"
    assert "bounds" in raised.value.diagnostic.message
    assert driver.last_error() is raised.value
    with pytest.raises(Problem):
        driver.synchronize(driver.stream())
