"""`--detach` of run and sweep: the same command in a session of its own; how it is once begun."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from .answer import Answer
from .invocation import Invocation
from .lines import Lines

SAFE = ("-P",) if sys.version_info >= (3, 11) else ()
"""Keeps what lies in the working directory from being imported instead of ours."""


def detached(invocation: Invocation, begun: Callable[[Path], Answer] | None = None) -> Answer:
    """Start the same command without --detach. Exit 0 while it goes on, else as it did.

    `begun` answers for the folder that it tells of; by default, of a run after its first step.
    """
    ours, theirs = os.pipe()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            (sys.executable, *SAFE, "-m", "sexpgpu_cli", *_words(invocation.argv, theirs)),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=(theirs,),
            start_new_session=True,
        )
        os.close(theirs)
        with os.fdopen(ours, "rb", 0) as told:
            folder, shown = _waited(invocation, child, told, err)
        if not folder:
            return _refused(child.wait(), out, err, shown)
    return (begun or _begun)(Path(folder))


def _words(argv: tuple[str, ...], announce: int) -> list[str]:
    verb, *rest = argv
    return [verb, "--announce", str(announce), *(word for word in rest if word != "--detach")]


def _waited(
    invocation: Invocation, child: subprocess.Popen[bytes], told: IO[bytes], err: IO[bytes]
) -> tuple[str, int]:
    """The folder that it tells, nothing if it ends without one; and how many bytes of what it says
    were shown meanwhile: how far the scan of its data is. It ends with who waits for it."""
    folder, shown = b"", 0
    try:
        while True:
            ready = select.select([told], [], [], 0.2)[0]
            said = os.pread(err.fileno(), 1 << 16, shown)
            whole = said[: said.rfind(b"\n") + 1]
            if whole and not folder:
                invocation.say(whole.decode("utf-8", "replace").rstrip("\n"))
                shown += len(whole)
            if not ready:
                continue
            part = told.read(1 << 12)
            if not part:
                return os.fsdecode(folder), shown
            folder += part
    except KeyboardInterrupt:
        child.terminate()
        raise


def _refused(code: int, out: IO[bytes], err: IO[bytes], shown: int) -> Answer:
    """What it said before it had a folder: what is wrong with the file, mostly."""
    out.seek(0)
    err.seek(shown)
    sys.stderr.write(err.read().decode("utf-8", "replace"))
    text = out.read().decode("utf-8", "replace")
    try:
        document: Mapping[str, Any] = json.loads(text)
    except ValueError:
        return Answer({}, text, code)
    return Answer(dict(document), text, code)


def _begun(folder: Path) -> Answer:
    from sexpgpu_core.runtime import runs, watch

    from .verbs.status import LOST, told

    run = runs.read(folder)
    assert run is not None, folder
    first = (run.status or {}).get("step", 0) + 1  # of one that goes on it is its own
    watched = watch.Watch(run, watch.condition(f"step={first}"))
    for _ in watched.wait(None):
        pass
    run, status = watched.run, watched.run.status or {}
    if run.live:
        return told(run, {})
    return told(run, {})._replace(exit=LOST if run.state == "lost" else int(status["exit"]))


class Announced(Lines):
    """Progress of the run itself: says its folder, then everything goes to its log.txt."""

    def __init__(
        self, to: int, say: Callable[[str], None], render: Callable[[list[Any]], str]
    ) -> None:
        super().__init__(say, render)
        self.to = to

    def began(self, folder: Path) -> None:
        log = os.open(folder / "log.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        os.write(self.to, os.fsencode(folder.resolve()))
        os.close(self.to)
