"""What a run's folder keeps: texts byte for byte, the commit, and that it compiles first."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from e2e_program import Folder, events, held, network

MODULE = '(provide twice)\n(require "sexpgpu/nn")\n(defun twice (x) (* 2.0 x))\n'
FILE = '(require "./m.lisp")\n' + network(
    run=":steps 4 :seed 3 :checkpoint (:every 2)",
    model="(m:twice (nn:linear (one-hot x 27 :dtype :f32) 27))",
)


def manifest(folder: Folder, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder.made(name) / "manifest.json").read_text())
    return found


@pytest.fixture
def below(folder: Folder) -> Folder:
    """A file with a module in a folder below, whose lines end as Windows has it, after a mark."""
    (folder.path / "sub").mkdir()
    for name, text in (("x.lisp", FILE), ("m.lisp", MODULE)):
        data = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
        (folder.path / "sub" / name).write_bytes(data)
    (folder.path / "sub" / "letters.txt").write_bytes((folder.path / "letters.txt").read_bytes())
    return folder


def test_what_was_read_is_kept_byte_for_byte(below: Folder) -> None:
    held(below.quick("run", "sub/x.lisp", "--name", "it", "-q"), 0)
    run, told = below.made("it"), manifest(below, "it")
    (module,) = [m for m in told["modules"] if m["module"] == "sub/m.lisp"]
    for source, kept in (("x.lisp", "run.lisp"), ("m.lisp", module["path"])):
        data = (below.path / "sub" / source).read_bytes()
        assert (run / kept).read_bytes() == data
        (file,) = [f for f in told["files"] if f["path"] == kept]
        assert file["sha256"] == hashlib.sha256(data).hexdigest()
        assert file["bytes"] == len(data)


def test_a_run_is_what_its_own_modules_say(below: Folder) -> None:
    held(below.quick("run", "sub/x.lisp", "--name", "it", "-q"), 0)
    (below.path / "sub" / "m.lisp").write_text(MODULE.replace("2.0", "3.0"))
    held(below.quick("checkpoint", "verify", "it"), 0)
    found = below.quick("diff", "it", "sub/x.lisp", "--json").document
    assert found["verdict"] == "changed"
    assert "module" in {change["area"] for change in found["changes"]}


def test_the_commit_is_kept_and_whether_the_tree_was_dirty(below: Folder) -> None:
    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        done = subprocess.run(
            ("git", *who, *words), cwd=below.path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    git("init", "-q")
    git("add", "sub")
    git("commit", "-q", "-m", "one")
    held(below.quick("run", "sub/x.lisp", "--name", "clean", "-q"), 0)
    (below.path / "sub" / "x.lisp").write_text(FILE + ";; more\n")
    held(below.quick("run", "sub/x.lisp", "--name", "dirty", "-q"), 0)
    commit = git("rev-parse", "HEAD")
    assert manifest(below, "clean")["git"] == {"commit": commit, "dirty": False}
    assert manifest(below, "dirty")["git"] == {"commit": commit, "dirty": True}


TURNS = network(run=":steps 6 :seed 3").replace(
    "(defrun", "(defun curriculum () (if (< (ctx :step) 3) :train :short))\n\n(defrun"
)


def test_all_that_a_run_needs_is_compiled_before_its_first_step(folder: Folder) -> None:
    short = "  (stage :short :split (0 0.8) :windows (5))\n  (stage :val"
    folder.write("t.lisp", TURNS.replace("  (stage :val", short))
    held(folder.quick("run", "t.lisp", "--name", "it", "-q"), 0)
    told = events(folder.made("it"))
    kinds = [event["event"] for event in told]
    compiled = [event["graph"] for event in told if event["event"] == "compile"]
    used = {event["graph"] for event in told if event["event"] == "stage"}
    assert len(used) == 2
    assert used <= set(compiled)
    last = max(i for i, kind in enumerate(kinds) if kind == "compile")
    assert last < kinds.index("stage") < kinds.index("step")


def test_paths_of_the_manifest_are_relative_to_where_it_ran(below: Folder) -> None:
    held(below.quick("run", str(below.path / "sub" / "x.lisp"), "--name", "it", "-q"), 0)
    assert manifest(below, "it")["file"] == "sub/x.lisp"
    assert Path(manifest(below, "it")["cwd"]) == below.path


BURSTS = network(
    run=":steps 20 :seed 3 :checkpoint (:every 2 :keep 1)",
    loss="(* (nn:cross-entropy (network inputs) targets) (exp (* 100 (max (- (ctx :step) 7) 0))))",
)


def test_a_halt_leaves_its_batch_beside_the_checkpoints_and_no_resume_takes_it(
    folder: Folder,
) -> None:
    folder.write("h.lisp", BURSTS)
    for words in ((), ("--resume", "latest")):
        held(folder.quick("run", "h.lisp", "--name", "it", "-q", *words), 3)
        there = {path.name for path in (folder.made("it") / "checkpoints").iterdir()}
        assert there == {"halt-00000008", "step-00000008"}
    halt = folder.made("it") / "checkpoints" / "halt-00000008"
    assert {path.name for path in halt.iterdir()} == {
        "batch.safetensors",
        "checkpoint.json",
        *(f"{kind}.safetensors" for kind in ("params", "optimizer", "state")),
    }
    listed = folder.quick("checkpoint", "list", "it", "--json").document
    assert [each["step"] for each in listed["checkpoints"]] == [8]


def test_what_was_saved_of_another_file_is_proved_by_that_file(folder: Folder) -> None:
    folder.write("x.lisp", network(run=":steps 4 :seed 3 :checkpoint (:every 2)"))
    held(folder.quick("run", "x.lisp", "--name", "it", "-q"), 0)
    held(
        folder.quick("run", "x.lisp", "--resume", "it", "--steps", "6", "--resume-changed", "-q"),
        0,
    )
    found = folder.quick("checkpoint", "verify", "it", "--json")
    held(found, 0)
    assert found.document["replayed"] == {"from": 4, "to": 6}
