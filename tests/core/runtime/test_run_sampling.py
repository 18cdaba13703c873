"""A live run's selection of diagnostic numbers changes between steps, or stays with a reason."""

from __future__ import annotations

import time

import fake_device as fake
import pytest

from sexpgpu_core.diagnostics import problem
from sexpgpu_core.runtime import begin, events, sampling, status
from sexpgpu_core.runtime.job import Observed, ProbeSpec
from sexpgpu_core.runtime.sampling import Resampled, Sampling

PROBE = Observed(None, (ProbeSpec("data/wait", "last", "s", 0, lambda facts: facts.data_wait),))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    # a child that has nothing to compile
    monkeypatch.setattr(sampling, "CHILD", "sexpgpu_core.spans")
    job = fake.a_job(tmp_path)
    opened = begin.begin(
        job, root=tmp_path / "runs", machine=fake.machine_of(), loaders=fake.loaders_in(tmp_path)
    )
    yield opened
    opened.close()


def followed(folder, plan, session=None, **request):
    made = Sampling(fake.a_job(folder.path.parent.parent), session, folder, plan)
    made.ask(request.get("add", ()), request.get("remove", ()))
    end = time.monotonic() + 30
    made.follow(4)
    while made._child is not None and time.monotonic() < end:
        time.sleep(0.01)
        made.follow(5)
    return made


def warnings(folder):
    found = events.read(folder.path / "events.jsonl")
    return [e["diagnostic"] for e in found if e["event"] == "warning"]


def test_what_is_added_is_sampled_and_told_in_the_status(folder):
    asked = []

    def plan(globs):
        asked.append(globs)
        return {"points:train": Resampled(None, PROBE)}

    made = followed(folder, plan, add=["data/*"], remove=["data/x"])
    assert asked == [("data/*", "!data/x")]
    assert made.observed == {"points:train": PROBE}
    told = status.read(folder.path / "status.json")
    assert told["diagnostics"]["select"] == ["data/*", "!data/x"]
    assert warnings(folder) == []


class Full:
    def add(self, unit):
        return False


def test_numbers_that_do_not_fit_are_refused_and_the_run_goes_on(folder):
    made = followed(folder, lambda globs: {"points:train": Resampled("unit", PROBE)}, Full(),
                    add=["act/**"])  # fmt: skip
    (found,) = warnings(folder)
    assert found["code"] == "W-RUN-DIAGNOSTIC"
    assert "memory" in found["message"]
    assert made.observed == {"points:train": None}
    made.follow(6)
    assert made._child is None, "what was refused is not tried again"


def test_a_mistake_and_a_child_that_dies_are_told(folder, monkeypatch):
    def plan(globs):
        raise problem("E-SERIES", "no such number")

    followed(folder, plan, add=["x"])
    monkeypatch.setattr(sampling, "CHILD", "sexpgpu_core.no_such_module")
    followed(folder, plan, add=["x"])
    assert ["no such number" in w["message"] for w in warnings(folder)] == [True, False]
    assert "ended with 1" in warnings(folder)[1]["message"]


def test_a_run_that_cannot_compile_keeps_its_selection(folder):
    made = followed(folder, None, add=["x"])
    assert made._child is None
    assert warnings(folder) == []


def test_a_next_attempt_takes_up_what_earlier_ones_were_asked(folder):
    folder.live = ("data/*", "!data/x")
    made = Sampling(
        fake.a_job(folder.path.parent.parent),
        None,
        folder,
        lambda globs: {"points:train": Resampled(None, PROBE)},
    )
    assert made.observed != {"points:train": PROBE}
    made.resume(3)
    assert made.observed == {"points:train": PROBE}
    told = status.read(folder.path / "status.json")["diagnostics"]
    assert told["select"] == told["live"] == ["data/*", "!data/x"]


def test_what_no_longer_can_be_sampled_is_told_and_let_go(folder):
    def plan(globs):
        raise problem("E-SERIES", "no diagnostic number is named so")

    folder.live = ("data/*",)
    made = Sampling(fake.a_job(folder.path.parent.parent), None, folder, plan)
    made.resume(3)
    (found,) = warnings(folder)
    assert found["code"] == "W-RUN-DIAGNOSTIC"
    assert "live" not in status.read(folder.path / "status.json")["diagnostics"]
