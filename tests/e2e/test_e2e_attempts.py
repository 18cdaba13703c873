"""A run that goes on with another program: what is kept of each, and who reads which."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from e2e_program import TEXT, Folder, events, held, network, validate

from sexpgpu_core.runtime import runs
from sexpgpu_core.trained import trained

OUTPUT = "(defoutput scores (&key inputs) (network inputs))\n"
FILE = '(require "./own.lisp" :as own)\n' + network(
    run=":steps 20 :seed 3 :log-every 5 :checkpoint (:every 10)"
)
FILE = FILE.replace("(list width 27)", "(own:sizes width)").replace("(defrun ", OUTPUT + "(defrun ")
OWN = """(provide sizes)
(defun sizes (width) (list width 27))
"""
DEEP = OWN.replace("(list width 27)", "(list width 30 27)")
CHANGED = ("run", "x.lisp", "--steps", "40")
ANEW = ("--resume-params", "network/layers/linear-2/*", "--resume-params", "**/linear-3/*")


@pytest.fixture
def ran(folder: Folder) -> Folder:
    """A run of 20 steps that went on to 40 with a layer more, by an edit of a module."""
    folder.write("own.lisp", OWN)
    folder.write("x.lisp", FILE)
    folder.write("letters.txt", TEXT)
    held(folder.quick("run", "x.lisp", "--name", "one", "-q"), 0)
    folder.write("own.lisp", DEEP)
    held(folder.quick(*CHANGED, "--resume", "one", "--resume-changed", *ANEW, "-q"), 0)
    return folder


def manifest(at: Path) -> dict:
    return json.loads((at / "manifest.json").read_text())


def kept(at: Path) -> str:
    (own,) = [m for m in manifest(at)["modules"] if m["module"].endswith("own.lisp")]
    return (at / own["path"]).read_text()


def test_each_program_is_kept_with_its_manifest(ran: Folder) -> None:
    one = ran.made("one")
    second = one / "attempts" / "2"
    assert (kept(one), kept(second)) == (OWN, DEEP)
    assert (second / "run.lisp").read_text() == FILE
    assert "linear-3" in (second / "graph.ir").read_text()
    first, later = manifest(one), manifest(second)
    validate(later)
    assert "resumed" not in first
    (resumed,) = [e for e in events(one) if e["event"] == "resume"]
    told = later["resumed"]
    assert (told["attempt"], told["step"]) == (2, 20)
    assert told["fates"] == resumed["fates"]
    assert told["changed"] == resumed["changed"]
    assert later["created_at"] == first["created_at"]
    assert later["experiment_id"] != first["experiment_id"]
    assert {path.name for path in second.iterdir()} == {
        *("run.lisp", "modules", "manifest.json", "graph.ir")
    }


def test_the_run_is_known_by_its_last_program_and_found_by_each(ran: Folder) -> None:
    again = ran.quick(*CHANGED, "--resume", "auto", "--json")
    held(again, 0)
    assert (again.document["run"], again.document["attempt"]) == ("one", 3)
    assert [p.name for p in (ran.made("one") / "attempts").iterdir()] == ["2"]
    (listed,) = ran.quick("runs", "--json").document["runs"]
    assert listed["experiment_id"] == manifest(ran.made("one") / "attempts" / "2")["experiment_id"]
    reused = ran.quick(*CHANGED, "--if-exists", "reuse", "--json")
    held(reused, 0)
    assert reused.document["run"] == "one"
    ran.write("own.lisp", OWN)
    back = ran.quick("run", "x.lisp", "--resume", "10", "--json")
    held(back, 0)
    assert (back.document["run"], back.document["step"]) == ("one", 20)
    assert kept(ran.made("one") / "attempts" / "4") == OWN
    found = runs.read(ran.made("one"))
    assert found is not None
    assert found.history is None  # what is there was trained by one program alone
    held(ran.quick("checkpoint", "verify", "one"), 0)


def test_a_checkpoint_is_read_by_the_program_that_wrote_it(ran: Folder) -> None:
    rows = np.frombuffer(TEXT.encode()[:18], np.uint8).reshape(2, 9).astype(np.int32)
    for step in (10, 40):
        with trained(f"one@{step}", runs_root=ran.path / "runs") as model:
            (scores,) = model.predict("scores", tokens=rows).values()
            assert scores.shape == (2, 8, 27)
            assert ("parameter:network/layers/linear-3/w" in model.values) == (step == 40)


def test_a_proof_is_by_the_last_program_of_what_it_wrote(ran: Folder) -> None:
    done = ran.quick("checkpoint", "verify", "one", "--json")
    held(done, 0)
    assert [c["verified"] for c in done.document["checkpoints"]] == [True] * 4
    for step in (10, 40):
        removed = ran.made("one") / "checkpoints" / f"step-{step:08}"
        removed.rename(ran.path / removed.name)
    from_before = ran.quick("checkpoint", "verify", "one")  # from 20, as the attempt began
    held(from_before, 0)
    assert "replayed from step 20 to 30: the same bits" in from_before.out


def test_what_was_trained_otherwise_before_is_not_the_same(ran: Folder) -> None:
    held(ran.quick(*CHANGED, "--name", "whole", "-q"), 0)
    shown = ran.quick("diff", "one", "whole", "--exit-code", "--json")
    held(shown, 1)
    validate(shown.document)
    (change,) = shown.document["changes"]
    assert (change["path"], change["trains"]) == ("experiment", True)
    first = manifest(ran.made("one"))["experiment_id"]
    assert change["a"] == f"{first}, then {change['b']} from step 20"
    compared = ran.quick("runs", "compare", "one", "whole", "--json")
    held(compared, 0)
    assert compared.document["verdict"] == "changed"
    steps = ran.quick("diff", "one@10", "one@40", "--area", "parameter", "--json")
    held(steps, 0)
    assert any("linear-3/w added" in c["text"] for c in steps.document["changes"])


def test_a_store_has_each_program(ran: Folder) -> None:
    longer = ("run", "x.lisp", "--steps", "50", "--store", "mirror", "--json")
    held(ran.quick(*longer, "--resume", "one", "--resume-changed"), 0)
    for inside in ("run.lisp", "attempts/2/run.lisp", "attempts/3/manifest.json"):
        assert (ran.path / "mirror" / "one" / inside).exists(), inside
    ran.made("one").rename(ran.path / "gone")
    back = ran.quick(*longer, "--resume", "auto")
    held(back, 0)
    assert (back.document["run"], back.document["attempt"]) == ("one", 4)
    assert kept(ran.made("one") / "attempts" / "2") == DEEP


def test_what_a_killed_process_left_of_an_attempt_that_never_began_goes(ran: Folder) -> None:
    left = ran.made("one") / "attempts" / "3"
    left.mkdir()
    (left / "manifest.json").write_text((ran.made("one") / "manifest.json").read_text())
    held(ran.quick(*CHANGED, "--resume", "one", "-q"), 0)
    assert [p.name for p in left.parent.iterdir()] == ["2"]


def test_another_program_without_a_step_left_is_refused_and_the_run_stays_as_it_is(
    ran: Folder,
) -> None:
    ran.write("own.lisp", OWN.replace("27)", "24 27)"))
    before = sorted(ran.made("one").rglob("*"))
    for flags in (("--steps", "40"), ("--steps", "15")):
        words = ("run", "x.lisp", *flags, "--resume", "one", "--resume-changed", *ANEW)
        done = ran.quick(*words, "--json")
        held(done, 2)
        (found,) = done.document["diagnostics"]
        assert found["message"] == f"one@40 has all of the {flags[1]} steps"
        assert found["hint"] == "--steps 80, or another @STEP"
    assert sorted(ran.made("one").rglob("*")) == before
