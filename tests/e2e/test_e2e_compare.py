"""What may vary in a file, and what differs between runs of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e_program import TEXT, Folder, held, network, validate

SWEEP = """(defknob rate 1e-2 "Learning rate.")
(defknob idle 1)
(defsweep rates "Which?" :grid ((rate (1e-3 1e-2)) (width (8 16))) :variant small
  :rank ("val/loss" :min))"""
FILE = network(
    run=':steps 10 :log-every 5 :checkpoint (:best ("val/loss" :min))', head=SWEEP, rate="rate"
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Folder:
    """Runs slow1 to slow3 and fast1 to fast3, by seeds."""
    folder = Folder(tmp_path_factory.mktemp("compare"), kernel_cache)
    folder.write("letters.txt", TEXT)
    folder.write("x.lisp", FILE)
    for name, rate in (("slow", "1e-5"), ("fast", "1e-2")):
        for seed in "123":
            words = ("--name", name + seed, "--seed", seed, "-s", f"rate={rate}", "-q")
            held(folder.quick("run", "x.lisp", *words), 0)
    return folder


def test_knobs_variants_and_sweeps_are_shown(ran: Folder) -> None:
    done = ran.quick("variants", "x.lisp", "-s", "rate=0.5", "--json")
    held(done, 0)
    document = done.document
    validate(document)
    knobs = {knob["name"]: knob for knob in document["knobs"]}
    assert (knobs["rate"]["default"], knobs["rate"]["value"]) == ("0.01", "0.5")
    assert (knobs["idle"]["used"], knobs["width"]["used"]) == (False, True)
    assert document["variants"][0]["values"] == {"width": "8"}
    (sweep,) = document["sweeps"]
    assert (sweep["count"], sweep["variant"]) == (4, "small")
    assert sweep["rank"] == {"metric": "val/loss", "goal": "min"}
    assert sweep["points"][0]["point"] == "rate0.001-width8"
    cut = ran.quick("variants", "x.lisp", "--json", "--limit", "2").document
    validate(cut)
    assert cut["omitted"] == {"knobs": 1, "points": 2}
    text = ran.quick("variants", "x.lisp").out
    assert "sweep rates: 4 points, by val/loss min" in text
    assert "(nothing reads it)" in text


def test_a_file_with_errors_has_no_variants(ran: Folder) -> None:
    ran.write("y.lisp", FILE.replace("(width (8 16))", "(width ())"))
    done = ran.quick("variants", "y.lisp", "--json")
    held(done, 1)
    assert "E-SWEEP-SHAPE" in [d["code"] for d in done.diagnostics]
    held(ran.quick("variants", "none.lisp"), 2)


def test_a_difference_is_judged_by_the_spread_over_seeds(ran: Folder) -> None:
    done = ran.quick("runs", "compare", "slow1", "fast1", "slow2", "--json")
    held(done, 0)
    against = [json.loads(line) for line in done.out.splitlines()]
    for document in against:
        validate(document)
    fast, same = against
    (loss,) = [r for r in fast["results"] if r["metric"] == "val/loss"]
    assert (loss["verdict"], loss["a"]["n"], loss["b"]["n"]) == ("better", 3, 3)
    assert loss["interval"][1] < 0 < loss["confidence"]
    assert {change["path"] for change in fast["changes"]} == {"rate", "ir_sha256"}
    assert fast["verdict"] == "changed"
    assert [change["path"] for change in same["changes"]] == ["seed"]
    assert {r["verdict"] for r in same["results"]} == {"within-noise"}
    table = ran.quick("runs", "compare", "slow1", "fast1").out
    assert table.splitlines()[0].split() == ["slow1", "fast1"]
    assert "better" in table
    assert "rate" in table


def test_runs_of_one_seed_or_of_another_evaluation_are_not_judged(ran: Folder) -> None:
    held(ran.quick("run", "x.lisp", "--name", "wide", "-s", "width=64", "-q"), 0)
    done = ran.quick("runs", "compare", "slow1", "wide", "--json")
    validate(done.document)
    verdicts = {r["metric"]: r["verdict"] for r in done.document["results"]}
    assert set(verdicts.values()) == {"unknown"}  # judged alike, of one seed
    loss = "(nn:cross-entropy (network inputs) targets)"
    ran.write("y.lisp", FILE.replace(loss, f"(* 2.0 {loss})"))
    held(ran.quick("run", "y.lisp", "--name", "double", "-q"), 0)
    done = ran.quick("runs", "compare", "slow1", "double", "--json")
    verdicts = {r["metric"]: r["verdict"] for r in done.document["results"]}
    assert verdicts["val/loss"] == "not-comparable"
    assert verdicts["train/loss"] == "unknown"
    assert "evaluated otherwise" in ran.quick("runs", "compare", "slow1", "double").out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("slow1",), "E-USAGE-MISSING"),
        ((), "E-USAGE-MISSING"),
        (("slow1", "none"), "E-USAGE-RUN"),
        (("slow1", "slow"), "E-USAGE-AMBIGUOUS"),
        (("slow1", "fast1", "--metric", "nix/*"), "E-USAGE-VALUE"),
    ],
)
def test_what_cannot_be_compared_is_told(ran: Folder, words: tuple[str, ...], code: str) -> None:
    done = ran.quick("runs", "compare", *words, "--json")
    held(done, 2)
    assert [d["code"] for d in done.diagnostics] == [code]
