"""Settings: where each comes from, which wins, and what is refused."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core import api
from sexpgpu_core.config import FILE, VARIABLES, settings
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.spans import Source


def write(folder: Path, text: str) -> Path:
    (folder / FILE).write_text(text)
    return folder


def test_without_a_file_runs_are_below_the_working_directory(tmp_path: Path) -> None:
    found = settings(tmp_path, environment={})
    assert (found.root, found.runs, found.file) == (tmp_path, tmp_path / "runs", None)


@pytest.mark.parametrize("name", ["SEXPGPU_RUNS", "SEXPGPU_CACHE", "SEXPGPU_CONFIG"])
def test_a_variable_that_is_not_utf_8_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(Problem) as raised:
        settings(tmp_path, environment={name: os.fsdecode(b"a\xff")})
    assert raised.value.diagnostic.code == "E-USAGE-CONFIG"
    assert f"{name} is not UTF-8" in raised.value.diagnostic.message


def test_the_nearest_file_above_says_where_runs_are(tmp_path: Path) -> None:
    write(tmp_path, '[paths]\nruns = "all"\n')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert settings(below, environment={}).runs == tmp_path / "all"
    assert settings(below, environment={}).root == tmp_path


def test_a_flag_wins_over_a_variable_and_that_over_the_file(tmp_path: Path) -> None:
    write(tmp_path, '[paths]\nruns = "file"\n[run]\ndevice = "a"\nthreads = 1\n')
    variables = {"SEXPGPU_RUNS": "variable", "SEXPGPU_DEVICE": "b", "SEXPGPU_THREADS": "3"}
    assert settings(tmp_path, environment={}).runs == tmp_path / "file"
    found = settings(tmp_path, environment=variables)
    assert (found.runs, found.device, found.threads) == (tmp_path / "variable", "b", 3)
    assert settings(tmp_path, runs="flag", environment=variables).runs == tmp_path / "flag"


def test_plug_ins_are_chosen_preferred_and_disabled(tmp_path: Path) -> None:
    write(tmp_path, '[plugins]\ndisable = ["x"]\nprefer = { stores.mem = "y", "verbs.z" = "w" }\n')
    found = settings(tmp_path, environment={"SEXPGPU_PLUGINS": "a,b"})
    assert found.prefer == {"stores.mem": "y", "verbs.z": "w"}
    assert (found.disable, found.plugins) == ({"x"}, {"a", "b"})
    assert settings(tmp_path, environment={"SEXPGPU_PLUGINS": "off"}).plugins == frozenset()
    assert settings(tmp_path, environment={}).plugins is None


@pytest.mark.parametrize(
    ("text", "says", "hint", "place"),
    [
        ("[path]\n", "path is not a key", "did you mean paths?", "1:2 path"),
        ('[paths]\nrun = "x"\n', "[paths] run is not a key", "did you mean runs?", "2:1 run"),
        ("[paths]\nzzzzz = 1\n", "[paths] zzzzz is not a key", "known: runs cache", "2:1 zzzzz"),
        ("[run]\n threads = '2'\n", "must be of type int", None, "2:2 threads"),
        ("run = {threads = 0}\n", "threads must be at least 1", None, "1:8 threads"),
        ("[limits]\n[run]\nthreads = 0\n", "must be at least 1", None, "3:1 threads"),
        ('"run".threads = 0\n', "must be at least 1", None, "1:7 threads"),
        ("[run] # threads\nthreads = 0\n", "must be at least 1", None, "2:1 threads"),
        ('[run]\n"thre\\u0061ds" = 0\n', "must be at least 1", None, None),
        ("\nrun = 1\n", "run must be a table", None, "2:1 run"),
        ("[run]\nthreads == 1\n", "no TOML: Invalid value", None, "2:10 ="),
        ("[run\n", "no TOML: ", None, "1:5 \n"),
        ("[run]\nthreads = \n", "no TOML: ", None, "2:11 \n"),
    ],
)
def test_a_wrong_key_or_value_is_a_diagnostic_at_its_place(
    tmp_path: Path, text: str, says: str, hint: str | None, place: str | None
) -> None:
    with pytest.raises(Problem) as raised:
        settings(write(tmp_path, text), environment={})
    found = raised.value.diagnostic
    assert found.code == "E-USAGE-CONFIG"
    assert says in found.message
    assert hint is None or found.hint == hint
    span = found.span
    assert (span and f"{span.line}:{span.column} {span.text}") == place
    assert (found.file if span is None else span.source.name) == str(tmp_path / FILE)


def test_the_nearest_key_is_an_edit(tmp_path: Path) -> None:
    text = "[run]\nthread = 2\n"
    with pytest.raises(Problem) as raised:
        settings(write(tmp_path, text), environment={})
    edit = raised.value.diagnostic.edit
    assert edit is not None
    (change,) = edit.changes
    span = change.span
    assert text[: span.start] + change.new + text[span.end :] == "[run]\nthreads = 2\n"


@pytest.mark.parametrize(
    "variables", [{"SEXPGPU_RUN": "x"}, {"SEXPGPU_THREADS": "0"}, {"SEXPGPU_CONFIG": "none.toml"}]
)
def test_a_wrong_variable_is_a_diagnostic(tmp_path: Path, variables: dict[str, str]) -> None:
    with pytest.raises(Problem, match="E-USAGE-CONFIG"):
        settings(tmp_path, environment=variables)


def test_a_variable_that_is_nothing_like_ours_is_somebody_elses(tmp_path: Path) -> None:
    assert settings(tmp_path, environment={"SEXPGPU_TOY_COLOUR": "red"}).device is None


def test_the_cache_is_where_the_user_wants_it(tmp_path: Path) -> None:
    assert settings(tmp_path, environment={"SEXPGPU_CACHE": "/c"}).cache == Path("/c")
    write(tmp_path, '[paths]\ncache = "kept"\n')
    assert settings(tmp_path, environment={}).cache == tmp_path / "kept"


def test_limits_of_evaluation_are_set_in_the_file(tmp_path: Path, monkeypatch: Any) -> None:
    write(tmp_path, "[limits]\nsteps = 5000\ndepth = 50\n")
    assert settings(tmp_path, environment={}).limits == {"steps": 5000, "depth": 50}
    monkeypatch.chdir(tmp_path)
    found = api.check(Source("f.lisp", "(loop)")).diagnostics[0]
    assert (found.code, found.facts["limit"]) == ("E-LIMIT-STEPS", 5000)
    found = api.check(Source("f.lisp", "(defun f (x) (1+ (f x))) (f 1)")).diagnostics[0]
    assert (found.code, found.facts["limit"]) == ("E-LIMIT-DEPTH", 50)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[limits]\nstep = 5\n", "[limits] step is not a key"),
        ("[limits]\nsteps = 0\n", "[limits] steps must be at least 1, not 0"),
        ("[limits]\nsteps = 1.5\n", "[limits] steps must be of type int, not 1.5"),
        ("[limits]\nsteps = true\n", "[limits] steps must be of type int, not True"),
    ],
)
def test_a_limit_that_is_none_is_a_diagnostic(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(Problem) as raised:
        settings(write(tmp_path, text), environment={})
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("SEXPGPU_BLAS", "mkl", "SEXPGPU_BLAS=library; it may be emitted or library"),
        ("SEXPGPU_CHECK", "2", "0 or 1"),
        ("SEXPGPU_WIDTH", "3", "4 or 8 or 16"),
        ("SEXPGPU_THREADS", "0", "SEXPGPU_THREADS=2"),
        ("SEXPGPU_CASH", "x", "did you mean SEXPGPU_CACHE?"),
    ],
)
def test_a_variable_that_would_be_passed_over_is_refused(
    tmp_path: Path, name: str, value: str, hint: str
) -> None:
    with pytest.raises(Problem) as raised:
        settings(tmp_path, environment={name: value})
    assert raised.value.diagnostic.code == "E-USAGE-CONFIG"
    assert hint in (raised.value.diagnostic.hint or "")


def test_an_empty_variable_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    assert settings(tmp_path, environment=dict.fromkeys(VARIABLES, "")) == settings(
        tmp_path, environment={}
    )


def test_variables_are_those_that_the_sources_read_and_the_page_lists() -> None:
    root = Path(__file__).parents[2]
    texts = [p.read_text("utf-8") for p in root.glob("sexpgpu_*/sexpgpu_*/**/*.py")]
    named = r'(?:environ(?:ment)?[.[(a-z]*|VARIABLE = )"(SEXPGPU_\w+)"'
    read = {n for text in texts for n in re.findall(named, text)}
    assert read == set(VARIABLES)
    told = set(re.findall(r"`(SEXPGPU_[A-Z]+)", (root / "docs" / "environment.md").read_text()))
    assert told == set(VARIABLES)
