"""Folders of runs that verbs are tried on: two that have ended, and one that goes on."""

from __future__ import annotations

import subprocess
from pathlib import Path

from e2e_program import TEXT, Folder, events, held, network, wait

FILE = network(
    run=':steps 40 :seed 3 :log-every 2 :checkpoint (:every 20 :best ("val/loss" :min))',
    head='(defknob rate 1e-2 "Learning rate.")',
    rate="rate",
)
LONG = network(run=":steps 1000000 :seed 3 :log-every 5 :checkpoint (:every 100000)").replace(
    "(batch 8))", "(batch 256))"
)


def made(path: Path, cache: Path) -> Folder:
    folder = Folder(path, cache)
    folder.write("letters.txt", TEXT * 8)
    folder.write("x.lisp", FILE)
    folder.write("long.lisp", LONG)
    return folder


def ran_twice(path: Path, cache: Path) -> Folder:
    """A folder with the runs `one` and, of other parameters, `other`."""
    folder = made(path, cache)
    held(folder("run", "x.lisp", "--name", "one", "-q"), 0)
    held(folder("run", "x.lisp", "--name", "other", "-s", "rate=1e-3", "--seed", "4", "-q"), 0)
    return folder


def started(folder: Folder, name: str) -> subprocess.Popen[str]:
    process = folder.start("run", "long.lisp", "--name", name, "-q")
    wait(lambda: events(folder.made(name))[-1:] and events(folder.made(name))[-1]["step"] >= 5)
    return process
