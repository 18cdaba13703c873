"""Frozen, loaded and averaged weights under disks, stores and data that fail: nothing promised is
lost, and a resume comes to the bits of a run that nobody disturbed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from e2e_program import Folder, held, network, saved, status, wait
from frozen_files import adapted, base, files

from sexpgpu_core import api

sys.path.append(str(Path(__file__).parents[1] / "run_files"))
from run_file import Cutting

RUN = ":steps 400 :seed 3 :checkpoint (:every 20 :keep 3)"
TEXT = '(source (text-files "letters.txt" :tokenizer :bytes))'
RAW = '(source (token-shards "t.bin" :vocab 256))'


@pytest.fixture
def made(folder: Folder) -> Folder:
    """Its pass reads averaged weights."""
    base(folder)
    whole = adapted(RUN).replace(":every 10)", ":every 10 :weights :ema)", 1)
    assert network().count(":every 10)") == 1
    folder.write("x.lisp", whole)
    held(folder.quick("run", "x.lisp", "--name", "whole", "-q"), 0)
    held(folder.quick("checkpoint", "export", "whole", "-o", "e", "--weights", "ema"), 0)
    return folder


def same(folder: Folder, name: str = "it") -> None:
    """What it came to is what the undisturbed run did, its frozen values one file, and proved."""
    assert saved(folder.made(name)) == saved(folder.made("whole"))
    assert len(set(files(folder.made(name)))) == 1
    held(folder.quick("checkpoint", "verify", name), 0)


def test_data_that_shrink_while_it_runs_cost_no_checkpoint(made: Folder) -> None:
    text = (made.path / "x.lisp").read_text(encoding="utf-8")
    assert TEXT in text
    tokens = np.frombuffer((made.path / "letters.txt").read_bytes(), np.uint8)
    made.write("t.bin", tokens.astype(np.uint16).tobytes())
    path = made.write("x.lisp", text.replace(TEXT, RAW))
    shutil.rmtree(made.made("whole"))
    held(made.quick("run", "x.lisp", "--name", "whole", "-q"), 0)
    cutting, root = Cutting(made.path / "t.bin"), made.path / "runs"
    done = api.run(path, runs_root=root, name="it", progress=cutting)
    assert done.error is not None
    assert (done.exit, done.error.code) == (3, "E-DATA-LOST")
    cutting.mend()
    held(made.quick("checkpoint", "verify", "it", "--steps", "1"), 0)
    held(made.quick("run", "x.lisp", "--name", "it", "--resume", "latest", "-q"), 0)
    same(made)


def test_a_run_whose_folder_is_deleted_ends_with_a_code(made: Folder) -> None:
    words = ("run", "x.lisp", "--name", "it", "--steps", "1000000", "-q")
    process = made.start(*words, stderr=subprocess.PIPE)
    run = made.made("it")
    wait(lambda: process.poll() is not None or bool(list(run.glob("checkpoints/step-*"))))
    while run.exists():
        shutil.rmtree(run, ignore_errors=True)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 3
    assert "error[E-RUN-WRITE]" in err or "error[E-CHECKPOINT-DISK]" in err


def test_a_store_that_turns_read_only_costs_no_checkpoint_of_the_run(
    made: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("boto3", reason="stores in S3 need boto3")
    pytest.importorskip("moto", reason="a server that knows conditions")
    from s3_servers import BUCKET, moto, way

    committed: list[str] = []

    def denied(method: str, path: str, number: int) -> str | None:
        if method != "GET" and committed:
            return "deny"
        if method == "PUT" and path.endswith("checkpoint.json"):
            committed.append(path)
        return None

    url = f"s3://{BUCKET}/hostile"
    words = ("run", "x.lisp", "--name", "it", "--store", url, "-q")
    with moto() as server:
        with way(server, denied) as closing:
            done = made(*words, **closing.environment())
        held(done, 4)
        assert "error[E-STORE-DENIED]" in done.err
        assert status(made.made("it"))["checkpoint"]["step"] == 400
        same(made)
        held(made(*words, "--resume", "auto", **server.environment()), 0)
        shutil.rmtree(made.made("it"))  # the store has all of it now
        held(made(*words, "--resume", "auto", **server.environment()), 0)
        same(made)
