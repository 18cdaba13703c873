"""Ways to begin a run: detached, dry, from a checkpoint of another, only if it is not there yet."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from e2e_program import TEXT, Folder, events, held, network, saved, series, status, validate

from sexpgpu_core.checkpoint import tensors

FILE = network(
    run=":steps 20 :seed 3 :log-every 5 :checkpoint (:every 10)",
    head='(defknob rate 1e-2 "Learning rate.")',
    rate="rate",
)
LONG = FILE.replace(":steps 20", ":steps 1000000").replace(":every 10)", ":every 100000)")


@pytest.fixture
def mine(folder: Folder) -> Folder:
    folder.write("x.lisp", FILE)
    return folder


def test_a_detached_run_goes_on_alone(mine: Folder) -> None:
    mine.write("letters.txt", TEXT * 8)
    mine.write("long.lisp", LONG.replace("(batch 8))", "(batch 256))"))
    # the deadline ends it also where this test fails
    words = ("run", "long.lisp", "--name", "it", "--detach", "--deadline", "60")
    done = mine(*words, "--json")
    held(done, 0)
    validate(done.document)
    assert (done.document["run"], done.document["alive"]) == ("it", True)
    told = mine.quick("stop", "it", "--json", "--timeout", "60")
    held(told, 0)
    assert told.document["state"] == "stopped"
    assert done.document["step"] >= 1
    assert "train/loss" in (mine.made("it") / "log.txt").read_text()


def test_a_detached_run_that_ends_at_once_exits_as_it_did(mine: Folder) -> None:
    done = mine("run", "x.lisp", "--name", "it", "--detach")
    held(done, 0)
    assert done.out.startswith("it: ")
    waited = mine.quick("status", "it", "--until", "done", "--timeout", "60")
    held(waited, 0)
    wrong = mine("run", "nix.lisp", "--detach", "--json")
    held(wrong, 2)
    assert [d["code"] for d in wrong.diagnostics] == ["E-USAGE-FILE"]
    text = mine("run", "nix.lisp", "--detach")
    held(text, 2)
    assert "error[E-USAGE-FILE]" in text.err


def test_a_detached_run_that_is_resumed_has_done_a_step_of_its_own(mine: Folder) -> None:
    mine.write("long.lisp", LONG)
    held(mine.quick("run", "long.lisp", "--name", "it", "--deadline", "2", "-q"), 75)
    before = status(mine.made("it"))["step"]
    words = ("--name", "it", "--resume", "latest", "--detach", "--deadline", "60")
    done = mine("run", "long.lisp", *words, "--json")
    held(done, 0)
    assert done.document["step"] > before
    assert done.document["attempt"] == 2
    held(mine.quick("stop", "it", "--now"), 0)


def test_a_dry_run_takes_one_step_and_keeps_nothing(mine: Folder) -> None:
    done = mine.quick("run", "x.lisp", "--dry-run")
    held(done, 0)
    assert "nothing was kept of one step" in done.out
    assert "predicted" in done.out
    told = mine.quick("run", "x.lisp", "--dry-run", "--json")
    held(told, 0)
    validate(told.document)
    assert told.document["step"] == 1
    assert not (mine.path / "runs").exists()


def test_an_experiment_that_was_run_is_taken_or_refused(mine: Folder) -> None:
    held(mine.quick("run", "x.lisp", "--if-exists", "fail", "--name", "one", "-q"), 0)
    again = mine.quick("run", "x.lisp", "--if-exists", "reuse", "--json")
    held(again, 0)
    assert again.document == status(mine.made("one"))
    assert "W-RUN-EXISTS" in again.err
    refused = mine.quick("run", "x.lisp", "--if-exists", "fail", "--json")
    held(refused, 3)
    assert [d["code"] for d in refused.diagnostics] == ["E-RUN-EXISTS"]
    assert [path.name for path in (mine.path / "runs").iterdir()] == ["one"]
    held(mine.quick("run", "x.lisp", "--if-exists", "reuse", "--seed", "5", "-q"), 0)
    assert len(list((mine.path / "runs").iterdir())) == 2


def test_a_run_that_is_reused_says_where_it_was_run_otherwise(mine: Folder) -> None:
    held(mine.quick("run", "x.lisp", "--name", "one", "-q"), 0)
    words = ("run", "x.lisp", "--if-exists", "reuse", "--json")
    reused = mine.quick(*words).err
    assert "It was run with" not in reused
    assert "help: this is its result, nothing was run" in reused
    on_another = mine.quick(*words, "--device", "reference")
    held(on_another, 0)
    assert on_another.document["run"] == "one"
    assert "It was run with device cpu" in on_another.err
    assert "; here is device reference" in on_another.err
    path = mine.made("one") / "manifest.json"
    told = json.loads(path.read_text())
    versions = {**told["versions"], "numpy": "1.0"}
    path.write_text(json.dumps({**told, "versions": versions}))
    held(found := mine.quick(*words), 0)
    assert "It was run with numpy 1.0; here is numpy " in found.err


def test_a_run_from_a_checkpoint_of_another_has_it_for_a_parent(mine: Folder) -> None:
    held(mine.quick("run", "x.lisp", "--name", "one", "-q"), 0)
    held(mine.quick("run", "x.lisp", "--name", "same", "--from", "one@10", "-q"), 0)
    assert saved(mine.made("same")) == saved(mine.made("one"))
    later = {k: v for k, v in series(mine.made("one"), "step").items() if k[0] > 10}
    assert series(mine.made("same"), "step") == later
    words = ("--from", "one", "--steps", "40", "-s", "rate=1e-3")
    held(mine.quick("run", "x.lisp", "--name", "other", *words, "-q"), 0)
    manifest = json.loads((mine.made("other") / "manifest.json").read_text())
    assert manifest["parent"] == {"run": "one", "step": 20}
    assert events(mine.made("other"))[0]["parent"] == {"run": "one", "step": 20}
    assert min(step for step, _ in series(mine.made("other"), "step")) == 25
    listed = mine.quick("runs", "--json").document["runs"]
    assert listed[0]["parent"] == {"run": "one", "step": 20}
    proved = mine.quick("checkpoint", "verify", "same")
    held(proved, 0)


def test_what_cannot_be_begun_from_is_told(mine: Folder) -> None:
    held(mine.quick("run", "x.lisp", "--name", "one", "-q"), 0)
    for words, exit_, code in (
        (("--from", "one"), 2, "E-USAGE-VALUE"),
        (("--from", "one@7"), 3, "E-CHECKPOINT-NONE"),
        (("--from", "two"), 2, "E-USAGE-RUN"),
        (("--from", "one@10", "-s", "width=8"), 3, "E-RESUME-PARAM"),
        (("--from", "one@10", "--resume", "latest"), 2, "E-USAGE-VALUE"),
        (("--dry-run", "--detach"), 2, "E-USAGE-VALUE"),
        (("--resume-changed",), 2, "E-USAGE-VALUE"),
        (("--resume-params", "**"), 2, "E-USAGE-VALUE"),
    ):
        done = mine.quick("run", "x.lisp", *words, "--json")
        held(done, exit_)
        assert [d["code"] for d in done.diagnostics] == [code], words
    assert [path.name for path in (mine.path / "runs").iterdir()] == ["one"]


def test_auto_begins_and_then_goes_on(mine: Folder) -> None:
    for attempt in (1, 2):
        done = mine.quick("run", "x.lisp", "--resume", "auto", "--json")
        held(done, 0)
        assert done.document["attempt"] == attempt
    assert len(list((mine.path / "runs").iterdir())) == 1


def test_a_run_of_another_experiment_goes_on_when_it_is_told_to(mine: Folder) -> None:
    held(mine.quick("run", "x.lisp", "--name", "one", "-q"), 0)
    changed = ("--resume", "one", "-s", "rate=1e-3", "--steps", "30")
    refused = mine.quick("run", "x.lisp", *changed, "--json")
    held(refused, 3)
    (found,) = refused.diagnostics
    words = ["rate 0.01 -> 0.001", "run steps 20 -> 30", "optimizer group 1 lr 0.01 -> 0.001"]
    assert (found["code"], found["facts"]["changes"]) == ("E-RESUME-CHANGED", words)
    assert found["message"].endswith(", ".join(words))
    assert "sexpgpu diff one x.lisp:rate=0.001 " in found["hint"]
    assert "--resume one --resume-changed" in found["hint"]
    shown = mine.quick("diff", "one", "x.lisp:rate=0.001")
    held(shown, 0)
    done = mine.quick("run", "x.lisp", *changed, "--resume-changed", "--json")
    held(done, 0)
    assert (done.document["run"], done.document["step"]) == ("one", 30)
    (resumed,) = [e for e in events(mine.made("one")) if e["event"] == "resume"]
    assert resumed["changed"] == words


def test_parameters_that_are_named_begin_anew_and_all_others_go_on(mine: Folder) -> None:
    held(mine.quick("run", "x.lisp", "--name", "one", "-q"), 0)
    kept = arrays(mine.made("one"))
    mine.write("deep.lisp", FILE.replace("(list width 27)", "(list width 30 27)"))
    still = ("deep.lisp", "--steps", "21", "-s", "rate=0.0")  # the last step changes no value
    words = (*still, "--resume", "one", "--resume-changed")
    refused = mine.quick("run", *words, "--json")
    held(refused, 3)
    (found,) = refused.diagnostics
    assert found["code"] == "E-RESUME-PARAM"
    asked = shlex.split(found["hint"].partition(": ")[0])
    assert asked[:3] == ["--resume", "one", "--resume-changed"]
    globs = [f"network/layers/linear-{at}/**" for at in (2, 3)]
    assert asked[3:] == [word for glob in globs for word in ("--resume-params", glob)]
    seen = mine.quick("explain", *still, "--resume", "one", "--section", "parameters", "--json")
    held(seen, 0)
    validate(seen.document)
    foreseen = {row["path"]: row["fate"] for row in seen.document["parameters"]}
    assert foreseen["network/layers/linear/w"] == "kept"
    done = mine("run", *still, *asked, "--detach", "--json")
    held(done, 0)
    held(mine.quick("status", "one", "--until", "done", "--timeout", "60"), 0)
    (resumed,) = [e for e in events(mine.made("one")) if e["event"] == "resume"]
    validate(resumed, "event")
    linear = "network/layers/linear"
    kinds = {f"{linear}-2": "reshaped", f"{linear}-3": "new"}
    assert resumed["fates"] == {f"{at}/{n}": kind for at, kind in kinds.items() for n in "bw"}
    assert {path: kind for path, kind in foreseen.items() if kind != "kept"} == resumed["fates"]
    held(mine.quick("run", *still, "--name", "anew", "--seed", "3", "-q"), 0)
    now, anew = arrays(mine.made("one")), arrays(mine.made("anew"))
    assert set(now) == set(anew)
    for name, value in now.items():
        begun = name.rpartition("/")[0] in kinds
        assert np.array_equal(value, (anew if begun else kept)[name]), name
    back = mine.quick("explain", "x.lisp", "--resume", "one@21", "--section", "parameters")
    held(back, 0)
    assert "dropped, as the file has none: network/layers/linear-3/b network" in back.out
    again = mine.quick("run", *still, *asked, "--json")
    held(again, 0)  # the same command once more goes on: nothing differs now
    assert "W-RESUME-PARAM" not in again.err


def test_another_optimizer_begins_anew_on_the_values_that_are_there(mine: Folder) -> None:
    held(mine.quick("run", "x.lisp", "--name", "one", "-q"), 0)
    mine.write("sgd.lisp", FILE.replace("optim:adamw", "optim:sgd"))
    words = ("sgd.lisp", "--steps", "21", "-s", "rate=0.0", "--resume", "one", "--resume-changed")
    refused = mine.quick("run", *words, "--json")
    held(refused, 3)
    assert "of another optimizer: network/" in refused.diagnostics[0]["message"]
    held(mine.quick("run", *words, "--resume-params", "**", "-q"), 0)
    (resumed,) = [e for e in events(mine.made("one")) if e["event"] == "resume"]
    assert set(resumed["fates"].values()) == {"optimizer"}
    params = [saved(mine.made("one"), step)["params.safetensors"] for step in (20, 21)]
    assert params[0] == params[1]


def test_a_run_from_a_checkpoint_of_others_is_told_how_to_load_what_fits(mine: Folder) -> None:
    held(mine.quick("run", "x.lisp", "--name", "one", "-q"), 0)
    deep = FILE.replace("(list width 27)", "(list width 30 27)")
    mine.write("deep.lisp", deep)
    refused = mine.quick("run", "deep.lisp", "--from", "one", "--json")
    held(refused, 3)
    form, _, rest = refused.diagnostics[0]["hint"].rpartition(", ")
    assert rest == "without --from"
    mine.write("deep.lisp", deep.replace("(defun objective", f"{form}\n(defun objective"))
    held(mine.quick("run", "deep.lisp", "--name", "two", "--steps", "1", "-s", "rate=0.0"), 0)
    one, two = arrays(mine.made("one")), arrays(mine.made("two"))
    for name in ("network/layers/linear/w", "network/layers/linear/b"):
        assert np.array_equal(one[name], two[name])


def arrays(run: Path) -> dict[str, np.ndarray]:
    """Parameters of the last checkpoint by path."""
    return tensors.load(sorted((run / "checkpoints").glob("step-*"))[-1] / "params.safetensors")


def test_a_run_whose_data_changed_is_another_experiment(mine: Folder) -> None:
    held(mine.quick("run", "x.lisp", "--name", "one", "-q"), 0)
    mine.write("letters.txt", TEXT * 2)
    refused = mine.quick("run", "x.lisp", "--resume", "one", "--json")
    held(refused, 3)
    (found,) = refused.diagnostics
    assert found["code"] == "E-RESUME-CHANGED"
    assert "the data of loader letters" in found["message"]


def test_a_deadline_ends_a_run(mine: Folder) -> None:
    mine.write("long.lisp", LONG)
    done = mine.quick("run", "long.lisp", "--name", "it", "--deadline", "0.2", "--json")
    held(done, 75)
    assert done.document["error"]["code"] == "E-RUN-DEADLINE"
    assert Path(mine.made("it"), "status.json").exists()
