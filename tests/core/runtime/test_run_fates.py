"""What becomes of each value of a checkpoint where the file has other parameters."""

from __future__ import annotations

import json

import fake_device as fake
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexpgpu_core.checkpoint.folder import Checkpoint, Saved
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir.types import Type
from sexpgpu_core.runtime.fates import Fate, covering, differing, fitted, flags, idle, path_of
from sexpgpu_core.staging.selectors import glob_pattern

W, WIDE = Type("f32", (4,)), Type("f32", (6,))


def a_checkpoint(**types):
    arrays = {
        name.replace("_", ":"): np.arange(type.size, dtype="f4").reshape(type.shape)
        for name, type in types.items()
    }
    saved = Saved("step-00000005", 5, None, {})
    return Checkpoint(saved, {}, arrays)


@pytest.fixture
def job(tmp_path):
    """A job with a parameter `w`, its optimizer's m, and its average."""
    made = fake.a_job(tmp_path, 5)
    types = made.persistent.types
    types.clear()
    types.update({"parameter:w": W, "optimizer:w/m": W, "optimizer:w/v": W, "ema:w": W})
    return made


@pytest.fixture
def saved():
    """What such a job leaves."""
    found = a_checkpoint(parameter_w=W)
    found.arrays.update({n: np.ones(4, "f4") for n in ("optimizer:w/m", "optimizer:w/v")})
    found.arrays["ema:w"] = np.full(4, 2, "f4")
    return found


def test_equal_values_are_all_kept(job, saved):
    before = dict(saved.arrays)
    assert fitted(job, saved, ["**"]) == []
    assert saved.arrays == before


def test_what_differs_and_is_not_named_is_refused_with_globs_that_name_it(job, saved):
    job.persistent.types["parameter:head/w"] = job.persistent.types["parameter:head/b"] = W
    saved.arrays["parameter:old"] = np.ones(4, "f4")
    before = set(saved.arrays)
    with pytest.raises(Problem, match="new: head/b head/w; missing: old") as raised:
        fitted(job, saved, [])
    facts = raised.value.diagnostic.facts
    assert facts["globs"] == ["head/**", "old"]
    assert facts["new"] == ["parameter:head/b", "parameter:head/w"]
    assert facts["missing"] == ["parameter:old"]
    with pytest.raises(Problem, match=r"file's: missing: old$"):
        fitted(job, saved, ["head/*"])
    assert set(saved.arrays) == before
    found = fitted(job, saved, ["head/**", "old"])
    assert [(f.path, f.kind) for f in found] == [
        ("head/b", "new"),
        ("head/w", "new"),
        ("old", "missing"),
    ]
    assert set(saved.arrays) == before - {"parameter:old"}


def test_a_reshaped_parameter_begins_anew_with_its_optimizer_and_average(job, saved):
    saved.arrays["parameter:b"] = kept = np.ones(4, "f4")
    job.persistent.types["parameter:b"] = W
    job.persistent.types.update({n: WIDE for n in job.persistent.types if n != "parameter:b"})
    (fate,) = fitted(job, saved, ["w"])
    assert (fate.path, fate.kind, len(fate.names)) == ("w", "reshaped", 4)
    assert list(saved.arrays) == ["parameter:b"]
    assert saved.arrays["parameter:b"] is kept


def test_another_optimizer_begins_anew_whole_and_the_value_stays(job, saved):
    del job.persistent.types["optimizer:w/v"]
    value = saved.arrays["parameter:w"]
    with pytest.raises(Problem, match="of another optimizer: w"):
        fitted(job, saved, [])
    (fate,) = fitted(job, saved, ["w"])
    assert fate == Fate("w", "optimizer", ("optimizer:w/v",))
    assert set(saved.arrays) == {"parameter:w", "ema:w"}
    assert saved.arrays["parameter:w"] is value


def test_an_average_that_is_new_begins_as_the_parameter_that_is_kept(job, saved):
    del saved.arrays["ema:w"]
    (fate,) = fitted(job, saved, ["w"])
    assert fate.kind == "ema"
    assert saved.arrays["ema:w"].tolist() == [0, 1, 2, 3]
    assert "optimizer:w/m" in saved.arrays
    del job.persistent.types["ema:w"]
    (fate,) = fitted(job, saved, ["w"])
    assert (fate.kind, "ema:w" in saved.arrays) == ("ema", False)


def test_globs_that_name_nothing_or_what_is_the_same_are_told(job, saved):
    job.persistent.types["parameter:head/w"] = W
    fates = fitted(job, saved, ["head/**"])
    assert idle(job, fates, ["head/**"]) == []
    nothing, same = idle(job, fates, ["hed/**", "**"])
    assert (nothing.code, nothing.facts["same"]) == ("W-RESUME-PARAM", [])
    assert "no parameter is named by --resume-params hed/**" in nothing.message
    assert same.facts["same"] == ["w"]


def test_a_resume_says_the_fates_and_gives_initial_values(tmp_path):
    fake.start(tmp_path, fake.a_job(tmp_path, 5))
    other = fake.a_job(tmp_path, 9, experiment_id="b" * 12)
    other.persistent.types["parameter:extra"] = W
    with pytest.raises(Problem, match="new: extra") as raised:
        fake.resume(tmp_path, other, changed=True)
    assert "--resume-changed --resume-params extra: what" in raised.value.diagnostic.hint
    asked = ("extra", "nix", "w")
    summary, session = fake.resume(tmp_path, other, changed=True, anew=asked)
    assert summary.state == "finished"
    lines = (summary.folder / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    (resumed,) = [e for e in events if e["event"] == "resume"]
    assert resumed["fates"] == {"extra": "new"}
    warned = [e["diagnostic"]["facts"]["glob"] for e in events if e["event"] == "warning"]
    assert warned == ["nix", "w"]
    assert session.values["parameter:extra"].tolist() == other.initial("parameter:extra").tolist()


def test_an_optimizers_state_is_of_its_parameter():
    assert path_of("optimizer:h/0/w/m") == "h/0/w"
    assert path_of("ema:h/0/w") == path_of("parameter:h/0/w") == path_of("state:h/0/w") == "h/0/w"


def test_flags_are_quoted_for_a_shell():
    assert flags(["head/**", "w"]) == "--resume-params 'head/**' --resume-params w"


PATHS = st.sets(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join), min_size=1, max_size=12
)


@given(PATHS, st.data())
def test_covering_globs_match_what_differs_and_nothing_else(every, data):
    paths = sorted(data.draw(st.sets(st.sampled_from(sorted(every)), min_size=1)))
    globs = covering(paths, every)
    named = {path for path in every if any(glob_pattern(glob).match(path) for glob in globs)}
    assert named == set(paths)
    assert len(globs) <= len(paths)


@given(st.dictionaries(st.sampled_from(["parameter:a", "optimizer:a/m", "ema:b"]), st.just(W)))
def test_a_difference_is_empty_against_itself(types):
    assert differing(types, types) == []
