"""Points as jobs of Slurm, by stand-ins for its commands: submitted, asked for, cancelled."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "e2e"))  # `python -P` leaves it out
from slurm_stand_in import installed

from sexpgpu_core import config, plugins
from sexpgpu_core.chosen import executor_of
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.sweeps import slurm
from sexpgpu_core.sweeps.executor import Ended
from sexpgpu_core.sweeps.slurm_states import Told, ended, of_sacct, of_scontrol, of_squeue

WAIT = "import time; print('begun', flush=True); time.sleep(60)"
SAVES = (
    "import signal, sys, time; signal.signal(15, lambda *a: sys.exit(75)); "
    "print('begun', flush=True); time.sleep(60)"
)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch.setenv)


class Jobs:
    """An executor that asks at once, and its jobs."""

    def __init__(self, folder: Path, given: str = "slurm") -> None:
        registry = plugins.installed(config.settings(folder))
        make, options = executor_of(registry, given, {})
        self.folder, self.slurm = folder, make({**options, "poll": 0})

    def submit(self, code: str, point: str = "p") -> str:
        log = self.folder / f"{point}.txt"
        return str(self.slurm.submit([sys.executable, "-c", code], point, log))

    def began(self, point: str = "p") -> None:
        until(lambda: "begun" in (self.folder / f"{point}.txt").read_text())

    def end(self, job: str) -> Ended:
        until(lambda: self.slurm.ended([job]))
        return self.slurm.ended([job])[job]  # type: ignore[no-any-return]


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_exits_are_those_of_commands_and_what_they_write_is_in_the_log(
    cluster: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "50% done"
    folder.mkdir()
    jobs = Jobs(folder)
    for code in (0, 3, 5):
        job = jobs.submit(f"print('its', {code}); raise SystemExit({code})")
        assert jobs.end(job) == Ended(code)
        assert (folder / "p.txt").read_text() == f"its {code}\n"


def test_options_are_flags_of_sbatch(cluster: Path, tmp_path: Path) -> None:
    given = "slurm:partition=gpu,time=60,gres=gpu:1,cpus=4,sbatch=--constraint='a100&nvlink'"
    job = Jobs(tmp_path, given).submit("pass", "rate0.1")
    told = json.loads((cluster / job / "job.json").read_text())
    wanted = {
        **{"partition": "gpu", "time": "60", "gres": "gpu:1"},
        **{"cpus_per_task": "4", "constraint": "a100&nvlink", "signal": "B:USR1@120"},
        **{"account": None, "open_mode": "append", "mem": None},
    }
    assert {key: told[key] for key in wanted} == wanted
    assert told["job_name"].startswith("sexpgpu-rate0.1-")


def test_what_sbatch_says_is_told(cluster: Path, tmp_path: Path) -> None:
    with pytest.raises(Problem, match="invalid partition specified: gpus") as raised:
        Jobs(tmp_path, "slurm:partition=gpus").submit("pass")
    assert raised.value.diagnostic.code == "E-EXECUTOR-REFUSED"
    with pytest.raises(Problem, match="No closing quotation") as raised:
        Jobs(tmp_path, "slurm:sbatch='x").submit("pass")
    assert raised.value.diagnostic.code == "E-USAGE-VALUE"


def test_a_machine_without_slurm_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Problem, match="no sbatch is here") as raised:
        Jobs(tmp_path)
    assert raised.value.diagnostic.code == "E-EXECUTOR-ABSENT"


def test_a_job_that_waits_leaves_the_queue_and_one_that_runs_saves(
    cluster: Path, tmp_path: Path
) -> None:
    jobs = Jobs(tmp_path)
    running = jobs.submit(SAVES, "running")
    jobs.began("running")
    (cluster / "hold").touch()
    waiting = jobs.submit(SAVES, "waiting")
    assert jobs.slurm.ended([running, waiting]) == {}
    jobs.slurm.cancel([running, waiting])
    assert (jobs.end(running), jobs.end(waiting)) == (Ended(75), Ended(75))


def test_jobs_that_scancel_did_not_reach_are_cancelled_later(cluster: Path, tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    job = jobs.submit(SAVES)
    jobs.began()
    (cluster / "down").touch()
    jobs.slurm.cancel([job])
    assert jobs.slurm.ended([job]) == {}
    (cluster / "down").unlink()
    assert jobs.end(job) == Ended(75)


@pytest.mark.parametrize(
    ("state", "wanted"),
    [
        ("PREEMPTED", Ended(None, "Slurm job 1: PREEMPTED", again=True)),
        ("TIMEOUT", Ended(None, "Slurm job 1: TIMEOUT", again=True)),
        ("NODE_FAIL", Ended(None, "Slurm job 1: NODE_FAIL", "E-EXECUTOR-JOB", True)),
        ("OUT_OF_MEMORY", Ended(3, "Slurm job 1: OUT_OF_MEMORY", "E-RUN-MEMORY")),
        ("CANCELLED", Ended(75, "Slurm job 1: CANCELLED")),
    ],
)
def test_what_slurm_ended_is_told_with_its_word(
    cluster: Path, tmp_path: Path, state: str, wanted: Ended
) -> None:
    jobs = Jobs(tmp_path)
    job = jobs.submit(WAIT)
    jobs.began()
    (cluster / job / "end").write_text(state)
    assert jobs.end(job) == wanted


def test_a_time_limit_ends_a_job(cluster: Path, tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, "slurm:time=0.01")
    assert jobs.end(jobs.submit(WAIT)) == Ended(None, "Slurm job 1: TIMEOUT", again=True)


def test_without_accounting_the_controller_says_the_exit_or_a_run_does(
    cluster: Path, tmp_path: Path
) -> None:
    (cluster / "unaccounted").touch()
    jobs = Jobs(tmp_path)
    assert jobs.end(jobs.submit("pass")) == Ended(0)
    assert jobs.end(jobs.submit("raise SystemExit(5)")) == Ended(5)
    assert jobs.end(jobs.submit("raise SystemExit(75)")) == Ended(75, again=True)
    (cluster / "forget").touch()
    job = jobs.submit("pass")
    assert jobs.end(job) == Ended(None, f"Slurm job {job}: not known any more")


def test_another_process_asks_for_a_job_by_its_name(cluster: Path, tmp_path: Path) -> None:
    job = Jobs(tmp_path).submit(WAIT)
    (later := Jobs(tmp_path)).began()
    assert later.slurm.ended([job]) == {}
    assert later.slurm.find("p", tmp_path / "p.txt") == job
    assert later.slurm.find("p", tmp_path / "another" / "p.txt") is None
    (cluster / job / "end").write_text("PREEMPTED")
    assert later.end(job).again
    (cluster / "forget").touch()
    assert later.slurm.ended(["99"]) == {}  # accounting may be late


def test_a_controller_that_is_silent_for_long_is_told(
    cluster: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = Jobs(tmp_path)
    job = jobs.submit("pass")
    (cluster / "down").touch()
    assert jobs.slurm.ended([job]) == {}
    monkeypatch.setattr(slurm, "LOST", 0)
    with pytest.raises(Problem, match="Unable to contact slurm controller") as raised:
        jobs.slurm.ended([job])
    assert raised.value.diagnostic.code == "E-EXECUTOR-LOST"


def test_states_are_read_as_the_commands_print_them() -> None:
    assert of_squeue("CLUSTER: east\n12|RUNNING\n13|COMPLETING\n") == {
        "12": Told("RUNNING", "RUNNING"),
        "13": Told("COMPLETING", "COMPLETING"),
    }
    assert of_sacct("12|CANCELLED by 0|0:15\n\n13|FAILED|75:0\n") == {
        "12": Told("CANCELLED", "CANCELLED by 0", 0, 15),
        "13": Told("FAILED", "FAILED", 75, 0),
    }
    shown = "JobId=7 JobName=a UserId=b(1) JobState=FAILED Reason=NonZeroExitCode ExitCode=75:0"
    assert of_scontrol(f"{shown}\nslurm_load_jobs\n") == {"7": Told("FAILED", "FAILED", 75)}
    assert ended("1", Told("FAILED", "FAILED", 75), False).again
    assert ended("1", Told("FAILED", "FAILED"), False) == Ended(None)
    assert not ended("1", Told("FAILED", "FAILED", 75), True).again
    assert ended("1", Told("FAILED", "FAILED", 0, 10), False).exit == 75  # before it listened
    assert ended("1", Told("FAILED", "FAILED", 0, 9), False).exit == 3
