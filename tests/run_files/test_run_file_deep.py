"""`check --deep`: a file whose promises hold passes, and one that breaks one is found out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from run_file import HERE

from sexpgpu_cli import main
from sexpgpu_core import api
from sexpgpu_core.deep import checks, examined, shrink
from sexpgpu_core.device import Outcome
from sexpgpu_core.spans import Source

FILE = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defknob width 16 "Units." :type (integer 1))
(defloader digits
  (source (digits))
  (stage :train :split (0 0.8))
  (stage :val :split (0.8 1))
  (batch 32))
(defmodel net (x)
  (nn:linear (dropout (tanh (nn:linear (/ x 16.0) width)) 0.2) 10))
(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))
(defun evaluate (&key image label)
  (metric "loss" (mean (cross-entropy (net image) label))))
(defeval val :loader (digits :val))
(defun optimizer ()
  (groups (group :rest (optim:adamw :lr 1e-2))))
(defrun :steps 40 :seed 1)
"""
BODY = "(nn:linear (dropout (tanh (nn:linear (/ x 16.0) width)) 0.2) 10)"


def changed(*pairs: tuple[str, str]) -> str:
    text = FILE
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def tried(text: str) -> Any:
    return examined(
        lambda sets: api.load(Source("deep.lisp", text), sets=list(sets.items())),
        api.device("cpu", api.plugins()),
        api.operations,
        threads=1,
    )


def verdicts(text: str) -> tuple[dict[str, str], list[Any]]:
    """Verdicts by check, and the diagnostics."""
    found = tried(text)
    assert [row.name for row in found.rows] == [name for name, *_ in checks.CHECKS]
    return {row.name: row.verdict for row in found.rows}, found.diagnostics


def test_a_sound_file_keeps_every_promise() -> None:
    found, said = verdicts(FILE)
    assert set(found.values()) == {checks.HOLDS}
    assert said == []


def test_a_gradient_that_is_rounding_alone_is_held_to_nothing() -> None:
    body = """(let ((h (nn:conv (reshape x '(-1 8 8 1)) width :padding :valid)))
    (nn:linear (nn:global-pool (tanh (nn:instance-norm h))) 10))"""  # no bias outlives the norm
    text = changed((BODY, body))
    rows = {row.name: row for row in tried(text).rows}
    assert rows["gradients"].verdict == rows["microbatches"].verdict == checks.HOLDS
    assert rows["gradients"].told.endswith("the loss here does not depend on net/conv/b")


BREAKERS = {
    "gradients": (
        BODY,
        f"(custom-gradient (lambda (y) (* y 1.0)) (lambda (y z dz) (* 2 dz)) {BODY})",
    ),
    "microbatches": (
        "(tanh (nn:linear (/ x 16.0) width))",
        "(+ (nn:linear (/ x 16.0) width) (random-normal (list (dim x 0) width) :batch nil))",
    ),
    "dropout": (BODY, f"(with-mode :train {BODY})"),
    "overfit": (":lr 1e-2", ":lr 1e-9"),
}
"""What breaks each promise that a file can break: text for text of the sound one."""


@pytest.mark.parametrize("name", list(BREAKERS))
def test_a_file_that_breaks_a_promise_is_found(name: str) -> None:
    found, said = verdicts(changed(BREAKERS[name]))
    assert found[name] == checks.FAILS, found
    code = {row[0]: row[3] for row in checks.CHECKS}[name]
    mine = [d for d in said if d.facts["check"] == name]
    assert [d.code for d in mine] == [code]
    assert mine[0].span is not None
    kept = {n for n, verdict in found.items() if verdict != checks.FAILS}
    assert kept >= {"chance", "evaluation"}


def test_a_batch_that_takes_too_long_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "SECONDS", 0.0)
    monkeypatch.setattr(checks, "FALLEN", 0.01)
    found, said = verdicts(FILE)
    assert found["overfit"] == checks.NOT_APPLICABLE
    assert said == []


def test_a_first_loss_that_no_guess_gives_is_a_warning() -> None:
    found, said = verdicts(changed((BODY, f"(* 100 {BODY})")))
    assert found["chance"] == checks.FAILS
    assert [d.severity for d in said if d.code == "W-DEEP-CHANCE"] == ["warning"]


def test_the_wrong_gradient_is_named_by_its_parameter() -> None:
    _, said = verdicts(changed(BREAKERS["gradients"]))
    (found,) = [d for d in said if d.code == "E-DEEP-DIFFERS"]
    assert "net/linear" in found.message
    assert found.span is not None


def test_a_pass_that_gives_other_bits_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    launch, count = checks.Trial.launch, iter(range(10**6))

    def unsteady(trial: Any, facts: Any, *rest: Any) -> Outcome:
        outcome = launch(trial, facts, *rest)
        if facts.program == "eval/val":
            more = next(count)
            outcome.results = {n: v + more for n, v in outcome.results.items()}
        return outcome

    monkeypatch.setattr(checks.Trial, "launch", unsteady)
    found, said = verdicts(FILE)
    assert found["evaluation"] == checks.FAILS
    assert "E-DEEP-DIFFERS" in [d.code for d in said]


def test_examples_that_see_each_other_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that are proved to be of examples alone are measured: here by a device that mixes."""
    launch = checks.Trial.launch

    def mixing(trial: Any, facts: Any, batch: Any, context: Any) -> Outcome:
        outcome = launch(trial, facts, batch, context)
        if facts.program == "eval/val":
            pair = (batch["image"][0] * batch["image"][-1]).sum()
            outcome.results["metric:loss:sum"] = outcome.results["metric:loss:sum"] + pair / 10
        return outcome

    monkeypatch.setattr(checks.Trial, "launch", mixing)
    found, _ = verdicts(FILE)
    assert found["independence"] == checks.FAILS


def test_metrics_that_mix_examples_are_told_before() -> None:
    metric = "(mean (cross-entropy (softmax (net image) :axis 0) label))"
    found, _ = verdicts(changed(("(mean (cross-entropy (net image) label))", metric)))
    assert found["independence"] == checks.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("file", "name", "why"),
    [
        ("taking_turns", "overfit", "several losses"),
        ("taking_turns", "evaluation", "no pass"),
        ("carried_state", "independence", "state of their own"),
        ("physics", "chance", "cross-entropy"),
    ],
)
def test_what_does_not_apply_says_why(file: str, name: str, why: str) -> None:
    path = HERE / f"{file}.lisp"
    found = examined(
        lambda sets: api.load(path, sets=list(sets.items())),
        api.device("cpu", api.plugins()),
        api.operations,
        threads=1,
    )
    (row,) = [r for r in found.rows if r.name == name]
    assert row.verdict == checks.NOT_APPLICABLE
    assert why in row.told
    assert found.diagnostics == []


def test_a_copy_is_made_small_by_knobs_that_were_not_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shrink, "BUDGET", 2e5)
    text = changed(("(defknob width 16", "(defknob width 64"))
    rows = api.operations(api.plugins())

    def load(sets: Any) -> Any:
        return api.load(Source("deep.lisp", text), sets=list(sets.items()))

    small = shrink.shrunk(load, rows, frozenset())
    assert 2 <= int(small.sets["width"]) < 64
    assert shrink.shrunk(load, rows, frozenset({"width"})).sets == {}


def test_the_verb_tells_a_table_and_ends_by_what_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.lisp", tmp_path / "bad.lisp"
    good.write_text(FILE, encoding="utf-8")
    bad.write_text(changed(BREAKERS["overfit"]), encoding="utf-8")
    assert main.run(["check", "--deep", str(good)]) == 0
    assert "one batch can be overfitted" in capsys.readouterr().out
    assert main.run(["check", "--deep", "--json", str(bad)]) == 1
    (file,) = json.loads(capsys.readouterr().out)["files"]
    rows = {row["name"]: row for row in file["deep"]["checks"]}
    assert set(rows) == {name for name, *_ in checks.CHECKS}
    assert rows["overfit"]["verdict"] == "fails"
    assert "E-DEEP-OVERFIT" in [d["code"] for d in file["diagnostics"]]
