"""Sessions: values by name, scalars, verdict and commit, errors; cpu equals reference."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.device import Unit
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder, Graph, Type
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.passes.optimize import optimize
from sexpgpu_core.plan.make import layout_persistent, make_plan
from sexpgpu_core.plan.plan import Persistent
from sexpgpu_cpu.cache import ObjectCache
from sexpgpu_cpu.device import CpuDevice
from sexpgpu_cpu.reference import ReferenceDevice
from sexpgpu_cpu.session import CpuSession

LR = "(ctx :lr)"
TABLE = (1.0, 2.0, 3.0)


def step_graph() -> Graph:
    """A classifier with an embedding and plain descent; the verdict is the loss being finite."""
    b = Builder(OPERATIONS)
    tokens = b.input("tokens", "batch", "i32", (6, 5))
    labels = b.input("labels", "batch", "i32", (6,))
    wte = b.input("wte", "parameter", "f32", (11, 8))
    w = b.input("w", "parameter", "f32", (8, 3))
    mean = b("reduce-sum", b("gather", wte, tokens, axis=0), axes=(1,), keep=False)
    logits = b("matmul", b("tanh", mean), w)
    logits = b("add", logits, b("table", dtype="f32", shape=(3,), values=TABLE))
    loss = b("cross-entropy", logits, labels, axis=1)
    loss = b("multiply", b("reduce-sum", loss, axes=(0,), keep=False), b.constant(1 / 6, "f32"))
    wanted = {"wte": wte, "w": w}
    found = differentiate(b.graph, OPERATIONS, loss, wanted)
    b = Builder(OPERATIONS, b.graph)
    rate = b.input(LR, "scalar", "f32", ())
    b.graph.results = {"loss": loss, "verdict": b("is-finite", loss), "logits": logits}
    for name, value in wanted.items():
        gradient = found[name]
        assert gradient is not None
        following = b("subtract", value, b("multiply", rate, gradient))
        b.graph.results[f"next:parameter:{name}"] = following
    return b.graph


PERSISTENT = layout_persistent(
    {"parameter:wte": Type("f32", (11, 8)), "parameter:w": Type("f32", (8, 3))}
)


def unit(graph: Graph, device: Any, persistent: Persistent = PERSISTENT) -> Unit:
    small, _ = optimize(graph, OPERATIONS, device.library)
    if device.level == "graph":
        return Unit("step", small, None)
    plan = make_plan("step", schedule(small, OPERATIONS, device.library), persistent)
    return Unit("step", small, plan)


def batch(rng: Any) -> dict[str, Any]:
    return {
        "tokens": rng.integers(0, 11, (6, 5)).astype("i4"),
        "labels": rng.integers(0, 3, (6,)).astype("i4"),
    }


def opened(device: Any, threads: int = 1) -> Any:
    session = device.open([unit(step_graph(), device)], PERSISTENT, threads=threads)
    rng = np.random.default_rng(1)
    for name, (_, shape) in PERSISTENT.types.items():
        session.write(name, rng.standard_normal(shape).astype("f4"))
    return session


def trained(device: Any, threads: int = 1, steps: int = 4) -> tuple[list[Any], dict[str, Any]]:
    session = opened(device, threads)
    rng = np.random.default_rng(2)
    losses = []
    for _ in range(steps):
        outcome = session.program("step").launch(batch(rng), {LR: 0.1}).outcome()
        assert outcome.committed
        losses.append(outcome.results["loss"])
    values = {n: session.read(n) for n in PERSISTENT.types}
    session.close()
    return losses, values


def test_cpu_equals_reference() -> None:
    losses, values = trained(CpuDevice())
    wanted, reference = trained(ReferenceDevice())
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    for name, value in reference.items():
        np.testing.assert_allclose(values[name], value, rtol=1e-5, atol=1e-6)


def test_bits_do_not_depend_on_threads() -> None:
    results = [trained(CpuDevice(), threads) for threads in (1, 2, 3)]
    for losses, values in results[1:]:
        assert np.array(losses).tobytes() == np.array(results[0][0]).tobytes()
        for name, value in values.items():
            assert value.tobytes() == results[0][1][name].tobytes()


@pytest.mark.parametrize("device", [CpuDevice(), ReferenceDevice()])
def test_a_false_verdict_commits_nothing(device: Any) -> None:
    session = opened(device)
    program = session.program("step")
    before = {n: session.read(n) for n in PERSISTENT.types}
    poisoned = before["parameter:w"].copy()
    poisoned[0, 0] = np.nan
    session.write("parameter:w", poisoned)
    outcome = program.launch(batch(np.random.default_rng(0)), {LR: 0.1}).outcome()
    assert not outcome.committed
    assert outcome.error is None
    assert np.isnan(outcome.results["loss"])
    np.testing.assert_array_equal(session.read("parameter:wte"), before["parameter:wte"])
    session.write("parameter:w", before["parameter:w"])
    assert program.launch(batch(np.random.default_rng(0)), {LR: 0.1}).outcome().committed
    session.close()


@pytest.mark.parametrize("device", [CpuDevice(), ReferenceDevice()])
def test_an_index_out_of_range_commits_nothing(device: Any) -> None:
    session = opened(device)
    before = session.read("parameter:w")
    data = batch(np.random.default_rng(0))
    data["tokens"][3, 2] = 99
    outcome = session.program("step").launch(data, {LR: 0.1}).outcome()
    assert outcome.error is not None
    assert not outcome.committed
    np.testing.assert_array_equal(session.read("parameter:w"), before)
    session.close()


@pytest.mark.parametrize("device", [CpuDevice(), ReferenceDevice()])
def test_a_snapshot_stays_as_it_was(device: Any) -> None:
    session = opened(device)
    snapshot = session.snapshot(["parameter:w"])
    before = session.read("parameter:w")
    session.program("step").launch(batch(np.random.default_rng(0)), {LR: 0.1}).outcome()
    np.testing.assert_array_equal(snapshot.array("parameter:w"), before)
    assert (session.read("parameter:w") != before).any()
    snapshot.release()
    session.close()


@pytest.mark.parametrize("device", [CpuDevice(), ReferenceDevice()])
def test_values_of_another_type_are_refused(device: Any) -> None:
    session = opened(device)
    with pytest.raises(TypeError, match="parameter:w"):
        session.write("parameter:w", np.zeros((8, 3)))
    with pytest.raises(TypeError, match="parameter:w"):
        session.write("parameter:w", np.zeros((3, 8), "f4"))
    session.close()


def test_a_batch_of_another_type_is_refused() -> None:
    session = opened(CpuDevice())
    data = batch(np.random.default_rng(0))
    data["labels"] = data["labels"].astype("i8")
    with pytest.raises(TypeError, match="labels"):
        session.program("step").launch(data, {LR: 0.1})
    with pytest.raises(KeyError):
        session.program("step").launch({}, {LR: 0.1})
    session.close()


def test_the_checked_build_poisons_what_programs_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = trained(CpuDevice())
    monkeypatch.setenv("SEXPGPU_CHECK", "1")
    checked = trained(CpuDevice())
    assert np.array(plain[0]).tobytes() == np.array(checked[0]).tobytes()
    share, before = poisoned()
    assert share > 0.9  # also where a value has had its last reader
    assert before == [(0, "whole", 0xFF)] * 2
    monkeypatch.delenv("SEXPGPU_CHECK")
    share, before = poisoned()
    assert share < 0.1
    assert before == []


def poisoned() -> tuple[float, list[Any]]:
    """The share of the transient region that launches leave with all bits set, and what was filled
    before each."""
    session, before = opened(CpuDevice()), []
    memory = session._transient
    found, fill = memory.array("u1", (memory.size,)), memory.fill
    found[:] = 0

    def noted(offset: int, size: int, byte: int) -> None:
        before.append((offset, "whole" if size == memory.size else size, byte))
        fill(offset, size, byte)

    memory.fill = noted
    for _ in range(2):
        session.program("step").launch(batch(np.random.default_rng(0)), {LR: 0.1}).outcome()
    share = float((found == 0xFF).mean())
    session.close()
    return share, before


def test_an_operation_that_nothing_does_is_named() -> None:
    from cpu_programs import one_node, run_schedule

    made, node = one_node("cumsum", [Type("f32", (3, 3))], axis=0)
    node.operation = "no-such"
    with pytest.raises(Problem, match="no-such") as raised:
        run_schedule(made, [np.zeros((3, 3), "f4")])
    assert raised.value.diagnostic.code == "E-DEVICE-OPERATION"


def test_a_run_that_does_not_fit_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    from sexpgpu_cpu import host

    monkeypatch.setattr(host, "memory", lambda: 100)
    with pytest.raises(Problem) as raised:
        opened(CpuDevice())
    assert raised.value.diagnostic.code == "E-DEVICE-MEMORY"


def test_the_numerics_key_names_what_bits_depend_on() -> None:
    key = CpuDevice().numerics()
    assert {"device", "fma", "blas", "maths"} <= key.keys()
    assert all(isinstance(v, str) for v in key.values())


def test_probing_says_what_is_there() -> None:
    for device in (CpuDevice(), ReferenceDevice()):
        assert device.probe().present
    assert CpuDevice().probe().cores >= 1


def test_the_plug_ins_rows_name_both_devices() -> None:
    from importlib import import_module

    from sexpgpu_cpu.plugin import sexpgpu_devices

    rows = list(sexpgpu_devices())
    assert [r.name for r in rows] == ["cpu", "reference"]
    for row in rows:
        module, name = row.load.split(":")
        assert getattr(import_module(module), name)({}).name == row.name
        module, name = row.probe.split(":")
        assert getattr(import_module(module), name)()["present"]


def test_the_names_that_check_asks_for_are_those_that_are_done() -> None:
    from sexpgpu_core.kernels.repeat import LOOPS
    from sexpgpu_cpu.calls import LIBRARY
    from sexpgpu_cpu.operations import LIBRARY_OPERATIONS

    assert LIBRARY.keys() | LOOPS == LIBRARY_OPERATIONS
    known = OPERATIONS.keys() | {"copy"}
    assert known >= LIBRARY_OPERATIONS


CHECKED = """
import sys
from sexpgpu_cpu.device import load
from sexpgpu_core.passes.optimize import optimize
from sexpgpu_core.plan.make import make_plan
assert load().library("matmul")
bad = {"llvmlite", "numba", "numpy", "ctypes", "pluggy"} & set(sys.modules)
assert not bad, bad
"""


def test_checking_imports_nothing_that_computes() -> None:
    import subprocess
    import sys

    subprocess.run([sys.executable, "-c", CHECKED], check=True)


def test_the_time_of_a_step_is_told_by_call() -> None:
    from sexpgpu_cpu.profile import record_times

    session = opened(CpuDevice())
    program = session.program("step")
    program.launch(batch(np.random.default_rng(0)), {LR: 0.1})
    times = record_times(program, 1)
    session.close()
    assert {t.call for t in times} >= set(range(len(program.plan.calls)))
    assert all(t.seconds > 0 for t in times)


def test_a_session_says_how_much_code_a_program_has_and_what_a_cache_had(tmp_path: Path) -> None:
    found = unit(step_graph(), CpuDevice())
    first, second, other = (
        CpuSession(units, PERSISTENT, 1, ObjectCache(folder))
        for units, folder in (
            ([found, found._replace(name="again")], tmp_path),
            ([found], tmp_path),
            ([found], tmp_path / "empty"),
        )
    )
    for session in (first, second, other):
        session.close()
    count = first.kernels["step"]["kernels"]
    assert count > 3
    assert first.kernels["again"] == first.kernels["step"] == {"kernels": count, "cached": 0}
    assert first.seconds["step"] > 0 == first.seconds["again"]
    assert second.kernels == {"step": {"kernels": count, "cached": count}}
    assert second.seconds == {"step": 0.0}
    assert other.kernels["step"]["cached"] == 0


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_a_session_that_nobody_closes_takes_its_threads_along(tmp_path: Path) -> None:
    def threads() -> set[str]:
        return {path.name for path in Path("/proc/self/task").iterdir()}

    found = unit(step_graph(), CpuDevice())
    before = threads()
    session = CpuSession([found], PERSISTENT, 3, ObjectCache(tmp_path))
    own = threads() - before  # a session of another test may end meanwhile
    assert len(own) == 2
    del session
    gc.collect()
    assert not own & threads()
