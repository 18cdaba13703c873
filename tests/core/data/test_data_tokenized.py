"""Tokens of tokenizers that are installed: encoded once, whole texts, in files of the cache."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sexpgpu_core.data import files, index, kinds, tokenized
from sexpgpu_core.data.loader import Loader
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.experiment.declarations import SourceDeclaration
from sexpgpu_core.staging.source_options import complete


class Pairs:
    """A token each two bytes of a text: tokens depend on where it begins."""

    made = 0

    def __init__(self, options: Any) -> None:
        type(self).made += 1

    def encode(self, data: bytes) -> list[int]:
        return [b % 7 * 300 + len(data[i : i + 2]) for i, b in enumerate(data) if i % 2 == 0]

    def decode(self, ids: list[int]) -> bytes:
        return b"?" * len(ids)


class Parts(Pairs):
    def encode_parts(self, parts: Iterator[bytes]) -> Iterator[list[int]]:
        yield self.encode(b"".join(parts))


class Beyond(Pairs):
    def encode(self, data: bytes) -> list[int]:
        return [4000]


class Raises(Pairs):
    def encode(self, data: bytes) -> list[int]:
        raise RuntimeError("no such merge")


class Slow(Parts):
    """Says by a file of its folder how far it is, and waits there."""

    def encode_parts(self, parts: Iterator[bytes]) -> Iterator[list[int]]:
        yield [1] * 100_000
        Path("begun").touch()
        time.sleep(60)


class Text(Pairs):
    def encode(self, data: bytes) -> Any:
        return data.decode()


def vocabulary(options: Any) -> int:
    return int(options["paths"][0].read_text())


def row(name: str, made: str, **more: Any) -> Any:
    facts = {"vocabulary": 2000, "of": "plug 1.0", "load": f"{__name__}:{made}", **more}
    return kinds.TokenizerKind(name, **facts)


TABLE = {r.name: r for r in kinds.TOKENIZERS} | {
    r.name: r
    for r in (
        row("pairs", "Pairs"), row("parts", "Parts"), row("beyond", "Beyond"),
        row("raises", "Raises"), row("slow", "Slow"), row("text", "Text"), row("gone", "Nothing"),
        row("wide", "Pairs", vocabulary=70_000),
        row("absent", "X", load="no_such_module:X", needs=("sexpgpu[tokenizers]",)),
        row("filed", "Pairs", vocabulary=None, header=f"{__name__}:vocabulary", files=1),
    )
}  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path / "cache"))


def source(folder: Path, kind: str, arguments: tuple[str, ...], **given: Any) -> tuple[Any, Any]:
    """Reader and header of a source."""
    (of,) = (r for r in kinds.SOURCES if r.kind == kind)
    options = complete(of, arguments, given, str(folder), None, TABLE)
    return kinds.resolve(of.load)(options), kinds.resolve(of.header)(options)


def test_each_file_is_a_text_of_its_own(tmp_path: Path) -> None:
    texts = [b"abcde", b"", b"fghi"]
    for number, data in enumerate(texts):
        (tmp_path / f"{number}.txt").write_bytes(data)
    reader, header = source(tmp_path, "text-files", ("*.txt",), tokenizer=":pairs")
    wanted = [token for data in texts for token in Pairs(None).encode(data)]
    assert reader.tokens().rows(slice(None)).tolist() == wanted
    assert (header["tokens"], header["vocab"]) == (len(wanted), 2000)
    assert header["tokenizer"] == ("pairs", "plug 1.0")
    assert list(reader.borders()) == [0, 3, 3, 5]
    assert reader.tokens().dtype == np.uint16
    wide, _ = source(tmp_path, "text-files", ("*.txt",), tokenizer=":wide")
    assert wide.tokens().dtype == np.uint32


def test_a_header_that_was_made_needs_no_tokenizer_and_a_lost_cache_is_made_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("abcdef")
    source(tmp_path, "text-files", ("a.txt",), tokenizer=":pairs")
    (of,) = (r for r in kinds.SOURCES if r.kind == "text-files")
    options = complete(of, ("a.txt",), {"tokenizer": ":pairs"}, str(tmp_path), None, TABLE)
    before = Pairs.made
    assert kinds.resolve(of.header)(options)["tokens"] == 3
    assert Pairs.made == before
    for file in (tmp_path / "cache" / "index").glob("*.tokens"):
        file.unlink()
    again, _ = source(tmp_path, "text-files", ("a.txt",), tokenizer=":pairs")
    assert again.tokens().rows(slice(None)).tolist() == Pairs(None).encode(b"abcdef")


def test_a_file_that_changes_is_encoded_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("abcdef")
    source(tmp_path, "text-files", ("a.txt",), tokenizer=":pairs")
    (tmp_path / "a.txt").write_text("ghijklmn")
    reader, header = source(tmp_path, "text-files", ("a.txt",), tokenizer=":pairs")
    assert header["tokens"] == len(reader) == 4


def test_texts_of_keys_are_encoded_each_for_itself_with_their_weights(tmp_path: Path) -> None:
    rows = [{"q": "abc", "a": "de"}, {"q": "", "a": "f"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    keys = (("q", 0.0), ("a", 2.0))
    reader, header = source(tmp_path, "jsonl", ("a.jsonl",), tokens=keys, tokenizer=":pairs")
    wanted = [t for r in rows for k in "qa" for t in Pairs(None).encode(r[k].encode())]
    assert reader.tokens().rows(slice(None)).tolist() == wanted
    assert reader.weights().rows(slice(None)).tolist() == [0, 0, 2, 2]
    assert list(reader.borders()) == [0, 3, 4]
    assert (header["vocab"], header["tokens"], header["documents"]) == (2000, 4, 2)


def test_a_limit_cuts_the_last_module(tmp_path: Path) -> None:
    reader, header = source(tmp_path, "python-stdlib", (), tokenizer=":pairs", limit=1001)
    plain, _ = source(tmp_path, "python-stdlib", (), limit=1001)
    assert header["tokens"] == len(reader) >= 501
    assert len(plain) == 1001


def test_a_large_text_goes_by_parts_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("abcdefgh" * 4)
    whole, _ = source(tmp_path, "text-files", ("a.txt",), tokenizer=":wide")
    monkeypatch.setattr(tokenized, "WHOLE", 8)
    monkeypatch.setattr(tokenized, "_PART", 3)
    reader, _ = source(tmp_path, "text-files", ("a.txt",), tokenizer=":parts")
    assert reader.tokens().rows(slice(None)).tolist() == whole.tokens().rows(slice(None)).tolist()
    with pytest.raises(Problem, match=r"a.txt has 32 bytes, and tokenizer :pairs encodes") as told:
        source(tmp_path, "text-files", ("a.txt",), tokenizer=":pairs")
    assert told.value.diagnostic.code == "E-DATA-FORMAT"


def test_a_copy_a_moved_and_a_touched_file_are_not_encoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("abcdef")
    whole = source(tmp_path, "text-files", ("a.txt",), tokenizer=":pairs")[1]
    shutil.copy(path, tmp_path / "b.txt")
    os.utime(path, (1, 1))
    monkeypatch.setattr(tokenized.Writer, "file", None)
    for name in ("a.txt", "b.txt"):
        found = source(tmp_path, "text-files", (name,), tokenizer=":pairs")[1]
        assert {**found, "paths": ()} == {**whole, "paths": ()}


def test_a_check_encodes_nothing_large_and_knows_the_vocabulary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "SCANNED", 6)
    (tmp_path / "a.txt").write_text("abcdef")
    with files.unasked(), pytest.raises(index.Unscanned, match="W-DATA-UNREAD") as raised:
        source(tmp_path, "text-files", ("a.txt",), tokenizer=":pairs")
    assert (raised.value.header["tokens"], raised.value.header["vocab"]) == (None, 2000)
    told: list[str] = []
    monkeypatch.setattr(files.REACH, "tell", told.append)
    source(tmp_path, "text-files", ("a.txt",), tokenizer=":pairs")
    assert told[0] == "encoding a.txt, 0 MB"
    with files.unasked():
        assert source(tmp_path, "text-files", ("a.txt",), tokenizer=":pairs")[1]["tokens"] == 3


def test_one_that_is_killed_while_it_encodes_leaves_nothing_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_YOUNG", 0.0)
    (tmp_path / "a.txt").write_bytes(b"abcd" * 400_000)
    code = f"""
import {__name__} as t
from pathlib import Path
t.source(Path("."), "text-files", ("a.txt",), tokenizer=":slow")"""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path}
    killed = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=environment)
    deadline = time.monotonic() + 30
    while not (tmp_path / "begun").exists():
        assert killed.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    source(tmp_path, "text-files", ("a.txt",), tokenizer=":parts")
    folder = tmp_path / "cache" / "index"
    assert len(list(folder.glob(".scan.*"))) == 1  # a live one's stays
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert len(list(folder.glob("[!.]*.tokens"))) == 1
    (tmp_path / "b.txt").write_text("abcdef")
    source(tmp_path, "text-files", ("b.txt",), tokenizer=":parts")
    assert not list(folder.glob(".scan.*"))


@pytest.mark.parametrize(
    ("tokenizer", "code", "told"),
    [
        (":pair", "E-OPTION-VALUE", "did you mean :pairs?"),
        ("pairs", "E-OPTION-VALUE", "wants a name as :bytes"),
        ((":pairs", "a.txt"), "E-OPTION-VALUE", "has 1 files, and takes 0"),
        ((":filed",), "E-OPTION-VALUE", ':tokenizer (:filed "FILE")'),
        ((":filed", "v.txtt"), "E-DATA-MISSING", 'The nearest that exists is "v.txt"'),
        (":beyond", "E-DATA-TOKEN", "gave the id 4,000, and its vocabulary is 2,000"),
        (":raises", "E-PLUGIN-BROKEN", "RuntimeError: no such merge"),
        (":text", "E-PLUGIN-BROKEN", "gives no list of integers"),
        (":gone", "E-PLUGIN-BROKEN", "Nothing"),
        (":absent", "E-DATA-EXTRA", "pip install 'sexpgpu[tokenizers]'"),
    ],
)
def test_what_is_wrong_with_a_tokenizer_is_told(
    tmp_path: Path, tokenizer: Any, code: str, told: str
) -> None:
    (tmp_path / "a.txt").write_text("abc")
    (tmp_path / "v.txt").write_text("3000")
    with pytest.raises(Problem) as raised:
        source(tmp_path, "text-files", ("a.txt",), tokenizer=tokenizer)
    found = raised.value.diagnostic
    assert found.code == code
    assert told in f"{found.message} {found.hint}"


def test_a_fingerprint_depends_on_the_tokenizer_its_version_and_its_file(tmp_path: Path) -> None:
    from sexpgpu_core.experiment import declarations as d

    (tmp_path / "a.txt").write_text("abc" * 50)

    def printed(tokenizer: Any, of: str = "plug 1.0") -> str:
        table = {name: r._replace(of=of) for name, r in TABLE.items()}
        options = {"tokenizer": tokenizer}
        stage = dict.fromkeys(d.StageDeclaration._fields)
        stage |= {"name": "train", "split": ((0, 1),)}
        own = dict.fromkeys(d.LoaderDeclaration._fields)
        own |= {"name": "t", "source": SourceDeclaration("text-files", ("a.txt",), options, None)}
        own["stages"] = {"train": d.StageDeclaration(**stage)}
        loader = Loader(d.LoaderDeclaration(**own), tmp_path, tokenizers=table)
        return loader.fingerprint()

    (tmp_path / "v.txt").write_text("3000")
    filed = (":filed", "v.txt")
    found = [printed(":pairs"), printed(":pairs", "plug 1.1"), printed(":parts"), printed(filed)]
    (tmp_path / "v.txt").write_text("3000\n")
    assert len({*found, printed(filed)}) == 5
    assert printed(":bytes") == printed(":bytes", "plug 1.1")


def test_sources_of_a_mixture_have_one_tokenizer_where_they_say_which(tmp_path: Path) -> None:
    from sexpgpu_core.experiment.headers import merged_header

    (tmp_path / "a.txt").write_text("abc" * 50)
    pairs, parts, plain = (
        source(tmp_path, "text-files", ("a.txt",), tokenizer=name)[1]
        for name in (":pairs", ":parts", ":bytes")
    )
    merged = merged_header({"x": pairs, "y": pairs, "z": plain}, [1, 1, 1])
    assert merged["members"][0] == (("tokenizer", ("pairs", "plug 1.0")),)
    with pytest.raises(Problem, match="sources x and y of a mixture have other tokenizers"):
        merged_header({"x": pairs, "y": parts}, [1, 1])
