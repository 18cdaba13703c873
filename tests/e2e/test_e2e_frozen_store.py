"""Frozen values in a store, which has no links: put once, named by hash, read back as one file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_program import TEXT, Folder, held, saved, status, wait
from frozen_files import adapted, base, files

pytest.importorskip("boto3", reason="stores in S3 need boto3")
pytest.importorskip("moto", reason="a server that knows conditions")
pytest.importorskip("nanio", reason="a server that checks signatures")

from s3_servers import BUCKET, Server, moto, nanio, one_in_five, way

from sexpgpu_core.checkpoint.s3 import S3Store
from sexpgpu_core.checkpoint.shared import FILE

RUN = ":steps 40 :seed 3 :checkpoint (:every 10 :keep 2)"


@pytest.fixture(scope="module")
def conditional() -> Iterator[Server]:
    with moto() as server:
        yield server


@pytest.fixture(params=["moto", "nanio"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, conditional: Server
) -> Iterator[Server]:
    if request.param == "moto":
        yield conditional
    else:
        with nanio(tmp_path_factory.mktemp("nanio")) as found:
            yield found


def filled(folder: Folder, run: str = RUN) -> Folder:
    folder.write("letters.txt", TEXT)
    folder.write("x.lisp", adapted(run))
    base(folder)
    return folder


def elsewhere(folder: Folder, place: Path) -> Folder:
    place.mkdir()
    return Folder(place, folder.cache)


def opened(server: Server, monkeypatch: pytest.MonkeyPatch, prefix: str) -> S3Store:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    return S3Store(f"s3://{BUCKET}/{prefix}")


def frozen(store: S3Store) -> list[str]:
    return [name for name, _ in store.list() if name.endswith(FILE)]


def test_over_a_way_that_loses_one_request_in_five_they_are_put_once_and_come_back(
    server: Server, folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held(filled(folder).quick("run", "x.lisp", "--name", "whole", "-q"), 0)
    prefix = f"frozen-{tmp_path.name}"
    with way(server, one_in_five(3)) as lossy:
        said = lossy.environment()
        words = ("run", "x.lisp", "--name", "it", "--store", f"s3://{BUCKET}/{prefix}", "-q")
        held(folder(*words, **said), 0)
        other = filled(elsewhere(folder, tmp_path / "elsewhere"))
        held(other(*words, "--resume", "auto", **said), 0)
    assert saved(other.made("it")) == saved(folder.made("it")) == saved(folder.made("whole"))
    store = opened(server, monkeypatch, prefix)
    (name,) = frozen(store)
    kept = [n for n, _ in store.list("it/checkpoints/step-") if n.endswith("/checkpoint.json")]
    assert len(kept) == 2
    for manifest in kept:
        store.get(manifest, str(tmp_path / "manifest"))
        paths = [file["path"] for file in json.loads((tmp_path / "manifest").read_bytes())["files"]]
        assert name.removeprefix("it/checkpoints/") in paths


def test_a_killed_run_goes_on_from_its_store_alone_and_puts_them_no_second_time(
    conditional: Server, folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(folder, RUN.replace(":steps 40", ":steps 600").replace(":every 10", ":every 60"))
    held(folder.quick("run", "x.lisp", "--name", "whole", "-q"), 0)
    store = opened(conditional, monkeypatch, "frozen-killed")  # for the program too
    words = ("run", "x.lisp", "--store", store.url, "--name", "it", "-q")
    process = folder.start(*words)
    wait(lambda: [n for n, _ in store.list("it/checkpoints/") if n.endswith("/checkpoint.json")])
    process.kill()
    process.communicate()
    put = frozen(store)
    folder.made("it").rename(tmp_path / "gone")
    puts: list[str] = []

    def counted(method: str, path: str, number: int) -> None:
        if method in ("PUT", "POST") and FILE in path:
            puts.append(path)

    with way(conditional, counted) as watched:
        held(folder(*words, "--resume", "auto", **watched.environment()), 0)
    assert status(folder.made("it"))["attempt"] == 2
    assert saved(folder.made("it")) == saved(folder.made("whole"))
    assert len(set(files(folder.made("it")))) == 1
    assert (puts, frozen(store)) == ([], put)


def test_a_fork_of_a_stored_run_has_its_own_there_and_outlives_it(
    conditional: Server, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(folder)
    store = opened(conditional, monkeypatch, "frozen-fork")
    held(folder("run", "x.lisp", "--name", "it", "--store", store.url, "-q"), 0)
    shutil.rmtree(folder.made("it"))
    words = ("run", "x.lisp", "--name", "fork", "--store", store.url, "--steps", "60", "-q")
    held(folder(*words, "--from", f"{store.url}/it@40"), 0)
    assert len(frozen(store)) == 2
    for name, _ in store.list("it/"):
        store.delete(name)
    before = saved(folder.made("fork"))
    shutil.rmtree(folder.made("fork"))
    held(folder(*words, "--resume", "auto"), 0)
    assert saved(folder.made("fork")) == before


def test_checkpoints_of_a_store_are_listed_verified_and_pruned_there(
    server: Server, folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(folder, RUN.replace(":keep 2", ":keep 4"))
    store, said = opened(server, monkeypatch, "frozen-verbs"), server.environment()
    held(folder("run", "x.lisp", "--name", "it", "--store", store.url, "-q"), 0)
    shutil.rmtree(folder.made("it"))
    run = f"{store.url}/it"

    def steps() -> list[int]:
        told = folder("checkpoint", "list", run, "--json", **said)
        held(told, 0)
        return [one["step"] for one in told.document["checkpoints"]]

    assert steps() == [10, 20, 30, 40]
    held(folder("checkpoint", "verify", run, **said), 0)
    held(folder("checkpoint", "verify", run, "--steps", "7", **said), 0)
    before = store.list()
    tried = folder("checkpoint", "prune", run, "--keep", "2", "--dry-run", "--json", **said)
    held(tried, 0)
    assert store.list() == before
    done = folder("checkpoint", "prune", run, "--keep", "2", "--json", **said)
    held(done, 0)
    assert [one["step"] for one in done.document["checkpoints"]] == [10, 20]
    went = sum(size for _, size in before) - sum(size for _, size in store.list())
    manifests = sum(
        n for name, n in before if name.endswith(("10/checkpoint.json", "20/checkpoint.json"))
    )
    assert done.document["bytes"] == tried.document["bytes"] == went - manifests
    assert steps() == [30, 40]
    assert len(frozen(store)) == 1
    held(folder("checkpoint", "verify", run, **said), 0)
    (name,) = frozen(store)
    store.get(name, str(tmp_path / "frozen"))
    data = bytearray((tmp_path / "frozen").read_bytes())
    data[-1] ^= 1
    (tmp_path / "frozen").write_bytes(bytes(data))
    store.delete(name)
    store.put(name, str(tmp_path / "frozen"))
    shutil.rmtree(folder.cache / "stores")  # what was brought before is whole
    told = folder("checkpoint", "verify", run, **said)
    held(told, 3)
    assert "error[E-CHECKPOINT-CORRUPT]" in told.err


def test_a_folder_that_is_a_store_is_pruned_as_one(folder: Folder) -> None:
    filled(folder, RUN.replace(":keep 2", ":keep 4"))
    held(folder.quick("run", "x.lisp", "--name", "it", "--store", "mirror", "-q"), 0)
    there = folder.path / "mirror" / "it" / "checkpoints"
    half = there / "step-00000050" / "1" / ".params.safetensors-77"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half")
    for keep, left in ((2, ["30", "40"]), (1, ["40"])):
        held(folder.quick("checkpoint", "prune", "mirror/it", "--keep", str(keep)), 0)
        names = sorted(path.parent.name[-2:] for path in there.glob("*/checkpoint.json"))
        assert names == left
        assert len(list(there.rglob(FILE))) == 1
        assert not half.exists()
    shutil.rmtree(folder.made("it"))
    words = ("run", "x.lisp", "--name", "it", "--store", "mirror", "-q", "--resume", "auto")
    held(folder.quick(*words), 0)
    held(folder.quick("checkpoint", "verify", "it"), 0)
