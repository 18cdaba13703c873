"""Readers of runs: which one a name means, what is waited for, documents that are broken."""

from __future__ import annotations

import json
import os

import fake_device as fake
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.experiment.declarations import CheckpointDeclaration
from sexpgpu_core.runtime import afterwards, begin, control, documents, events, run, runs, watch
from sexpgpu_core.runtime.clock import Clock
from sexpgpu_core.runtime.signals import Signals

BEST = CheckpointDeclaration(every=5, best=("val/loss", "min"))


def code(work):
    with pytest.raises(Problem) as raised:
        work()
    return raised.value.diagnostic.code


def two(folder, **given):
    """Two runs; the second is of another experiment and trains longer."""
    first, _ = fake.start(folder, fake.a_job(folder, 5, checkpoint=BEST))
    job = fake.a_job(folder, 20, checkpoint=BEST, experiment_id="b" * 12)
    second, _ = fake.start(folder, job._replace(**given))
    return first.folder, second.folder


def test_best_is_by_the_number_that_files_name(tmp_path):
    root = tmp_path / "runs"
    assert code(lambda: runs.find(root, "best")) == "E-USAGE-RUN"
    first, second = two(tmp_path)
    values = [json.loads((p / "status.json").read_text())["best"]["val/loss"]["value"]
              for p in (first, second)]  # fmt: skip
    assert values[1] < values[0]
    assert runs.find(root, "best").path == second
    assert runs.find(root, "best:val/loss").path == second
    assert code(lambda: runs.find(root, "best:train/loss")) == "E-USAGE-AMBIGUOUS"


def test_runs_that_were_judged_otherwise_are_not_ranked(tmp_path):
    two(tmp_path, evaluation_ids={"val": "0" * 12})
    assert code(lambda: runs.find(tmp_path / "runs", "best")) == "E-USAGE-AMBIGUOUS"


def test_a_save_is_a_run_and_a_step(tmp_path):
    first, second = two(tmp_path)
    root = tmp_path / "runs"
    for text, path, step in (
        ("latest", second, 20),
        (f"{first.name}@5", first, 5),
        (f"{second}@10", second, 10),
        ("best@best", second, 20),
    ):
        found, saved = runs.save(root, text)
        assert (found.path, saved.step) == (path, step)
    assert code(lambda: runs.save(root, "latest@7")) == "E-CHECKPOINT-NONE"
    assert code(lambda: runs.save(root, "latest@seven")) == "E-USAGE-VALUE"


def test_urls_are_folders_or_told(tmp_path):
    first, _ = two(tmp_path)
    assert runs.find(tmp_path, f"file://{first}").path == first
    assert code(lambda: runs.find(tmp_path, "file:///nowhere")) == "E-USAGE-RUN"
    assert code(lambda: runs.find(tmp_path, "s3://bucket/run")) == "E-STORE-UNKNOWN"


@pytest.mark.parametrize("file", ["status.json", "manifest.json"])
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"version": 1, "sta', "syntax"),
        ("[]", "syntax"),
        ("{}", "key"),
        ('{"version": 2}', "version"),
        ('{"version": "1"}', "version"),
    ],
)
def test_a_broken_document_is_a_problem_and_the_other_runs_are_listed(tmp_path, file, text, kind):
    first, second = two(tmp_path)
    (first / file).write_text(text)
    root, told = tmp_path / "runs", []
    found = runs.listing(root, told.append)
    assert [d.code for d in told] == ["E-USAGE-BROKEN"]
    assert told[0].facts["kind"] == kind
    assert found[0].path == second
    assert code(lambda: runs.find(root, first.name).sound()) == "E-USAGE-BROKEN"
    assert runs.find(root, "latest").path == second


@pytest.mark.parametrize(
    ("file", "key", "wrong"),
    [
        *(("status", key, wrong) for key in ("metrics", "best") for wrong in ({"a/b": 1}, [])),
        *(("status", "best", {"a/b": {"value": v, "step": 1, "goal": "min"}}) for v in ("x", None)),
        *(("status", "targets", wrong) for wrong in ([{}], [None], {})),
        *(("status", key, "x") for key in ("steps", "eta", "exit", "error", "summary")),
        *(("status", "checkpoint", wrong) for wrong in ("x", {}, {"step": None})),
        *(("status", key, True) for key in ("step", "pid", "elapsed")),
        *(("manifest", "selection", wrong) for wrong in ({}, {"set": 1, "values": {}})),
        *(("manifest", key, None) for key in ("files", "modules", "data", "versions", "command")),
        *(("manifest", key, "x") for key in ("parent", "sweep", "rank", "created_at")),
    ],
)
def test_a_document_of_another_shape_is_told_by_its_key(tmp_path, file, key, wrong):
    first, _ = two(tmp_path)
    path = first / f"{file}.json"
    whole = json.loads(path.read_text())
    assert documents.misfit(whole, documents.SHAPES[file]) is None
    path.write_text(json.dumps({**whole, key: wrong}))
    with pytest.raises(Problem) as raised:
        runs.find(tmp_path / "runs", first.name).sound()
    assert raised.value.diagnostic.code == "E-USAGE-BROKEN"
    assert f"{file}.json: {key}" in raised.value.diagnostic.message
    path.write_text(json.dumps({**whole, "tomorrow": wrong}))
    runs.find(tmp_path / "runs", first.name).sound()


def test_a_part_of_a_run_is_none(tmp_path):
    first, _ = two(tmp_path)
    for file in ("status.json", "run.lock"):
        (first / file).unlink()
    assert code(lambda: runs.find(tmp_path / "runs", first.name).sound()) == "E-USAGE-BROKEN"
    (first / "run.lock").write_bytes(b"\xff no lock")
    assert code(lambda: runs.find(tmp_path / "runs", first.name).sound()) == "E-USAGE-BROKEN"


def test_a_whole_slug_wins_over_beginnings_and_folders_that_are_no_runs_do_not_count(tmp_path):
    first, second = two(tmp_path)
    root = tmp_path / "runs"
    first.rename(root / "one")
    second.rename(root / "one-2")
    assert runs.find(root, "one").path == root / "one"
    assert code(lambda: runs.find(root, "on")) == "E-USAGE-AMBIGUOUS"
    (root / "one").rename(tmp_path / "away")
    for other in ("one", "one-3", "on"):
        (root / other).mkdir()
    assert runs.find(root, "one").path == root / "one-2"
    (root / "one-3" / "manifest.json").write_text("{")
    assert code(lambda: runs.find(root, "one")) == "E-USAGE-AMBIGUOUS"
    assert code(lambda: runs.find(root, "one-3")) == "E-USAGE-BROKEN"
    assert code(lambda: runs.find(root, "best:")) == "E-USAGE-VALUE"


def test_a_run_with_a_broken_status_can_be_resumed(tmp_path):
    first, _ = fake.start(tmp_path, fake.a_job(tmp_path, 5))
    (first.folder / "status.json").write_text("")
    again, _ = fake.resume(tmp_path, fake.a_job(tmp_path, 5))
    assert (again.state, again.status["attempt"]) == ("finished", 2)


def test_events_of_a_later_version_are_refused_and_torn_lines_counted(tmp_path):
    path = tmp_path / "events.jsonl"
    line = {"v": 1, "event": "step", "step": 1, "attempt": 1, "seq": 0}
    path.write_text(json.dumps(line) + '\n{"v": 1, "ev\n' + json.dumps(line) + '\n{"v": 1')
    tail = events.Tail(path)
    assert len(tail.read()) == 2
    assert tail.broken == [2]
    assert tail.read() == []
    with open(path, "a") as file:
        file.write(', "event": "step", "step": 2, "attempt": 1, "seq": 3}\n')
    assert [event["step"] for event in tail.read()] == [2]
    with open(path, "a") as file:
        file.write(json.dumps({**line, "v": 2}) + "\n")
    assert code(tail.read) == "E-USAGE-BROKEN"


@given(st.sampled_from(["<", ">", "<=", ">="]), st.floats(-100, 100), st.text("ab/-1", min_size=1))
def test_a_condition_is_what_it_says(sign, bound, name):
    found = watch.condition(f"{name}{sign}{bound}")
    assert (found.kind, found.series, found.bound) == (sign, name, bound)


@pytest.mark.parametrize("text", ["", "nix", "step", "step=", "step=x", "loss<", "loss=<3", "<3"])
def test_what_cannot_be_waited_for_is_told(text):
    assert code(lambda: watch.condition(text)) == "E-USAGE-VALUE"


def watched(folder, text):
    found = watch.Watch(runs.read(folder), watch.condition(text))
    found.look()
    return found.met


def test_conditions_hold_by_what_was_reported(tmp_path):
    done, _ = fake.start(tmp_path, fake.a_job(tmp_path, 20))
    last = done.status["metrics"]["val/loss"]["value"]
    for text, met in (
        ("done", True),
        ("step=20", True),
        ("step=21", False),
        (f"val/loss<{last + 0.001}", True),
        (f"val/loss<{last / 2}", False),
        (f"val/loss>{last + 0.1}", True),  # the first passes were worse
    ):
        assert watched(done.folder, text) is met, text
    assert code(lambda: watched(done.folder, "val/los<3")) == "E-USAGE-VALUE"


def test_what_a_resume_drops_was_not_reported(tmp_path):
    signals = Signals()
    at = {12: lambda: signals.request("SIGTERM")}
    job = fake.a_job(tmp_path, 20)
    ended, _ = fake.start(tmp_path, job, fake.FakeSession(at), signals=signals)
    low = min(e["metrics"]["train/loss"] for e in events.read(ended.folder / "events.jsonl")
              if e["event"] == "step")  # fmt: skip
    assert watched(ended.folder, f"train/loss<={low}")
    fake.resume(tmp_path, job, which=5, signals=(stopped := Signals()),
                session=fake.FakeSession({5: lambda: stopped.request("SIGTERM")}))  # fmt: skip
    assert not watched(ended.folder, f"train/loss<={low}")


CLOCK = Clock()


def begun(tmp_path, clock=CLOCK):
    return begin.begin(
        fake.a_job(tmp_path, 50), root=tmp_path / "runs", machine=fake.machine_of(),
        loaders=fake.loaders_in(tmp_path), clock=clock,
    )  # fmt: skip


def test_requests_are_taken_up_between_steps(tmp_path):
    folder = begun(tmp_path)
    control.ask(folder.path, "annotate", text="here", by="cli")
    (folder.path / "control" / "0.json").write_text("{nix")
    control.ask(folder.path, "stop")
    ended = run.run(
        fake.a_job(tmp_path, 50), fake.FakeSession(), folder, loaders=fake.loaders_in(tmp_path)
    )
    assert (ended.state, ended.exit, ended.status["step"]) == ("stopped", 130, 0)
    notes = [e for e in events.read(folder.path / "events.jsonl") if e["event"] == "annotation"]
    assert [e["text"] for e in notes] == ["here"]
    assert [p.name for p in (folder.path / "control").iterdir()] == ["0.refused"]
    assert ended.status["checkpoint"]["step"] == 0


def test_a_hurried_stop_breaks_a_pass_off_and_saves_nothing_more(tmp_path):
    folder = begun(tmp_path)
    session = fake.FakeSession()

    def asked():
        if not list((folder.path / "control").iterdir()):
            control.ask(folder.path, "stop", now=True)
            loop_time[0] += 1

    loop_time = [0.0]
    session.during_pass = asked
    folder.clock = folder.clock._replace(monotonic=lambda: loop_time[0])
    ended = run.run(fake.a_job(tmp_path, 50), session, folder, loaders=fake.loaders_in(tmp_path))
    assert (ended.state, ended.status["step"]) == ("stopped", 5)
    assert ended.status["checkpoint"] is None


def test_a_note_on_a_run_that_has_ended_is_written_under_its_lock(tmp_path):
    done, _ = fake.start(tmp_path, fake.a_job(tmp_path, 5))
    event = afterwards.annotate(done.folder, "good")
    last = events.read(done.folder / "events.jsonl")[-1]
    assert last == event
    assert (last["step"], last["by"]) == (5, "cli")
    folder = begun(tmp_path)
    assert code(lambda: afterwards.annotate(folder.path, "no")) == "E-RUN-LOCKED"
    folder.close()


def test_a_run_whose_process_died_is_closed_by_another(tmp_path):
    folder = begun(tmp_path)
    folder._lock.release()  # what the kernel does
    ended = afterwards.close(folder.path, "stop --now")
    assert (ended["state"], ended["exit"]) == ("stopped", 130)
    assert runs.read(folder.path).state == "stopped"
    assert events.read(folder.path / "events.jsonl")[-1]["reason"] == "stop --now"
    folder.status._stop.set()


def test_the_step_is_told_at_every_heartbeat_and_not_only_at_logs(tmp_path):
    now, seen = [1e9], []
    folder = begun(tmp_path, clock=Clock(now=lambda: now[0]))

    def look():
        now[0] += 1
        folder.status.write()
        told = documents.read(folder.path / "status.json", "status")
        seen.append(told["step"])
        assert told["advanced"] == told["heartbeat"], "a step has finished since"
        now[0] += 1
        folder.status.write()
        again = documents.read(folder.path / "status.json", "status")
        assert again["advanced"] == told["advanced"] < again["heartbeat"], "none has"

    job = fake.a_job(tmp_path, 10, log_every=100, passes=(), checkpoint=CheckpointDeclaration())
    at = {3: look, 6: look}
    run.run(job, fake.FakeSession(at), folder, loaders=fake.loaders_in(tmp_path))
    assert seen == [3, 6]


def test_a_run_that_has_made_only_its_folder_is_compiling_while_its_lock_is_held(tmp_path):
    folder = begun(tmp_path)
    os.unlink(folder.path / "status.json")
    assert runs.read(folder.path).state == "compiling"
    (folder.path / "run.lock").write_text(
        json.dumps({"pid": 2**22 + 1, "host": os.uname().nodename})
    )
    assert runs.read(folder.path).state == "lost"
    folder.close()


def test_a_status_is_made_durable_once_at_the_end(tmp_path, monkeypatch):
    replace, synced = documents.replace, []

    def noted(path, document, sync=False):
        synced.append((path.name, sync))
        replace(path, document, sync)

    monkeypatch.setattr(documents, "replace", noted)
    fake.start(tmp_path, fake.a_job(tmp_path))
    found = [sync for name, sync in synced if name == "status.json"]
    assert len(found) > 3
    assert found == [False] * (len(found) - 1) + [True]


class Flying(fake.FakeSession):
    """Launches that are done when they are asked for. `most`: at once."""

    flying = most = 0

    def program(self, name):
        return Flown(self, name)

    def launch(self, name, batch, scalars):
        outcome = super().launch(name, batch, scalars)
        self.flying += 1
        self.most = max(self.most, self.flying)
        return Launched(self, outcome)


class Launched:
    def __init__(self, session, outcome):
        self._session, self._outcome = session, outcome

    def done(self):
        return False

    def outcome(self, timeout=None):
        self._session.flying -= 1
        return self._outcome


class Flown:
    """A program of a session whose launches fly."""

    def __init__(self, session, name):
        self.session, self.name = session, name

    def launch(self, batch, scalars):
        return self.session.launch(self.name, batch, scalars)


@pytest.mark.parametrize("flying", [1, 2])
def test_no_more_launches_are_in_flight_than_is_said(tmp_path, flying):
    session = Flying()
    job = fake.a_job(tmp_path, passes=[])
    summary, _ = fake.start(tmp_path, job, session, in_flight=flying)
    assert summary.state == "finished"
    assert (session.most, session.flying) == (flying, 0)
