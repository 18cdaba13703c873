"""Sessions: steps equal the references', a closed gate commits nothing, values by name."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from cuda_programs import opened, opened_so, planned

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder, Graph, Type
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.loops import repeat, scan
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.kernels.repeat import LOOPS
from sexpgpu_core.plan.make import layout_persistent
from sexpgpu_cuda import device as device_module
from sexpgpu_cuda.calls import LIBRARY
from sexpgpu_cuda.device import EmulatedDevice
from sexpgpu_cuda.operations import LIBRARY_OPERATIONS
from sexpgpu_cuda.plugin import sexpgpu_devices
from sexpgpu_cuda.session import Ways

LR = "(ctx :lr)"
PERSISTENT = layout_persistent(
    {"parameter:wte": Type("f32", (11, 8)), "parameter:w": Type("f32", (8, 3))}
)


def step_graph() -> Graph:
    """A classifier with an embedding and plain descent; the verdict is the loss being finite."""
    b = Builder(OPERATIONS)
    tokens = b.input("tokens", "batch", "i32", (6, 5))
    labels = b.input("labels", "batch", "i32", (6,))
    wte = b.input("wte", "parameter", "f32", (11, 8))
    w = b.input("w", "parameter", "f32", (8, 3))
    mean = b("reduce-sum", b("gather", wte, tokens, axis=0), axes=(1,), keep=False)
    logits = b("matmul", b("tanh", mean), w)
    logits = b("add", logits, b("table", dtype="f32", shape=(3,), values=(1.0, 2.0, 3.0)))
    loss = b("cross-entropy", logits, labels, axis=1)
    loss = b("multiply", b("reduce-sum", loss, axes=(0,), keep=False), b.constant(1 / 6, "f32"))
    wanted = {"wte": wte, "w": w}
    found = differentiate(b.graph, OPERATIONS, loss, wanted)
    b = Builder(OPERATIONS, b.graph)
    rate = b.input(LR, "scalar", "f32", ())
    b.graph.results = {"loss": loss, "verdict": b("is-finite", loss)}
    for name, value in wanted.items():
        gradient = found[name]
        assert gradient is not None
        following = b("subtract", value, b("multiply", rate, gradient))
        b.graph.results[f"next:parameter:{name}"] = following
    return b.graph


def batch(rng: Any) -> dict[str, Any]:
    return {
        "tokens": rng.integers(0, 11, (6, 5)).astype("i4"),
        "labels": rng.integers(0, 3, (6,)).astype("i4"),
    }


def started(ways: Ways | None = None) -> Any:
    unit = planned(step_graph(), PERSISTENT)
    session = opened(unit, PERSISTENT) if ways is None else opened_so(unit, PERSISTENT, ways)
    rng = np.random.default_rng(1)
    for name, (_, shape) in PERSISTENT.types.items():
        session.write(name, rng.standard_normal(shape).astype("f4"))
    return session


def test_four_steps_equal_the_references() -> None:
    graph, session = step_graph(), started()
    values = {n: session.read(n) for n in PERSISTENT.types}
    rng = np.random.default_rng(2)
    for _ in range(4):
        data = batch(rng)
        outcome = session.program("step").launch(data, {LR: 0.1}).outcome()
        wanted = run(graph, {**data, **values, LR: np.float32(0.1)}, OPERATIONS)
        assert outcome.committed
        np.testing.assert_allclose(outcome.results["loss"], wanted["loss"], rtol=1e-5)
        for name in values:
            values[name] = wanted[f"next:{name}"]
            np.testing.assert_allclose(session.read(name), values[name], rtol=1e-5, atol=1e-6)


def test_a_session_goes_on_with_the_bits_of_another() -> None:
    whole, first, second = started(), started(), started()
    rng = np.random.default_rng(3)
    steps = [batch(rng) for _ in range(4)]
    for data in steps:
        whole.program("step").launch(data, {LR: 0.1})
    for data in steps[:2]:
        first.program("step").launch(data, {LR: 0.1})
    for name in PERSISTENT.types:
        second.write(name, first.read(name))
    for data in steps[2:]:
        second.program("step").launch(data, {LR: 0.1})
    for name in PERSISTENT.types:
        assert second.read(name).tobytes() == whole.read(name).tobytes()


def test_a_false_verdict_commits_nothing() -> None:
    session = started()
    before = {n: session.read(n) for n in PERSISTENT.types}
    poisoned = before["parameter:w"].copy()
    poisoned[0, 0] = np.nan
    session.write("parameter:w", poisoned)
    outcome = session.program("step").launch(batch(np.random.default_rng(0)), {LR: 0.1}).outcome()
    assert not outcome.committed
    assert outcome.error is None
    assert np.isnan(outcome.results["loss"])
    np.testing.assert_array_equal(session.read("parameter:wte"), before["parameter:wte"])


def test_an_index_out_of_range_commits_nothing() -> None:
    session = started()
    before = session.read("parameter:w")
    data = batch(np.random.default_rng(0))
    data["tokens"][3, 2] = 99
    outcome = session.program("step").launch(data, {LR: 0.1}).outcome()
    assert outcome.error is not None
    assert not outcome.committed
    np.testing.assert_array_equal(session.read("parameter:w"), before)


WAYS = (Ways(), Ways(graphs=False), Ways(one_by_one=True), Ways(poisoned=True))


def test_a_replayed_graph_and_launches_one_by_one_give_the_same_bits() -> None:
    sessions = [started(ways) for ways in WAYS]
    rng = np.random.default_rng(4)
    for _ in range(3):
        data = batch(rng)
        found = [s.program("step").launch(data, {LR: 0.1}).outcome() for s in sessions]
        assert len({o.results["loss"].tobytes() for o in found}) == 1
    for name in PERSISTENT.types:
        assert len({s.read(name).tobytes() for s in sessions}) == 1


def test_launches_in_flight_each_have_their_own_batch_scalars_and_results() -> None:
    one, two = started(), started()
    steps = [batch(np.random.default_rng(k)) for k in range(5)]
    rates = [0.1, 0.2, 0.05, 0.3, 0.1]
    waited = [
        one.program("step").launch(data, {LR: rate}).outcome().results["loss"]
        for data, rate in zip(steps, rates)
    ]
    flying = [two.program("step").launch(data, {LR: rate}) for data, rate in zip(steps, rates)]
    assert not flying[-1].done()
    assert flying[0].done()
    assert [f.outcome().results["loss"] for f in flying] == waited
    assert all(f.done() for f in flying)
    for name in PERSISTENT.types:
        assert one.read(name).tobytes() == two.read(name).tobytes()


def test_what_is_in_flight_behind_an_error_changes_nothing_until_it_is_told() -> None:
    session = started()
    before = session.read("parameter:w")
    good, bad = batch(np.random.default_rng(0)), batch(np.random.default_rng(0))
    bad["tokens"][0, 0] = -7
    first, second = (session.program("step").launch(b, {LR: 0.1}) for b in (bad, good))
    assert first.outcome().error is not None
    assert not second.outcome().committed
    assert second.outcome().error is None
    np.testing.assert_array_equal(session.read("parameter:w"), before)
    assert session.program("step").launch(good, {LR: 0.1}).outcome().committed
    assert not np.array_equal(session.read("parameter:w"), before)


def test_an_outcome_that_is_not_waited_for_is_late() -> None:
    flight = started().program("step").launch(batch(np.random.default_rng(0)), {LR: 0.1})
    with pytest.raises(TimeoutError):
        flight.outcome(0.0)
    assert flight.outcome().committed


def test_a_snapshot_stays_as_it_was() -> None:
    session = started()
    before = session.read("parameter:w")
    snapshot = session.snapshot(["parameter:w"])
    session.program("step").launch(batch(np.random.default_rng(0)), {LR: 0.1})
    np.testing.assert_array_equal(snapshot.array("parameter:w"), before)
    assert not np.array_equal(session.read("parameter:w"), before)


def test_values_of_another_type_are_refused() -> None:
    session = started()
    with pytest.raises(TypeError, match="float64"):
        session.write("parameter:w", np.zeros((8, 3)))
    data = batch(np.random.default_rng(0))
    data["tokens"] = data["tokens"].astype("i8")
    with pytest.raises(TypeError, match="tokens is int64"):
        session.program("step").launch(data, {LR: 0.1})


def test_a_scan_goes_trip_by_trip_and_its_gradient_back() -> None:
    body = Builder(OPERATIONS)
    h = body.input("carry:0", "body", "f32", (3, 5))
    x = body.input("x:0", "body", "f32", (3, 5))
    w = body.input("capture:0", "body", "f32", (5, 5))
    following = body("tanh", body("add", body("matmul", h, w), x))
    body.graph.results = {"carry:0": following, "y:0": body("square", following)}
    b = Builder(OPERATIONS)
    shapes = {"h": (3, 5), "x": (4, 3, 5), "w": (5, 5)}
    given = {n: b.input(n, "batch", "f32", s) for n, s in shapes.items()}
    named = {"carry:0": given["h"], "x:0": given["x"], "capture:0": given["w"]}
    made = scan(b, body.graph, named, 4)
    last, stacked = made["carry:0"], made["y:0"]
    loss = b("reduce-sum", b("multiply", stacked, stacked), axes=(0, 1, 2), keep=False)
    found = differentiate(b.graph, OPERATIONS, loss, {"w": given["w"]})
    assert found["w"] is not None
    b.graph.results = {"last": last, "stacked": stacked, "w": found["w"]}
    rng = np.random.default_rng(0)
    inputs = {n: rng.standard_normal(s).astype("f4") * 0.5 for n, s in shapes.items()}
    outcome = opened(planned(b.graph)).program("step").launch(inputs, {}).outcome()
    for name, value in run(b.graph, inputs, OPERATIONS).items():
        np.testing.assert_allclose(outcome.results[name], value, rtol=1e-5, atol=1e-6)


# The device
def test_an_operation_that_nothing_does_is_named() -> None:
    b = Builder(OPERATIONS)
    shapes = {"p": ("f64", (2, 5, 4)), "y": ("i32", (2, 3)), "n": ("i32", (2,)), "m": ("i32", (2,))}
    given = [b.input(n, "batch", dtype, shape) for n, (dtype, shape) in shapes.items()]
    b.graph.results["r"] = b("ctc-alignment", *given, blank=0)
    with pytest.raises(Problem, match="ctc-alignment") as raised:
        schedule(b.graph, OPERATIONS, lambda name: name != "ctc-alignment")
    assert raised.value.diagnostic.code == "E-DEVICE-OPERATION"


def test_a_while_loop_ends_by_itself_and_by_its_limit() -> None:
    for limit in (100, 3, 0):
        body = Builder(OPERATIONS)
        v = body.input("carry:0", "body", "f32", (4,))
        body.input("carry:1", "body", "bool", ())
        new = body("multiply", v, body.constant(1.5, "f32"))
        size = body("reduce-sum", body("abs", new), axes=(0,), keep=False)
        go = body("less", size, body.constant(50.0, "f32"))
        body.graph.results = {"carry:0": new, "carry:1": go}
        b = Builder(OPERATIONS)
        named = {"carry:0": b.input("x", "batch", "f32", (4,)), "carry:1": b.constant(True, "bool")}
        b.graph.results = {"r": repeat(b, body.graph, named, limit)["carry:0"]}
        inputs = {"x": np.array([1, 2, -3, 0.5], "f4")}
        outcome = opened(planned(b.graph)).program("step").launch(inputs, {}).outcome()
        np.testing.assert_array_equal(outcome.results["r"], run(b.graph, inputs, OPERATIONS)["r"])


def test_a_run_that_does_not_fit_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "memory", lambda: 100)
    with pytest.raises(Problem) as raised:
        started()
    assert raised.value.diagnostic.code == "E-DEVICE-MEMORY"


def test_the_plug_ins_rows_name_what_is_there() -> None:
    for row in sexpgpu_devices():
        module, name = row.load.split(":")
        assert getattr(import_module(module), name)({}).name == row.name
        module, name = row.probe.split(":")
        assert isinstance(getattr(import_module(module), name)()["present"], bool)


def test_the_names_that_check_asks_for_are_those_that_are_done() -> None:
    assert LIBRARY.keys() | LOOPS == LIBRARY_OPERATIONS
    assert OPERATIONS.keys() | {"copy"} >= LIBRARY_OPERATIONS


def test_the_numerics_key_names_what_bits_depend_on() -> None:
    key = EmulatedDevice().numerics()
    assert {"device", "architecture", "kernels", "numpy", "llvmlite"} == key.keys()
    assert all(isinstance(v, str) for v in key.values())


CHECKED = """
import sys
from sexpgpu_cuda.device import load
assert load().library("matmul")
bad = {"llvmlite", "numba", "numpy", "ctypes", "pluggy"} & set(sys.modules)
assert not bad, bad
"""


def test_checking_imports_nothing_that_computes() -> None:
    subprocess.run([sys.executable, "-c", CHECKED], check=True)
