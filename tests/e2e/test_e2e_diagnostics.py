"""Sampled numbers are those of the step, are told by the schema, and touch no bit of the run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from e2e_program import Folder, events, held, network, saved, status, validate, wait

np = pytest.importorskip("numpy")

STEPS = 12
OWN = """
(defdiagnostic tails (&key grad) (:for (select :rank 2)) (:reduce :quantiles) grad)
(defdiagnostic spread (&key new) (:for (select :rank 2)) (:reduce :histogram) new)
(defdiagnostic nowhere (&key grad-norm) (:for :step) (/ 1.0 (* 0.0 grad-norm)))"""
EVERY = ":checkpoint (:every 1) :log-every 1"


def file(run: str = "", steps: int = STEPS) -> str:
    return network(run=f":steps {steps} :seed 3 {run}", head=OWN)


def sampled(run: Path) -> dict[int, dict[str, Any]]:
    return {e["step"]: e["values"] for e in events(run) if e["event"] == "diagnostic"}


def trained(folder: Folder, text: str, name: str, *flags: str) -> Path:
    folder.write("x.lisp", text)
    done = folder.quick("run", "x.lisp", "--name", name, "-q", *flags)
    assert done.exit == 0, done.out + done.err
    return folder.made(name)


def arrays(run: Path, step: int, file: str = "params") -> dict[str, Any]:
    from safetensors.numpy import load_file

    found: dict[str, Any] = load_file(run / f"checkpoints/step-{step:08d}/{file}.safetensors")
    return found


def test_they_change_no_bit_and_are_told_by_the_schema(folder: Folder) -> None:
    plain = trained(folder, file(), "plain")
    every = file(':diagnostics (:every 4 :select ("**"))')
    run = trained(folder, every, "sampled")
    assert saved(run) == saved(plain)
    assert list(sampled(run)) == [4, 8, 12]
    for event in events(run):
        validate(event, "event")
    validate(status(run), "status")
    last = sampled(run)[12]
    assert last["nowhere"] == "inf"
    assert sum(last["spread/network/layers/linear/w"]["counts"]) == 27 * 32
    assert last["tails/network/layers/linear/w"]["quantiles"]["1"] > 0
    assert last["data/wait"] >= 0
    assert last["memory/peak"] > 1e6
    (opened,) = [e for e in events(run) if e["event"] == "open"]
    told = {n for n, of in opened["series"].items() if of["kind"] == "diagnostic"}
    assert told == set(last)


def test_they_are_the_numbers_of_that_very_step(folder: Folder) -> None:
    chosen = ':diagnostics (:every 6 :select ("grad/**" "param/**" "update/**" "optimizer/**"))'
    run = trained(folder, file(f"{EVERY} {chosen}"), "it")
    found = sampled(run)[6]
    before, after = arrays(run, 5), arrays(run, 6)
    states = arrays(run, 5, "optimizer")
    for path, value in before.items():
        norm = float(np.linalg.norm(value))
        assert found[f"param/norm/{path}"] == pytest.approx(norm, rel=1e-5)
        moved = float(np.linalg.norm(after[path].astype("f8") - value))
        assert found[f"update/ratio/{path}"] == pytest.approx(moved / norm, rel=1e-3)
        m = float(np.linalg.norm(states[f"{path}/m"]))
        assert found[f"optimizer/norm/{path}/m"] == pytest.approx(m, rel=1e-5)
    each = [found[f"grad/norm/{path}"] for path in before]
    assert found["grad/norm"] == pytest.approx(math.hypot(*each), rel=1e-5)


def test_a_resume_samples_what_the_run_would_have(folder: Folder) -> None:
    text = file(f'{EVERY} :diagnostics (:every 2 :select ("act/**" "tails/**"))')
    whole = trained(folder, text, "whole")
    stopped = trained(folder, text, "stopped", "--steps", str(STEPS))
    done = folder.quick("run", "x.lisp", "--name", "stopped", "-q", "--resume", "6")
    assert done.exit == 0, done.err
    again = [e for e in events(stopped) if e["event"] == "diagnostic" and e["attempt"] == 2]
    assert {e["step"]: e["values"] for e in again} == {
        step: values for step, values in sampled(whole).items() if step > 6
    }


def test_the_command_line_adds_to_what_the_file_selects(folder: Folder) -> None:
    text = file(':diagnostics (:every 4 :select ("grad/norm"))')
    run = trained(folder, text, "it", "--diagnostics", "act/max/*", "--diagnostics", "nowhere")
    assert set(sampled(run)[4]) == {"grad/norm", "act/max/network", "nowhere"}
    told = folder.quick("diagnostics", "it", "--json").document
    assert told["selected"] == ["act/max/network", "grad/norm", "nowhere"]
    assert "optimizer/norm/network/layers/linear/w/m" in told["available"] or told["omitted"]
    wrong = folder.quick("run", "x.lisp", "--diagnostics", "grad/nrom")
    assert (wrong.exit, "E-SERIES" in wrong.err) == (1, True)
    folder.write("none.lisp", file(""))
    wrong = folder.quick("run", "none.lisp", "--diagnostics", "!act/**")
    assert (wrong.exit, "stands first" in wrong.err) == (1, True)


def test_a_resumed_run_samples_what_it_was_asked_for_while_it_ran(folder: Folder) -> None:
    text = file(':checkpoint (:every 10) :diagnostics (:every 5 :select ("act/**"))', 1_000_000)
    folder.write("x.lisp", text)
    process = folder.start("run", "x.lisp", "--name", "it", "-q")
    run = folder.made("it")
    wait(lambda: bool(events(run)) and events(run)[-1]["step"] > 20)
    folder.quick("diagnostics", "it", "--add", "grad/norm", "--remove", "act/**", "--json")
    process.kill()  # no moment in which to write it down
    process.communicate()
    first = set(sampled(run))
    again = folder.start("run", "x.lisp", "--name", "it", "-q", "--resume", "latest")
    wait(lambda: len(set(sampled(run)) - first) > 1)
    told = folder.quick("diagnostics", "it", "--json").document
    assert told["selected"] == ["grad/norm"]
    folder.quick("diagnostics", "it", "--add", "grad/norm/*/*/*/w", "--json")
    folder.quick("stop", "it")
    again.communicate()
    late = [e for e in events(run) if e["event"] == "diagnostic" and e["attempt"] == 2]
    assert set(late[0]["values"]) == {"grad/norm"}
    assert all(set(e["values"]) >= {"grad/norm"} for e in late)
    validate(status(run), "status")
    kept = status(run)["diagnostics"]
    assert kept["live"] == ["grad/norm", "!act/**", "grad/norm/*/*/*/w"]
    assert kept["select"] == ["act/**", *kept["live"]]


def test_a_live_run_is_asked_for_more_and_keeps_its_bits(folder: Folder) -> None:
    folder.write("x.lisp", file(":diagnostics (:every 5)", 1_000_000))
    process = folder.start("run", "x.lisp", "--name", "it", "-q")
    run = folder.made("it")
    wait(lambda: bool(events(run)) and events(run)[-1]["step"] > 20)
    added = folder.quick("diagnostics", "it", "--add", "grad/norm/**", "--json", "--limit", "0")
    removed = folder.quick("diagnostics", "it", "--remove", "**/b", "--json", "--limit", "0")
    assert (added.exit, removed.exit) == (0, 0), added.out + removed.out
    weights = [n for n in added.document["selected"] if not n.endswith("/b")]
    assert len(weights) < len(added.document["selected"])
    assert removed.document["selected"] == weights
    wait(lambda: set(list(sampled(run).values() or [()])[-1]) == set(weights))
    for flag, wanted in (("--add", added), ("--remove", removed)):  # the same as before, again
        done = folder.quick("diagnostics", "it", flag, "grad/norm/**/b", "--json", "--limit", "0")
        held(done, 0)
        assert done.document["selected"] == wanted.document["selected"]
    folder.quick("stop", "it")
    process.communicate()
    for event in events(run):
        validate(event, "event")
    validate(status(run), "status")
    assert all(step % 5 == 0 and step > 20 for step in sampled(run))
    plain = trained(folder, file("", 1_000_000), "plain", "--steps", str(status(run)["step"]))
    assert saved(run) == saved(plain)
    late = folder.quick("diagnostics", "it", "--add", "act/**", "--json")
    assert (late.exit, late.diagnostics[0]["code"]) == (2, "E-USAGE-VALUE")


ORDER = ["step", "diagnostic", "eval", "checkpoint"]


def test_at_a_step_are_its_log_its_numbers_its_passes_and_its_checkpoint(folder: Folder) -> None:
    chosen = ':diagnostics (:every 4 :select ("grad/norm")) :checkpoint (:every 4)'
    passes = "(defeval val :loader (letters :val) :every 4)"
    text = network(run=f":steps 8 :seed 1 :log-every 4 {chosen}", passes=passes)
    told = events(trained(folder, text, "it"))
    for step in (4, 8):
        kinds = [e["event"] for e in told if e["step"] == step]
        assert [k for k in kinds if k in ORDER] == ORDER
