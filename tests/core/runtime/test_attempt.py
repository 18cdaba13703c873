"""--resume: which run goes on from where, or whether a new one begins."""

from __future__ import annotations

import json

import fake_device as fake
import pytest

from sexpgpu_core import __version__
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.runtime.attempt import attempt
from sexpgpu_core.runtime.events import read


@pytest.fixture
def ask(tmp_path):
    def attempted(job, **given):
        folder, checkpoint = attempt(
            job,
            root=tmp_path / "runs",
            machine=fake.machine_of(),
            loaders=fake.loaders_in(tmp_path),
            **given,
        )
        folder.close()
        return folder, checkpoint and checkpoint.document["step"]

    return attempted


def test_auto_begins_anew_and_then_goes_on(tmp_path, ask):
    job = fake.a_job(tmp_path, 10)
    assert ask(job, resume="auto")[1] is None
    done, _ = fake.start(tmp_path, job)
    folder, step = ask(job, resume="auto")
    assert (folder.path, folder.attempt, step) == (done.folder, 2, 10)


def test_a_bare_step_is_looked_for_in_this_experiments_newest_run(tmp_path, ask):
    fake.start(tmp_path, fake.a_job(tmp_path, 10, experiment_id="b" * 12))
    job = fake.a_job(tmp_path, 10)
    with pytest.raises(Problem, match="E-CHECKPOINT-NONE"):
        ask(job, resume="latest")
    done, _ = fake.start(tmp_path, job)
    fake.start(tmp_path, fake.a_job(tmp_path, 10, experiment_id="b" * 12))
    assert ask(job, resume="5")[1] == 5
    with pytest.raises(Problem, match="E-CHECKPOINT-NONE"):
        ask(job, resume="7")
    assert ask(job, resume=f"{done.folder.name}@5")[1] == 5
    assert ask(job, resume=done.folder.name)[1] == 10
    ask(job, name="mine")
    with pytest.raises(Problem, match="E-CHECKPOINT-NONE"):
        ask(job, resume="5", name="mine")  # it has none
    assert ask(job, resume="5", name=done.folder.name)[0].path == done.folder


def test_a_named_run_of_a_changed_file_wants_to_be_told_so(tmp_path, ask):
    done, _ = fake.start(tmp_path, fake.a_job(tmp_path, 10, experiment_id="b" * 12))
    job = fake.a_job(tmp_path, 10)
    with pytest.raises(Problem, match="E-RESUME-CHANGED"):
        ask(job, resume=done.folder.name)
    assert ask(job, resume=done.folder.name, changed=True)[1] == 10


def test_the_same_experiment_again_is_a_new_folder_with_a_warning(tmp_path, ask):
    job = fake.a_job(tmp_path, 10)
    fake.start(tmp_path, job)
    folder, _ = ask(job)
    assert folder.events.warnings == {"W-RUN-EXISTS": 1}
    (told,) = [e["diagnostic"] for e in read(folder.path / "events.jsonl") if "diagnostic" in e]
    assert "It was run with" not in told["message"]
    named, _ = ask(job, name="My Run")
    assert named.run == "my-run"


def test_the_compilers_version_is_in_the_numerics_key_of_manifest_and_checkpoint(tmp_path):
    done, _ = fake.start(tmp_path, fake.a_job(tmp_path, 5))
    for name in ("manifest.json", "checkpoints/step-00000005/checkpoint.json"):
        numerics = json.loads((done.folder / name).read_text())["numerics"]
        assert numerics == {"compiler": __version__, "device": "fake", "version": "1"}
