"""A sweep whose points are tasks of Ray, on a cluster of this machine's own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_program import Folder, held, network, status, validate, wait

pytest.importorskip("ray", reason="the extra sexpgpu[ray] is not installed")
GRID = '(defsweep s :grid ((width (8 16))) :rank ("val/loss" :min))'
SWEEP = ("sweep", "x.lisp", "s", "-q", "--json", "--jobs", "2", "--executor")


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster with two CPUs; it ends with the process that is begun here."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    folder = tempfile.mkdtemp(prefix="ray")  # its sockets' paths must be short
    flags = ("--head", "--block", "--num-cpus=2", "--disable-usage-stats")
    words = (
        f"--port={address.partition(':')[2]}",
        f"--temp-dir={folder}",
        "--include-dashboard=false",
    )
    with subprocess.Popen(
        [sys.executable, "-m", "ray.scripts.scripts", "start", *flags, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            end = time.monotonic() + 120
            while not list(Path(folder).glob("session_*/sockets/raylet")):
                assert process.poll() is None
                assert time.monotonic() < end, "no cluster began"
                time.sleep(0.1)
            yield address
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            shutil.rmtree(folder, ignore_errors=True)


def checkpoints(folder: Folder) -> list[Path]:
    return list((folder.path / "runs").glob("x-*/checkpoints/step-*"))


def test_points_are_tasks_and_are_ranked(folder: Folder, cluster: str) -> None:
    folder.write("x.lisp", network(head=GRID))
    done = folder(*SWEEP, "ray:cpus=1", RAY_ADDRESS=cluster)
    held(done, 0)
    validate(done.document)
    assert (done.document["executor"], done.document["counts"]) == ("ray", {"finished": 2})
    assert [row["place"] for row in done.document["table"]] == [1, 2]


def test_a_point_whose_worker_died_goes_on_from_its_checkpoint(
    folder: Folder, cluster: str
) -> None:
    run = ":steps 2000 :seed 1 :checkpoint (:every 20 :keep 2)"
    folder.write("x.lisp", network(head=GRID.replace("8 16", "64"), run=run))
    process = folder.start(*SWEEP, f"ray:address={cluster}")
    wait(lambda: checkpoints(folder), 120)
    (made,) = {path.parents[1] for path in checkpoints(folder)}
    fields = Path(f"/proc/{status(made)['pid']}/stat").read_text().rpartition(")")[2].split()
    os.kill(int(fields[1]), signal.SIGKILL)  # the worker, whose child the run is
    out, _ = process.communicate(timeout=200)
    assert process.returncode == 0, out
    assert json.loads(out)["counts"] == {"finished": 1}
    assert status(made)["attempt"] == 2


def test_a_signalled_sweep_lets_its_tasks_save(folder: Folder, cluster: str) -> None:
    run = ":steps 100000 :seed 1 :checkpoint (:every 20 :keep 2)"
    folder.write("x.lisp", network(head=GRID, run=run))
    process = folder.start(*SWEEP, f"ray:address={cluster}")
    wait(lambda: len({path.parents[1] for path in checkpoints(folder)}) == 2, 120)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 75, out
    assert json.loads(out)["counts"] == {"preempted": 2}


def test_where_no_cluster_is_it_is_told(folder: Folder) -> None:
    folder.write("x.lisp", network(head=GRID))
    done = folder(*SWEEP, "ray:address=127.0.0.1:1")
    held(done, 4)
    (told,) = done.diagnostics
    assert told["code"] == "E-EXECUTOR-ABSENT"
    assert re.search("no cluster answers at 127.0.0.1:1", told["message"])
    assert "ray start --head" in told["hint"]
