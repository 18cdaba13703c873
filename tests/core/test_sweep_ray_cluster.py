"""Points as tasks of Ray: what is told without the package, and what a task does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.sweeps.ray_cluster import RayExecutor
from sexpgpu_core.sweeps.ray_task import perform

SAVES = (
    "import signal, sys, time; signal.signal(15, lambda *a: sys.exit(75)); "
    "print('begun', flush=True); time.sleep(60)"
)


def test_without_the_package_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(Problem) as raised:
        RayExecutor({"address": "auto", "cpus": 1, "gpus": 0.0})
    told = raised.value.diagnostic
    assert (told.code, told.hint) == ("E-EXECUTOR-ABSENT", "pip install 'sexpgpu[ray]'")


@pytest.mark.parametrize(
    ("code", "exit"),
    [
        ("raise SystemExit(5)", 5),
        ("import os; os.kill(os.getpid(), 15)", 75),
        ("import os; os.kill(os.getpid(), 9)", 3),
    ],
)
def test_a_task_has_the_exit_of_its_command(tmp_path: Path, code: str, exit: int) -> None:
    log = str(tmp_path / "log")
    assert perform([sys.executable, "-c", code], log, str(tmp_path), dict(os.environ)) == exit


def test_a_task_has_the_sweeps_variables_but_for_those_that_ray_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    code = "import os; print(os.getcwd(), *map(os.environ.get, ('CUDA_VISIBLE_DEVICES', 'MINE')))"
    given = {**os.environ, "CUDA_VISIBLE_DEVICES": "0,1", "MINE": "yes"}
    perform([sys.executable, "-c", code], str(tmp_path / "log"), str(tmp_path), given)
    assert (tmp_path / "log").read_text() == f"{tmp_path} 3 yes\n"


WORKER = """
import sys
from sexpgpu_core.sweeps.ray_task import perform
sys.exit(perform([sys.executable, "-c", sys.argv[1]], "log", ".", {}))
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_task_that_is_cancelled_or_killed_has_its_command_save(
    tmp_path: Path, sent: signal.Signals
) -> None:
    saved = SAVES.replace("sys.exit(75)", "(open('saved', 'w'), sys.exit(75))")
    worker = subprocess.Popen([sys.executable, "-c", WORKER, saved], cwd=tmp_path)
    end = time.monotonic() + 60
    while not (tmp_path / "log").exists() or "begun" not in (tmp_path / "log").read_text():
        assert time.monotonic() < end
        time.sleep(0.02)
    worker.send_signal(sent)
    assert worker.wait(60) == (75 if sent == signal.SIGINT else -9)
    while not (tmp_path / "saved").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
