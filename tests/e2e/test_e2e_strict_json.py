"""Every verb's --json is strict JSON: of mistakes, and of runs whose numbers are not finite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e_program import SCHEMAS, TEXT, Folder, held, network, validate

FILE = network(
    run=':steps 4 :seed 3 :log-every 1 :checkpoint (:every 2 :best ("val/loss" :min))',
    loss="""(let ((loss (nn:cross-entropy (network inputs) targets)))
              (metric "nan" (- (log (* 0.0 loss)) (log (* 0.0 loss))))
              (metric "inf" (/ loss (* 0.0 loss)))
              (metric "-inf" (log (* 0.0 loss)))
              loss)""",
    head='(defsweep widths :grid ((width (16 32))) :rank ("val/loss" :min))',
    passes='(defeval val :loader (letters :val) :every 2)\n(deftarget "val/loss" :below 0.001)',
)
ODD = ("nan", "inf", "-inf")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Folder:
    """A folder with two runs of numbers that are not finite."""
    folder = Folder(tmp_path_factory.mktemp("strict"), kernel_cache)
    folder.write("letters.txt", TEXT)
    folder.write("x.lisp", FILE)
    for name, seed in (("one", "1"), ("two", "2")):
        held(folder("run", "x.lisp", "--name", name, "--seed", seed, "-q"), 0)
    return folder


def strict(text: str) -> list[Any]:
    """Documents, a line each; the literals NaN and Infinity are refused."""

    def refuse(literal: str) -> None:
        raise AssertionError(f"{literal} is no JSON")

    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


VERBS = (
    ("status", "one"),
    ("status", "one", "--follow"),
    ("status", "one", "--until", "done"),
    ("runs",),
    ("runs", "compare", "one", "two"),
    ("runs", "--metric", "train/nan"),
    ("events", "one"),
    ("events", "one", "--metric", "train/*"),
    ("checkpoint", "list", "one"),
    ("checkpoint", "show", "one"),
    ("checkpoint", "diff", "one@2", "one@4"),
    ("checkpoint", "verify", "one"),
    ("checkpoint", "prune", "one", "--keep", "1", "--dry-run"),
    ("checkpoint", "export", "one", "-o", "w.safetensors"),
    ("diagnostics", "one"),
    ("annotate", "one", "NaN"),
    ("export-events", "one", "--to", "csv:path=x.csv"),
    ("stop", "one"),
    ("check", "x.lisp"),
    ("variants", "x.lisp"),
    ("explain", "E-RUN-NONFINITE"),
    ("run", "x.lisp", "--name", "one", "--if-exists", "reuse", "--seed", "1"),
    ("sweep", "x.lisp", "widths"),
)


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_what_a_verb_says_is_strict_json_by_its_schema(ran: Folder, words: tuple[str, ...]) -> None:
    done = ran.quick(*words, "--json", "--limit", "0") if words[0] != "sweep" else ran(
        *words, "--json"
    )  # fmt: skip
    held(done, 0)
    documents = strict(done.out)
    assert documents
    for document in documents:
        name = "event" if "event" in document else document["document"]
        assert document["v" if name == "event" else "version"] == 1
        if SCHEMAS.joinpath(f"{name}.json").is_file():
            validate(document, name)


def test_numbers_that_are_not_finite_are_texts_wherever_they_are_said(ran: Folder) -> None:
    (status,) = strict(ran.quick("status", "one", "--json").out)
    assert [status["metrics"][f"train/{n}"]["value"] for n in ODD] == list(ODD)
    told = strict(ran.quick("events", "one", "--json", "--limit", "0").out)
    steps = [event for event in told if event["event"] == "step"]
    assert [[step["metrics"][f"train/{n}"] for n in ODD] for step in steps] == [list(ODD)] * 4
    for path in sorted((ran.path / "runs" / "one").rglob("*.json")):
        json.loads(path.read_text(), parse_constant=pytest.fail)


def test_every_file_of_json_says_its_version_and_its_kind(ran: Folder) -> None:
    held(ran("sweep", "x.lisp", "widths", "-q"), 0)
    found = sorted((ran.path / "runs").rglob("*.json"))
    for path in found:
        document = json.loads(path.read_text())
        assert (document["version"], document["document"]) == (1, path.stem), path
        if SCHEMAS.joinpath(path.name).is_file():
            validate(document)
    assert {path.name for path in found} >= {
        *("manifest.json", "status.json", "checkpoint.json", "sweep.json")
    }


MISTAKES = (
    ("status", "one", "--untl", "done"),
    ("status", "one", "--until", "soon"),
    ("status", "none"),
    ("runs", "--state", "gone"),
    ("runs", "--since", "yesterday"),
    ("runs", "--runs", "ftp://x/y"),
    ("runs", "compare", "one"),
    ("events", "one", "--last", "0"),
    ("events", "one", "--kind", "stepp"),
    ("checkpoint", "prune", "one"),
    ("checkpoint", "lst", "one"),
    ("annotate", "one"),
    ("stop", "one", "--timeout", "x"),
    ("export-events", "one"),
    ("run", "x.lisp", "--device", "cpux"),
    ("run", "x.lisp", "--resume", "1", "--from", "one"),
    ("statsu", "one"),
)


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_wrong_usage_is_exit_2_and_an_error_document_that_helps(
    ran: Folder, words: tuple[str, ...]
) -> None:
    done = ran.quick(*words, "--json")
    assert "Traceback" not in done.out + done.err
    (document,) = strict(done.out)
    validate(document, "error")
    assert done.exit == document["exit"] == (4 if "cpux" in words else 2)
    assert all(found["message"] for found in document["diagnostics"])
    text = ran.quick(*words)
    assert (text.exit, text.out) == (done.exit, "")
    assert "error[" in text.err
