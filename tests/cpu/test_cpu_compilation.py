"""Texts to objects by this process and by helper processes: the same objects, nothing left out."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core.device import COMPILED
from sexpgpu_core.diagnostics import Problem
from sexpgpu_cpu import compilation
from sexpgpu_cpu.compilation import ModuleText, compile_all, helpers_for

COUNT = 12


def texts(count: int = COUNT) -> dict[str, ModuleText]:
    text = "define i64 @f(i64 %x) {{ %y = add i64 %x, {}\n ret i64 %y }}"
    return {f"k{i}": ModuleText(text.format(i), f"m{i}", bool(i % 2)) for i in range(count)}


def objects(helpers: int) -> dict[str, bytes]:
    return {key: made.object for key, made in compile_all(texts(), helpers).items()}


def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that are started from now on."""
    found: list[subprocess.Popen[bytes]] = []
    start = compilation._start

    def noted() -> Any:
        process = start()
        assert process is not None
        found.append(process)
        return process

    monkeypatch.setattr(compilation, "_start", noted)
    return found


def test_objects_do_not_depend_on_who_compiles_them() -> None:
    assert objects(0) == objects(1) == objects(2)


def test_a_helper_takes_a_part_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = started(monkeypatch)
    ours: list[str] = []
    compile_one = compilation._compile

    def slow(text: ModuleText) -> compilation.Made:
        ours.append(text.name)
        time.sleep(0.3)  # long enough for the helper to start and to take the rest
        return compile_one(text)

    monkeypatch.setattr(compilation, "_compile", slow)
    assert len(objects(1)) == COUNT
    assert 0 < len(ours) < COUNT
    assert [p.poll() is not None for p in processes] == [True]


def test_a_helper_that_dies_leaves_its_text_to_us(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = objects(0)
    processes = started(monkeypatch)
    send = compilation._send

    def killing(pipe: Any, value: object) -> None:
        os.kill(processes[0].pid, signal.SIGKILL)
        send(pipe, value)

    monkeypatch.setattr(compilation, "_send", killing)
    assert objects(1) == expected


def test_a_helper_that_cannot_start_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(Path("/nowhere/python")))
    assert objects(2) == objects(0)


@pytest.mark.parametrize("helpers", [0, 1])
def test_a_refused_text_is_a_problem_and_no_helper_stays(
    helpers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = started(monkeypatch)
    wrong = {**texts(), "bad": ModuleText("define void @f( {", "bad")}
    with pytest.raises(Problem) as raised:
        compile_all(wrong, helpers)
    assert raised.value.diagnostic.code == "E-DEVICE-COMPILE"
    assert all(p.poll() is not None for p in processes)


def test_few_texts_and_one_thread_need_no_helper() -> None:
    assert [helpers_for(7, 8), helpers_for(100, 1), helpers_for(16, 2), helpers_for(30, 8)] == [
        0,
        0,
        1,
        3,
    ]


@pytest.mark.parametrize("helpers", [0, 2])
def test_a_watch_is_told_of_each_object_that_is_made(helpers: int) -> None:
    told: list[tuple[int, int]] = []
    watched = COMPILED.set(lambda done, total: told.append((done, total)))
    try:
        compile_all(texts(), helpers)
    finally:
        COMPILED.reset(watched)
    assert {total for _, total in told} == {COUNT}
    assert len(told) == COUNT
    assert max(told) == (COUNT, COUNT)
    compile_all(texts(2), 0)
    assert len(told) == COUNT
