"""Verbs over runs: how one is, its numbers, the end of a live one, notes, the list of all."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e_program import TEXT, Folder, events, held, network, status, validate, wait

FILE = network(
    run=':steps 40 :seed 3 :log-every 2 :checkpoint (:every 20 :best ("val/loss" :min))',
    head='(defknob rate 1e-2 "Learning rate.")',
    rate="rate",
)
LONG = network(run=":steps 1000000 :seed 3 :log-every 5 :checkpoint (:every 100000)").replace(
    "(batch 8))", "(batch 256))"
)


def made(path: Path, cache: Path) -> Folder:
    folder = Folder(path, cache)
    folder.write("letters.txt", TEXT * 8)
    folder.write("x.lisp", FILE)
    folder.write("long.lisp", LONG)
    return folder


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Folder:
    """A folder with the runs `one` and, of other parameters, `other`."""
    folder = made(tmp_path_factory.mktemp("ran"), kernel_cache)
    held(folder("run", "x.lisp", "--name", "one", "-q"), 0)
    held(folder("run", "x.lisp", "--name", "other", "-s", "rate=1e-3", "--seed", "4", "-q"), 0)
    return folder


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Iterator[Folder]:
    """A folder in which the run `it` goes on."""
    folder = made(tmp_path_factory.mktemp("live"), kernel_cache)
    process = started(folder, "it")
    yield folder
    process.kill()
    process.communicate()


def started(folder: Folder, name: str) -> subprocess.Popen[str]:
    process = folder.start("run", "long.lisp", "--name", name, "-q")
    wait(lambda: events(folder.made(name))[-1:] and events(folder.made(name))[-1]["step"] >= 5)
    return process


@pytest.fixture
def mine(ran: Folder, tmp_path: Path) -> Folder:
    """A copy of both runs that a test may break."""
    shutil.copytree(ran.path / "runs", tmp_path / "runs")
    return Folder(tmp_path, ran.cache)


# -- one that has ended


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
    assert cut["more"] == "sexpgpu runs --limit 0 --json"


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


def test_a_note_is_appended_to_a_run_that_has_ended(mine: Folder) -> None:
    done = mine.quick("annotate", "one", "the good one", "--json")
    held(done, 0)
    validate(done.document, "event")
    assert events(mine.made("one"))[-1] == done.document
    assert "the good one" in mine.quick("events", "one", "--kind", "annotation").out
    assert mine.quick("status", "one", "--json").document["events"] == done.document["seq"] + 1


def test_a_note_moves_no_cursor_of_who_reads_it(mine: Folder) -> None:
    held(mine.quick("annotate", "one", "two\nlines \x1b[31m"), 0)
    shown = mine.quick("events", "one", "--kind", "annotation").out
    assert "two\\nlines \\x1b[31m by cli" in shown
    assert events(mine.made("one"))[-1]["text"] == "two\nlines \x1b[31m"


@pytest.mark.parametrize("file", ["status.json", "manifest.json"])
def test_a_document_that_cannot_be_read_is_told_by_its_code(mine: Folder, file: str) -> None:
    (mine.made("one") / file).write_text('{"version": 1, "st')
    for verb in ("status", "events", "stop"):
        done = mine.quick(verb, "one", "--json")
        held(done, 2)
        assert [d["code"] for d in done.diagnostics] == ["E-USAGE-BROKEN"]
    listed = mine.quick("runs", "--json")
    held(listed, 0)
    validate(listed.document)
    assert "E-USAGE-BROKEN" in listed.err
    assert "other" in [run["run"] for run in listed.document["runs"]]


def test_lines_that_do_not_parse_are_told_and_passed(mine: Folder) -> None:
    path = mine.made("one") / "events.jsonl"
    whole = events(mine.made("one"))
    path.write_text(path.read_text().replace('{"v": 1, "event": "eval"', '{"v": 1, "eve', 1))
    done = mine.quick("events", "one", "--json", "--limit", "0")
    held(done, 0)
    assert len(done.out.splitlines()) == len(whole) - 1
    assert "warning[W-RUN-LINE]" in done.err
    with path.open("a") as file:
        file.write('{"v": 2, "event": "step", "step": 3, "attempt": 1, "seq": 99}\n')
    later = mine.quick("events", "one")
    held(later, 2)
    assert "error[E-USAGE-BROKEN]" in later.err


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


# -- one that goes on


def test_a_live_run_is_waited_for(live: Folder) -> None:
    document = live.quick("status", "it", "--json").document
    validate(document)
    assert document["state"] in ("running", "evaluating")
    assert document["alive"] is True
    step = document["step"] + 5
    done = live.quick("status", "it", "--until", f"step={step}", "--timeout", "60", "--json")
    held(done, 0)
    assert done.document["until"]["met"] is True
    held(live.quick("status", "it", "--until", "train/loss<1000", "--timeout", "60"), 0)


@pytest.mark.parametrize("until", ["done", "step=999999", "train/loss<-1"])
def test_waiting_no_longer_is_exit_6(live: Folder, until: str) -> None:
    began = time.monotonic()
    done = live.quick("status", "it", "--until", until, "--timeout", "0.3", "--json")
    held(done, 6)
    validate(done.document)
    assert done.document["until"]["met"] is False
    assert 0.3 <= time.monotonic() - began < 5
    followed = live.quick("status", "it", "--follow", "--timeout", "0.3")
    held(followed, 6)
    assert " at step " in followed.out


def test_a_stop_that_waits_no_longer_is_exit_6(tmp_path: Path, kernel_cache: Path) -> None:
    folder = made(tmp_path, kernel_cache)
    process = started(folder, "it")
    done = folder.quick("stop", "it", "--timeout", "0", "--json")
    held(done, 6)
    validate(done.document)
    process.communicate(timeout=60)  # it was asked all the same
    assert process.returncode == 130


def test_a_live_run_writes_a_note_itself(live: Folder) -> None:
    done = live.quick("annotate", "it", "now", "--json")
    held(done, 0)
    validate(done.document, "event")
    assert done.document in events(live.made("it"))
    assert not list((live.made("it") / "control").iterdir())


def test_a_stopped_run_ends_after_its_step_with_a_checkpoint(
    tmp_path: Path, kernel_cache: Path
) -> None:
    folder = made(tmp_path, kernel_cache)
    process = started(folder, "it")
    done = folder.quick("stop", "it", "--json", "--timeout", "60")
    held(done, 0)
    validate(done.document)
    assert (done.document["state"], done.document["exit"]) == ("stopped", 130)
    assert done.document["checkpoint"]["step"] == done.document["step"]
    process.communicate(timeout=60)
    assert process.returncode == 130
    again = folder.quick("stop", "it")
    held(again, 0)
    assert "is not live: stopped" in again.err


def test_a_run_that_does_not_leave_is_killed_and_closed(tmp_path: Path, kernel_cache: Path) -> None:
    folder = made(tmp_path, kernel_cache)
    process = started(folder, "it")
    process.send_signal(signal.SIGSTOP)  # it will look at no request
    held(folder.quick("stop", "it", "--timeout", "0.1"), 6)
    done = folder.quick("stop", "it", "--now", "--json")
    held(done, 0)
    validate(done.document)
    assert (done.document["state"], done.document["exit"]) == ("stopped", 130)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    for event in events(folder.made("it")):
        validate(event, "event")
    assert events(folder.made("it"))[-1]["event"] == "close"


def test_a_run_whose_process_is_gone_is_lost_to_readers(tmp_path: Path, kernel_cache: Path) -> None:
    folder = made(tmp_path, kernel_cache)
    process = started(folder, "it")
    process.kill()
    process.wait()
    document = folder.quick("status", "it", "--json").document
    validate(document)
    assert document["state"] in ("running", "evaluating")
    assert document["alive"] is False
    waited = folder.quick("status", "it", "--until", "done", "--timeout", "60")
    held(waited, 3)
    assert waited.out.startswith("it: lost at step")
    assert "E-RUN-LOST" in waited.out
    assert folder.quick("runs", "--json").document["runs"][0]["state"] == "lost"
    held(folder.quick("annotate", "it", "it died"), 0)
    process.communicate()
