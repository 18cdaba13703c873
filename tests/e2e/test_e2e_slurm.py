"""A sweep whose points are jobs of Slurm: begun, preempted, left behind, cancelled, refused."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from e2e_program import Folder, held, network, status, validate, wait
from slurm_stand_in import installed

GRID = '(defsweep s :grid ((width (8 16))) :rank ("val/loss" :min))'
LONG = ":steps 100000 :seed 1 :checkpoint (:every 20 :keep 2)"
SWEEP = ("sweep", "x.lisp", "s", "-q", "--json", "--jobs", "3", "--executor", "slurm:poll=1")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch.setenv)


def jobs(cluster: Path) -> list[dict[str, Any]]:
    found = sorted(cluster.glob("*/job.json"), key=lambda path: int(path.parent.name))
    return [json.loads(path.read_text()) for path in found]


def checkpoints(folder: Folder) -> list[Path]:
    return list((folder.path / "runs").glob("x-*/checkpoints/step-*"))


def test_points_are_jobs_and_are_ranked(folder: Folder, cluster: Path) -> None:
    folder.write("x.lisp", network(head=GRID))
    done = folder(*SWEEP[:-1], "slurm:poll=1,cpus=1,time=60,partition=gpu")
    held(done, 0)
    validate(done.document)
    assert done.document["executor"] == "slurm"
    assert [row["place"] for row in done.document["table"]] == [1, 2]
    assert [(job["state"], job["partition"]) for job in jobs(cluster)] == [("COMPLETED", "gpu")] * 2
    assert all("--threads=1" in job["wrap"] for job in jobs(cluster))


def test_a_preempted_point_has_another_job_that_goes_on_from_its_checkpoint(
    folder: Folder, cluster: Path
) -> None:
    run = ":steps 2000 :seed 1 :checkpoint (:every 20 :keep 2)"
    folder.write("x.lisp", network(head=GRID.replace("8 16", "64"), run=run))
    process = folder.start(*SWEEP)
    wait(lambda: checkpoints(folder), 120)
    (cluster / "1" / "end").write_text("PREEMPTED")
    out, _ = process.communicate(timeout=200)
    assert process.returncode == 0, out
    (point,) = json.loads(out)["points"]
    assert (point["state"], len(jobs(cluster))) == ("finished", 2)
    assert status(folder.made(point["run"]))["attempt"] == 2
    assert json.loads(out)["counts"] == {"finished": 1}


def test_jobs_of_a_sweep_that_was_killed_are_found_again_and_none_is_doubled(
    folder: Folder, cluster: Path
) -> None:
    folder.write("x.lisp", network(head=GRID))
    (cluster / "hold").touch()
    process = folder.start(*SWEEP)
    wait(lambda: len(jobs(cluster)) == 2, 120)
    process.kill()
    process.communicate()
    again = folder.start(*SWEEP)
    (made,) = (folder.path / "runs").glob("sweep-x-s-*")
    wait(lambda: f'"pid": {again.pid}' in (made / "run.lock").read_text(), 60)
    (cluster / "hold").unlink()
    out, _ = again.communicate(timeout=200)
    assert again.returncode == 0, out
    assert json.loads(out)["counts"] == {"finished": 2}
    assert len(jobs(cluster)) == 2
    kept = [json.loads(line) for line in (made / "jobs.jsonl").read_text().splitlines()]
    assert {line["job"] for line in kept} == {None, "1", "2"}


def test_stop_takes_jobs_of_a_sweep_that_was_killed_out_of_the_queue(
    folder: Folder, cluster: Path
) -> None:
    folder.write("x.lisp", network(head=GRID))
    (cluster / "hold").touch()
    process = folder.start(*SWEEP)
    wait(lambda: list((folder.path / "runs").glob("sweep-*/jobs.jsonl")), 120)
    (made,) = (folder.path / "runs").glob("sweep-x-s-*")
    wait(lambda: '"2"' in (made / "jobs.jsonl").read_text(), 60)
    process.kill()
    process.communicate()
    held(folder("stop", made.name, "-q"), 0)
    assert [job["state"] for job in jobs(cluster)] == ["CANCELLED", "CANCELLED"]


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_a_signalled_sweep_cancels_what_waits_and_lets_what_runs_save(
    folder: Folder, cluster: Path, sent: signal.Signals, code: int
) -> None:
    folder.write("x.lisp", network(head=GRID, run=LONG))
    process = folder.start(*SWEEP)
    wait(lambda: len({path.parents[1] for path in checkpoints(folder)}) == 2, 120)
    process.send_signal(sent)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == code, out
    assert json.loads(out)["counts"] == {"preempted": 2}
    assert [job["exit"] for job in jobs(cluster)] == ["75:0", "75:0"]


def test_what_slurm_refuses_or_ends_is_told(folder: Folder, cluster: Path) -> None:
    folder.write("x.lisp", network(head=GRID.replace("8 16", "8 16 24"), run=LONG))
    refused = folder(*SWEEP[:-1], "slurm:partition=gpus")
    held(refused, 4)
    assert [d["code"] for d in refused.diagnostics] == ["E-EXECUTOR-REFUSED"]
    assert "invalid partition specified: gpus" in refused.diagnostics[0]["message"]
    process = folder.start(*SWEEP)
    wait(lambda: len({path.parents[1] for path in checkpoints(folder)}) == 3, 120)
    os.kill(jobs(cluster)[2]["pid"], signal.SIGKILL)
    for job, state in (("1", "OUT_OF_MEMORY"), ("2", "CANCELLED")):
        (cluster / job / "end").write_text(state)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 3, out
    first, second, third = json.loads(out)["points"]
    assert (first["state"], first["error"]) == ("failed", "E-RUN-MEMORY")
    assert (second["state"], second["exit"]) == ("preempted", 75)
    assert (third["state"], third["error"]) == ("failed", "E-EXECUTOR-JOB")


def test_without_slurm_a_sweep_says_what_is_missing_and_lists_all_the_same(
    folder: Folder,
) -> None:
    folder.write("x.lisp", network(head=GRID))
    none = folder("sweep", "x.lisp", "s", "--executor", "slurm", "--json", PATH="/none")
    held(none, 4)
    assert [d["code"] for d in none.diagnostics] == ["E-EXECUTOR-ABSENT"]
    listed = folder("sweep", "x.lisp", "s", "--executor", "slurm", "--list", "-q", PATH="/none")
    held(listed, 0)
