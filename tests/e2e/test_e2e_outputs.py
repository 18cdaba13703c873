"""Files that a user names for an answer: a link is kept, and what is no file is not replaced."""

from __future__ import annotations

import os
import stat

import pytest
from e2e_program import Folder, held


def test_an_export_replaces_no_pipe_and_keeps_a_link(mine: Folder) -> None:
    pipe, link, behind = (mine.path / name for name in ("pipe", "link", "behind.safetensors"))
    os.mkfifo(pipe)
    done = mine.quick("checkpoint", "export", "one", "-o", "pipe", "--json")
    held(done, 2)
    assert done.diagnostics[0]["code"] == "E-USAGE-FILE"
    assert "is not a regular file" in done.diagnostics[0]["message"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    behind.write_bytes(b"before")
    link.symlink_to(behind)
    held(mine.quick("checkpoint", "export", "one", "-o", "link"), 0)
    assert link.is_symlink()
    assert behind.stat().st_size > 1000
    made = {path.name for path in mine.path.iterdir()}
    assert made == {"runs", "pipe", "link", "behind.safetensors"}


@pytest.mark.parametrize("verb", [("fmt",), ("check", "--fix")], ids=lambda verb: verb[0])
def test_what_rewrites_a_file_keeps_a_link_to_it(folder: Folder, verb: tuple[str, ...]) -> None:
    folder.write("behind.lisp", "(defun f (x)\n       (car  '(1)))\n")
    link = folder.path / "x.lisp"
    link.symlink_to("behind.lisp")
    folder.quick(*verb, "x.lisp")
    assert link.is_symlink()
    assert (folder.path / "behind.lisp").read_text() == link.read_text()
