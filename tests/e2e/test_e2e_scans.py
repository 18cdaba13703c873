"""A signal while the data of a run is scanned, before it has a folder; --detach meanwhile."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from e2e_program import Folder, events

FILE = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d (source (csv "a.csv")) (stage :train) (batch 4))
(defun prepare (&key x y) (batch :x x :y y))
(defmodel net (x) (nn:linear (reshape x '(-1 1)) 1))
(defun objective (&key x y) (metric "loss" (mean (square (- (net x) (reshape y '(-1 1)))))))
(defun optimizer () (groups (group :rest (optim:sgd :lr 1e-3))))
{more}
(defrun :steps 2 :seed 1)
"""
PLACES = {"compile": "", "load": "(defparameter *n* (loader-info d :examples))"}
"""Whether the compiler asks how many rows there are, or the file itself."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A folder whose data a check leaves alone, with a cache of its own."""
    path = tmp_path_factory.mktemp("scans")
    folder = Folder(path, path / "cache")
    folder.write("a.csv", "x,y\n" + "0.25,1.5\n" * 9_000_000)
    for name, more in PLACES.items():
        folder.write(f"{name}.lisp", FILE.format(more=more))
    return folder


def begun(folder: Folder, *argv: str) -> subprocess.Popen[str]:
    """A run that scans."""
    process = folder.start(*argv, stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("scanning a.csv, 81 MB")
    time.sleep(0.3)
    return process


def left(folder: Folder) -> list[str]:
    """What is kept of the scan."""
    return [p.name for p in (folder.cache / "index").glob("*") if not p.name.startswith(".scan.")]


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 75), (signal.SIGUSR1, 75), (signal.SIGINT, 130), (signal.SIGKILL, -9)],
    ids=lambda of: str(of),
)
def test_a_signal_ends_a_scan_at_once_and_nothing_of_it_is_kept(
    large: Folder, place: str, number: signal.Signals, code: int
) -> None:
    process = begun(large, "run", f"{place}.lisp")
    process.send_signal(number)
    _, told = process.communicate(timeout=20)
    assert process.returncode == code
    ended = f"{number.name}: ended before the run had a folder; nothing of it is kept"
    assert told.strip() == ("" if number == signal.SIGKILL else ended)
    assert not (large.path / "runs").exists()
    assert left(large) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_detach_tells_of_the_scan_and_ends_it_with_itself(large: Folder) -> None:
    process = begun(large, "run", "load.lisp", "--detach")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert not _alive(large.path)
    assert left(large) == []
    assert not (large.path / "runs").exists()


def _alive(folder: Path) -> bool:
    """Whether a process still works in the folder a while after."""
    for _ in range(50):
        at = [p for p in Path("/proc").glob("[0-9]*") if _works_in(p, folder)]
        if not at:
            return False
        time.sleep(0.1)
    return True


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return os.readlink(process / "cwd") == str(folder)
    except OSError:
        return False


@pytest.mark.slow
def test_a_scan_that_was_broken_off_is_made_by_the_next_run(large: Folder) -> None:
    done = large("run", "compile.lisp", "--device", "reference", "--detach", "--name", "it")
    assert done.exit == 0, done.err
    took = re.search(r"scanning a.csv, 81 MB in ([0-9.]+) s", done.err)
    assert took is not None, done.err
    compiled = [e["duration_s"] for e in events(large.made("it")) if e["event"] == "compile"]
    assert 0 < sum(compiled) < float(took[1])  # a scan is no compilation
    again = large("check", "load.lisp")
    assert (again.exit, "W-DATA-UNREAD" in again.err) == (0, False)
