"""Promises of runs: what each is by its content, what was read, what becomes of each parameter,
what it will hold, and where it came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e_program import TEXT, Folder, events, held, network, status, validate

RUN = ":steps 20 :seed 1"
TESTED = network(
    run=":steps 20 :seed 1 :log-every 5 :checkpoint (:every 5)",
    passes="(defeval test :loader (letters :test) :every 5)",
).replace("(stage :val :split (0.8 1) :batch 8)", "(stage :test :split (0.8 1) :batch 8)")


def experiment(folder: Folder, *words: str, text: str = "") -> str:
    folder.write("x.lisp", text or network())
    done = folder.quick("check", "x.lisp", "--json", *words)
    held(done, 0)
    found: str = done.document["files"][0]["summary"]["experiment_id"]
    return found


OTHER = {
    "training IR": (("-s", "width=24"), ""),
    "seed": (("--seed", "2"), ""),
    "steps": (("--steps", "21"), ""),
    "precision": ((), network(run=f"{RUN} :precision :bf16")),
    "determinism": ((), network(run=f"{RUN} :deterministic nil")),
    "how data is read": ((), network().replace(":split (0 0.8)", ":split (0 0.7)")),
    "optimizer": ((), network(rate="2e-2")),
    "a parameter's path": ((), network().replace("network", "net")),
}
SAME = {
    "layout": ((), network().replace("(batch 8))", "; eight\n  (batch 8))")),
    "names": ((), network().replace("width", "units")),
    "a metric": ((), network().replace('(metric "loss"', '(metric "error"')),
    "a docstring and a variable": (
        (),
        network()
        .replace('"Units."', '"How many."')
        .replace("(all ", "(text ")
        .replace("(slice all", "(slice text"),
    ),
    "passes": ((), network(passes="")),
    "what is written down": ((), network(run=f"{RUN} :log-every 3 :checkpoint (:every 7)")),
    "what is selected and says the same": (("-s", "width=32"), ""),
    "device": (("--device", "reference"), ""),
}


@pytest.mark.parametrize("what", OTHER)
def test_a_run_is_another_by_all_that_training_depends_on(folder: Folder, what: str) -> None:
    words, text = OTHER[what]
    assert experiment(folder) != experiment(folder, *words, text=text)


def test_a_run_is_another_by_the_contents_of_its_data(folder: Folder) -> None:
    before = experiment(folder)
    folder.write("letters.txt", TEXT.replace("lazy", "eager"))
    assert experiment(folder) != before


@pytest.mark.parametrize("what", SAME)
def test_a_run_is_the_same_by_what_training_does_not_depend_on(folder: Folder, what: str) -> None:
    words, text = SAME[what]
    assert experiment(folder) == experiment(folder, *words, text=text)


def test_points_of_a_sweep_share_the_kernels_that_are_compiled(tmp_path: Path) -> None:
    folder = Folder(tmp_path, tmp_path / "cache")  # nothing is compiled here yet
    folder.write("letters.txt", TEXT)
    head = '(defknob rate 1e-2 "R.")\n(defsweep s :grid ((rate (1e-2 3e-3 1e-3))) :seeds 2)'
    folder.write("x.lisp", network(head=head, rate="rate"))
    held(folder("sweep", "x.lisp", "s", "-q"), 0)
    made = []
    for path in sorted((folder.path / "runs").iterdir()):
        if (path / "events.jsonl").exists():
            told = [e for e in events(path) if e["event"] == "compile"]
            made.append(sum(e["kernels"] - e["cached"] for e in told))
    assert len(made) == 6
    assert sorted(made)[:5] == [0] * 5
    assert max(made) > 0


def test_reads_of_a_test_stage_are_counted_over_attempts_and_told(folder: Folder) -> None:
    folder.write("x.lisp", TESTED)
    held(folder.quick("run", "x.lisp", "--name", "it", "-q"), 0)
    run = folder.made("it")
    assert status(run)["summary"]["test_reads"] == 4
    assert "read 4 times" in folder.quick("status", "it").out
    held(folder.quick("run", "x.lisp", "-q", "--resume", "10"), 0)
    again = status(run)["summary"]  # what the resume dropped was seen all the same
    assert again["test_reads"] == 6
    assert events(run)[-1]["summary"]["test_reads"] == 6
    told = folder.quick("status", "it", "--json").document
    validate(told)
    assert told["summary"]["test_reads"] == 6
    folder.write("y.lisp", network())
    held(folder.quick("run", "y.lisp", "--name", "none", "-q"), 0)
    assert ":test" not in folder.quick("status", "none").out
    listed = folder.quick("runs").out.splitlines()
    assert listed[-1] == "reads of :test: it 6"
    compared = folder.quick("runs", "compare", "none", "it").out.splitlines()
    (row,) = [line for line in compared if "reads" in line]
    assert row.split() == ["reads", "of", ":test", "0", "6"]
    table = folder.quick("runs", "--json").document
    validate(table)
    assert {run["run"]: run["test_reads"] for run in table["runs"]} == {"it": 6, "none": 0}
    sides = folder.quick("runs", "compare", "none", "it", "--json").document
    validate(sides)
    assert [sides[side]["test_reads"] for side in "ab"] == [0, 6]
    validate(folder.quick("runs", "--json").document)


FATES = """(defmodel network (x)
  (defparam table (27 32) :init (normal 0.1))
  (defparam scale (32) :init 1 :trainable nil)
  (let ((hidden (* (gather table x :axis 0) scale)))
    (matmul (nn:linear hidden 32) (transpose table))))
"""


def test_the_fate_of_every_parameter_is_one_table(folder: Folder) -> None:
    whole = network()
    start, end = whole.index("(defmodel network"), whole.index("(defun objective")
    text = whole[:start] + FATES + "\n" + whole[end:]
    groups = """(groups (group (select :path "**/b") :frozen :dtype :bf16)
          (group :rest (optim:adamw :lr 1e-2 :weight-decay 0.1)))"""
    text = text.replace("(groups (group :rest (optim:adamw :lr 1e-2)))", groups)
    folder.write("x.lisp", text)
    done = folder.quick("explain", "x.lisp", "--section", "parameters", "--json")
    held(done, 0)
    validate(done.document)
    rows = {row["path"].partition("/")[2]: row for row in done.document["parameters"]}
    assert sorted(rows) == ["linear/b", "linear/w", "scale", "table"]
    table, frozen, still = rows["table"], rows["linear/b"], rows["scale"]
    assert (table["shape"], table["group"], table["reached"]) == ([27, 32], "2", True)
    assert (table["lr"], table["decay"], table["stored"]) == ("0.01", "0.1", "f32")
    assert table["through"] == table["tied"] == ["gather", "permute"]
    assert (frozen["group"], frozen["trainable"], frozen["reached"]) == ("1", False, False)
    assert frozen["stored"] == "bf16"
    assert "lr" not in frozen
    assert (still["group"], still["trainable"]) == (None, False)
    assert "tied" not in rows["linear/w"]
    lines = folder.quick("explain", "x.lisp", "--section", "parameters").out.splitlines()
    shown = {
        words[0].rpartition("/")[2]: " ".join(words) for words in map(str.split, lines) if words
    }
    assert "2 0.01 0.1 f32 gather permute" in shown["table"]
    assert "1, frozen - - bf16" in shown["b"]
    assert "not trained" in shown["scale"]


def memory(folder: Folder, text: str) -> dict[str, Any]:
    folder.write("x.lisp", text)
    done = folder.quick("check", "x.lisp", "--json")
    held(done, 0)
    found: dict[str, Any] = done.document["files"][0]["summary"]["memory"]
    return found


def test_the_peak_is_that_of_the_greatest_of_steps_passes_and_stages(folder: Folder) -> None:
    small = memory(folder, network())["peak_bytes"]
    again = "\n".join(f"(defeval v{n} :loader (letters :val) :every 10)" for n in range(4))
    assert memory(folder, network(passes=again))["peak_bytes"] < 1.1 * small  # not their sum
    wide = network().replace(":batch 8)", ":batch 64)")
    assert memory(folder, wide)["peak_bytes"] > 1.5 * small
    longer = network().replace(
        "  (batch 8))", "  (stage :more :split (0 0.8) :batch 32)\n  (batch 8))"
    )
    curriculum = "(defun curriculum () (if (< (ctx :step) 10) :train :more))"
    staged = longer.replace("(defrun", f"{curriculum}\n\n(defrun")
    assert memory(folder, staged)["peak_bytes"] > 1.5 * small


def test_forks_are_a_tree_of_attempts_and_each_event_says_whose_it_is(folder: Folder) -> None:
    head = '(defknob rate 1e-2 "Learning rate.")'
    folder.write("x.lisp", network(head=head, rate="rate", run=f"{RUN} :checkpoint (:every 5)"))
    held(folder.quick("run", "x.lisp", "--name", "root", "-q"), 0)
    for name, origin, rate in (
        ("a", "root@5", "3e-3"),
        ("b", "a@10", "1e-3"),
        ("c", "a@10", "5e-3"),
    ):
        words = ("--from", origin, "-s", f"rate={rate}", "--name", name, "-q")
        held(folder.quick("run", "x.lisp", *words), 0)
    held(folder.quick("run", "x.lisp", "-q", "--resume", "b@15", "-s", "rate=1e-3"), 0)
    told = {run["run"]: run["parent"] for run in folder.quick("runs", "--json").document["runs"]}
    assert told["root"] is None
    assert told["a"] == {"run": "root", "step": 5}
    assert told["b"] == told["c"] == {"run": "a", "step": 10}
    for name, attempts in (("root", 1), ("b", 2)):
        lines = events(folder.made(name))
        assert {e["run"] for e in lines} == {name}
        assert [e["seq"] for e in lines] == list(range(len(lines)))
        assert {e["attempt"] for e in lines} == set(range(1, attempts + 1))
        assert all(isinstance(e["step"], int) for e in lines)
    manifest = json.loads((folder.made("c") / "manifest.json").read_text())
    assert manifest["selection"]["set"] == {"rate": "0.005"}
