"""What a run leaves behind is what the schemas say, and a bad step changes nothing that is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from e2e_program import TEXT, Folder, events, network, saved, status, validate

LOSS = "(nn:cross-entropy (network inputs) targets)"


def held(run: Path) -> None:
    """Every document of a run, closed."""
    for event in events(run):
        validate(event, "event")
    for name in ("status", "manifest"):
        validate(json.loads((run / f"{name}.json").read_text()), name)
    for path in run.glob("checkpoints/*/checkpoint.json"):
        validate(json.loads(path.read_text()), "checkpoint")


def kinds(run: Path) -> list[str]:
    return [event["event"] for event in events(run)]


def failed(folder: Folder, code: str) -> dict[str, Any]:
    """Run x.lisp as `it`, which must fail while it runs; its error."""
    done = folder.quick("run", "x.lisp", "--name", "it", "-q")
    assert "Traceback" not in done.err
    assert done.exit == 3, done.out + done.err
    assert f"error[{code}]" in done.err
    told = status(folder.made("it"))
    assert (told["state"], told["exit"]) == ("failed", 3)
    held(folder.made("it"))
    error: dict[str, Any] = told["error"]
    assert error["code"] == code
    return error


def test_the_documents_of_a_run_are_what_the_schemas_say(folder: Folder) -> None:
    passes = """(defeval val :loader (letters :val) :every 10)
(deftarget "val/loss" :below 3.0)"""
    options = ':checkpoint (:every 10 :keep 2 :best ("val/loss" :min)) :log-every 5'
    folder.write("x.lisp", network(run=f":steps 40 :seed 1 {options}", passes=passes))
    done = folder.quick("run", "x.lisp", "--variant", "small", "-s", "width=12", "--json")
    assert done.exit == 0, done.err
    validate(done.document, "status")
    (run,) = (folder.path / "runs").iterdir()
    assert run.name.startswith("x-small-width12-")
    fleeting = ("elapsed", "heartbeat")
    assert {k: v for k, v in done.document.items() if k not in fleeting} == {
        k: v for k, v in status(run).items() if k not in fleeting
    }
    held(run)
    assert kinds(run)[0] == "open"
    assert kinds(run)[-1] == "close"
    assert {"compile", "stage", "step", "eval", "checkpoint", "target"} <= set(kinds(run))
    assert [e["seq"] for e in events(run)] == list(range(len(events(run))))
    assert (run / "run.lisp").read_bytes() == (folder.path / "x.lisp").read_bytes()
    assert (run / "modules" / "sexpgpu" / "nn.lisp").exists()
    assert (run / "graph.ir").read_text().startswith(";;; step/train\n(graph")
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["selection"]["values"] == {"width": "12"}
    assert not [path for path in run.rglob("*") if path.name.startswith(".tmp")]


def test_a_reader_may_tail_the_events_while_it_runs(folder: Folder) -> None:
    folder.write("x.lisp", network(run=":steps 200 :seed 1 :log-every 1"))
    process = folder.start("run", "x.lisp", "--name", "it", "-q")
    seen = [0]
    while process.poll() is None:
        found = events(folder.made("it"))  # every whole line parses at any time
        seen.append(len(found))
        if (folder.made("it") / "status.json").exists():
            validate(status(folder.made("it")), "status")
    process.communicate()
    assert process.returncode == 0
    assert seen == sorted(seen)


def test_a_loss_that_is_no_number_halts_with_the_state_of_before(folder: Folder) -> None:
    options = ":seed 1 :log-every 1 :checkpoint (:every 1 :keep 50)"
    folder.write("x.lisp", network(run=f":steps 40 {options}", rate="1e30", passes=""))
    error = failed(folder, "E-RUN-NONFINITE")
    run = folder.made("it")
    (guard,) = [e for e in events(run) if e["event"] == "guard"]
    assert guard["action"] == "halt"
    assert guard["value"] in ("nan", "inf", "-inf")
    (halt,) = run.glob("checkpoints/halt-*")
    before = guard["step"]
    assert status(run)["step"] == before
    assert error["facts"]["step"] == before + 1
    kept = {path.name: path.read_bytes() for path in halt.glob("*.safetensors")}
    assert "batch.safetensors" in kept
    assert {k: v for k, v in kept.items() if k != "batch.safetensors"} == saved(run, before)
    again = folder.quick("run", "x.lisp", "--name", "it", "--resume", "latest", "-q")
    assert again.exit == 3  # it meets the same step again
    assert "error[E-RUN-NONFINITE]" in again.err


RARE = "z".join([TEXT.replace("z", "s")[:1200]] * 6)
"""A text with few of the letter 26, which makes the loss infinite where it is met."""


def rare(options: str) -> str:
    loss = f"(+ {LOSS} (mean (* 1e-30 (log (cast (abs (- inputs 26)) :f32)))))"
    return network(run=f":steps 60 :seed 1 :log-every 1 {options}", loss=loss, passes="")


def test_skipped_updates_are_counted_and_the_run_goes_on(folder: Folder) -> None:
    folder.write("letters.txt", RARE)
    folder.write("x.lisp", rare(":finite-guard (:skip 30)"))
    done = folder.quick("run", "x.lisp", "--name", "it", "--json")
    assert done.exit == 0, done.out
    skipped = done.document["summary"]["skipped_steps"]
    assert 0 < skipped < 30
    run = folder.made("it")
    held(run)
    assert [e["action"] for e in events(run) if e["event"] == "guard"] == ["skip"] * skipped
    assert done.document["step"] == 60
    assert done.document["warnings"] == {"W-GUARD-SKIP": skipped, "W-SPLIT-LEAK": 1}


def test_more_skips_than_allowed_halt(folder: Folder) -> None:
    folder.write("letters.txt", RARE)
    folder.write("x.lisp", rare(":finite-guard (:skip 1)"))
    failed(folder, "E-RUN-NONFINITE")
    actions = [e["action"] for e in events(folder.made("it")) if e["event"] == "guard"]
    assert actions == ["skip", "halt"]


def test_the_first_operation_that_was_not_finite_is_named(folder: Folder) -> None:
    folder.write("letters.txt", RARE)
    text = rare("")
    folder.write("x.lisp", text)
    error = failed(folder, "E-RUN-NONFINITE")
    span = error["span"]
    assert text[span["offset"] : span["end_offset"]].startswith("(log (cast")
    assert "(log ...)" in error["message"]
    (guard,) = [e for e in events(folder.made("it")) if e["event"] == "guard"]
    assert guard["cause"]["operation"] == "log"
    assert guard["cause"]["inputs"][0]["minimum"] == 0


def test_an_index_out_of_range_halts_and_says_where(folder: Folder) -> None:
    model = "(progn (defparam wte (27 27) :init (normal 0.1)) (gather wte (+ x width)))"
    text = network(model=model)
    folder.write("x.lisp", text)
    error = failed(folder, "E-RUN-INDEX")
    span = error["span"]
    assert text[span["offset"] : span["end_offset"]].startswith("(gather wte")
    assert error["hint"]


def test_no_run_shares_the_folder_of_a_live_one(folder: Folder) -> None:
    folder.write("letters.txt", TEXT * 8)
    text = network(run=":steps 9000 :seed 1 :checkpoint (:every 20)")
    folder.write("x.lisp", text.replace("(batch 8))", "(batch 512))"))
    process = folder.start("run", "x.lisp", "--name", "it", "-q")
    from e2e_program import wait

    wait(lambda: "checkpoint" in kinds(folder.made("it")))
    done = folder("run", "x.lisp", "--name", "it", "--resume", "latest", "-q")
    process.kill()
    process.communicate()
    assert "error[E-RUN-LOCKED]" in done.err
    assert done.exit == 3
