"""What a run writes: valid by the contract's schemas, readable after a crash, honest at death."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import fake_device as fake
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sexpgpu_core
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.experiment.declarations import CheckpointDeclaration
from sexpgpu_core.runtime import (
    begin,
    cadence,
    clock,
    events,
    ledger,
    mirror,
    run,
    runs,
    slug,
    status,
)
from sexpgpu_core.runtime.job import MetricSpec
from sexpgpu_core.runtime.metrics import Accumulator
from sexpgpu_core.runtime.signals import Signals

SCHEMAS = Path(sexpgpu_core.__file__).parent / "schemas"


def closed(schema):
    """The schema with every object's keys closed, so that a misspelt key is noticed (65 A1)."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    opens = "x-part" in schema or "allOf" in schema or "properties" not in schema
    if not opens and schema.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


def validator(name):
    jsonschema = pytest.importorskip("jsonschema", reason="schemas are checked by jsonschema")
    return jsonschema.Draft202012Validator(
        closed(json.loads((SCHEMAS / f"{name}.json").read_text()))
    )


def event_keys():
    """Keys of each kind of event, common ones included."""
    schema = json.loads((SCHEMAS / "event.json").read_text())
    common = set(schema["properties"])
    parts = {k[3:]: v for k, v in schema["$defs"].items() if k.startswith("on-")}
    return {kind: common | set(part["properties"]) for kind, part in parts.items()}


def rich_runs(folder):
    """Runs that write every kind of document and event."""
    best = CheckpointDeclaration(every=5, keep=2, best=("val/loss", "min"))
    job = fake.a_job(
        folder,
        guard=("skip", 3),
        checkpoint=best,
        targets=[
            fake.a_target("val/loss", "below", 1000.0),
            fake.a_target("val/loss", "below", -1, stop=True),
        ],
    )
    signals = Signals()
    at = {4: "nan", 8: lambda: signals.request("SIGTERM")}
    yield fake.start(folder, job, fake.FakeSession(at, skip=True), signals=signals)[0]
    yield fake.resume(folder, job, key="2")[0]
    halting = fake.FakeSession({6: "nan"})
    yield fake.start(folder, fake.a_job(folder, experiment_id="0" * 12), halting)[0]


def test_every_document_is_valid_by_its_closed_schema(tmp_path):
    seen = set()
    for summary in rich_runs(tmp_path):
        for name in ("status", "manifest"):
            validator(name).validate(json.loads((summary.folder / f"{name}.json").read_text()))
        for path in summary.folder.glob("checkpoints/*/checkpoint.json"):
            validator("checkpoint").validate(json.loads(path.read_text()))
        keys = event_keys()
        for line in (summary.folder / "events.jsonl").read_text().splitlines():
            event = json.loads(line, parse_constant=lambda text: pytest.fail(text))
            validator("event").validate(event)
            assert set(event) <= keys[event["event"]]
            seen.add(event["event"])
    wanted = "open stage step eval checkpoint target guard warning resume close"
    assert seen >= set(wanted.split())


def test_lines_are_numbered_and_times_do_not_go_back(tmp_path):
    *_, last = rich_runs(tmp_path)
    for folder in (tmp_path / "runs").iterdir():
        found = list(events.read(folder / "events.jsonl"))
        assert [e["seq"] for e in found] == list(range(len(found)))
        elapsed = [e["elapsed"] for e in found]
        assert elapsed == sorted(elapsed)
    assert last.state == "failed"


def test_a_torn_last_line_is_passed_over_and_the_next_writer_starts_a_new_one(tmp_path):
    path = tmp_path / "events.jsonl"
    log = events.EventLog(path, "r", 1, clock.Clock())
    log.write("step", 1, metrics={"a": float("nan"), "b": float("-inf")})
    log.close()
    with open(path, "ab") as file:
        file.write(b'{"v": 1, "event": "st')
    assert [e["metrics"] for e in events.read(path)] == [{"a": "nan", "b": "-inf"}]
    log = events.EventLog(path, "r", 2, clock.Clock(), elapsed=5.0)
    assert log.write("resume", 0)["seq"] == 2
    log.close()
    assert [e["event"] for e in events.read(path)] == ["step", "resume"]
    assert list(events.read(path))[1]["elapsed"] >= 5.0


def test_elapsed_is_the_active_time_of_all_attempts(tmp_path):
    now = [1e9]
    time = clock.Clock(now=lambda: now[0], monotonic=lambda: now[0])
    for attempt, before in ((1, 0.0), (2, 3.0), (3, 6.0)):
        log = events.EventLog(tmp_path / "events.jsonl", "r", attempt, time, elapsed=before)
        now[0] += 3
        assert log.write("step", attempt)["elapsed"] == before + 3
        log.close()
        now[0] += 3600  # nobody works at it


def test_an_attempt_begins_with_open_or_resume_and_ends_with_close(tmp_path):
    folders = {summary.folder for summary in rich_runs(tmp_path)}
    attempts = {}
    for folder in folders:
        for event in events.read(folder / "events.jsonl"):
            attempts.setdefault((folder.name, event["attempt"]), []).append(event)
    assert sorted(n for _, n in attempts) == [1, 1, 2]
    for (_, number), told in attempts.items():
        kinds = [event["event"] for event in told]
        assert kinds[0] == ("open" if number == 1 else "resume")
        assert kinds[-1] == "close"
        assert not {"open", "resume", "close"} & set(kinds[1:-1])
        assert told[0]["step"] == 0 or number > 1


def test_a_resume_drops_what_earlier_attempts_said_past_its_step():
    lines = [
        {"event": "step", "attempt": 1, "step": 5},
        {"event": "step", "attempt": 1, "step": 10},
        {"event": "resume", "attempt": 2, "step": 5},
        {"event": "step", "attempt": 2, "step": 10},
        {"event": "resume", "attempt": 3, "step": 10},
    ]
    kept = [(e["event"], e["attempt"], e["step"]) for e in events.current(iter(lines))]
    assert kept == [("step", 1, 5), ("resume", 2, 5), ("step", 2, 10), ("resume", 3, 10)]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 300), st.integers(1, 50) | st.none(), st.lists(st.integers(0, 300)))
def test_a_pass_falls_due_after_multiples_and_at_named_steps(step, every, at):
    wanted = step in at or (every is not None and step > 0 and step % every == 0)
    assert cadence.due(step, every, at, False) == wanted
    assert cadence.due(step, every, [*at, "end"], True)
    assert cadence.pass_due(step, None, (), True)
    assert not cadence.pass_due(step, None, (), False)


@given(st.lists(st.tuples(st.floats(-10, 10), st.integers(1, 9)), min_size=1, max_size=9))
def test_a_mean_is_over_all_examples_not_over_batches(batches):
    total = Accumulator([MetricSpec("m", "mean"), MetricSpec("x", "max")])
    for value, weight in batches:
        total.add(
            {"metric:m:sum": value * weight, "metric:m:weight": weight, "metric:x:value": value}
        )
    wanted = sum(v * w for v, w in batches) / sum(w for _, w in batches)
    assert total.values()["m"] == pytest.approx(wanted, abs=1e-9)
    assert total.values()["x"] == max(v for v, _ in batches)


def test_what_is_not_finite_never_is_best_and_never_meets_a_target():
    book = ledger.Ledger([fake.a_target("a", "below", 1.0)], {"b": "max"})
    assert book.report({"a": float("nan")}, 1, 1, 0.0) == ([], [])
    assert book.report({"a": 0.5}, 2, 1, 0.0)[1][0]["step"] == 2
    assert book.report({"a": 0.4}, 3, 1, 0.0) == (["a"], [])
    assert book.report({"b": float("inf")}, 3, 1, 0.0) == ([], [])
    assert book.best == {"a": {"value": 0.4, "step": 3, "goal": "min"}}


@pytest.mark.parametrize(
    ("file", "variant", "given_", "wanted"),
    [
        ("a/chars.lisp", "smoke", {"lr": "0.003"}, "chars-smoke-lr0.003-a530c5"),
        (
            "C M.lisp",
            None,
            {"nn:act": ":GeLU", "d": "(1 2)"},
            "c-m-act-gelu-d-1-2-a530c5",
        ),
        ("x" * 200 + ".lisp", None, {}, "x" * 80 + "-a530c5"),
        ("-", None, {}, "stdin-a530c5"),
    ],
)
def test_a_slug_says_file_variant_knobs_and_experiment(file, variant, given_, wanted):
    assert slug.slug(file, variant, given_, "a530c507fd89") == wanted


def test_a_run_is_found_by_path_word_slug_and_prefix(tmp_path):
    root = tmp_path / "runs"
    first, _ = fake.start(tmp_path, fake.a_job(tmp_path, 2))
    second, _ = fake.start(tmp_path, fake.a_job(tmp_path, 2, experiment_id="b" * 12))
    assert runs.find(root, "latest").path == second.folder
    assert runs.find(root, first.folder.name).path == first.folder
    assert runs.find(root, "line-smoke-lr0.05-a").path == first.folder
    assert runs.find(root, str(first.folder)).path == first.folder
    for text, code in (("line", "E-USAGE-AMBIGUOUS"), ("other", "E-USAGE-RUN")):
        with pytest.raises(Problem, match=code):
            runs.find(root, text)
    assert [run.state for run in runs.listing(root)] == ["finished", "finished"]
    assert runs.resumable(root, "b" * 12).path == second.folder
    assert runs.resumable(root, "c" * 12) is None


def test_a_run_whose_name_was_taken_is_resumed_by_that_name(tmp_path):
    root, job = tmp_path / "runs", fake.a_job(tmp_path, 2)
    for path in (root / "it", root / "it-2"):  # killed before its first checkpoint; the next one
        begun = begin.begin(
            job, root=root, machine=fake.machine_of(), loaders=fake.loaders_in(tmp_path), name="it"
        )
        assert begun.path == path
        if path.name == "it":
            begun.close()
    run.run(job, fake.FakeSession(), begun, loaders=fake.loaders_in(tmp_path))
    assert runs.resumable(root, job.experiment_id, "it").path == root / "it-2"
    assert runs.resumable(root, "c" * 12, "it") is None, "it-2 of another experiment has its name"


def test_a_run_whose_process_is_gone_is_lost(tmp_path):
    job = fake.a_job(tmp_path, 2)
    folder = begin.begin(
        job, root=tmp_path / "runs", machine=fake.machine_of(), loaders=fake.loaders_in(tmp_path)
    )
    document = status.read(folder.path / "status.json")
    assert (document["state"], status.lost(document)) == ("compiling", False)
    folder.close()
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert status.lost({**document, "pid": done.pid})
    elsewhere = {**document, "host": "another"}
    assert not status.lost(elsewhere)
    later = clock.Clock(now=lambda: clock.seconds_of(document["heartbeat"]) + 61)
    assert status.lost(elsewhere, later)
    assert not status.lost({**document, "pid": done.pid, "state": "finished"})
    if Path("/proc/self/stat").exists():
        assert status.lost({**document, "pid_started_at": "2000-01-01T00:00:00.000Z"})


def test_the_heartbeat_goes_on_while_it_compiles(tmp_path, monkeypatch):
    assert (status.HEARTBEAT, status.LOST_AFTER, mirror.EVERY) == (2, 60, 10)
    monkeypatch.setattr(status, "HEARTBEAT", 0.01)
    folder = begin.begin(
        fake.a_job(tmp_path, 2),
        root=tmp_path / "runs",
        machine=fake.machine_of(),
        loaders=fake.loaders_in(tmp_path),
    )
    path = folder.path / "status.json"
    first = path.stat().st_ino
    for _ in range(500):
        if path.stat().st_ino != first:
            break
        time.sleep(0.005)
    assert path.stat().st_ino != first
    signals = Signals()
    signals.request("SIGTERM")
    summary = run.interrupted(folder, signals)
    assert (summary.state, summary.exit) == ("preempted", 75)
    assert json.loads(path.read_text())["state"] == "preempted"


def test_secrets_in_the_environment_are_not_written(tmp_path, monkeypatch):
    for name in ("S3_TOKEN", "KEY_OF_MINE", "MY_SECRETS"):
        monkeypatch.setenv(f"SEXPGPU_{name}", "hunter2")
    monkeypatch.setenv("SEXPGPU_THREADS", "2")
    summary, _ = fake.start(tmp_path, fake.a_job(tmp_path, 2))
    manifest = json.loads((summary.folder / "manifest.json").read_text())
    assert manifest["environment"]["SEXPGPU_THREADS"] == "2"
    assert "hunter2" not in json.dumps(manifest)
    assert manifest["data"][0]["examples"] == 100
    assert manifest["selection"]["set"] == {"lr": "0.05"}


def test_what_a_url_asks_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setenv("SEXPGPU_RUNS", "https://who:hunter2@host/a?sig=hunter2")
    job = fake.a_job(tmp_path, 2)
    folder = begin.begin(
        job,
        root=tmp_path / "runs",
        machine=fake.machine_of(),
        loaders={},
        command=[
            "run",
            "--store",
            "s3://b/p?token=hunter2",
            "--sink",
            "x:url=h://a/?k=hunter2,b=c?",
        ],
    )
    folder.close()
    written = [path.read_bytes() for path in folder.path.rglob("*") if path.is_file()]
    assert not any(b"hunter2" in data for data in written)
    said = json.loads((folder.path / "manifest.json").read_text())
    assert said["command"] == ["run", "--store", "s3://b/p", "--sink", "x:url=h://a/,b=c?"]
    assert said["environment"]["SEXPGPU_RUNS"] == "https://host/a"


def test_a_mean_that_does_not_add_is_weighed_by_rows():
    total = Accumulator([MetricSpec("m", "mean"), MetricSpec("n", "sum")])
    total.add({"metric:m:value": 1.0, "metric:n:value": 3.0}, rows=8)
    total.add({"metric:m:value": 4.0, "metric:n:value": 1.0}, rows=4)
    assert total.values() == {"m": 2.0, "n": 4.0}


def test_a_line_that_a_full_disk_cuts_short_does_not_spoil_the_next(tmp_path):
    path = tmp_path / "events.jsonl"
    log = events.EventLog(path, "r", 1, clock.Clock())
    whole = log._file

    class Filling:
        def write(self, data):
            if whole.tell() > 0:
                raise OSError(28, "No space left on device")
            return whole.write(data[:10])

    log._file = Filling()
    with pytest.raises(Problem, match="E-RUN-WRITE"):
        log.write("step", 1, metrics={})
    log._file = whole
    assert log.write("close", 1)["seq"] == 1
    log.close()
    assert [e["event"] for e in events.read(path)] == ["close"]


def test_a_listener_that_has_gone_does_not_end_the_run(tmp_path):
    log = events.EventLog(tmp_path / "events.jsonl", "r", 1, clock.Clock())

    def gone(event):
        raise BrokenPipeError

    log.listener = gone
    log.write("step", 1)
    log.write("step", 2)
    log.close()
    assert len(list(events.read(tmp_path / "events.jsonl"))) == 2


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "nan"),
        ([1.5, float("-inf")], [1.5, "-inf"]),
        (None, None),
        ("null", "null"),
        (2**70, 2**70),
        ("\ud800", "\ud800"),
        ({"ä": (1, 2)}, {"ä": [1, 2]}),
        (5e-324, 5e-324),
    ],
)
def test_a_line_says_what_its_event_says(value, said, tmp_path):
    path = tmp_path / "events.jsonl"
    log = events.EventLog(path, "r", 1, clock.Clock())
    told = log.write("annotation", 1, text=value, by="cli")
    log.close()
    (line,) = path.read_bytes().splitlines()
    assert json.loads(line)["text"] == said
    assert b"NaN" not in line
    assert b"Infinity" not in line
    assert json.loads(json.dumps(told)) == json.loads(line)
