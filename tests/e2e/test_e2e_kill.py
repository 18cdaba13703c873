"""A process may die at any step: what it resumes to is what it would have been, bit for bit."""

from __future__ import annotations

import random
import signal
from functools import partial
from pathlib import Path

import pytest
from e2e_program import TEXT, Folder, events, network, saved, series, status, wait

STEPS = 200
FILE = network(run=f":steps {STEPS} :seed 3 :log-every 2 :checkpoint (:every 20 :keep 3)")


def reached(run: Path, attempt: int, step: int) -> bool:
    """Whether an attempt at a run has logged a step. Earlier attempts may have come further."""
    last = events(run)[-1:]
    return bool(last) and last[0]["attempt"] == attempt and last[0]["step"] >= step


@pytest.fixture
def slowed(folder: Folder) -> Folder:
    """A file whose steps take some milliseconds, so that a kill lands among them."""
    folder.write("letters.txt", TEXT * 8)
    folder.write("x.lisp", FILE.replace("(batch 8))", "(batch 512))"))
    return folder


def test_killed_at_three_random_steps_it_ends_bit_for_bit_the_same(slowed: Folder) -> None:
    whole = slowed("run", "x.lisp", "--name", "whole", "-q")
    assert whole.exit == 0, whole.err
    wanted = slowed.made("whole")
    killed = slowed.made("killed")
    resume: tuple[str, ...] = ()
    steps = sorted(random.sample(range(25, STEPS - 10, 15), 3))
    for attempt, step in enumerate(steps, 1):  # a kill may come late
        process = slowed.start("run", "x.lisp", "--name", "killed", "-q", *resume)
        wait(partial(reached, killed, attempt, step))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL, f"it ended before step {step}"
        resume = ("--resume", "latest")
    last = slowed("run", "x.lisp", "--name", "killed", "--json", *resume)
    assert last.exit == 0, last.err
    assert last.document["attempt"] == 4
    assert saved(killed) == saved(wanted)
    assert series(killed, "step") == series(wanted, "step")
    assert series(killed, "eval") == series(wanted, "eval")
    assert status(killed)["best"] == status(wanted)["best"]


@pytest.mark.parametrize(
    ("number", "code", "state"),
    [
        (signal.SIGTERM, 75, "preempted"),
        (signal.SIGUSR1, 75, "preempted"),
        (signal.SIGINT, 130, "stopped"),
    ],
)
def test_a_signal_ends_the_run_after_its_step_with_a_checkpoint(
    slowed: Folder, number: signal.Signals, code: int, state: str
) -> None:
    process = slowed.start("run", "x.lisp", "--name", "it", "--json")
    wait(lambda: reached(slowed.made("it"), 1, 30))
    process.send_signal(number)
    process.communicate()
    told = status(slowed.made("it"))
    assert process.returncode == code
    assert (told["state"], told["exit"]) == (state, code)
    assert told["checkpoint"]["step"] == told["step"] < STEPS
    gone_on = slowed("run", "x.lisp", "--name", "it", "--resume", "latest", "--json")
    assert gone_on.exit == 0, gone_on.err
    assert gone_on.document["step"] == STEPS
    resumed = [e for e in events(slowed.made("it")) if e["event"] == "resume"]
    assert [e["step"] for e in resumed] == [told["step"]]
    slowed("run", "x.lisp", "--name", "whole", "-q")
    assert saved(slowed.made("it")) == saved(slowed.made("whole"))


def test_a_signal_while_it_compiles_leaves_no_checkpoint(folder: Folder) -> None:
    folder.write("x.lisp", FILE)
    process = folder.start("run", "x.lisp", "--name", "it", "-q")
    wait(lambda: (folder.made("it") / "run.lock").exists())
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 75
    assert status(folder.made("it"))["state"] == "preempted"
    assert status(folder.made("it"))["checkpoint"] is None
    assert not list((folder.made("it") / "checkpoints").glob("*"))
