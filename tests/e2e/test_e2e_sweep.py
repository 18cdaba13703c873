"""Sweeps: each point a run, known by its content; what was run is not run again; a ranked table."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from e2e_program import Folder, events, held, network, status, validate, wait

GRID = '(defsweep s :grid ((width (8 16))) :seeds 2 :rank ("val/loss" :min))'


def slow(steps: int) -> str:
    return network(
        run=f":steps {steps} :seed 1 :checkpoint (:every 20 :keep 2)",
        head="(defsweep s :grid ((width (256 384))))",
    )


@pytest.fixture
def swept(folder: Folder) -> Folder:
    """A sweep of two widths and two seeds that has finished."""
    folder.write("x.lisp", network(head=GRID))
    done = folder("sweep", "x.lisp", "s", "--jobs", "2", "--json", "-q")
    held(done, 0)
    validate(done.document)
    return folder


def document(folder: Folder, *flags: str) -> dict[str, Any]:
    done = folder.quick("sweep", "x.lisp", "s", "--json", "-q", *flags)
    held(done, 0)
    validate(done.document)
    return done.document


def test_every_point_is_a_run_and_they_are_ranked_with_their_spread(swept: Folder) -> None:
    said = document(swept, "--list")
    assert (said["state"], said["counts"]) == ("finished", {"finished": 4})
    assert [p["point"] for p in said["points"]][:2] == ["width8-seed1", "width8-seed2"]
    assert len(said["evaluation_id"]) == 12  # another width is judged alike
    first, second = said["table"]
    assert (first["n"], first["failed"], second["place"]) == (2, 0, 2)
    assert first["minimum"] <= first["mean"] <= first["maximum"]
    assert first["mean"] <= second["mean"]
    assert first["deviation"] > 0
    for point in said["points"]:
        manifest = json.loads((swept.made(point["run"]) / "manifest.json").read_text())
        assert manifest["sweep"] == {"name": "s", "point": point["point"]}
        assert manifest["selection"]["point"] == f"s/{point['point']}"
        assert manifest["selection"]["set"] == {}
        assert point["run"].startswith(f"x-width{point['values']['width']}-")
    table = swept.quick("sweep", "x.lisp", "s", "--list").out
    assert "by val/loss min" in table
    assert table.splitlines()[2].split()[:3] == ["width", "mean", "deviation"]


def test_lists_are_cut_at_the_limit_and_sweep_json_has_them_whole(swept: Folder) -> None:
    (made,) = (swept.path / "runs").glob("sweep-x-s-*")
    for argv in (("sweep", "x.lisp", "s", "--list"), ("status", made.name), ("stop", made.name)):
        said = swept.quick(*argv, "--json", "--limit", "1").document
        validate(said)
        assert [len(said[name]) for name in ("points", "table")] == [1, 1]
        assert said["omitted"] == {"points": 3, "table": 1}
        assert said["more"] == f"sexpgpu status {made.name} --json --limit 0"
    whole = swept.quick(*said["more"].split()[1:]).document
    assert [len(whole[name]) for name in ("points", "table")] == [4, 2]
    assert whole == json.loads((made / "sweep.json").read_text())


def test_the_best_run_is_that_of_the_sweep_s_rank(swept: Folder) -> None:
    said = document(swept, "--list")
    best = min(said["points"], key=lambda point: point["value"])
    assert swept.quick("status", "best", "--json").document["run"] == best["run"]
    manifest = json.loads((swept.made(best["run"]) / "manifest.json").read_text())
    assert manifest["sweep_rank"] == {"metric": "val/loss", "goal": "min"}
    validate(manifest)


def test_a_verb_that_takes_a_run_says_that_a_sweep_is_none(swept: Folder) -> None:
    (made,) = (swept.path / "runs").glob("sweep-x-s-*")
    for argv in (("events", made.name), ("checkpoint", "show", f"{made.name}@latest")):
        done = swept.quick(*argv, "--json")
        held(done, 2)
        (told,) = done.diagnostics
        assert told["code"] == "E-USAGE-RUN"
        assert told["message"].startswith(f"{made.name} is a sweep")
        assert "its runs: x-width8-" in told["hint"]


def test_an_edited_file_is_another_sweep_and_the_one_before_is_named(swept: Folder) -> None:
    (made,) = (swept.path / "runs").glob("sweep-x-s-*")
    swept.write("x.lisp", network(head=GRID.replace("(8 16)", "(8)")))
    done = swept.quick("sweep", "x.lisp", "s")
    held(done, 0)
    assert f"{made.name}: the file said something else then" in done.err
    assert "the file said" not in swept.quick("sweep", "x.lisp", "s").err


def test_what_has_finished_is_not_run_again_whoever_ran_it(swept: Folder) -> None:
    said = document(swept)
    assert all(point["reused"] for point in said["points"])
    assert len(list((swept.path / "runs").glob("x-*"))) == 4
    wider = GRID.replace("(8 16)", "(8 16 24)").replace(" :seeds 2", "")
    swept.write("x.lisp", network(head=wider))
    held(swept.quick("run", "x.lisp", "-s", "width=24", "--name", "mine", "-q"), 0)
    said = document(swept)
    assert [p["reused"] for p in said["points"]] == [True] * 3  # of seed 1, and one run by hand
    assert said["points"][2]["run"] == "mine"


def test_a_point_is_checked_and_run_alone(swept: Folder) -> None:
    done = swept.quick("check", "x.lisp", "--point", "s/width16-seed2", "--json")
    held(done, 0)
    (file,) = done.document["files"]
    assert file["selection"]["point"] == "s/width16-seed2"
    assert file["selection"]["values"]["width"] == "16"
    again = swept.quick("run", "x.lisp", "--point", "s/width16-seed2", "--if-exists", "reuse", "-q")
    held(again, 0)
    for wrong in ("s/width17", "r/width8", "s"):
        done = swept.quick("check", "x.lisp", "--point", wrong, "--json")
        assert [d["code"] for d in done.diagnostics] == ["E-SWEEP-UNKNOWN"]
    held(swept.quick("sweep", "x.lisp", "t", "-q"), 1)


def test_a_point_that_fails_does_not_end_the_sweep_and_is_run_again_on_request(
    folder: Folder,
) -> None:
    head = '(defsweep s :grid ((width (8 0 16))) :rank ("val/loss" :min))'
    text = network(head=head).replace("(list width 27)", "(list (max width 1) 27)")
    text = text.replace("(integer 1)", "(integer 0)")
    loss = "(let ((l (nn:cross-entropy (network inputs) targets))) (if (= width 0) (/ l 0.0) l))"
    folder.write("x.lisp", text.replace("(nn:cross-entropy (network inputs) targets)", loss))
    done = folder("sweep", "x.lisp", "s", "--json", "-q")
    held(done, 3)
    said = done.document
    validate(said)
    failed = said["points"][1]
    assert (failed["state"], failed["exit"], failed["error"]) == ("failed", 3, "E-RUN-NONFINITE")
    assert said["counts"] == {"finished": 2, "failed": 1}
    assert [row["n"] for row in said["table"]] == [1, 1]
    before = len(list((folder.path / "runs").glob("x-width0*")))
    held(folder("sweep", "x.lisp", "s", "-q"), 3)
    assert len(list((folder.path / "runs").glob("x-width0*"))) == before == 1
    held(folder("sweep", "x.lisp", "s", "-q", "--retry-failed", "--only", "width0*"), 3)
    again = list((folder.path / "runs").glob("x-width0*"))
    assert len(again) == 2  # it had no checkpoint to go on from


def test_a_sweep_that_was_killed_goes_on_where_its_points_were(folder: Folder) -> None:
    folder.write("x.lisp", slow(1500))
    process = folder.start("sweep", "x.lisp", "s", "--detach", "-q")
    process.communicate(timeout=120)
    runs = folder.path / "runs"
    wait(lambda: list(runs.glob("x-*/checkpoints/step-*")), 120)
    (made,) = runs.glob("sweep-x-s-*")
    done = folder.quick("stop", made.name, "--json")
    held(done, 0)
    validate(done.document)
    assert done.document["state"] == "stopped"
    assert [p["state"] for p in done.document["points"]] == ["preempted", "pending"]
    told = folder.quick("status", made.name, "--json")
    assert told.document["document"] == "sweep"
    saved = int(max(runs.glob("x-*/checkpoints/step-*")).name[5:])
    held(folder("sweep", "x.lisp", "s", "-q"), 0)
    first = Path(runs / json.loads((made / "sweep.json").read_text())["points"][0]["run"])
    assert status(first)["attempt"] == 2
    (resumed,) = (event for event in events(first) if event["event"] == "resume")
    assert resumed["checkpoint"] == f"checkpoints/step-{saved:08}"
    assert len(list(runs.glob("x-*"))) == 2
    held(folder.quick("status", made.name, "--until", "done"), 0)


def test_a_point_that_a_killed_sweep_left_running_is_waited_for(folder: Folder) -> None:
    folder.write("x.lisp", slow(1500))
    process = folder.start("sweep", "x.lisp", "s", "-q")
    runs = folder.path / "runs"
    wait(lambda: list(runs.glob("x-*/checkpoints/step-*")), 120)
    refused = folder("sweep", "x.lisp", "s", "--detach", "--json")
    held(refused, 3)
    assert [d["code"] for d in refused.diagnostics] == ["E-RUN-LOCKED"]
    process.kill()
    process.communicate()
    done = folder("sweep", "x.lisp", "s", "-q", "--json")
    held(done, 0)
    assert done.document["counts"] == {"finished": 2}
    assert [status(run)["attempt"] for run in runs.glob("x-*")] == [1, 1]


def test_a_sweep_of_many_points_is_planned_in_seconds(folder: Folder) -> None:
    head = "(defsweep s :random ((width (choice 8 16)) (share (uniform 0 1))) :n 20000)"
    knob = '(defknob share 0.5 "Share." :type (float 0 1))'
    folder.write("x.lisp", network(head=knob + head, run=":steps 2 :seed 1"))
    began = time.monotonic()
    said = document(folder, "--list")
    assert time.monotonic() - began < 60  # each point evaluated: 40 minutes
    assert (len(said["points"]), said["omitted"]) == (20, {"points": 19_980})
    assert said["counts"] == {"pending": 20_000}
    name = said["points"][7]["point"]
    done = folder("sweep", "x.lisp", "s", "--only", name, "-q", "--json")
    held(done, 0)
    assert done.document["counts"] == {"finished": 1, "pending": 19_999}
    assert document(folder, "--list")["points"][7]["state"] == "finished"


def test_points_of_one_experiment_are_one_run_also_at_once(folder: Folder) -> None:
    head = '(defknob idle 1 "Read by nothing.") (defsweep s :grid ((idle (1 2 3))))'
    folder.write("x.lisp", network(head=head))
    done = folder("sweep", "x.lisp", "s", "--jobs", "3", "-q", "--json")
    held(done, 0)
    assert done.document["counts"] == {"finished": 3}
    assert [point["reused"] for point in done.document["points"]] == [False, True, True]
    assert len(list((folder.path / "runs").glob("x-*"))) == 1


def test_states_are_right_while_a_sweep_runs_and_after_its_process_was_killed(
    folder: Folder,
) -> None:
    folder.write("x.lisp", slow(100_000).replace("(256 384)", "(64 96 128)"))
    process = folder.start("sweep", "x.lisp", "s", "-q", "--jobs", "2")
    runs = folder.path / "runs"
    try:
        wait(lambda: len({p.parents[1] for p in runs.glob("x-*/checkpoints/step-*")}) > 1, 120)
        (made,) = runs.glob("sweep-x-s-*")
        busy = {"running", "evaluating", "checkpointing"}
        for said in (
            document(folder, "--list"),
            folder.quick("status", made.name, "--json").document,
        ):
            first, second, third = (point["state"] for point in said["points"])
            assert (said["state"], said["jobs"], third) == ("running", 2, "pending")
            assert {first, second} <= busy, said["counts"]
        assert "s: running" in folder.quick("sweep", "x.lisp", "s", "--list").out
        assert all(r["state"] in busy for r in folder.quick("runs", "--json").document["runs"])
    finally:
        process.kill()
        process.communicate()
    one, two = sorted(runs.glob("x-*"))
    os.kill(status(one)["pid"], signal.SIGKILL)
    wait(lambda: document(folder, "--list")["points"][0]["state"] == "lost")
    said = folder.quick("status", made.name, "--json").document
    validate(said)
    states = [point["state"] for point in said["points"]]
    assert (said["state"], states[0], states[2]) == ("stopped", "lost", "pending")
    assert said["alive"] is False
    assert "s: lost, its process is gone, " in folder.quick("status", made.name).out
    held(folder.quick("status", made.name, "--until", "done"), 3)
    assert states[1] in busy, "its process goes on without the sweep's"
    stopped = folder.quick("stop", made.name, "--json")
    held(stopped, 0)
    assert [p["state"] for p in stopped.document["points"]] == ["lost", "stopped", "pending"]
    assert status(two)["state"] == "stopped"


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_a_signalled_sweep_saves_its_points_and_exits_by_the_signal(
    folder: Folder, sent: signal.Signals, code: int
) -> None:
    folder.write("x.lisp", slow(4000))
    process = folder.start("sweep", "x.lisp", "s", "-q")
    wait(lambda: list((folder.path / "runs").glob("x-*/checkpoints/step-*")), 120)
    process.send_signal(sent)
    process.communicate(timeout=120)
    assert process.returncode == code
    (run,) = (folder.path / "runs").glob("x-*")
    assert status(run)["state"] == "preempted"


def test_wrong_sweeps_are_told(folder: Folder) -> None:
    folder.write("x.lisp", network(head=GRID.replace("val/loss", "val/los")))
    done = folder.quick("check", "x.lisp", "--json")
    assert [d["code"] for d in done.diagnostics] == ["E-SERIES"]
    folder.write("x.lisp", network(head=GRID))
    held(folder.quick("sweep", "x.lisp", "s", "--executor", "nix"), 2)
    done = folder.quick("sweep", "x.lisp", "s", "-s", "width=9", "--json")
    held(done, 2)
    assert done.diagnostics[0]["message"] == "-s width=9 would give all points of s one width"
    done = folder.quick("sweep", "x.lisp", "s", "--only", "nix*", "--json")
    held(done, 1)
    (told,) = done.diagnostics
    assert told["hint"] == "there are: width8-seed1 width8-seed2 width16-seed1 width16-seed2"
