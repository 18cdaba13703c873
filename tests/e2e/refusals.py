"""The program where a call of the system is refused."""

from __future__ import annotations

import subprocess
import sys

from e2e_program import Done, Folder

LINKLESS = """import os, sys
from sexpgpu_cli.main import main
def link(*given, **more):
    raise OSError(int(sys.argv[1]), os.strerror(int(sys.argv[1])))
os.link = link
main(sys.argv[2:])
"""
LIMITED = """import resource, signal, sys
from sexpgpu_cli.main import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
main(sys.argv[2:])
"""


def linkless(folder: Folder, code: int, *argv: str) -> Done:
    """Where no file gets a second name, for the reason of an errno."""
    return _under(folder, LINKLESS, str(code), *argv)


def limited(folder: Folder, size: int, *argv: str) -> Done:
    """Where no file may grow over a size: a disk that is full for what is larger."""
    return _under(folder, LIMITED, str(size), *argv)


def _under(folder: Folder, program: str, *argv: str) -> Done:
    folder.write("refusing.py", program)
    done = subprocess.run(
        (sys.executable, "refusing.py", *argv),
        cwd=folder.path,
        env=folder.environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Done(done.returncode, done.stdout, done.stderr)
