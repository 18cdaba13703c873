"""Verbs over runs that have ended: how one is, its numbers, the list of all."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from e2e_program import Folder, events, held, status, validate


def test_a_status_is_text_and_the_document_of_the_file(ran: Folder) -> None:
    done = ran.quick("status", "one")
    held(done, 0)
    assert done.out.startswith("one: finished at step 40 of 40 after")
    assert len(done.out.encode()) < 2048
    document = ran.quick("status", "one", "--json").document
    validate(document)
    assert (document["path"], document["alive"]) == ("runs/one", None)
    assert {**status(ran.made("one")), "path": "runs/one", "alive": None} == document


@pytest.mark.parametrize(
    ("name", "run"),
    [("latest", "other"), ("runs/one", "one"), ("on", "one"), ("best:val/loss", None)],
)
def test_a_run_has_many_names(ran: Folder, name: str, run: str | None) -> None:
    found = ran.quick("status", name, "--json").document["run"]
    assert found == run if run else found in ("one", "other")


def test_a_run_that_is_none_or_several_is_told(ran: Folder, mine: Folder) -> None:
    none = ran.quick("status", "onne")
    held(none, 2)
    assert "error[E-USAGE-RUN]" in none.err
    assert "Did you mean one?" in none.err
    shutil.copytree(mine.made("one"), mine.made("one-2"))
    for verb in ("status", "events", "stop"):
        several = mine.quick(verb, "on", "--json")
        held(several, 2)
        validate(several.document)
        assert several.diagnostics[0]["code"] == "E-USAGE-AMBIGUOUS"
    assert mine.quick("status", "one").exit == 0


@pytest.mark.parametrize(
    ("until", "code", "met"),
    [
        ("done", 0, True),
        ("step=20", 0, True),
        ("step=41", 0, False),
        ("val/loss<1000", 0, True),
        ("val/loss<0", 0, False),
    ],
)
def test_waiting_for_a_run_that_has_ended_does_not_wait(
    ran: Folder, until: str, code: int, met: bool
) -> None:
    done = ran.quick("status", "one", "--until", until, "--json")
    held(done, code)
    validate(done.document)
    assert done.document["until"] == {"condition": until, "met": met}
    assert ("it ended before" in done.err) is not met


@pytest.mark.parametrize(
    "flags",
    [
        ("--until", "nix"),
        ("--until", "val/los<1"),
        ("--timeout", "3"),
        ("--until", "done", "--timeout", "-1"),
    ],
)
def test_a_wrong_condition_is_told(ran: Folder, flags: tuple[str, ...]) -> None:
    done = ran.quick("status", "one", *flags)
    held(done, 2)
    assert "error[E-USAGE-VALUE]" in done.err


def test_waiting_exits_as_the_run_did(mine: Folder) -> None:
    path = mine.made("one") / "status.json"
    told = {**status(mine.made("one")), "state": "preempted", "exit": 75}
    path.write_text(json.dumps(told))
    assert mine.quick("status", "one").exit == 0
    waited = mine.quick("status", "one", "--until", "done")
    held(waited, 75)
    assert "--resume one" in waited.out


def test_numbers_are_a_table_of_steps(ran: Folder) -> None:
    done = ran.quick("events", "one")
    held(done, 0)
    head, *rows = done.out.splitlines()
    assert head.split()[:2] == ["step", "train/loss"]
    assert "val/loss" in head
    steps = [int(row.split()[0]) for row in rows]
    assert steps == list(range(2, 41, 2))
    few = ran.quick("events", "one", "--limit", "6").out.splitlines()
    assert [int(row.split()[0]) for row in few[1:-1]][-1] == 40
    assert any(len(row.split()) == len(head.split()) for row in few[1:-1])  # a pass is there
    assert "more steps" in few[-1]
    ends = ran.quick("events", "one", "--last", "2").out.splitlines()  # numbers, not any events
    assert ends[0].split()[0] == "step"
    assert ends[-1].split()[0] == "40"


def test_events_are_chosen_by_kind_metric_seq_and_step(ran: Folder) -> None:
    def told(*flags: str) -> list[dict[str, Any]]:
        done = ran.quick("events", "one", *flags, "--json", "--limit", "0")
        held(done, 0)
        found = [json.loads(line) for line in done.out.splitlines()]
        for event in found:
            validate(event, "event")
        return found

    every = events(ran.made("one"))
    assert told() == every
    assert {e["event"] for e in told("--kind", "eval", "--kind", "checkpoint")} == {
        "eval",
        "checkpoint",
    }
    assert told("--since", str(every[-2]["seq"])) == every[-1:]
    assert [e["step"] for e in told("--kind", "step", "--every", "8")] == [8, 16, 24, 32, 40]
    assert told("--last", "3") == every[-3:]
    assert {name for e in told("--metric", "val/*") for name in e["metrics"]} == {"val/loss"}
    line = ran.quick("events", "one", "--kind", "checkpoint").out
    assert "checkpoints/step-00000020" in line
    some = ran.quick("events", "one", "--json", "--limit", "4")
    assert len(some.out.splitlines()) == 4
    assert f"{len(every) - 4} more: sexpgpu events one --json --limit 0" in some.err


def test_following_a_run_that_has_ended_shows_it_once(ran: Folder) -> None:
    done = ran.quick("events", "one", "--follow", "--json")
    held(done, 0)
    assert [json.loads(line) for line in done.out.splitlines()] == events(ran.made("one"))
    lines = ran.quick("status", "one", "--follow", "--json").out.splitlines()
    assert len(lines) == 1
    validate(json.loads(lines[0]))


def test_runs_are_listed_newest_first(ran: Folder) -> None:
    done = ran.quick("runs")
    held(done, 0)
    assert [line.split()[0] for line in done.out.splitlines()] == ["run", "other", "one"]
    document = ran.quick("runs", "--json").document
    validate(document)
    assert [run["run"] for run in document["runs"]] == ["other", "one"]
    assert document["runs"][0]["set"] == {"rate": "0.001"}
    cut = ran.quick("runs", "--json", "--limit", "1").document
    assert (cut["omitted"], len(cut["runs"])) == ({"runs": 1}, 1)
    assert cut["more"] == "sexpgpu runs --json --limit 0"


def test_runs_are_chosen_and_sorted(ran: Folder) -> None:
    def told(*flags: str) -> list[str]:
        done = ran.quick("runs", *flags, "--json")
        held(done, 0)
        return [run["run"] for run in done.document["runs"]]

    assert told("--file", "x.lisp") == told("--state", "finished") == ["other", "one"]
    assert told("--file", "y.lisp") == told("--state", "lost") == []
    assert told("--since", "1h") == ["other", "one"]
    assert told("--since", "2999-01-01") == []
    best = {run: status(ran.made(run))["best"]["val/loss"]["value"] for run in ("one", "other")}
    assert told("--sort", "val/loss") == sorted(best, key=lambda run: best[run])
    for flags in (("--sort", "val/los"), ("--since", "soon"), ("--state", "nix")):
        wrong = ran.quick("runs", *flags)
        held(wrong, 2)
        assert "error[E-USAGE-VALUE]" in wrong.err


def test_no_runs_are_no_error(tmp_path: Path, kernel_cache: Path) -> None:
    folder = Folder(tmp_path, kernel_cache)
    done = folder.quick("runs")
    held(done, 0)
    assert done.out == "no runs\n"
    held(folder.quick("status", "latest"), 2)


IMPORTED = """import sys
from sexpgpu_cli.main import run
code = run(sys.argv[1:])
heavy = {"numpy", "numba", "llvmlite", "rich", "pluggy", "sexpgpu_core.compile", "sexpgpu_core.api"}
sys.exit(code or ", ".join(heavy & set(sys.modules)) or 0)
"""


@pytest.mark.parametrize(
    "words",
    [("status", "one"), ("events", "one"), ("runs",), ("checkpoint", "list", "one")],
    ids=lambda words: words[0],
)
def test_a_reader_imports_nothing_that_computes(ran: Folder, words: tuple[str, ...]) -> None:
    ran.quick("runs")  # the rows of plug-ins are cached now
    done = subprocess.run(
        (sys.executable, "-c", IMPORTED, *words),
        cwd=ran.path,
        env=ran.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
