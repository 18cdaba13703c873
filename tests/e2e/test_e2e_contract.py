"""Items of the page of contracts that are of no one verb: phases, readers of tomorrow, words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from e2e_program import Folder, events, held, network, status

PHASES = (
    *("usage", "reader", "modules", "knobs", "evaluator", "run-file", "data", "staging"),
    *("tensors", "parameters", "optimizer", "evaluation", "trust", "device"),
)
LOSS = "(nn:cross-entropy (network inputs) targets)"
LAYER = "(nn:linear (one-hot x 27 :dtype :f32) {})"
MISTAKES: dict[str, tuple[str, tuple[str, ...]]] = {
    "reader": ("(", ()),
    "modules": (network(head='(require "nix")'), ()),
    "knobs": (network(), ("-s", "nix=1")),
    "evaluator": (network(head="(defparameter *n* (car 1))"), ()),
    "run-file": (network() + "(defrun :steps 3)", ()),
    "data": (network().replace("letters.txt", "nix.txt"), ()),
    "staging": (network(loss=f"(if (> (sum inputs) 0) {LOSS} {LOSS})"), ()),
    "tensors": (network(model="(matmul (one-hot x 27 :dtype :f32) (ones '(26 27)))"), ()),
    "parameters": (network(model=f"(progn {LAYER.format(5)} {LAYER.format(27)})"), ()),
    "optimizer": (network().replace("group :rest", 'group (select :path "nix")'), ()),
    "trust": (network(run=":steps 4 :microbatches 2", loss=f"(exp {LOSS})"), ()),
    "device": (network(), ("--device", "nix")),
}
"""A mistake that each of these phases finds."""


def checked(folder: Folder, text: str, *flags: str) -> tuple[int, dict[str, Any]]:
    folder.write("x.lisp", text)
    done = folder.quick("check", "x.lisp", "--json", *flags)
    (file,) = done.document["files"]
    return done.exit, file


def test_a_check_says_how_far_it_came_in_the_order_of_phases(folder: Folder) -> None:
    code, file = checked(folder, network())
    assert (code, file["complete"], file["reached"]) == (0, True, "device")
    for phase, (text, flags) in MISTAKES.items():
        code, file = checked(folder, text, *flags)
        found = [PHASES.index(d["phase"]) for d in file["diagnostics"] if d["severity"] == "error"]
        assert code == 1 or phase == "device", phase
        assert file["complete"] is False, phase
        assert min(found) == PHASES.index(phase), (phase, file["diagnostics"])
        assert PHASES.index(file["reached"]) >= max(found), phase
    for phase in ("reader", "data", "tensors"):
        code, file = checked(folder, network(), "--until", phase)
        assert (code, file["diagnostics"]) == (0, []), phase
        assert PHASES.index(file["reached"]) <= PHASES.index(phase)


def test_a_run_of_tomorrow_is_read_by_what_it_has_of_today(mine: Folder) -> None:
    more = {"tomorrow": {"a": [1, None]}}
    run = mine.made("one")
    for name in ("manifest.json", "status.json"):
        path = run / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **more}))
    error = {"code": "E-OF-TOMORROW", "message": "what is not known yet", **more}
    told = {**status(run), "error": error, "targets": [*status(run)["targets"]]}
    (run / "status.json").write_text(json.dumps(told))
    last = events(run)[-1]
    with (run / "events.jsonl").open("a") as file:
        file.write(json.dumps({**last, **more, "event": "of-tomorrow", "seq": last["seq"] + 1}))
        file.write("\n")
    for words in (
        ("status", "one"),
        ("status", "one", "--until", "done"),
        ("runs",),
        ("runs", "compare", "one", "other"),
        ("events", "one"),
        ("events", "one", "--kind", "close"),
        ("checkpoint", "list", "one"),
        ("checkpoint", "show", "one"),
        ("annotate", "one", "read"),
    ):
        for flags in ((), ("--json",)):
            held(mine.quick(*words, *flags), 0)
    assert "E-OF-TOMORROW" in mine.quick("status", "one").out
    assert events(run)[-1]["seq"] == last["seq"] + 3  # two notes after it


def test_a_code_has_one_page_whichever_verb_is_asked(folder: Folder) -> None:
    for code in ("E-TYPE", "W-RUN-EXISTS"):
        page = folder.quick("docs", code)
        held(page, 0)
        assert page.out == folder.quick("explain", code).out


@pytest.mark.parametrize("word", ["true", "false", "none", "True", "None"])
def test_a_word_of_another_language_for_true_is_told(folder: Folder, word: str) -> None:
    folder.write("x.lisp", network(head='(defknob causal t "Causal.")'))
    done = folder.quick("check", "x.lisp", "-s", f"causal={word}", "--json")
    found = done.diagnostics[0]
    assert found["code"] == "E-KNOB-VALUE"
    assert "t or nil" in found["hint"]


def test_a_file_alone_is_compared_with_its_latest_run(ran: Folder) -> None:
    document = ran.quick("diff", "x.lisp", "--json").document
    assert {document[side]["name"] for side in "ab"} == {"x.lisp", "other"}
    assert [c["path"] for c in document["changes"] if c["area"] == "knob"] == ["rate"]


@pytest.mark.parametrize("name", ["block", "list", "let"])
def test_a_model_does_not_take_a_name_of_the_standard(folder: Folder, name: str) -> None:
    folder.write("x.lisp", network().replace("network", name))
    done = folder.quick("check", "x.lisp", "--json")
    held(done, 1)
    assert "E-REDEFINE" in [d["code"] for d in done.diagnostics]


def test_data_that_are_not_there_are_the_files_mistake(folder: Folder) -> None:
    folder.write("x.lisp", network())
    (folder.path / "letters.txt").unlink()
    done = folder.quick("run", "x.lisp", "--json")
    held(done, 1)
    assert done.diagnostics[0]["code"] == "E-DATA-MISSING"
    assert not (folder.path / "runs").exists()


def test_the_objective_is_told_beside_named_metrics_and_series_have_their_pass(ran: Folder) -> None:
    (opened, *_) = told = events(ran.made("one"))
    assert {"train/loss", "train/objective", "val/loss"} <= set(opened["series"])
    for kind, series in (("step", {"train/loss", "train/objective"}), ("eval", {"val/loss"})):
        found = [set(e["metrics"]) for e in told if e["event"] == kind]
        assert found
        assert all(series <= metrics for metrics in found)
    assert set(status(ran.made("one"))["metrics"]) >= {"train/loss", "train/objective", "val/loss"}


def test_values_of_all_points_are_checked_whichever_is_chosen(folder: Folder) -> None:
    text = network(head="(defsweep s :grid ((width (8 0))))")
    folder.write("x.lisp", text)
    for chosen in ((), ("--point", "s/width8"), ("--variant", "small")):
        done = folder.quick("check", "x.lisp", "--json", *chosen)
        held(done, 1)
        assert [d["code"] for d in done.diagnostics] == ["E-KNOB-VALUE"]


def test_the_configuration_allows_and_denies_warnings(folder: Folder) -> None:
    folder.write("x.lisp", network(head="(defun unused (y) 1)"))

    def found(table: str, *flags: str) -> tuple[int, list[str]]:
        folder.write("sexpgpu.toml", f"[check]\n{table}\n")
        done = folder.quick("check", "x.lisp", "--json", *flags)
        return done.exit, [d["code"] for d in done.diagnostics]

    assert found("") == (0, ["W-UNUSED"])
    assert found('allow = ["W-UNUSED"]') == (0, [])
    assert found('deny = ["W-UNUSED"]') == (1, ["W-UNUSED"])
    assert found('deny = ["warnings"]') == (1, ["W-UNUSED"])
    assert found('allow = ["W-UNUSED"]', "--deny", "warnings") == (1, ["W-UNUSED"])
