"""`diff`: what changed, of files, of selections of one, and of runs; and what does not matter."""

from __future__ import annotations

from typing import Any

import pytest
from e2e_program import Done, Folder, held, network, validate

FILE = network(
    run=":steps 10 :seed 3 :log-every 5",
    head='(defknob rate 1e-2 "Learning rate.")\n(defknob decay 0.1 "Decay.")',
    rate="rate :weight-decay decay",
)


@pytest.fixture
def mine(folder: Folder) -> Folder:
    folder.write("x.lisp", FILE)
    return folder


def told(done: Done) -> dict[str, Any]:
    held(done, 0)
    validate(done.document)
    return done.document


def paths(document: dict[str, Any]) -> set[tuple[str, str]]:
    return {(c["area"], c["path"]) for c in document["changes"]}


def test_comments_and_names_of_functions_are_no_change_to_training(mine: Folder) -> None:
    mine.write("y.lisp", "; a comment\n" + FILE.replace("letter ", "folded "))
    document = told(mine.quick("diff", "x.lisp", "y.lisp", "--json"))
    assert (document["verdict"], document["changes"]) == ("no-change-to-training", [])
    assert mine.quick("diff", "x.lisp", "y.lisp").out == "no change to training\n"
    assert mine.quick("diff", "x.lisp", "x.lisp").out == "identical\n"
    assert mine.quick("diff", "x.lisp", "x.lisp", "--exit-code").exit == 0
    assert mine.quick("diff", "x.lisp", "y.lisp", "--exit-code").exit == 1


def test_only_weight_decay_changed(mine: Folder) -> None:
    document = told(mine.quick("diff", "x.lisp", ":decay=0.2", "--json"))
    assert document["verdict"] == "changed"
    assert document["headline"] == "decay 0.1 -> 0.2"
    assert paths(document) == {("knob", "decay"), ("optimizer", "group 1 weight-decay")}
    assert document["b"]["name"] == "x.lisp:decay=0.2"
    assert document["a"]["experiment_id"] != document["b"]["experiment_id"]
    text = mine.quick("diff", "x.lisp", ":decay=0.2", "--area", "optimizer").out
    assert text.splitlines()[1:] == ["  changed   optimizer group 1 weight-decay 0.1 -> 0.2"]


def test_a_variant_says_which_parameters_have_another_shape(mine: Folder) -> None:
    document = told(mine.quick("diff", "x.lisp", ":small,rate=3e-3", "--json", "--limit", "0"))
    kinds = {c["path"]: c["kind"] for c in document["changes"] if c["area"] == "parameter"}
    assert set(kinds.values()) == {"reshaped"}
    assert len(kinds) == 3
    cut = mine.quick("diff", "x.lisp", ":small,rate=3e-3", "--json", "--limit", "2").document
    assert len(cut["changes"]) == 2
    assert cut["omitted"]["changes"] == len(document["changes"]) - 2


def test_another_operation_and_another_pass_are_told_apart(mine: Folder) -> None:
    mine.write("y.lisp", FILE.replace(":dropout 0.1", ":dropout 0.1 :activation #'tanh"))
    document = told(mine.quick("diff", "x.lisp", "y.lisp", "--json"))
    assert any(area == "graph" and "tanh" in path for area, path in paths(document))
    mine.write("z.lisp", FILE.replace(":every 10)", ":every 2)"))
    passes = told(mine.quick("diff", "x.lisp", "z.lisp", "--json"))
    assert passes["verdict"] == "no-change-to-training"
    assert paths(passes) == {("evaluation", "val")}


def test_runs_are_sides_too_with_their_numbers(mine: Folder) -> None:
    for name, more in (("one", ()), ("two", ("--seed", "4")), ("fast", ("-s", "rate=3e-2"))):
        held(mine.quick("run", "x.lisp", "--name", name, "-q", *more), 0)
    document = told(mine.quick("diff", "one", "fast", "--json"))
    assert ("knob", "rate") in paths(document)
    assert {r["metric"] for r in document["results"]} >= {"val/loss", "train/loss"}
    seeds = told(mine.quick("diff", "one", "two", "--json"))
    assert paths(seeds) == {("run", "seed")}
    (loss,) = [r for r in seeds["results"] if r["metric"] == "val/loss"]
    assert loss["verdict"] == "within-noise"
    assert loss["a"]["mean"] != loss["b"]["mean"]
    assert mine.quick("diff", "one", "x.lisp").out == "identical\n"
    mine.write("x.lisp", FILE.replace(":seed 3", ":seed 5"))
    latest = told(mine.quick("diff", "x.lisp", "--json"))
    assert latest["a"]["name"] == "fast"
    assert ("run", "seed") in paths(latest)


def test_names_alone_are_renamed(mine: Folder) -> None:
    mine.write("y.lisp", FILE.replace("network", "other"))
    document = told(mine.quick("diff", "x.lisp", "y.lisp", "--json", "--area", "parameter"))
    assert {c["kind"] for c in document["changes"]} == {"renamed"}
    assert all(c["trains"] for c in document["changes"])
    first = document["changes"][0]
    assert (first["a"], first["b"]) == (first["a"], first["a"].replace("network", "other", 1))
    assert first["text"].startswith("parameter network/")
    mine.write("z.lisp", FILE.replace("decay", "shrink").replace(":weight-shrink", ":weight-decay"))
    knobs = told(mine.quick("diff", "x.lisp", "z.lisp", "--json"))
    assert knobs["verdict"] == "no-change-to-training"
    (change,) = [c for c in knobs["changes"] if c["area"] == "knob"]
    assert (change["kind"], change["text"], change["trains"]) == (
        "renamed", "decay renamed shrink", False
    )  # fmt: skip
    mine.write("w.lisp", FILE.replace("network", "other").replace("(list width 27)", "(list 9 27)"))
    apart = told(mine.quick("diff", "x.lisp", "w.lisp", "--json", "--area", "parameter"))
    assert {c["kind"] for c in apart["changes"]} > {"added", "removed"}


def test_a_checkpoint_is_a_side_and_two_are_told_by_what_they_hold(mine: Folder) -> None:
    held(mine.quick("run", "x.lisp", "--name", "one", "-q"), 0)
    held(mine.quick("run", "x.lisp", "--name", "fast", "-q", "-s", "rate=3e-2"), 0)
    document = told(mine.quick("diff", "one@latest", "fast@10", "--json", "--limit", "0"))
    assert (document["a"]["kind"], document["a"]["name"]) == ("checkpoint", "one@10")
    assert ("knob", "rate") in paths(document)
    assert any(path.startswith("parameter:network/") for _, path in paths(document))
    assert "tensors differ" in document["headline"]
    same = told(mine.quick("diff", "one@10", "one@latest", "--json"))
    assert (same["verdict"], same["changes"]) == ("identical", [])
    file = told(mine.quick("diff", "x.lisp", "fast@10", "--json"))
    assert paths(file) == {("knob", "rate"), ("optimizer", "group 1 lr")}
    assert "E-CHECKPOINT-NONE" in mine.quick("diff", "one@7", "x.lisp").err


@pytest.mark.parametrize(
    ("sides", "code", "exit_"),
    [
        (("one",), "E-USAGE-MISSING", 2),
        ((":small", "x.lisp"), "E-USAGE-VALUE", 2),
        (("x.lisp", "x.lisp", "x.lisp"), "E-USAGE-VALUE", 2),
        (("x.lisp", "none"), "E-USAGE-RUN", 2),
        (("x.lisp",), "E-USAGE-RUN", 2),
        (("x.lisp", "one@5"), "E-USAGE-RUN", 2),
        (("x.lisp", "one@"), "E-USAGE-RUN", 2),
        (("x.lisp", ":rat=1"), "E-KNOB-UNKNOWN", 1),
    ],
)
def test_what_is_no_side_is_told(
    mine: Folder, sides: tuple[str, ...], code: str, exit_: int
) -> None:
    done = mine.quick("diff", *sides, "--json")
    held(done, exit_)
    assert done.diagnostics[0]["code"] == code
