"""What a run costs is known before step 0: told by check, refused where it cannot fit."""

from __future__ import annotations

import json

import pytest
from e2e_program import Folder, held, network, status, validate

LONG = network(run=":steps 1000000 :seed 1 :checkpoint (:every 100000)", passes="")


@pytest.fixture
def mine(folder: Folder) -> Folder:
    folder.write("x.lisp", network())
    folder.write("long.lisp", LONG)
    return folder


def test_check_tells_memory_disk_and_time_of_this_machine(mine: Folder) -> None:
    held(mine("devices", "--json"), 0)
    done = mine.quick("check", "x.lisp", "--json")
    held(done, 0)
    validate(done.document)
    (file,) = done.document["files"]
    told = file["summary"]
    assert told["disk_free_bytes"] > told["disk_bytes"] > 0
    assert told["memory"]["staging_bytes"] > 0
    assert 20 * told["predicted"]["step_s"] < told["predicted"]["total_s"] < 10
    out = mine.quick("check", "x.lisp").out
    assert "  time  " in out
    assert "to a factor of 2" in out
    assert " free\n" in out
    assert " more while it saves\n" in out


def test_check_tells_what_a_scan_keeps_of_its_trips(mine: Folder) -> None:
    start = "(nn:linear (one-hot x 27 :dtype :f32) 27)"
    loop = f"(values (scan (lambda (c i) (values (tanh (+ c i)) nil)) {start} (ones '(500))))"
    mine.write("loop.lisp", network(model=loop))
    done = mine.quick("check", "loop.lisp", "--json")
    held(done, 0)
    validate(done.document)
    memory = done.document["files"][0]["summary"]["memory"]
    assert memory["stacked_bytes"] == 500 * (8 * 8 * 27) * 4
    assert memory["stacked_bytes"] <= memory["activations_bytes"]
    assert "of which scans stack" in mine.quick("check", "loop.lisp").out
    assert "scans stack" not in mine.quick("check", "x.lisp").out


def test_check_names_the_runs_of_this_experiment(mine: Folder) -> None:
    assert "exists" not in mine.quick("check", "x.lisp").out
    held(mine.quick("run", "x.lisp", "--name", "it", "-q"), 0)
    assert "exists      it (finished)" in mine.quick("check", "x.lisp").out
    told = mine.quick("check", "x.lisp", "--json").document
    validate(told)
    (run,) = told["files"][0]["summary"]["exists"]
    assert (run["run"], run["state"]) == ("it", "finished")
    assert "val/loss" in run["metrics"]


def test_memory_that_no_machine_has_is_refused_before_step_0(mine: Folder) -> None:
    mine.write(
        "wide.lisp",
        network(model="(nn:layers (one-hot x 27 :dtype :f32) (list 4000000 200000 27))"),
    )
    out = mine.quick("check", "wide.lisp").out
    assert "memory      " in out
    done = mine.quick("run", "wide.lisp", "--name", "it", "--json")
    held(done, 4)
    validate(done.document)
    told = done.document
    assert (told["state"], told["step"], told["error"]["code"]) == ("failed", 0, "E-DEVICE-MEMORY")
    assert told["error"]["facts"]["needed"] > told["error"]["facts"]["available"]


def test_a_deadline_without_a_step_is_refused_before_step_0(mine: Folder) -> None:
    done = mine("run", "long.lisp", "--deadline", "0.000001", "--name", "it", "--json")
    held(done, 4)
    validate(done.document)
    told = done.document
    assert (told["state"], told["step"], told["error"]["code"]) == ("failed", 0, "E-DEVICE-TIME")
    assert told["error"]["facts"]["deadline"] == 1e-06


def test_a_deadline_before_the_last_step_is_told_when_it_begins(mine: Folder) -> None:
    done = mine("run", "long.lisp", "--deadline", "0.3", "--name", "it")
    held(done, 75)
    assert done.err.index("W-RUN-DEADLINE") < done.err.index("E-RUN-DEADLINE")
    assert status(mine.made("it"))["warnings"]["W-RUN-DEADLINE"] == 1
    enough = mine("run", "x.lisp", "--deadline", "300", "--name", "short")
    held(enough, 0)
    assert "W-RUN-DEADLINE" not in enough.err


def test_a_dry_run_says_what_was_predicted(mine: Folder) -> None:
    done = mine.quick("run", "x.lisp", "--dry-run", "--json")
    held(done, 0)
    validate(done.document)
    told = done.document["predicted"]
    assert told["total_s"] > 20 * told["step_s"] > 0
    assert json.loads(done.out)["summary"]["step_s"] > 0
