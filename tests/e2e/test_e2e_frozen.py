"""Checkpoints that share frozen values: forks, copies, exports, disks that refuse."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from e2e_program import Folder, held, saved, status
from frozen_files import adapted, base, files
from refusals import limited, linkless

from sexpgpu_core.checkpoint.shared import FILE

TEXT = adapted(":steps 40 :seed 3 :checkpoint (:every 10)")
RUN = ("run", "x.lisp", "--name", "it", "-q")


@pytest.fixture
def ran(folder: Folder) -> Folder:
    """A folder with a run `it` of four checkpoints."""
    folder.write("x.lisp", TEXT)
    base(folder)
    held(folder.quick(*RUN), 0)
    assert len(files(folder.made("it"))) == 4
    assert len(set(files(folder.made("it")))) == 1
    return folder


def test_a_fork_has_frozen_values_of_its_own_and_outlives_its_parent(ran: Folder) -> None:
    fork = ("run", "x.lisp", "--name", "fork", "-q", "--steps", "60")
    held(ran.quick(*fork, "--from", "it@20"), 0)
    mine = set(files(ran.made("fork")))
    assert len(mine) == 1
    assert mine.isdisjoint(files(ran.made("it")))
    frozen = saved(ran.made("fork"), 60)[FILE]
    assert frozen == saved(ran.made("it"), 20)[FILE]
    shutil.rmtree(ran.made("it"))
    held(ran.quick("checkpoint", "verify", "fork"), 0)
    held(ran.quick("checkpoint", "verify", "fork", "--steps", "7"), 0)
    before = saved(ran.made("fork"))
    path = ran.made("fork") / "checkpoints"
    shutil.rmtree(path / "step-00000060")
    held(ran.quick(*fork[:2], "-q", "--steps", "60", "--resume", str(path.parent)), 0)
    assert saved(ran.made("fork")) == before
    assert set(files(ran.made("fork"))) == mine
    for step in (30, 40, 50):
        shutil.rmtree(path / f"step-{step:08}", ignore_errors=True)
    told = ran.quick("checkpoint", "verify", "fork")
    held(told, 3)  # what it began with is what a replay of its only one would begin with
    assert "error[E-CHECKPOINT-NONE]" in told.err
    assert "it@20" in told.err


def by_tar(run: Path, to: Path) -> None:
    subprocess.run(["tar", "-C", str(run.parent), "-cf", "it.tar", run.name], cwd=to, check=True)
    subprocess.run(["tar", "-xf", "it.tar"], cwd=to, check=True)


def by(*words: str) -> object:
    return lambda run, to: subprocess.run([*words, str(run), str(to)], check=True)


def by_file(links: bool) -> object:
    """As rsync does it: each file beside and then renamed, with its times; names of one file are
    one file with `links` (-H)."""

    def copy(run: Path, to: Path) -> None:
        made: dict[int, Path] = {}
        for path in sorted(path for path in run.rglob("*") if path.is_file()):
            new = to / path.relative_to(run.parent)
            new.parent.mkdir(parents=True, exist_ok=True)
            first = made.setdefault(path.stat().st_ino, new)
            if links and first != new:
                os.link(first, new)
            else:
                shutil.copy2(path, new.with_name(f".{path.name}.Xy3"))
                new.with_name(f".{path.name}.Xy3").rename(new)

    return copy


COPIES = {
    "cp -r": (by("cp", "-r"), 4),
    "cp -a": (by("cp", "-a"), 1),
    "file by file": (by_file(links=False), 4),
    "file by file, with links": (by_file(links=True), 1),
    "tar": (by_tar, 1),
    "mv": (by("mv"), 1),
}
"""How a run's folder comes to another place, and as how many files the frozen values do."""


@pytest.mark.parametrize("way", COPIES)
def test_a_folder_that_was_copied_goes_on_alone(ran: Folder, tmp_path: Path, way: str) -> None:
    before = saved(ran.made("it"))
    to = tmp_path / "other"
    to.mkdir()
    copy, number = COPIES[way]
    copy(ran.made("it"), to)  # type: ignore[operator]
    shutil.rmtree(ran.made("it"), ignore_errors=True)
    assert len(set(files(to / "it"))) == number
    held(ran.quick("checkpoint", "verify", str(to / "it")), 0)
    shutil.rmtree(to / "it" / "checkpoints" / "step-00000040")
    held(ran.quick("run", "x.lisp", "-q", "--resume", str(to / "it")), 0)
    assert saved(to / "it") == before
    assert len(set(files(to / "it"))) == max(1, number - 1)  # the new one has a name of the last


def test_a_folder_of_another_name_is_as_sound(ran: Folder) -> None:
    before = saved(ran.made("it"))
    ran.made("it").rename(ran.made("renamed"))
    held(ran.quick("checkpoint", "verify", "renamed"), 0)
    shutil.rmtree(ran.made("renamed") / "checkpoints" / "step-00000040")
    held(ran.quick("run", "x.lisp", "-q", "--resume", "renamed"), 0)
    assert saved(ran.made("renamed")) == before
    held(ran.quick("checkpoint", "verify", "renamed"), 0)


def test_one_checkpoint_alone_is_whole(ran: Folder) -> None:
    pytest.importorskip("safetensors")
    from safetensors.numpy import load_file

    last = ran.made("it") / "checkpoints" / "step-00000040"
    for other in last.parent.glob("step-*"):
        if other != last:
            shutil.rmtree(other)
    held(ran.quick("checkpoint", "export", "it", "-o", "out.safetensors"), 0)
    out, given = (load_file(ran.path / n) for n in ("out.safetensors", "base.safetensors"))
    assert len(out) == 6
    for name, value in given.items():
        assert (out[f"network/{name}"] == value).all()


@pytest.mark.parametrize("code", [errno.EPERM, errno.EXDEV, errno.EMLINK])
def test_a_disk_without_links_holds_copies_and_a_resume_too(ran: Folder, code: int) -> None:
    before = saved(ran.made("it"))
    shutil.rmtree(ran.made("it"))
    held(linkless(ran, code, *RUN), 0)
    assert len(set(files(ran.made("it")))) == 4
    assert saved(ran.made("it")) == before
    held(ran.quick("checkpoint", "verify", "it"), 0)
    shutil.rmtree(ran.made("it") / "checkpoints" / "step-00000040")
    held(linkless(ran, code, *RUN, "--resume", "latest"), 0)
    assert saved(ran.made("it")) == before
    assert len(set(files(ran.made("it")))) == 4


def test_a_disk_that_is_full_while_frozen_values_are_written_fails_the_run(folder: Folder) -> None:
    folder.write("x.lisp", adapted(":steps 20 :seed 3 :checkpoint (:every 10)", 2048))
    base(folder, 2048)  # 442 kB frozen, 65 kB of optimizer
    done = limited(folder, 300_000, *RUN)
    held(done, 3)
    assert "error[E-CHECKPOINT-DISK]" in done.err
    assert status(folder.made("it"))["error"]["code"] == "E-CHECKPOINT-DISK"
    left = (folder.made("it") / "checkpoints").rglob("*")
    assert not [path for path in left if path.is_file()]


def test_a_disk_too_full_to_write_them_again_still_gives_them_a_name(folder: Folder) -> None:
    folder.write("x.lisp", adapted(":steps 20 :seed 3 :checkpoint (:every 10)", 2048))
    base(folder, 2048)
    held(folder.quick(*RUN), 0)
    before = saved(folder.made("it"))
    shutil.rmtree(folder.made("it") / "checkpoints" / "step-00000020")
    held(limited(folder, 300_000, *RUN, "--resume", "latest"), 0)
    assert saved(folder.made("it")) == before
    assert len(set(files(folder.made("it")))) == 1
