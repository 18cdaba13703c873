"""A sweep that is disturbed: signals, killed points, an edited file, a folder that is deleted."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e_program import Folder, held, network, status, validate, wait

SLOW = network(
    run=":steps 3000 :seed 1 :checkpoint (:every 20 :keep 2)",
    head='(defsweep s :grid ((width (256 384))) :rank ("val/loss" :min))',
)


def saved(folder: Folder) -> set[Path]:
    """Runs with a checkpoint."""
    found = (folder.path / "runs").glob("x-*/checkpoints/step-*")
    return {path.parents[1] for path in found}


def finished(folder: Folder, edited: str, text: str) -> list[dict[str, Any]]:
    """Points of a sweep in which a file is edited once the first has saved: both come to an end."""
    process = folder.start("sweep", "x.lisp", "s", "-q", "--json")
    wait(lambda: saved(folder), 120)
    folder.write(edited, text)
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 0, out
    said = json.loads(out)
    assert said["counts"] == {"finished": 2}
    return list(said["points"])


def counted(folder: Folder) -> dict[str, int]:
    """How many points the sweep has in each state, by the file as it is now."""
    said = folder.quick("sweep", "x.lisp", "s", "--list", "--json").document
    return dict(said["counts"])


@pytest.fixture
def busy(folder: Folder) -> Iterator[Folder]:
    folder.write("x.lisp", SLOW)
    yield folder
    for run in (folder.path / "runs").glob("x-*"):  # a test that broke off leaves none behind
        folder.quick("stop", run.name, "--now")


def test_two_interrupts_in_a_row_leave_no_point_behind(busy: Folder) -> None:
    process = busy.start("sweep", "x.lisp", "s", "-q", "--jobs", "2")
    wait(lambda: len(saved(busy)) == 2, 120)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    for run in saved(busy):
        wait(lambda run=run: status(run)["state"] == "preempted", 60)


def test_a_point_whose_process_was_killed_is_lost_and_goes_on_next_time(busy: Folder) -> None:
    process = busy.start("sweep", "x.lisp", "s", "-q", "--json")
    wait(lambda: saved(busy), 120)
    (run,) = saved(busy)
    os.kill(status(run)["pid"], signal.SIGKILL)
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 3
    said = json.loads(out)
    validate(said)
    assert [point["state"] for point in said["points"]] == ["lost", "finished"]
    assert said["state"] == "stopped"
    done = busy("sweep", "x.lisp", "s", "-q", "--json")
    held(done, 0)
    assert done.document["counts"] == {"finished": 2}
    assert len(list((busy.path / "runs").glob("x-*"))) == 2
    assert status(run)["attempt"] == 2


def test_a_module_that_is_edited_while_its_sweep_runs_is_run_as_it_was(busy: Folder) -> None:
    module = "(provide twice)\n(defun twice (x) (* 2.0 x))\n"
    busy.write("m.lisp", module)
    twice = SLOW.replace("(network inputs) targets", "(m:twice (network inputs)) targets")
    text = '(require "./m.lisp")\n' + twice
    busy.write("x.lisp", text.replace(":steps 3000", ":steps 1000"))
    for point in finished(busy, "m.lisp", module.replace("2.0", "3.0")):
        assert (busy.made(point["run"]) / "modules" / "m.lisp").read_text() == module
    assert counted(busy) == {"pending": 2}


def test_a_file_that_is_edited_while_its_sweep_runs_is_run_as_it_was(busy: Folder) -> None:
    points = finished(busy, "x.lisp", SLOW.replace(":lr 1e-2", ":lr 1e-4"))
    (made,) = (busy.path / "runs").glob("sweep-x-s-*")
    assert (made / "file.lisp").read_text() == SLOW
    told = [json.loads((busy.made(p["run"]) / "manifest.json").read_text()) for p in points]
    assert {manifest["file"] for manifest in told} == {"x.lisp"}
    assert counted(busy) == {"pending": 2}
    busy.write("x.lisp", SLOW)
    assert counted(busy) == {"finished": 2}


def test_a_sweep_whose_folder_is_deleted_ends_and_its_points_save(busy: Folder) -> None:
    process = busy.start("sweep", "x.lisp", "s", "--json")
    wait(lambda: saved(busy), 120)
    (made,) = (busy.path / "runs").glob("sweep-x-s-*")
    shutil.rmtree(made)
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 3
    assert [d["code"] for d in json.loads(out)["diagnostics"]] == ["E-RUN-WRITE"]
    (run,) = saved(busy)
    wait(lambda: status(run)["state"] == "preempted", 60)


def test_a_list_says_of_points_without_a_run_of_their_own_what_became_of_them(
    folder: Folder,
) -> None:
    head = (
        '(defknob idle 1 "Read by nothing." :type (integer 1))'
        '(defsweep s :grid ((idle (1 0 2))) :rank ("val/loss" :min))'
    )
    folder.write("x.lisp", network(head=head))
    done = folder("sweep", "x.lisp", "s", "--json", "-q")
    held(done, 3)
    ended = [(p["state"], p["run"], p["error"]) for p in done.document["points"]]
    assert [state for state, _, _ in ended] == ["finished", "failed", "finished"]
    assert ended[1][1:] == (None, "E-KNOB-VALUE")
    said = folder.quick("sweep", "x.lisp", "s", "--list", "--json").document
    assert [(p["state"], p["run"], p["error"]) for p in said["points"]] == ended
    assert (said["state"], said["table"]) == (done.document["state"], done.document["table"])
