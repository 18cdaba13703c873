"""Every exit that contracts/verbs.md gives a verb happens, with one JSON document that says it.

`LINES` makes most of them; `SHOWN` names the tests that make the others.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract_pages import missing, verbs
from e2e_program import SCHEMAS, TEXT, Folder, held, network, validate
from test_contract_verbs import LATER, leaves

OUTPUTS = """(defoutput guess (&key inputs)
  (batch :next (softmax (network inputs))))
(defoutput words (&key tokens)
  (:autoregressive t)
  (network (letter tokens)))
(defrun"""
SWEEPS = "(defsweep rates :grid ((width (4 8))))"
TARGET = """(defeval val :loader (letters :val) :every 5)
(deftarget "val/loss" :below 0.001 :stop t)"""
FILES = {
    "x.lisp": network(run=":steps 10 :seed 3 :log-every 5").replace("(defrun", OUTPUTS),
    "y.lisp": network(head=SWEEPS, passes=TARGET, run=":steps 10 :seed 3"),
    "wrong.lisp": network(model="(nn:linear x)"),
    "lost.lisp": network(head=SWEEPS, passes="", rate="1e30"),
    "out.lisp": network().replace("(defrun", OUTPUTS.replace("&key tokens", "&key inputs")),
    "laid.lisp": "(defun   f (x)  x)\n",
}
CORE, E2E = "tests/core/", "tests/e2e/test_e2e_"
SURPRISE = "tests/cli/test_main.py::test_a_surprise_is_exit_70_with_a_report_and_no_traceback"
SIGNALS = E2E + "phases.py::test_a_signal_in_any_phase_ends_it_as_the_table_says"
SWEPT = E2E + "sweep.py::test_a_signalled_sweep_saves_its_points_and_exits_by_the_signal"
SHOWN = {
    ("check", 70): SURPRISE,
    ("run", 70): SURPRISE,
    ("run", 130): SIGNALS,
    ("sweep", 130): SWEPT,
    ("sweep", 75): SWEPT,
    ("stop", 6): E2E + "live.py::test_a_stop_that_waits_no_longer_is_exit_6",
    ("status", 6): E2E + "live.py::test_waiting_no_longer_is_exit_6",
    ("plugins", 1): "tests/third_party/test_toy.py"
    "::test_a_broken_and_a_misspelt_plug_in_are_reported_and_stop_nothing",
    ("export-events", 4): CORE + "test_registry.py"
    "::test_what_needs_more_than_is_installed_says_what_to_install",
    ("compile", 0): "tests/cli/test_compile.py"
    "::test_compile_writes_a_file_a_kernel_and_finds_them_again",
    ("compile", 4): "tests/cli/test_compile.py"
    "::test_without_an_assembler_it_is_said_what_to_install",
}
LINES: list[tuple[int, str]] = [
    (0, "new made.lisp --from digits"),
    (0, "check x.lisp"),
    (1, "check wrong.lisp"),
    (2, "check nix.lisp"),
    (0, "fmt made.lisp --check"),
    (1, "fmt laid.lisp --check"),
    (2, "fmt nix.lisp"),
    (1, "new other.lisp --from x.lisp -s width=0"),
    (2, "new x.lisp"),
    (0, "variants y.lisp"),
    (1, "variants x.lisp -s width=0"),
    (2, "variants nix.lisp"),
    (0, "eval x.lisp '(+ 1 width)'"),
    (1, "eval x.lisp '(nix)'"),
    (2, "eval x.lisp"),
    (0, "explain x.lisp"),
    (1, "explain wrong.lisp"),
    (2, "explain E-NIX"),
    (0, "diff x.lisp y.lisp"),
    (1, "diff x.lisp y.lisp --exit-code"),
    (2, "diff x.lisp nix.lisp"),
    (0, "ir x.lisp"),
    (1, "ir wrong.lisp"),
    (2, "ir x.lisp --graph nix"),
    (0, "run x.lisp --if-exists reuse"),
    (1, "run wrong.lisp"),
    (1, "run out.lisp"),
    (2, "run x.lisp --steps none"),
    (3, "run x.lisp --resume one@7"),
    (4, "run x.lisp --ranks 2"),
    (5, "run y.lisp"),
    (75, "run x.lisp --steps 1000000 --deadline 1"),
    (0, "sweep y.lisp rates --list"),
    (1, "sweep y.lisp nix"),
    (2, "sweep y.lisp"),
    (3, "sweep lost.lisp rates"),
    (4, "sweep y.lisp rates --device tpu"),
    (0, "stop one"),
    (2, "stop nix"),
    (0, "predict x.lisp --output guess --from one --in tokens=given.npy"),
    (1, "predict wrong.lisp --output guess --from one"),
    (2, "predict x.lisp --output nix"),
    (3, "predict x.lisp --output guess --from one@7"),
    (4, "predict x.lisp --output guess --device cuda --from one --in tokens=given.npy"),
    (0, "sample x.lisp --prompt the --tokens 2 --from one"),
    (1, "sample wrong.lisp --from one"),
    (2, "sample x.lisp --tokens 0"),
    (3, "sample x.lisp --from one@7"),
    (4, "sample x.lisp --prompt the --from one --device cuda"),
    (1, "compile wrong.lisp --for sm_90"),
    (2, "compile x.lisp --for sm_1"),
    (0, "runs"),
    (2, "runs --sort nix"),
    (0, "runs compare one two"),
    (2, "runs compare one"),
    (0, "status one"),
    (2, "status nix"),
    (0, "events one"),
    (2, "events nix"),
    (0, "annotate one noted"),
    (2, "annotate nix noted"),
    (0, "diagnostics one"),
    (2, "diagnostics nix"),
    (0, "checkpoint list one"),
    (2, "checkpoint list nix"),
    (0, "checkpoint show one"),
    (0, "checkpoint verify one"),
    (1, "checkpoint verify torn"),
    (2, "checkpoint show nix"),
    (3, "checkpoint show one@7"),
    (0, "checkpoint diff one two"),
    (2, "checkpoint diff one nix"),
    (3, "checkpoint diff one@7 two"),
    (0, "checkpoint export one -o made.safetensors"),
    (2, "checkpoint export one"),
    (3, "checkpoint export one@7 -o made.safetensors"),
    (0, "checkpoint prune one --keep 1 --dry-run"),
    (2, "checkpoint prune one"),
    (2, "checkpoint prune nix --best"),
    (0, "export-events one --to csv:path=out.csv"),
    (2, "export-events one --to nix:path=out.csv"),
    (0, "doctor"),
    (4, "doctor --device cuda"),
    (0, "devices"),
    (0, "plugins"),
    (0, "docs status"),
    (2, "docs nix"),
    (0, "completion bash"),
]
STREAMS = ("events", "runs compare")
"""Whose documents are a line each."""

LEAVES = [name for name, _ in leaves()]
WANTED = [(row.verb, code) for row in verbs() if row.verb not in LATER for code in row.exits]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Folder:
    """Files, what an output reads, and three runs, of which one is torn."""
    folder = Folder(tmp_path_factory.mktemp("exits"), kernel_cache)
    folder.write("letters.txt", TEXT)
    for name, text in FILES.items():
        folder.write(name, text)
    np.save(folder.path / "given.npy", np.full((2, 9), 100, np.int32))
    for name in ("one", "two", "torn"):
        held(folder.quick("run", "x.lisp", "--name", name, "-q"), 0)
    for path in folder.made("torn").rglob("*.safetensors"):
        path.write_bytes(path.read_bytes()[:-1] + b"\1")
    return folder


@pytest.mark.parametrize(("code", "line"), LINES, ids=lambda v: str(v)[:60])
def test_a_line_exits_as_it_should_with_one_document(ran: Folder, code: int, line: str) -> None:
    done = ran.quick(*shlex.split(line), "--json")
    held(done, code)
    assert done.out.count("\n") == 1 or line.startswith(STREAMS)
    for document in map(json.loads, done.out.splitlines()):
        _sound(document, code)


@pytest.mark.parametrize("name", LEAVES)
def test_every_verb_has_a_line_that_is_right_and_one_that_is_wrong(name: str) -> None:
    """A verb that is new has none. Wrong words of all verbs: tests/cli/test_every_verb.py."""
    codes = {code for code, line in LINES if f"{line} ".startswith(f"{name} ")}
    codes |= {code for verb, code in SHOWN if verb == name}
    assert 0 in codes
    assert codes - {0} or name in ("completion", "devices")


LONG = ("docs", "completion")
CUT = (
    *("check wrong.lisp x.lisp", "variants 'a b.lisp' -s width=8", "runs", "diagnostics one"),
    *("explain 'a b.lisp' --path network", "diff one 'a b.lisp:width=8'", "docs --search run"),
    *("checkpoint export two -o w.safetensors", "sweep y.lisp rates --list"),
    *("ir 'a b.lisp' --graph val --phase lowered", "events one --metric 'train/*' --every 5"),
)


@pytest.mark.parametrize("line", [line for code, line in LINES if not code], ids=str)
def test_a_text_is_of_2_kb_and_a_line_that_says_what_shows_the_rest(ran: Folder, line: str) -> None:
    done = ran.quick(*shlex.split(line.replace("made", "made-anew")), "-q")
    if not line.startswith(LONG):
        assert len(done.out.encode()) < 2048 + 150


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("line", CUT)
def test_the_command_for_what_was_cut_shows_it(
    ran: Folder, line: str, words: tuple[str, ...]
) -> None:
    """Names with blanks, the folder of runs and what was selected are in it."""
    ran.write("a b.lisp", FILES["x.lisp"])
    asked = (*shlex.split(line), "--runs", "runs", "-q", "--limit", "1", *words)
    done = ran.quick(*asked)
    more = _more(done.out, bool(words))
    if more is not None:
        whole = ran.quick(*shlex.split(more)[1:])
        assert whole.exit == done.exit
        assert len(whole.out) > len(done.out) - len(more)
        assert _more(whole.out, bool(words)) is None


def _more(out: str, as_json: bool) -> str | None:
    """The command that an answer names for what it cut."""
    if as_json:
        told = [json.loads(line).get("more") for line in out.splitlines()]
        return next((more for more in told if more), None)
    found = re.search(r"^ *\.\.\. .*: (sexpgpu .*)$", out, re.M)
    return found[1] if found else None


def _sound(document: dict[str, Any], code: int) -> None:
    if "event" in document:
        validate(document, "event")
        return
    assert document["version"] == 1
    if SCHEMAS.joinpath(f"{document['document']}.json").is_file():
        validate(document)
    if document["document"] == "error":
        assert document["exit"] == code


@missing
@pytest.mark.parametrize(
    "row", [r for r in verbs() if r.json.startswith("{")], ids=lambda r: r.verb
)
def test_an_answer_has_the_keys_of_the_contract(ran: Folder, row: Any) -> None:
    """Keys outside of brackets of `{values:[{text, type}]}`."""
    lines = [line for code, line in LINES if code == 0 and line.split()[0] == row.verb]
    if row.verb in LATER or not lines:
        pytest.skip(f"{row.verb} is not here, or needs more than this machine")
    flat = re.sub(r"\[.*\]|\(.*", "", row.json)
    named = set(re.findall(r"[a-z]+", flat))
    line = lines[0].replace("made", "made-again")
    assert named <= set(ran.quick(*shlex.split(line), "--json").document)


@missing
def test_every_exit_of_the_contract_is_made_or_has_a_test() -> None:
    made = {(line.split()[0], code) for code, line in LINES}
    assert not set(WANTED) - made - set(SHOWN)
    assert set(SHOWN) <= set(WANTED)


@pytest.mark.parametrize("test", sorted(set(SHOWN.values())))
def test_the_test_that_shows_an_exit_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    assert f"def {name}(" in (Path(__file__).parents[2] / file).read_text(encoding="utf-8")
