"""A third party's executor: it runs the points of a sweep, and is held to its row."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from toy_program import FILE, PROGRAM, environment, program, whole

from sexpgpu_core.registry import Registry


def swept(*argv: str, code: int = 0) -> dict[str, Any]:
    done = program("sweep", "ramp.lisp", "rates", "--json", *argv)
    assert done.returncode == code, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


RATES = """(defknob rate 1e-2 "Rate." :type (float (0) 1))
(defsweep rates :grid ((rate (1e-2 2e-2 3e-2))) :rank ("train/loss" :min))
"""


def rated(text: str) -> str:
    """A file with the sweep."""
    return text.replace("(defloader", RATES + "(defloader").replace(":lr 1e-2", ":lr rate")


@whole
def test_its_executor_runs_the_points_of_a_sweep_no_more_at_once_than_it_takes(
    found: Registry,
) -> None:
    Path("ramp.lisp").write_text(rated(FILE))
    said = swept("--executor", "toy-slots:slots=2,cpus=1", "--jobs", "3")
    assert (said["executor"], said["counts"]) == ("toy-slots", {"finished": 3})
    assert [row["place"] for row in said["table"]] == [1, 2, 3]
    (folder,) = Path("runs").glob("sweep-*")
    jobs = [json.loads(line) for line in (folder / "jobs.jsonl").read_text().splitlines()]
    assert {(job["executor"], job["point"]) for job in jobs} == {
        ("toy-slots", point["point"]) for point in said["points"]
    }
    manifest = json.loads((Path("runs") / said["points"][0]["run"] / "manifest.json").read_text())
    assert "--threads=1" in manifest["command"]
    again = swept("--executor", "toy-slots")
    assert all(point["reused"] for point in again["points"])


@whole
def test_a_job_that_a_killed_sweep_left_to_its_executor_is_waited_for_and_not_doubled(
    found: Registry,
) -> None:
    longer = FILE.replace(":steps 3", ":steps 2000000 :checkpoint (:every 500 :keep 1)")
    Path("ramp.lisp").write_text(rated(longer).replace("(1e-2 2e-2 3e-2)", "(1e-2)"))
    words = ("sweep", "ramp.lisp", "rates", "-q", "--executor", "toy-slots", "--device", "cpu")
    process = subprocess.Popen((*PROGRAM, *words), env=environment())
    end = time.monotonic() + 120
    while not list(Path("runs").glob("ramp-*/checkpoints/step-*")) and time.monotonic() < end:
        time.sleep(0.05)
    process.kill()
    process.wait()
    (run,) = Path("runs").glob("ramp-*")
    watched = subprocess.Popen(
        (*PROGRAM, *words, "--json"),
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    (folder,) = Path("runs").glob("sweep-*")
    while '"queued"' not in (folder / "sweep.json").read_text() and time.monotonic() < end:
        time.sleep(0.05)
    assert program("stop", run.name).returncode == 0
    out, _ = watched.communicate(timeout=120)
    (point,) = json.loads(out)["points"]
    assert (point["state"], point["run"], len(list(Path("runs").glob("ramp-*")))) == (
        *("stopped", run.name),
        1,
    )
    assert json.loads((run / "status.json").read_text())["attempt"] == 1


def test_an_executor_without_what_a_sweep_calls_is_found_by_verify(
    found: Registry, toy_site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert program("plugins", "--verify").returncode == 0
    broken = tmp_path / "sexpgpu_toy" / "slots.py"
    shutil.copytree(toy_site, tmp_path, dirs_exist_ok=True)
    broken.write_text(broken.read_text().replace("def ended(", "def state("))
    monkeypatch.syspath_prepend(str(tmp_path))
    done = program("plugins", "--verify", "--json")
    assert done.returncode == 1
    (told,) = json.loads(done.stdout)["diagnostics"]
    assert (told["code"], told["message"]) == (
        *("E-PLUGIN-FACT", "sexpgpu-toy: executors toy-slots: no ended"),
    )


@whole
@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        ("toy-slot", 2, "did you mean toy-slots?"),
        ("toy-slots:slot=2", 2, "did you mean slots?"),
        ("toy-slots:slots=x", 2, "slots is (integer 1), not x"),
    ],
)
def test_its_executors_name_and_options_are_held_to_its_row(
    found: Registry, given: str, code: int, told: str
) -> None:
    Path("ramp.lisp").write_text(rated(FILE))
    said = swept("--executor", given, code=code)
    assert said["diagnostics"][0]["code"] == "E-USAGE-VALUE"
    assert told in json.dumps(said["diagnostics"])


@whole
def test_options_of_its_executor_stand_in_sexpgpu_toml_too(found: Registry) -> None:
    Path("ramp.lisp").write_text(rated(FILE))
    Path("sexpgpu.toml").write_text("[sweep.executors.toy-slots]\nslots = 2\n")
    assert swept("--executor", "toy-slots", "--jobs", "2")["counts"] == {"finished": 3}
    Path("sexpgpu.toml").write_text("[sweep.executors.toy-slots]\nslot = 2\n")
    said = swept("--executor", "toy-slots", code=2)
    assert said["diagnostics"][0]["code"] == "E-USAGE-CONFIG"
    assert "did you mean slots?" in json.dumps(said)


@whole
def test_the_shell_completes_its_executor_and_its_options(found: Registry) -> None:
    for typed, told in (("toy-", "toy-slots"), ("toy-slots:slots=1,c", "toy-slots:slots=1,cpus=")):
        words = f"sexpgpu sweep ramp.lisp rates --executor {typed}"
        done = program(_SEXPGPU_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD="5")
        assert told in done.stdout, done.stderr
