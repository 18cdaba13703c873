"""Names of runs: --name, what RUN may be, where runs are looked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e_program import Folder, held, validate

FILE = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defknob width 2 "Units." :type (integer 1))
(defknob tags (list 1) "Words.")
(defsweep sizes "Sizes." :grid ((width (1 2))))
(defloader d (source (csv "a.csv")) (stage :train) (batch 4))
(defun prepare (&key x y) (batch :x x :y y))
(defmodel net (x) (nn:layers (reshape x '(-1 1)) (list width 1)))
(defun objective (&key x y) (metric "loss" (mean (square (- (net x) (reshape y '(-1 1)))))))
(defun optimizer () (groups (group :rest (optim:sgd :lr 1e-3))))
(defrun :steps 2 :seed 1)
"""
RUN = ("run", "x.lisp", "--device", "reference", "-q")
LONG = "x" * 96


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Folder:
    """A folder with a run of its file's own name, and one of the longest."""
    folder = Folder(tmp_path_factory.mktemp("named"), kernel_cache)
    folder.write("x.lisp", FILE)
    folder.write("a.csv", "x,y\n" + "0.25,1.5\n" * 16)
    for _ in range(2):
        held(folder.quick(*RUN, "--name", LONG), 0)
    held(folder.quick(*RUN, "-s", 'tags=("A b" -1.5)', "-s", "width=1"), 0)
    return folder


@pytest.mark.parametrize("name", ["latest", "best", "A", "a b", "..", "x@3", "-", "é", "x" * 97])
def test_what_is_no_name_is_refused_and_a_name_that_is_one_is_told(
    named: Folder, name: str
) -> None:
    done = named.quick(*RUN, "--name", name, "--json")
    held(done, 2)
    validate(done.document)
    found = done.diagnostics[0]
    assert found["code"] == "E-USAGE-VALUE"
    if (offered := found["hint"].partition("--name ")[2]) and name != "latest":
        assert named.quick("status", offered).exit == 2
        held(named.quick(*RUN, "--name", offered, "--dry-run"), 0)


def test_a_name_that_is_taken_gets_a_number_and_every_slug_is_one_of_the_schemas(
    named: Folder,
) -> None:
    for name in (LONG, f"{LONG}-2"):
        document = named.quick("status", name, "--json").document
        validate(document)
        assert document["run"] == name


def test_a_slug_says_the_knobs_given_without_brackets(named: Folder) -> None:
    (made,) = [p.name for p in (named.path / "runs").iterdir() if p.name.startswith("x-")]
    head, _, ending = made.rpartition("-")
    manifest = json.loads((named.made(made) / "manifest.json").read_text())
    assert (head, ending) == ("x-tags-a-b-1.5-width1", manifest["experiment_id"][:6])


@pytest.mark.parametrize("verb", ["status", "events", "stop"])
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x" * 300, "E-USAGE-RUN"),
        ("x" * 5000, "E-USAGE-RUN"),
        ("runs", "E-USAGE-RUN"),
        (".", "E-USAGE-RUN"),
        ("a.csv", "E-USAGE-RUN"),
        ("latest@2", "E-USAGE-RUN"),
        ("best:", "E-USAGE-VALUE"),
        ("s3://bucket", "E-USAGE-VALUE"),
        ("xxx", "E-USAGE-AMBIGUOUS"),
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_run_is_wrong_usage(named: Folder, verb: str, text: str, code: str) -> None:
    done = named.quick(verb, text, "--json")
    held(done, 2)
    validate(done.document)
    told = "E-USAGE-VALUE" if "://" in text else code
    assert done.diagnostics[0]["code"] == told


def test_a_file_where_a_run_is_wanted_names_its_newest_run(named: Folder) -> None:
    done = named.quick("status", "x.lisp")
    held(done, 2)
    assert "help: x.lisp is a file; its newest run is x-tags" in done.err
    named.write("y.lisp", FILE)
    assert "sexpgpu run y.lisp makes one" in named.quick("status", "y.lisp").err


def test_a_run_that_is_called_like_the_beginning_of_a_sweep_is_the_run(named: Folder) -> None:
    held(named.quick("sweep", "x.lisp", "sizes", "--device", "reference", "-q"), 0)
    assert named.quick("status", "sweep-x", "--json").document["document"] == "sweep"
    held(named.quick(*RUN, "--name", "sweep-x"), 0)
    assert named.quick("status", "sweep-x", "--json").document["run"] == "sweep-x"
    assert named.quick("status", "sweep-x-", "--json").document["document"] == "sweep"


def test_the_runs_root_is_the_flags_then_the_variables_then_the_files(
    tmp_path: Path, kernel_cache: Path
) -> None:
    folder = Folder(tmp_path, kernel_cache)
    folder.write("sexpgpu.toml", "")
    inside = tmp_path / "deep" / "er"
    inside.mkdir(parents=True)
    below = Folder(inside, kernel_cache)

    def root(*flags: str, **more: str) -> str:
        done = below("runs", "--json", *flags, **more)
        held(done, 0)
        found: str = done.document["root"]
        return found

    assert Path(inside, root()).resolve() == tmp_path / "runs"
    folder.write("sexpgpu.toml", '[paths]\nruns = "kept"\n')
    assert Path(inside, root()).resolve() == tmp_path / "kept"
    assert root(SEXPGPU_RUNS="mine") == "mine"
    assert root("--runs", "other", SEXPGPU_RUNS="mine") == "other"
    (tmp_path / "sexpgpu.toml").unlink()
    assert root() == "runs"


def test_a_moment_before_all_time_is_the_beginning(named: Folder) -> None:
    every = named.quick("runs", "--json").document["runs"]
    done = named.quick("runs", "--since", "9" * 30 + "d", "--json")
    held(done, 0)
    assert done.document["runs"] == every
