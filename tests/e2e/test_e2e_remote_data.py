"""Sources at s3://: the same data as in a folder, fetched once; a check asks nobody."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("boto3", reason="sources at s3:// need boto3")
pytest.importorskip("moto", reason="a server of the tests")
from s3_servers import BUCKET, Server, moto, one_in_five, way

from sexpgpu_core import api
from sexpgpu_core.buckets import connected
from sexpgpu_core.data import files, remote
from sexpgpu_core.data.loader import Loader
from sexpgpu_core.diagnostics import Diagnostic, Problem, Problems
from sexpgpu_core.spans import Source

TOKENS = np.random.default_rng(0).integers(0, 50, 3000).astype("<u2").tobytes()
CSV = b"x,label\n" + b"".join(b"%d.5,%d\n" % (i, i % 3) for i in range(40))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with moto() as found:
        yield found


@pytest.fixture
def client(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    said = server.environment(SEXPGPU_CACHE=str(tmp_path / "cache"))
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    found = connected("s3://x", "E-DATA-EXTRA")
    put(found, "t/a1.bin", TOKENS[:4000])
    put(found, "t/a2.bin", TOKENS[4000:])
    put(found, "t/b.csv", CSV)
    return found


def put(client: Any, key: str, data: bytes) -> None:
    client.put_object(Bucket=BUCKET, Key=key, Body=data)


def loader(clauses: str, after: str = "", folder: str = "") -> Loader:
    text = f"""(defloader d {clauses} (stage :train) (batch 2)) {after}
    (defmodel net () (defparam w () :init 0) w)
    (defun objective () (net)) (defun optimizer () (groups)) (defrun :steps 1)"""
    return api.load(Source(f"{folder}run.lisp", text)).loaders["d"]


SHARDS = f'(source (token-shards "s3://{BUCKET}/t/a*.bin" :vocab 50)) (windows 9)'
TABLE = f'(source (csv "s3://{BUCKET}/t/b.csv"))'


def code(work: Any) -> Diagnostic:
    with pytest.raises((Problem, Problems)) as raised:
        work()
    found = raised.value
    return found.diagnostic if isinstance(found, Problem) else found.diagnostics[0]


def test_objects_are_the_files_that_they_were(client: Any, tmp_path: Path) -> None:
    (tmp_path / "a1.bin").write_bytes(TOKENS[:4000])
    (tmp_path / "a2.bin").write_bytes(TOKENS[4000:])
    far, near = loader(SHARDS), loader(
        '(source (token-shards "a*.bin" :vocab 50)) (windows 9)', folder=f"{tmp_path}/"
    )  # fmt: skip
    assert far.examples("train") == near.examples("train") == 333
    for n in range(9):
        assert np.array_equal(far.batch("train", n)["tokens"], near.batch("train", n)["tokens"])
    assert far.fingerprint() == near.fingerprint()


def test_what_is_here_is_not_fetched_again_until_it_changes(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader(SHARDS).batch("train", 0)
    seen: list[str] = []
    real = remote.copy

    def copy(client: Any, bucket: str, key: str, into: Any) -> None:
        seen.append(key)
        real(client, bucket, key, into)

    monkeypatch.setattr(remote, "copy", copy)
    loader(SHARDS).batch("train", 0)
    assert seen == []
    before = loader(SHARDS).fingerprint()
    put(client, "t/a2.bin", TOKENS[4000:] + b"\x01\x00")
    again = loader(SHARDS)
    assert again.header()["tokens"] == 3001
    assert seen == ["t/a2.bin"]
    assert again.fingerprint() != before


def test_a_check_asks_nobody_and_says_what_was_not_read(
    client: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = f"""(require "sexpgpu/nn")
    (require "sexpgpu/optim")
    (defloader d {SHARDS} (stage :train :split (0 0.8)) (stage :val :split (0.8 1)) (batch 2))
    (defmodel net (x) (nn:linear (nn:embedding x 50 4) 50))
    (defun objective (&key tokens)
      (metric "loss" (nn:cross-entropy (net (slice tokens :axis 1 :end -1))
                                       (slice tokens :axis 1 :start 1))))
    (defeval val :loader (d :val))
    (defun optimizer () (groups (group :rest (optim:adamw :lr 1e-2))))
    (defrun :steps 2)"""
    source = Source(str(tmp_path / "it.lisp"), text)
    with monkeypatch.context() as nobody:
        nobody.setattr(remote, "connected", lambda *given: pytest.fail("a server was asked"))
        first = api.check(source)
    assert [d.code for d in first.diagnostics] == ["W-DATA-UNREAD"]
    assert first.diagnostics[0].span is not None
    assert first.complete
    read = api.check(source, asks=True)
    assert read.diagnostics == []
    with monkeypatch.context() as nobody:
        nobody.setattr(remote, "connected", lambda *given: pytest.fail("a server was asked"))
        after = api.check(source)
    assert after.diagnostics == []
    assert after.summary is not None
    assert read.summary is not None
    assert after.summary["experiment_id"] == read.summary["experiment_id"]


def test_a_table_that_was_not_read_is_what_its_fields_say(client: Any) -> None:
    with files.unasked():
        said = loader(f'{TABLE} (fields (x "x" :f32 :missing 0) (label "label" :i32))')
        assert {n: t.dtype for n, t in said.fields("train").items()} == {"x": "f32", "label": "i32"}
        assert said.examples("train") is None
        told = code(lambda: loader(TABLE).fields("train"))
        assert (told.code, "does not say all dtypes" in told.message) == ("E-DATA-MISSING", True)
        asked = code(lambda: loader(SHARDS, "(defparameter *n* (loader-info d :tokens))"))
        assert asked.code == "E-DATA-MISSING"
    assert loader(TABLE).examples("train") == 40


def test_requests_that_are_lost_are_made_again(
    client: Any, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with way(server, one_in_five()) as bad:
        monkeypatch.setenv("AWS_ENDPOINT_URL", bad.url)
        assert loader(SHARDS).examples("train") == 333


@pytest.mark.parametrize(
    ("url", "wanted"),
    [(f"s3://{BUCKET}/t/none*.bin", "E-DATA-MISSING"), ("s3://no-bucket/a", "E-STORE-DENIED")],
)
def test_what_is_not_there_is_told(client: Any, url: str, wanted: str) -> None:
    told = code(lambda: loader(f'(source (token-shards "{url}")) (windows 9)').fields("train"))
    assert told.code == wanted
    assert told.span is not None


def test_without_boto3_the_extra_is_named(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    told = code(lambda: loader(SHARDS).fields("train"))
    assert (told.code, "sexpgpu[s3]" in (told.hint or "")) == ("E-DATA-EXTRA", True)


def test_the_budget_takes_what_was_not_asked_for_longest(
    client: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loader(SHARDS).batch("train", 0)
    first = sorted((tmp_path / "cache" / "objects").glob("*/*.bin"))
    assert len(first) == 2
    os.utime(first[0], (1, first[0].stat().st_mtime))
    monkeypatch.setattr(files.REACH, "cache_gb", 0)
    assert len(remote.files_of(f"s3://{BUCKET}/t/b.csv")) == 1
    left = sorted((tmp_path / "cache" / "objects").glob("*/*"))
    assert first[0] not in left  # the other was asked for today
    assert first[1] in left
    assert loader(SHARDS).batch("train", 0)
