"""Checkpoints that are broken, gone or of another file, disks that are full: told, never hidden."""

from __future__ import annotations

import json

import pytest
from e2e_program import Folder, held, network, saved, status, validate, wait
from refusals import limited


@pytest.fixture
def stopped(folder: Folder) -> Folder:
    """A run with checkpoints at 10 and 20."""
    folder.write("x.lisp", network(run=":steps 20 :seed 1 :checkpoint (:every 10 :keep 2)"))
    assert folder.quick("run", "x.lisp", "--name", "it", "-q").exit == 0
    return folder


FILES = ["params.safetensors", "optimizer.safetensors", "state.safetensors", "checkpoint.json"]


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_byte_of_a_checkpoint_is_found(stopped: Folder, name: str) -> None:
    path = stopped.made("it") / "checkpoints" / "step-00000020" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)
    done = stopped.quick("run", "x.lisp", "--resume", "it@20", "-q")
    held(done, 3)
    assert "error[E-CHECKPOINT-CORRUPT]" in done.err
    assert name in done.err
    assert "10" in done.err  # the one before
    told = stopped.quick("run", "x.lisp", "--resume", "it@20", "--json")
    held(told, 3)
    validate(told.document, "error")
    assert status(stopped.made("it"))["state"] == "finished"


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_checkpoint_that_is_gone_is_found(stopped: Folder, name: str) -> None:
    (stopped.made("it") / "checkpoints" / "step-00000020" / name).unlink()
    done = stopped.quick("run", "x.lisp", "--resume", "it@20", "-q")
    held(done, 3)
    assert "error[E-CHECKPOINT-" in done.err


def test_a_checkpoint_of_a_changed_file_is_refused(stopped: Folder) -> None:
    text = (stopped.path / "x.lisp").read_text()
    stopped.write("x.lisp", text.replace("1e-2", "2e-2"))
    done = stopped.quick("run", "x.lisp", "--resume", "it", "-q")
    held(done, 3)
    assert "error[E-RESUME-CHANGED]" in done.err


@pytest.mark.parametrize("word", ["latest", "20"])
def test_resuming_what_never_ran_is_told(folder: Folder, word: str) -> None:
    folder.write("x.lisp", network())
    done = folder.quick("run", "x.lisp", "--resume", word, "-q")
    held(done, 3)
    assert "error[E-CHECKPOINT-NONE]" in done.err
    assert "auto" in done.err
    assert folder.quick("run", "x.lisp", "--resume", "auto", "-q").exit == 0


def test_resuming_a_run_that_is_not_there_is_wrong_usage(folder: Folder) -> None:
    folder.write("x.lisp", network())
    done = folder.quick("run", "x.lisp", "--resume", "nix", "-q")
    held(done, 2)
    assert "error[E-USAGE-RUN]" in done.err


WIDE = network(
    run=":steps 20 :seed 1 :checkpoint (:every 5 :keep 2)",
    model="(nn:layers (one-hot x 27 :dtype :f32) (list 2048 27))",
    passes="",
)


def test_a_full_disk_at_the_first_checkpoint_fails_the_run(folder: Folder) -> None:
    folder.write("x.lisp", WIDE)
    assert folder.quick("run", "x.lisp", "--name", "warm", "-q").exit == 0  # kernels are cached now
    done = limited(folder, 150_000, "run", "x.lisp", "--name", "it", "-q")
    held(done, 3)
    assert "error[E-CHECKPOINT-DISK]" in done.err
    told = status(folder.made("it"))
    assert told["state"] == "failed"
    assert told["error"]["code"] == "E-CHECKPOINT-DISK"
    assert not list((folder.made("it") / "checkpoints").glob("step-*"))
    assert not [p for p in (folder.made("it") / "checkpoints").rglob("*") if p.is_file()]


def test_a_full_disk_with_an_older_checkpoint_lets_the_run_go_on(folder: Folder) -> None:
    folder.write("x.lisp", WIDE.replace(":steps 20", ":steps 300").replace("every 5", "every 50"))
    process = folder.start("run", "x.lisp", "--name", "it", "-q")
    kept = folder.made("it") / "checkpoints"
    wait(lambda: list(kept.glob("step-*")))
    process.kill()
    process.communicate()
    old = saved(folder.made("it"))
    done = limited(folder, 150_000, "run", "x.lisp", "--name", "it", "--resume", "latest")
    held(done, 3)  # it went on, but its end is not kept
    assert "error[E-CHECKPOINT-DISK]" in done.err
    assert "is whole" in done.err
    told = status(folder.made("it"))
    assert (told["state"], told["step"]) == ("failed", 300)
    assert told["warnings"]["E-CHECKPOINT-DISK"] >= 1
    assert saved(folder.made("it")) == old
    assert told["checkpoint"]["step"] < 300
    again = folder.quick("run", "x.lisp", "--name", "it", "--resume", "latest", "-q")
    assert again.exit == 0


def test_a_folder_that_cannot_be_written_is_told(folder: Folder) -> None:
    folder.write("x.lisp", network())
    folder.write("runs", "a file where a folder should be")
    done = folder.quick("run", "x.lisp", "-q")
    held(done, 3)
    assert "error[E-RUN-WRITE]" in done.err
    told = folder.quick("run", "x.lisp", "--json")
    held(told, 3)
    assert json.loads(told.out)["document"] == "error"
