"""Verbs over a run that goes on: waiting for it, a note, its end, what is left of one that died."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_program import Folder, events, held, validate
from run_folders import made, started


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Iterator[Folder]:
    """A folder in which the run `it` goes on."""
    folder = made(tmp_path_factory.mktemp("live"), kernel_cache)
    process = started(folder, "it")
    yield folder
    process.kill()
    process.communicate()


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


@pytest.mark.parametrize("number", ["nan", "inf", "-1", "soon"])
@pytest.mark.parametrize("verb", ["status", "stop"])
def test_a_timeout_is_a_finite_number(live: Folder, verb: str, number: str) -> None:
    until = ("--until", "step=999999") if verb == "status" else ()
    done = live.quick(verb, "it", *until, "--timeout", number, "--json")
    held(done, 2)
    validate(done.document)
    assert done.diagnostics[0]["code"] == "E-USAGE-VALUE"


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
    assert done.document["eta"] is None
    assert " left" not in folder.quick("status", "it").out
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
    followed = folder.quick("events", "it", "--follow", "--kind", "close")
    assert (followed.exit, followed.out) == (0, "")
    assert "it is lost: its process is gone" in followed.err
    held(folder.quick("annotate", "it", "it died"), 0)
    process.communicate()
