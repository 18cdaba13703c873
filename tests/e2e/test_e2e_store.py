"""Stores: what goes to S3 comes back, over a bad way too; who may not is told; nothing is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e_program import TEXT, Folder, held, network, saved, series, status, wait

pytest.importorskip("boto3", reason="stores in S3 need boto3")
pytest.importorskip("moto", reason="a server that knows conditions")
pytest.importorskip("nanio", reason="a server that checks signatures")

from s3_servers import BUCKET, Server, moto, nanio, one_in_five, way

from sexpgpu_core.checkpoint.s3 import S3Store
from sexpgpu_core.diagnostics import Problem

FILE = network(run=":steps 30 :seed 1 :checkpoint (:every 10 :keep 2)")


@pytest.fixture(scope="module")
def conditional() -> Iterator[Server]:
    with moto() as server:
        yield server


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with nanio(tmp_path_factory.mktemp("nanio")) as server:
        yield server


@pytest.fixture(params=["conditional", "signed"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


def store(server: Server, monkeypatch: pytest.MonkeyPatch, prefix: str, **more: str) -> S3Store:
    for name, value in server.environment(**more).items():
        monkeypatch.setenv(name, value)
    return S3Store(f"s3://{BUCKET}/{prefix}")


def code_of(work: Any) -> str:
    with pytest.raises(Problem) as raised:
        work()
    return raised.value.diagnostic.code


@pytest.mark.parametrize("size", [0, 5, 17 << 20])
def test_a_file_of_one_part_or_several_comes_back(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: int
) -> None:
    at = store(server, monkeypatch, f"parts-{size}")
    (tmp_path / "a").write_bytes(os.urandom(size))
    at.put("x/a", str(tmp_path / "a"))
    assert at.list("x/") == [("x/a", size)]
    at.get("x/a", str(tmp_path / "b"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    at.delete("x/a")
    assert at.list() == []
    assert code_of(lambda: at.get("x/a", str(tmp_path / "c"))) == "E-STORE-LOST"


def test_what_was_committed_is_not_overwritten(
    conditional: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    at = store(conditional, monkeypatch, "commit")
    at.put_last("m", b"one")
    at.put_last("m", b"one")  # a put whose answer was lost, again
    assert code_of(lambda: at.put_last("m", b"two")) == "E-STORE-DENIED"
    at.get("m", str(tmp_path / "m"))
    assert (tmp_path / "m").read_bytes() == b"one"


def test_who_may_not_and_what_is_not_there_are_told(
    signed: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = store(signed, monkeypatch, "x", AWS_SECRET_ACCESS_KEY="wrong")
    assert code_of(lambda: wrong.put_last("m", b"")) == "E-STORE-DENIED"
    unknown = store(signed, monkeypatch, "x", AWS_ACCESS_KEY_ID="nobody")
    assert code_of(lambda: unknown.list()) == "E-STORE-DENIED"
    store(signed, monkeypatch, "x")
    assert code_of(lambda: S3Store("s3://no-such-bucket/x").list()) == "E-STORE-DENIED"
    away = store(
        signed, monkeypatch, "x", AWS_ENDPOINT_URL="http://127.0.0.1:9", AWS_MAX_ATTEMPTS="2"
    )
    assert code_of(lambda: away.put_last("m", b"")) == "E-STORE-LOST"
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    nobody = S3Store(f"s3://{BUCKET}/x")
    assert code_of(lambda: nobody.put_last("m", b"")) == "E-STORE-DENIED"


def test_one_request_in_five_that_is_lost_loses_nothing(
    server: Server, folder: Folder, tmp_path: Path, kernel_cache: Path
) -> None:
    folder.write("x.lisp", FILE)
    held(folder("run", "x.lisp", "--name", "whole", "-q"), 0)
    with way(server, one_in_five()) as lossy:
        said = lossy.environment()
        url = f"s3://{BUCKET}/lossy-{tmp_path.name}"
        words = ("run", "x.lisp", "--name", "it", "--store", url, "-q")
        held(folder(*words, **said), 0)
        told = json.loads(folder("status", f"{url}/it", "--json", **said).out)
        assert (told["state"], told["step"]) == ("finished", 30)
        other = Folder(tmp_path / "elsewhere", kernel_cache)
        other.path.mkdir()
        other.write("letters.txt", TEXT)
        other.write("x.lisp", FILE)
        held(other(*words, "--resume", "auto", **said), 0)
    there = other.made("it")
    assert saved(there) == saved(folder.made("it")) == saved(folder.made("whole"))
    assert status(there)["attempt"] == 2
    assert series(there, "eval") == series(folder.made("whole"), "eval")


def test_a_run_that_was_killed_goes_on_from_its_store_alone(
    conditional: Server, folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("x.lisp", FILE.replace(":steps 30", ":steps 900"))
    held(folder("run", "x.lisp", "--name", "whole", "-q"), 0)
    at = store(conditional, monkeypatch, "killed")  # for the program too
    words = ("run", "x.lisp", "--store", at.url, "--name", "it", "-q")
    process = folder.start(*words)
    wait(lambda: [n for n, _ in at.list("it/checkpoints/") if n.endswith("/checkpoint.json")])
    process.kill()
    process.communicate()
    assert status(folder.made("it"))["state"] != "finished"
    folder.made("it").rename(tmp_path / "gone")
    held(folder(*words, "--resume", "auto"), 0)
    assert status(folder.made("it"))["attempt"] == 2
    assert saved(folder.made("it")) == saved(folder.made("whole"))
    assert series(folder.made("it"), "eval").items() <= series(folder.made("whole"), "eval").items()


def test_a_run_of_a_store_is_followed_gone_on_with_and_begun_from_by_its_url(
    conditional: Server, folder: Folder, tmp_path: Path, kernel_cache: Path
) -> None:
    folder.write("x.lisp", FILE)
    said = conditional.environment()
    url = f"s3://{BUCKET}/by-url"
    held(folder("run", "x.lisp", "--name", "it", "--store", url, "-q", **said), 0)
    done = folder("status", f"{url}/it", "--until", "step=20", "--timeout", "60", "--json", **said)
    held(done, 0)
    assert done.document["until"]["met"]
    followed = folder("status", f"{url}/it", "--follow", "--json", **said)
    held(followed, 0)
    assert json.loads(followed.out.splitlines()[-1])["state"] == "finished"
    never = folder("status", f"{url}/none", "--until", "done", "--json", **said)
    held(never, 2)
    assert never.diagnostics[0]["code"] == "E-USAGE-RUN"
    other = Folder(tmp_path / "elsewhere", kernel_cache)
    other.path.mkdir()
    other.write("letters.txt", TEXT)
    other.write("x.lisp", FILE.replace(":steps 30", ":steps 50"))
    words = ("run", "x.lisp", "-q", "--json")
    refused = other(*words, "--resume", f"{url}/it@20", **said)
    held(refused, 3)  # steps are part of what an experiment is
    assert refused.diagnostics[0]["code"] == "E-RESUME-CHANGED"
    more = other(*words, "--resume", f"{url}/it@20", "--resume-changed", **said)
    held(more, 0)
    assert (more.document["run"], more.document["attempt"]) == ("it", 2)
    there = json.loads(folder("status", f"{url}/it", "--json", **said).out)
    assert (there["attempt"], there["step"]) == (2, 50)  # it was mirrored where it came from
    fork = other(*words, "--from", f"{url}/it@40", "--name", "fork", **said)
    held(fork, 0)
    manifest = json.loads((other.made("fork") / "manifest.json").read_text())
    assert manifest["parent"] == {"run": "it", "step": 40}


def test_a_wrong_secret_is_told_before_anything_is_compiled_and_by_doctor(
    signed: Server, folder: Folder
) -> None:
    folder.write("x.lisp", FILE)
    url = f"s3://{BUCKET}/denied"
    said = signed.environment(AWS_SECRET_ACCESS_KEY="wrong")
    done = folder("run", "x.lisp", "--store", url, "-q", **said)
    held(done, 4)
    assert "E-STORE-DENIED" in done.err
    assert not (folder.path / "runs").exists()
    found = folder("doctor", "--store", url, "--json", **said)
    held(found, 4)
    (check,) = [c for c in found.document["checks"] if c["name"] == "store"]
    assert (check["status"], check["code"]) == ("failed", "E-STORE-DENIED")
    held(folder("doctor", "--store", url, **signed.environment()), 0)
    unknown = folder("run", "x.lisp", "--store", "gs://bucket/x", "-q")
    held(unknown, 4)
    assert "E-STORE-UNKNOWN" in unknown.err


def test_a_store_that_turns_read_only_costs_no_checkpoint_of_the_run(
    conditional: Server, folder: Folder
) -> None:
    folder.write("x.lisp", FILE)
    committed: list[str] = []

    def denied(method: str, path: str, number: int) -> str | None:
        if method != "GET" and committed:
            return "deny"
        if method == "PUT" and path.endswith("checkpoint.json"):
            committed.append(path)  # of step 10: it is the last that the store takes
        return None

    with way(conditional, denied) as closing:
        words = ("run", "x.lisp", "--name", "it", "--store", f"s3://{BUCKET}/closing", "-q")
        done = folder(*words, **closing.environment())
    held(done, 4)
    assert "E-STORE-DENIED" in done.err
    told = status(folder.made("it"))
    assert (told["state"], told["step"]) == ("failed", 30)
    assert told["error"]["code"] == "E-STORE-DENIED"
    assert told["checkpoint"]["step"] == 30  # it is whole here
    assert folder.quick("checkpoint", "verify", "it").exit == 0
    again = ("run", "x.lisp", "--resume", "auto", *words[2:])
    held(folder(*again, **conditional.environment()), 0)  # the store gets what it lacks
    listed = folder("status", f"s3://{BUCKET}/closing/it", "--json", **conditional.environment())
    assert json.loads(listed.out)["state"] == "finished"


def test_a_folder_is_a_store_too(folder: Folder) -> None:
    folder.write("x.lisp", FILE)
    held(folder.quick("run", "x.lisp", "--name", "it", "--store", "mirror", "-q"), 0)
    there = folder.path / "mirror" / "it"
    assert (there / "manifest.json").exists()
    kept = {path.parent.name for path in there.glob("checkpoints/*/checkpoint.json")}
    assert kept == {"step-00000020", "step-00000030"}
    pieces = sorted((there / "events").iterdir())
    whole = (folder.made("it") / "events.jsonl").read_bytes()
    assert b"".join(piece.read_bytes() for piece in pieces) == whole
    (last,) = (there / "status").iterdir()
    assert json.loads(last.read_text())["state"] == "finished"
    for words in (
        ("status", "mirror/it"),
        ("events", "mirror/it"),
        ("checkpoint", "list", "mirror/it"),
        ("checkpoint", "show", "mirror/it@20"),
        ("checkpoint", "verify", f"file://{there}"),
        ("diff", "it@30", "mirror/it@30", "--exit-code"),
        ("status", "mirror/it/", "--until", "done"),
    ):
        held(folder.quick(*words), 0)
    (there / "status").rename(folder.path / "away")  # what is left is a part of a run
    assert folder.quick("status", "mirror/it", "--json").diagnostics[0]["code"] == "E-USAGE-BROKEN"
