"""The fixed loop: what falls due when, how a run ends, and what it says of that."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import fake_device as fake
import numpy as np
import pytest

from sexpgpu_core.checkpoint.disk import Disk
from sexpgpu_core.checkpoint.folder import Checkpoints
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.experiment.declarations import CheckpointDeclaration
from sexpgpu_core.runtime import control, events
from sexpgpu_core.runtime.fault import Cause
from sexpgpu_core.runtime.saving import Saver
from sexpgpu_core.runtime.signals import Signals

SAFE = ("-P",) if sys.version_info >= (3, 11) else ()


def told(summary, kind=None):
    found = events.current(events.read(summary.folder / "events.jsonl"))
    return [e for e in found if kind is None or e["event"] == kind]


def weights(session):
    return session.values["parameter:w"].tobytes()


def test_a_run_ends_finished_with_its_metrics_and_files(tmp_path):
    summary, session = fake.start(tmp_path, fake.a_job(tmp_path))
    assert (summary.state, summary.exit, summary.reason) == ("finished", 0, "steps")
    assert summary.folder.name == "line-smoke-lr0.05-a530c5"
    assert session.steps == 20
    assert summary.summary["examples"] == 160
    assert summary.summary["counters"] == {"numbers": 640}
    assert summary.status["metrics"]["val/loss"]["step"] == 20
    assert [e["step"] for e in told(summary, "step")] == [5, 10, 15, 20]
    assert [e["step"] for e in told(summary, "eval")] == [5, 10, 15, 20]
    assert [e["step"] for e in told(summary, "checkpoint")] == [5, 10, 15, 20]
    kinds = [e["event"] for e in told(summary)]
    assert (kinds[0], kinds[1], kinds[-1]) == ("open", "stage", "close")
    assert (summary.folder / "run.lisp").read_text() == "(defrun)\n"
    assert (summary.folder / "modules/sexpgpu/nn.lisp").exists()
    assert "(graph)" in (summary.folder / "graph.ir").read_text()


def test_a_pass_is_exact_over_all_examples_with_a_short_last_batch(tmp_path):
    summary, session = fake.start(tmp_path, fake.a_job(tmp_path))
    with np.load(tmp_path / "points.npz") as data:
        x, y = data["x"][80:], data["y"][80:]
    wanted = ((x @ session.values["parameter:w"] - y) ** 2).mean()
    event = told(summary, "eval")[-1]
    assert event["metrics"]["val/loss"] == pytest.approx(wanted, rel=1e-6)
    assert (event["examples"], event["batches"], event["complete"]) == (20, 3, True)


def test_cadences_add_up_and_the_end_is_always_saved(tmp_path):
    job = fake.a_job(
        tmp_path,
        12,
        passes=[fake.a_pass(at=(0, 7, ":end")), fake.a_pass(name="again")],
        checkpoint=CheckpointDeclaration(at=(3,)),
    )
    summary, _ = fake.start(tmp_path, job)
    ran = [(e["pass"], e["step"]) for e in told(summary, "eval")]
    assert ran == [("val", 0), ("val", 7), ("val", 12), ("again", 12)]
    assert [e["step"] for e in told(summary, "checkpoint")] == [3, 12]


def test_step_scalars_are_those_of_before_the_step(tmp_path):
    _, session = fake.start(tmp_path, fake.a_job(tmp_path, 3))
    assert [s[fake.LR_TEXT] for s, _ in session.seen] == [0.05, 0.05 / 1.01, 0.05 / 1.02]


def test_logging_passes_and_checkpoints_change_no_bit(tmp_path):
    jobs = [
        fake.a_job(tmp_path, 15, log_every=1, passes=[fake.a_pass(every=1)]),
        fake.a_job(tmp_path, 15, log_every=7, passes=[], checkpoint=CheckpointDeclaration()),
    ]
    assert len({weights(fake.start(tmp_path, job)[1]) for job in jobs}) == 1
    two = fake.start(tmp_path, jobs[0], in_flight=2)[1]
    assert weights(two) == weights(fake.start(tmp_path, jobs[1])[1])


def test_a_second_run_of_the_same_name_gets_a_number(tmp_path):
    job = fake.a_job(tmp_path, 2)
    first, second = (fake.start(tmp_path, job)[0] for _ in range(2))
    assert second.folder.name == first.folder.name + "-2"


def test_retention_keeps_the_last_and_the_best(tmp_path):
    keep = CheckpointDeclaration(every=2, keep=2, best=("val/loss", "max"))
    summary, _ = fake.start(tmp_path, fake.a_job(tmp_path, 12, checkpoint=keep))
    found = Checkpoints(summary.folder / "checkpoints")
    assert [s.step for s in found.whole()] == [5, 10, 12]
    assert found.choose("best", "val/loss").step == 5
    assert [e["step"] for e in told(summary, "checkpoint") if e["best"]] == [5]
    assert summary.status["best_checkpoint"]["step"] == 5


def test_a_target_that_stops_ends_the_run_with_its_passes(tmp_path):
    job = fake.a_job(
        tmp_path,
        400,
        passes=[fake.a_pass(every=10), fake.a_pass(name="again")],
        targets=[fake.a_target("val/loss", "below", 0.5, stop=True)],
    )
    summary, _ = fake.start(tmp_path, job)
    assert (summary.state, summary.exit, summary.reason) == ("finished", 0, "target")
    step = summary.summary["steps"]
    assert step < 400
    assert told(summary, "eval")[-1]["pass"] == "again"
    (met,) = told(summary, "target")
    assert met["target"]["met"]
    assert met["target"]["step"] == step


def test_a_target_on_a_training_series_stops_at_the_step_that_met_it(tmp_path):
    job = fake.a_job(
        tmp_path, 400, log_every=1, targets=[fake.a_target("train/loss", "below", 0.5, stop=True)]
    )
    ends = {fake.start(tmp_path, job, in_flight=n)[0].summary["steps"] for n in (1, 2)}
    assert len(ends) == 1
    assert ends.pop() < 400


def test_a_stopping_target_that_is_missed_is_exit_5(tmp_path):
    job = fake.a_job(tmp_path, 5, targets=[fake.a_target("val/loss", "below", -1, stop=True)])
    summary, _ = fake.start(tmp_path, job)
    assert (summary.state, summary.exit, summary.error.code) == ("finished", 5, "E-RUN-TARGET")
    assert told(summary, "target")[0]["target"]["met"] is False


def test_a_loss_that_is_not_finite_halts_with_the_state_of_before_and_the_batch(tmp_path):
    _, session = fake.start(tmp_path, fake.a_job(tmp_path, 7))
    before = weights(session)
    for flying in (1, 2):
        halting = fake.FakeSession(at={7: "nan"})
        cause = lambda found: Cause("exp", "gpt/h/1")
        summary, _ = fake.start(
            tmp_path, fake.a_job(tmp_path), halting, explain=cause, in_flight=flying
        )
        assert (summary.state, summary.exit, summary.error.code) == ("failed", 3, "E-RUN-NONFINITE")
        assert summary.error.facts["step"] == 8
        assert "exp" in summary.error.message
        assert summary.status["step"] == 7
        assert weights(halting) == before
        halt = summary.folder / "checkpoints" / "halt-00000007"
        written = json.loads((halt / "checkpoint.json").read_text())
        assert "batch.safetensors" in {file["path"] for file in written["files"]}
        (guard,) = told(summary, "guard")
        assert (guard["action"], guard["value"], guard["watched"]) == ("halt", "nan", "loss")
        assert Checkpoints(summary.folder / "checkpoints").choose("latest").step == 5


def test_skipped_steps_count_as_steps_and_not_as_updates(tmp_path):
    session = fake.FakeSession(at={3: "nan", 9: "nan"}, skip=True)
    summary, _ = fake.start(tmp_path, fake.a_job(tmp_path, guard=("skip", 2)), session)
    assert (summary.state, summary.summary["skipped_steps"]) == ("finished", 2)
    saved = Checkpoints(summary.folder / "checkpoints").choose("latest").document
    assert (saved["step"], saved["updates"]) == (20, 18)
    assert saved["guard"] == {"skipped": 2, "allowed": 2}
    assert [e["skipped"] for e in told(summary, "guard")] == [1, 2]
    assert summary.summary["warnings"] == {"W-GUARD-SKIP": 2}
    session = fake.FakeSession(at={3: "nan", 9: "nan"}, skip=True)
    summary, _ = fake.start(tmp_path, fake.a_job(tmp_path, guard=("skip", 1)), session)
    assert (summary.state, summary.status["step"]) == ("failed", 9)


def test_an_index_out_of_range_ends_the_run(tmp_path):
    session = fake.FakeSession(at={4: "index"})
    summary, _ = fake.start(tmp_path, fake.a_job(tmp_path, guard="off"), session)
    assert (summary.exit, summary.error.code) == (3, "E-RUN-INDEX")
    assert summary.error.facts["row"] == 5


@pytest.mark.parametrize(
    ("name", "state", "code"),
    [("SIGINT", "stopped", 130), ("SIGTERM", "preempted", 75), ("SIGUSR1", "preempted", 75)],
)
def test_a_signal_finishes_the_step_saves_and_ends(tmp_path, name, state, code):
    send = lambda: os.kill(os.getpid(), getattr(signal, name))
    with Signals() as signals:
        summary, _ = fake.start(
            tmp_path, fake.a_job(tmp_path), fake.FakeSession(at={6: send}), signals=signals
        )
    assert (summary.state, summary.exit, summary.reason) == (state, code, name)
    assert summary.status["step"] == 7
    assert Checkpoints(summary.folder / "checkpoints").choose("latest").step == 7
    assert told(summary)[-1]["event"] == "close"


def test_a_pass_that_a_signal_breaks_off_is_done_first_on_resume(tmp_path):
    job = fake.a_job(tmp_path)
    plain, _ = fake.start(tmp_path, job)
    signals, session = Signals(), fake.FakeSession()
    session.during_pass = lambda: session.passes == 5 and signals.request("SIGTERM")
    summary, _ = fake.start(tmp_path, job, session, signals=signals)
    saved = Checkpoints(summary.folder / "checkpoints").choose("latest").document
    assert (saved["step"], saved["due"]) == (10, ["eval/val"])
    again, _ = fake.resume(tmp_path, job)
    assert [e["metrics"] for e in told(again, "eval")] == [
        e["metrics"] for e in told(plain, "eval")
    ]
    assert [e["step"] for e in told(again, "eval")] == [5, 10, 15, 20]


def test_a_deadline_runs_the_passes_of_the_end_and_exits_75(tmp_path):
    job = fake.a_job(tmp_path, 10_000, passes=[fake.a_pass()])
    session = fake.FakeSession(pause=0.002)
    summary, _ = fake.start(tmp_path, job, session, deadline=0.1)
    assert (summary.state, summary.exit, summary.reason) == ("stopped", 75, "deadline")
    step = summary.status["step"]
    assert told(summary, "eval")[-1]["step"] == step
    assert Checkpoints(summary.folder / "checkpoints").choose("latest").step == step


def test_requests_in_the_control_folder_are_taken_up_between_steps(tmp_path, monkeypatch):
    monkeypatch.setattr(control, "_EVERY", 0.0)
    folder = tmp_path / "runs" / "line-smoke-lr0.05-a530c5"
    ask = {
        3: lambda: control.ask(folder, "annotate", text="here", by="me"),
        6: lambda: control.ask(folder, "checkpoint"),
        12: lambda: control.ask(folder, "stop"),
    }
    job = fake.a_job(tmp_path, 50, checkpoint=CheckpointDeclaration())
    summary, _ = fake.start(tmp_path, job, fake.FakeSession(at=ask))
    assert (summary.state, summary.exit, summary.reason) == ("stopped", 130, "stop")
    assert told(summary, "annotation")[0]["text"] == "here"
    assert [e["step"] for e in told(summary, "checkpoint")] == [8, 13]


class FullFrom(Disk):
    """Full from its n-th file on, for so many attempts to write."""

    def __init__(self, files, attempts=10**9):
        self.files = files
        self.attempts = attempts

    def write(self, path, pieces):
        self.files -= 1
        if self.files < 0 and self.attempts > 0:
            self.attempts -= 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(path, pieces)


def test_a_full_disk_is_told_and_the_run_goes_on_if_an_older_checkpoint_is_whole(tmp_path):
    summary, _ = fake.start(tmp_path, fake.a_job(tmp_path), disk=FullFrom(5, attempts=1))
    assert (summary.state, summary.exit) == ("finished", 0)
    assert told(summary, "warning")[0]["diagnostic"]["code"] == "E-CHECKPOINT-DISK"


def test_a_disk_that_stays_full_fails_the_run_at_its_end_and_keeps_the_older_checkpoint(tmp_path):
    summary, _ = fake.start(tmp_path, fake.a_job(tmp_path), disk=FullFrom(5))
    assert (summary.state, summary.exit, summary.error.code) == ("failed", 3, "E-CHECKPOINT-DISK")
    assert Checkpoints(summary.folder / "checkpoints").choose("latest").step == 5
    summary, _ = fake.start(tmp_path, fake.a_job(tmp_path), disk=FullFrom(2))
    assert (summary.state, summary.exit, summary.error.code) == ("failed", 3, "E-CHECKPOINT-DISK")


def test_a_lost_last_checkpoint_fails_the_run_though_it_was_told_before_the_end(
    tmp_path, monkeypatch
):
    told_then = Saver.collect

    def collect(saver, wait=False, ending=False):
        told_then(saver, wait=True)
        return told_then(saver, wait, ending)

    monkeypatch.setattr(Saver, "collect", collect)
    summary, _ = fake.start(tmp_path, fake.a_job(tmp_path), disk=FullFrom(5))
    assert (summary.state, summary.exit, summary.error.code) == ("failed", 3, "E-CHECKPOINT-DISK")


def test_an_unforeseen_exception_is_written_down_and_raised(tmp_path):
    def fail():
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        fake.start(tmp_path, fake.a_job(tmp_path), fake.FakeSession(at={2: fail}))
    (folder,) = (tmp_path / "runs").iterdir()
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["exit"], status["error"]["code"]) == (
        "failed",
        70,
        "E-INTERNAL",
    )


# -- resume


def test_a_stopped_run_goes_on_bit_for_bit(tmp_path):
    job = fake.a_job(tmp_path)
    plain, session = fake.start(tmp_path, job)
    for stop_at in (0, 4, 9, 13):
        signals = Signals()
        half = fake.FakeSession(at={stop_at: lambda signals=signals: signals.request("SIGTERM")})
        fake.start(tmp_path, job, half, signals=signals)
        again, rest = fake.resume(tmp_path, job)
        assert weights(rest) == weights(session)
        assert again.summary["examples"] == plain.summary["examples"]
        for kind in ("step", "eval"):
            kept = [(e["step"], e["metrics"]) for e in told(again, kind)]
            assert kept == [(e["step"], e["metrics"]) for e in told(plain, kind)]
        resumed = told(again, "resume")
        assert [(e["attempt"], e["step"]) for e in resumed] == [(2, stop_at + 1)]
        assert np.array_equal(rest.seen[0][1], session.seen[stop_at + 1][1])


def test_a_killed_process_goes_on_bit_for_bit(tmp_path):
    plain = fake.a_job(tmp_path, 30, checkpoint=CheckpointDeclaration(every=4))
    _, session = fake.start(tmp_path, plain)
    program = [sys.executable, *SAFE, str(Path(fake.__file__))]
    killed = tmp_path / "killed"
    killed.mkdir()
    fake.loaders_in(killed)
    random = np.random.default_rng()
    for at in sorted(random.choice(np.arange(5, 30), 2, replace=False)):
        done = subprocess.run([*program, str(killed), str(at)])
        assert done.returncode == -signal.SIGKILL
    job = fake.a_job(killed, 30, checkpoint=CheckpointDeclaration(every=4))
    again, rest = fake.resume(killed, job)
    assert again.state == "finished"
    assert weights(rest) == weights(session)
    steps = [e["step"] for e in told(again, "step")]
    assert steps == [5, 10, 15, 20, 25, 30]


def test_resume_takes_a_step_and_the_listing_drops_what_came_after(tmp_path):
    job = fake.a_job(tmp_path)
    _, session = fake.start(tmp_path, job)
    again, rest = fake.resume(tmp_path, job, which=10)
    assert weights(rest) == weights(session)
    assert [e["step"] for e in told(again, "step")] == [5, 10, 15, 20]
    assert {e["attempt"] for e in told(again, "step")} == {1, 2}
    assert told(again, "close")[0]["attempt"] == 2


def test_another_experiment_or_other_parameters_do_not_resume(tmp_path):
    job = fake.a_job(tmp_path, 5)
    fake.start(tmp_path, job)
    other = fake.a_job(tmp_path, 9, experiment_id="b" * 12)
    with pytest.raises(Problem, match="E-RESUME-CHANGED"):
        fake.resume(tmp_path, other)
    summary, _ = fake.resume(tmp_path, other, changed=True)
    assert summary.state == "finished"
    types = other.persistent.types
    types["parameter:new"] = types.pop("parameter:w")
    with pytest.raises(Problem, match="new: new; missing: w") as raised:
        fake.resume(tmp_path, other)
    assert raised.value.diagnostic.code == "E-RESUME-PARAM"


def test_a_machine_without_memory_fails_the_run_and_keeps_what_was_saved(tmp_path):
    def refuse():
        raise MemoryError

    summary, _ = fake.start(tmp_path, fake.a_job(tmp_path), fake.FakeSession(at={7: refuse}))
    assert (summary.state, summary.error.code) == ("failed", "E-RUN-MEMORY")
    assert summary.status["checkpoint"]["step"] == 5


def test_other_numerics_resume_with_a_warning_that_names_them(tmp_path):
    job = fake.a_job(tmp_path, 5)
    fake.start(tmp_path, job)
    longer = fake.a_job(tmp_path, 8)
    summary, _ = fake.resume(tmp_path, longer, key="2")
    (warning,) = told(summary, "warning")
    assert warning["diagnostic"]["code"] == "W-RESUME-NUMERICS"
    assert "version was 1, is 2" in warning["diagnostic"]["message"]


def test_a_run_that_is_live_is_locked(tmp_path):
    job, entered, leave = fake.a_job(tmp_path), threading.Event(), threading.Event()

    def wait():
        entered.set()
        leave.wait(10)

    thread = threading.Thread(
        target=fake.start, args=(tmp_path, job, fake.FakeSession(at={7: wait}))
    )
    thread.start()
    assert entered.wait(10)
    try:
        with pytest.raises(Problem, match="E-RUN-LOCKED"):
            fake.resume(tmp_path, job)
    finally:
        leave.set()
        thread.join()
