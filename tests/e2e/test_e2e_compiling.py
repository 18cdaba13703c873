"""An end that is asked for while a run is compiled: at once, with no checkpoint, nothing lost."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from e2e_program import TEXT, Folder, events, held, network, saved, status, validate, wait

from sexpgpu_cli.status_text import line

WAYS = {"SIGTERM": (75, "preempted"), "SIGINT": (130, "stopped"), "stop": (130, "stopped")}
FILE = network(run=":steps 4 :seed 3 :checkpoint (:every 2)", passes="")
DEEP = network(
    run=":steps 4 :seed 3 :checkpoint (:every 2)",
    passes="",
    model="""(nn:layers (one-hot x 27 :dtype :f32)
  (append (loop repeat 60 for i from 8 collect i) (list 27)))""",
)
"""Sixty layers of sixty widths: each has kernels of its own to compile."""


def compiled(folder: Folder, *argv: str, ways: str) -> Path:
    """The run `it` once an end was asked for in its `compiling`, and it has ended."""
    run = folder.made("it")
    attempts = status(run)["attempt"] if run.exists() else 0
    process = folder.start("run", "x.lisp", "--name", "it", "-q", *argv)
    begun = lambda: (run / "status.json").exists() and status(run)["attempt"] > attempts
    wait(lambda: begun() and status(run)["state"] == "compiling")
    if ways == "stop":
        done = folder.quick("stop", "it", "--json")
        held(done, 0)
        validate(done.document)
    else:
        process.send_signal(getattr(signal, ways))
    process.communicate(timeout=60)
    assert (process.returncode, status(run)["state"]) == WAYS[ways]
    return run


@pytest.mark.slow
@pytest.mark.parametrize("ways", WAYS)
def test_an_end_while_kernels_are_compiled_is_at_once_and_leaves_no_checkpoint(
    tmp_path: Path, ways: str
) -> None:
    folder = Folder(tmp_path, tmp_path / "cache")
    folder.write("letters.txt", TEXT)
    folder.write("x.lisp", DEEP)
    run = compiled(folder, ways=ways)
    assert [e["event"] for e in events(run)] == ["open", "close"]  # no graph was compiled
    assert not list((run / "checkpoints").iterdir())
    assert not list((run / "control").iterdir())
    validate(status(run))


@pytest.mark.slow
def test_a_resume_that_ends_while_it_compiles_is_where_it_was(tmp_path: Path) -> None:
    folder = Folder(tmp_path, tmp_path / "cache")
    folder.write("letters.txt", TEXT)
    folder.write("x.lisp", DEEP)
    held(folder("run", "x.lisp", "--name", "it", "-q"), 0)
    folder.cache = tmp_path / "another"
    whole = saved(folder.made("it"), 2)
    run = compiled(folder, "--resume", "2", ways="SIGTERM")
    close = events(run)[-1]
    assert (close["event"], close["step"], close["attempt"]) == ("close", 2, 2)
    assert status(run)["step"] == 2
    assert saved(run, 2) == whole


def test_what_an_earlier_attempt_was_asked_ends_no_later_one(folder: Folder) -> None:
    folder.write("x.lisp", FILE)
    held(folder("run", "x.lisp", "--name", "it", "-q"), 0)
    control = folder.made("it") / "control"
    for kind in ("stop", "checkpoint"):
        (control / f"{1:020d}-7-{kind}.json").write_text(f'{{"request": "{kind}"}}')
    held(folder("run", "x.lisp", "--name", "it", "-q", "--resume", "2"), 0)
    assert status(folder.made("it"))["state"] == "finished"
    assert not list(control.iterdir())


@pytest.mark.slow
def test_a_status_says_how_many_kernels_are_compiled(tmp_path: Path) -> None:
    """45.39. Both numbers are gone once it trains."""
    folder = Folder(tmp_path, tmp_path / "cache")
    folder.write("letters.txt", TEXT)
    folder.write("x.lisp", DEEP)
    process = folder.start("run", "x.lisp", "--name", "it", "-q")
    run = folder.made("it")
    told = []

    def compiling() -> bool:
        now = status(run) if (run / "status.json").exists() else {}
        if "phase" in now:
            told.append(now)
        return process.poll() is not None or bool(told)

    wait(compiling)
    (first,) = told
    validate(first)
    shown = f"compiling {first['phase_done']:,} of {first['phase_total']:,} kernels after"
    assert line(first).startswith(shown)
    assert (first["state"], first["phase"]) == ("compiling", "kernels")
    assert 0 < first["phase_done"] <= first["phase_total"]
    assert first["advanced"] > first["started_at"]
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert not {"phase", "phase_done", "phase_total"} & status(run).keys()
