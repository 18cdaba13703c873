"""Disks that are too small, full, or lose a run's folder: the right code, nothing promised lost."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from e2e_program import Done, Folder, held, network, saved, status, wait
from frozen_files import adapted, base, files

WIDE = network(
    run=":steps 40 :seed 1 :checkpoint (:every 5)",
    model="(nn:layers (one-hot x 27 :dtype :f32) (list 1024 27))",
    passes="",
)
"""A checkpoint of it is about 680 kB."""

SPACES = ("unshare", "--map-root-user", "--mount")
"""A mount table of the test's own, where the kernel lets users have one."""


def mounts() -> bool:
    if shutil.which("unshare") is None:
        return False
    done = subprocess.run((*SPACES, "mount", "-t", "tmpfs", "none", "/mnt"), capture_output=True)
    return done.returncode == 0


@pytest.fixture
def small(folder: Folder) -> Folder:
    """A folder whose runs/ is to be mounted."""
    if not mounts():
        pytest.skip("no file system can be mounted here")
    folder.write("x.lisp", WIDE)
    held(folder("run", "x.lisp", "--steps", "1", "--runs", "warm", "-q"), 0)
    (folder.path / "runs").mkdir()
    return folder


def within(folder: Folder, size: str, script: str) -> Done:
    """A shell script with $RUN, in which runs/ is a file system of a size."""
    lines = f"set -u; mount -t tmpfs -o size={size} none runs; {script}"
    words = (*SPACES, "sh", "-c", lines)
    environment = folder.environment(RUN=f"{sys.executable} -m sexpgpu_cli")
    done = subprocess.run(
        words, cwd=folder.path, env=environment, capture_output=True, text=True, timeout=300
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_checkpoints_that_do_not_fit_are_refused_before_step_0(small: Folder) -> None:
    script = "$RUN run x.lisp --name it --json -q; code=$?; cp -r runs kept; exit $code"
    done = within(small, "3m", script)
    held(done, 4)
    told = done.document
    assert (told["state"], told["step"], told["error"]["code"]) == ("failed", 0, "E-DEVICE-DISK")
    assert told["error"]["facts"]["needed"] > told["error"]["facts"]["free"] > 0
    assert not list((small.path / "kept" / "it" / "checkpoints").iterdir())
    small.write("x.lisp", WIDE.replace("(:every 5)", "(:every 5 :keep 1)"))
    held(within(small, "3m", "$RUN run x.lisp --name it -q"), 0)


def test_a_disk_that_fills_up_while_it_runs_costs_no_older_checkpoint(small: Folder) -> None:
    long = WIDE.replace(":steps 40", ":steps 3000").replace(":every 5", ":every 300")
    small.write("x.lisp", long)
    script = """
$RUN run x.lisp --threads 1 --name it -q & run=$!
while ! ls runs/it/checkpoints/step-00000300 >/dev/null 2>&1; do sleep 0.02; done
dd if=/dev/zero of=runs/filler bs=64k 2>/dev/null
wait $run; code=$?
cp -r runs/it kept; rm runs/filler; mkdir -p again; cp -r runs/it again/
exit $code"""
    done = within(small, "12m", script)
    held(done, 3)
    assert "error[E-CHECKPOINT-DISK]" in done.err or "error[E-RUN-WRITE]" in done.err
    whole = sorted(path.name for path in (small.path / "kept" / "checkpoints").glob("step-*"))
    assert whole[0] == "step-00000300"
    for name in whole:
        assert (small.path / "kept" / "checkpoints" / name / "checkpoint.json").exists()
    alone = ("run", "x.lisp", "--threads", "1", "-q")
    held(small(*alone, "--runs", "again", "--resume", "it"), 0)  # there is room here
    held(small(*alone, "--runs", "straight", "--name", "it"), 0)
    assert saved(small.path / "again" / "it") == saved(small.path / "straight" / "it")


def test_a_disk_that_fills_up_costs_no_checkpoint_that_shares_frozen_values(small: Folder) -> None:
    small.write("x.lisp", adapted(":steps 3000 :seed 1 :checkpoint (:every 300)", 2048))
    base(small, 2048)
    held(small("run", "x.lisp", "--threads", "1", "--name", "it", "--runs", "straight", "-q"), 0)
    script = """
$RUN run x.lisp --threads 1 --name it -q & run=$!
while ! ls runs/it/checkpoints/step-00000300 >/dev/null 2>&1; do sleep 0.02; done
dd if=/dev/zero of=runs/filler bs=16k 2>/dev/null
wait $run; code=$?
cp -a runs/it kept; rm runs/filler
$RUN run x.lisp --threads 1 --resume it -q || exit 99
cp -a runs/it again
exit $code"""
    done = within(small, "12m", script)
    held(done, 3)
    assert "error[E-CHECKPOINT-DISK]" in done.err or "error[E-RUN-WRITE]" in done.err
    for name in ("kept", "again"):  # when it was full, and when there was room again
        held(small("checkpoint", "verify", name), 0)
        assert len(set(files(small.path / name))) == 1
    assert saved(small.path / "again") == saved(small.path / "straight" / "it")


def test_a_store_that_is_read_only_is_told_before_anything_runs(small: Folder) -> None:
    script = """
mount -t tmpfs -o size=4m none mirrors; mount -o remount,ro mirrors
$RUN run x.lisp --name it --store mirrors/at --json -q; code=$?; ls runs; exit $code"""
    (small.path / "mirrors").mkdir()
    done = within(small, "12m", script)
    held(done, 4)
    assert "E-STORE-DENIED" in done.out
    assert done.out.rstrip().endswith("}"), "no folder was made"


def test_a_store_that_turns_read_only_costs_no_checkpoint(small: Folder) -> None:
    long = WIDE.replace(":steps 40", ":steps 3000").replace(":every 5", ":every 300 :keep 2")
    small.write("x.lisp", long)
    (small.path / "mirrors").mkdir()
    script = """
mount -t tmpfs -o size=12m none mirrors
$RUN run x.lisp --threads 1 --name it --store mirrors/at -q & run=$!
while ! ls mirrors/at/it/checkpoints/step-*/checkpoint.json >/dev/null 2>&1; do sleep 0.02; done
until mount -o remount,ro mirrors 2>/dev/null; do sleep 0.01; done
wait $run; code=$?
cp -r runs/it kept; cp -r mirrors/at/it/checkpoints mirrored; exit $code"""
    done = within(small, "12m", script)
    held(done, 4)
    assert "error[E-STORE-DENIED]" in done.err
    told = status(small.path / "kept")
    assert (told["state"], told["step"], told["checkpoint"]["step"]) == ("failed", 3000, 3000)
    assert sorted(p.name for p in (small.path / "kept" / "checkpoints").iterdir())[-1] == (
        "step-00003000"
    )
    assert list((small.path / "mirrored").glob("step-*/checkpoint.json"))


def test_runs_on_a_read_only_disk_are_told(small: Folder) -> None:
    done = within(small, "1m", "mount -o remount,ro runs; $RUN run x.lisp --name it --json -q")
    held(done, 3)
    assert done.diagnostics[0]["code"] == "E-RUN-WRITE"


def test_a_run_whose_folder_is_deleted_ends_with_a_code(folder: Folder) -> None:
    text = network(run=":steps 2000000 :seed 1 :checkpoint (:at (10))", passes="")
    folder.write("x.lisp", text)
    process = subprocess.Popen(
        (sys.executable, "-m", "sexpgpu_cli", "run", "x.lisp", "--name", "it", "-q"),
        cwd=folder.path,
        env=folder.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    made = folder.made("it")
    wait(lambda: (made / "status.json").exists() and status(made)["checkpoint"] is not None)
    shutil.rmtree(made)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "error[E-RUN-WRITE]" in err
    assert "was deleted" in err
    assert f"{made} is gone" in out
    assert "checkpoint" not in out
    assert "go on with" not in out  # nothing is left to go on from


def test_a_status_file_that_is_deleted_comes_again(folder: Folder) -> None:
    folder.write("x.lisp", network(run=":steps 200000 :seed 1", passes=""))
    process = folder.start("run", "x.lisp", "--name", "it", "-q")
    file: Path = folder.made("it") / "status.json"
    wait(lambda: file.exists() and status(folder.made("it"))["state"] == "running")
    file.unlink()
    wait(file.exists)
    held(folder.quick("stop", "it", "-q"), 0)
    process.communicate(timeout=60)
    assert status(folder.made("it"))["state"] == "stopped"
