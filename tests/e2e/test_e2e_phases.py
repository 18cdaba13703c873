"""A signal in any phase ends a run as its table says, and a resume comes to the same bits."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from e2e_program import TEXT, Folder, events, network, saved, series, status, wait

STEPS = 30
FILE = network(
    run=f":steps {STEPS} :seed 3 :log-every 1 :checkpoint (:every 3 :keep 2)",
    passes="(defeval val :loader (letters :val) :every 2)",
)
CODES = {
    signal.SIGTERM: (75, "preempted"),
    signal.SIGUSR1: (75, "preempted"),
    signal.SIGINT: (130, "stopped"),
    signal.SIGKILL: (-9, ""),
}


def _state(run: Path) -> Any:
    return status(run)["state"] if (run / "status.json").exists() else None


def _step(run: Path) -> int:
    last = events(run)[-1:]
    return int(last[0]["step"]) if last else -1


PHASES: dict[str, Callable[[Path], bool]] = {
    "compiling": lambda run: _state(run) == "compiling",
    "training": lambda run: _step(run) >= 5,
    "evaluating": lambda run: _step(run) >= 4 and _state(run) == "evaluating",
    "checkpointing": lambda run: bool(list(run.glob("checkpoints/.tmp-*"))),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Path:
    """What the run comes to that nobody disturbs; its folder is everybody's."""
    folder = Folder(tmp_path_factory.mktemp("phases"), kernel_cache)
    folder.write("letters.txt", TEXT * 8)
    folder.write("x.lisp", FILE.replace("(batch 8))", "(batch 256))"))
    done = folder("run", "x.lisp", "--name", "whole", "-q")
    assert done.exit == 0, done.err
    return folder.path


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("number", CODES, ids=lambda n: n.name)
def test_a_signal_in_any_phase_ends_it_as_the_table_says(
    whole: Path, kernel_cache: Path, phase: str, number: signal.Signals
) -> None:
    folder = Folder(whole, kernel_cache)
    name = f"{phase}-{number.name.lower()}"
    process = folder.start("run", "x.lisp", "--name", name, "-q")
    run = folder.made(name)
    wait(lambda: process.poll() is not None or PHASES[phase](run))
    process.send_signal(number)
    process.communicate()
    code, state = CODES[number]
    assert process.returncode == code
    told = status(run)
    if state:
        assert (told["state"], told["exit"]) == (state, code)
        if phase != "compiling":
            assert told["checkpoint"]["step"] == told["step"] < STEPS
    again = folder("run", "x.lisp", "--name", name, "-q", "--resume", "auto")
    assert again.exit == 0, again.err
    (ended,) = [p for p in run.parent.glob(f"{name}*") if status(p)["state"] == "finished"]
    assert saved(ended) == saved(folder.made("whole"))
    for kind in ("step", "eval"):
        assert series(ended, kind) == series(folder.made("whole"), kind)


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
def test_a_second_interrupt_leaves_at_once_with_the_last_checkpoint_whole(
    whole: Path, kernel_cache: Path, phase: str
) -> None:
    folder = Folder(whole, kernel_cache)
    name = f"twice-{phase}"
    process = folder.start("run", "x.lisp", "--name", name, "-q")
    run = folder.made(name)
    wait(lambda: process.poll() is not None or PHASES[phase](run))
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    for there in run.glob("checkpoints/step-*"):
        assert (there / "checkpoint.json").exists()
    again = folder("run", "x.lisp", "--name", name, "-q", "--resume", "auto")
    assert again.exit == 0, again.err
    (ended,) = [p for p in run.parent.glob(f"{name}*") if status(p)["state"] == "finished"]
    assert saved(ended) == saved(folder.made("whole"))
