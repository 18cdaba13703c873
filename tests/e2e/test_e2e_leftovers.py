"""What a killed writer left half put goes with the next that writes there, or by prune."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e_program import Folder, held, network, wait

pytest.importorskip("boto3", reason="stores in S3 need boto3")
pytest.importorskip("moto", reason="a server that knows conditions")
pytest.importorskip("nanio", reason="a server that checks signatures")

from s3_servers import BUCKET, Server, moto, nanio

from sexpgpu_core.checkpoint.s3 import S3Store
from sexpgpu_core.runtime.clock import Clock

FILE = network(run=":steps 40 :seed 1 :checkpoint (:every 10 :keep 2)")


@pytest.fixture(params=[moto, nanio], ids=["moto", "nanio"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[S3Store]:
    folder = () if request.param is moto else (tmp_path / "nanio",)
    with request.param(*folder) as server:
        yield opened(server, monkeypatch, tmp_path.name)  # moto keeps its buckets


def opened(server: Server, monkeypatch: pytest.MonkeyPatch, prefix: str) -> S3Store:
    for name, value in server.environment().items():  # for the program too
        monkeypatch.setenv(name, value)
    return S3Store(f"s3://{BUCKET}/{prefix}")


def words(store: S3Store, *more: str) -> tuple[str, ...]:
    return ("run", "x.lisp", "--name", "it", "--store", store.url, "-q", *more)


def killed(folder: Folder, store: S3Store) -> None:
    """A run that was killed after a checkpoint, and half of another, in one part and in several."""
    folder.write("x.lisp", FILE.replace(":steps 40", ":steps 200000"))
    process = folder.start(*words(store))
    wait(lambda: [n for n, _ in store.list("it/checkpoints/") if n.endswith("/checkpoint.json")])
    process.kill()
    process.communicate()
    for step in ("90000010", "90000020"):
        name = f"it/checkpoints/step-{step}/1/params.safetensors"
        store.put(name, __file__)
        client: Any = store._client
        client.create_multipart_upload(Bucket=BUCKET, Key=f"{store._prefix}{name}.part")


def half(store: S3Store) -> tuple[int, int]:
    """Objects and uploads of what was not committed."""
    names = [name for name, _ in store.list("it/checkpoints/step-9")]
    return len(names), len(store.unfinished("it/"))


def said(store: S3Store, tmp_path: Path, **facts: Any) -> None:
    """Change what the newest status in the store says of who wrote it."""
    name, _ = store.list("it/status/")[-1]
    store.get(name, str(tmp_path / "status.json"))
    told = {**json.loads((tmp_path / "status.json").read_text()), **facts}
    (tmp_path / "status.json").write_text(json.dumps(told))
    store.delete(name)
    store.put(name, str(tmp_path / "status.json"))


def committed(store: S3Store) -> list[str]:
    names = [name for name, _ in store.list("it/checkpoints/step-")]
    return [name.split("/")[2][-2:] for name in names if name.endswith("/checkpoint.json")]


def test_a_resume_removes_what_its_killed_attempt_left(store: S3Store, folder: Folder) -> None:
    killed(folder, store)
    assert half(store) == (2, 2)
    process = folder.start(*words(store, "--resume", "auto"))
    wait(lambda: half(store) == (0, 0))
    process.terminate()
    process.communicate()
    assert process.returncode == 75
    held(folder("checkpoint", "verify", f"{store.url}/it"), 0)


def test_what_a_writer_elsewhere_may_be_putting_stays_until_it_was_silent_for_an_hour(
    store: S3Store, folder: Folder, tmp_path: Path
) -> None:
    killed(folder, store)
    said(store, tmp_path, host="another-machine", heartbeat=Clock().stamp())
    run = f"{store.url}/it"
    held(folder("checkpoint", "prune", run, "--keep", "1"), 0)
    assert half(store) == (2, 2)
    said(store, tmp_path, host="another-machine", heartbeat="2020-01-01T00:00:00.000Z")
    tried = folder("checkpoint", "prune", run, "--keep", "1", "--dry-run")
    held(tried, 0)
    assert "would remove 4 objects of uploads that never ended" in tried.out
    assert half(store) == (2, 2)
    done = folder("checkpoint", "prune", run, "--keep", "1")
    held(done, 0)
    assert "removed 4 objects of uploads that never ended" in done.out
    assert half(store) == (0, 0)
    assert committed(store)


def test_a_run_that_goes_on_elsewhere_keeps_no_more_than_its_file_says(
    store: S3Store, folder: Folder
) -> None:
    folder.write("x.lisp", FILE.replace(":keep 2", ":keep 3"))
    held(folder.quick(*words(store)), 0)
    assert committed(store) == ["20", "30", "40"]
    shutil.rmtree(folder.made("it"))  # a new machine: only the newest is brought there
    folder.write("x.lisp", FILE.replace(":keep 2", ":keep 3").replace(":steps 40", ":steps 60"))
    more = ("--resume", f"{store.url}/it", "--resume-changed")
    held(folder.quick("run", "x.lisp", "-q", *more), 0)
    assert committed(store) == ["40", "50", "60"]


def test_prune_of_a_run_s_folder_sweeps_what_was_half_written(folder: Folder) -> None:
    folder.write("x.lisp", FILE)
    held(folder.quick("run", "x.lisp", "--name", "it", "-q"), 0)
    kept = folder.made("it") / "checkpoints"
    for name in (".tmp-step-00000050-77", ".trash-step-00000010-77"):
        shutil.copytree(kept / "step-00000040", kept / name)
    held(folder.quick("checkpoint", "prune", "it", "--keep", "2", "--dry-run"), 0)
    assert len(list(kept.glob(".t*"))) == 2
    held(folder.quick("checkpoint", "prune", "it", "--keep", "2"), 0)
    assert sorted(path.name for path in kept.iterdir()) == ["step-00000030", "step-00000040"]
