"""An index is found by content: by copies, in moved folders; a check scans nothing large."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core import api
from sexpgpu_core.data import files, index, joined, tabular, text
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.spans import Source

CSV = "x,label\n" + "".join(f"{i}.5,{i % 3}\n" for i in range(400))
TALK = "".join(json.dumps({"q": f"a{i}", "a": "é"}) + "\n" for i in range(200))
CHARS = {"tokenizer": ":chars"}
KINDS: dict[str, tuple[str, Callable[[Any], Any], dict[str, Any]]] = {
    "csv": (CSV, tabular.csv_header, {}),
    "jsonl": (TALK, tabular.jsonl_header, {}),
    "text": (CSV, text.files_header, CHARS),
    "joined": (TALK, joined.header, {"tokens": (("q", 0), ("a", 1)), **CHARS}),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(index, "SCANNED", 1000)
    return tmp_path


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were scanned."""
    seen: list[str] = []
    real = index.Scan.open
    monkeypatch.setattr(
        index.Scan, "open", lambda self, path: seen.append(path.name) or real(self, path)
    )
    return seen


def said(kind: str, path: Path) -> Any:
    _, header, more = KINDS[kind]
    found = dict(header({"arguments": (path.name,), "base": str(path.parent), **more}))
    return {key: value for key, value in found.items() if key != "paths"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_a_moved_and_a_touched_file_are_not_scanned_again(
    kind: str, folder: Path, scans: list[str]
) -> None:
    path = folder / "a"
    path.write_text(KINDS[kind][0])
    whole = said(kind, path)
    assert scans == ["a"]
    (folder / "other").mkdir()
    shutil.copy(path, folder / "other" / "b")
    os.utime(path, (1, 1))
    with files.unasked():
        assert said(kind, path) == whole
        assert said(kind, folder / "other" / "b") == whole
        path.rename(folder / "c")
        assert said(kind, folder / "c") == whole
    assert scans == ["a"]


@pytest.mark.parametrize("kind", KINDS)
def test_other_bytes_of_one_size_and_begin_are_scanned(
    kind: str, folder: Path, scans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_BEGIN", 4)
    path = folder / "a"
    path.write_text(KINDS[kind][0])
    said(kind, path)
    path.write_text(KINDS[kind][0].replace("9", "8"))
    os.utime(path, (2, 2))
    with files.unasked(), pytest.raises(Problem, match="W-DATA-UNREAD"):
        said(kind, path)
    said(kind, path)
    assert scans == ["a", "a"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_check_leaves_a_large_file_to_a_run(kind: str, folder: Path, scans: list[str]) -> None:
    path = folder / "a"
    path.write_text(KINDS[kind][0])
    with files.unasked(), pytest.raises(index.Unscanned) as raised:
        said(kind, path)
    assert scans == []
    before, whole = raised.value.header, said(kind, path)
    assert before["fields"] == whole["fields"]
    assert before.get("count", before.get("tokens")) is None


def test_a_small_file_is_scanned_by_a_check(folder: Path, scans: list[str]) -> None:
    (folder / "a").write_text("x\n1\n")
    with files.unasked():
        assert said("csv", folder / "a")["count"] == 1
    assert scans == ["a"]


def test_a_gap_is_told_by_the_name_that_the_file_has_now(folder: Path) -> None:
    (folder / "a").write_text("x\n1\n\n,\n".replace(",", '""') + "2\n" * 600)
    assert said("csv", folder / "a")["gaps"] == {"x": "a:4"}
    (folder / "a").rename(folder / "b")
    assert said("csv", folder / "b")["gaps"] == {"x": "b:4"}


def test_columns_before_a_scan_are_those_of_whole_rows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = '"a\nb",1,\n' * 500
    (folder / "a").write_text("t,n,e\n" + rows)
    for head in range(60, 90):  # the end of the head is anywhere in a row
        monkeypatch.setattr(tabular, "HEAD", head)
        with files.unasked(), pytest.raises(index.Unscanned) as raised:
            said("csv", folder / "a")
        found = raised.value.header["fields"]
        assert {n: t for n, (t, _) in found.items()} == {"t": "text", "n": "i32", "e": "f32"}


def test_what_is_lost_of_the_cache_is_made_again(folder: Path, scans: list[str]) -> None:
    (folder / "a").write_text(CSV)
    said("csv", folder / "a")
    for path in (folder / "cache" / "index").iterdir():
        path.unlink()
    table = tabular.CsvTable({"arguments": ("a",), "base": str(folder)})
    assert len(table) == 400
    assert scans == ["a", "a"]


def test_a_scan_that_fails_leaves_no_file(folder: Path) -> None:
    (folder / "a").write_text(CSV + "1,2,3\n")
    with pytest.raises(Problem, match="E-DATA-FORMAT"):
        said("csv", folder / "a")
    assert list((folder / "cache" / "index").iterdir()) == []


def test_a_long_scan_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(files.REACH, "tell", told.append)
    (folder / "a").write_text(CSV)
    before = files.REACH.scanned
    said("csv", folder / "a")
    assert told[0].startswith("scanning a, 0 MB")
    assert len(told) == 2
    took = files.REACH.scanned
    assert took > before
    said("csv", folder / "a")
    assert files.REACH.scanned == took  # it is known now


# Whole files ----------------------------------------------------------------------------------

REST = """(stage :train :split (0 0.8)) (stage :val :split (0.8 1)) (batch 4))
(defmodel net () (defparam w () :init 0) w)
(defun objective () (metric "loss" (net)))
(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-2)))) """


def checked(folder: Path, source: str, end: str, more: str = "", asks: bool = False) -> Any:
    written = (
        f'(require "sexpgpu/optim") (defloader d (source {source}) {REST} {more} (defrun {end})'
    )
    return api.check(Source(str(folder / "run.lisp"), written), device="reference", asks=asks)


def unread(report: Any) -> list[str]:
    return [d.message for d in report.diagnostics if d.code == "W-DATA-UNREAD"]


def test_a_check_goes_on_without_n_and_knows_it_after_the_scan(folder: Path) -> None:
    (folder / "a.csv").write_text(CSV)
    first = checked(folder, '(csv "a.csv")', ":steps 2")
    assert first.complete
    assert "is not known" in unread(first)[0]
    assert unread(checked(folder, '(csv "a.csv")', ":steps 2", asks=True)) == []
    assert unread(checked(folder, '(csv "a.csv")', ":steps 2")) == []
    (folder / "a.csv").write_text(CSV + "1.5,2\n")
    assert len(unread(checked(folder, '(csv "a.csv")', ":steps 2"))) == 1


@pytest.mark.parametrize(
    ("source", "end", "more", "code"),
    [
        ('(csv "a.csv")', ":epochs 2", "", "W-DATA-UNREAD"),
        ('(text-files "a.csv" :tokenizer :chars)) (windows 9', ":steps 2",
         "(defparameter *v* (loader-info d :vocab))", "E-DATA-MISSING"),
    ],
)  # fmt: skip
def test_what_hangs_on_n_or_the_vocabulary_stops_the_check_until_the_scan(
    folder: Path, source: str, end: str, more: str, code: str
) -> None:
    (folder / "a.csv").write_text(CSV)
    first = checked(folder, source, end, more)
    assert not first.complete
    assert code in {d.code for d in first.diagnostics} <= {"W-DATA-UNREAD", code}
    assert checked(folder, source, end, more, asks=True).complete
    assert unread(checked(folder, source, end, more)) == []


def test_too_few_examples_are_told_once_they_are_counted(folder: Path) -> None:
    (folder / "a.csv").write_text("x\n" + "1" * 600 + ".5\n" + "2" * 600 + ".5\n")
    assert checked(folder, '(csv "a.csv")', ":steps 2").complete
    after = checked(folder, '(csv "a.csv")', ":steps 2", asks=True)
    assert [d.code for d in after.diagnostics if d.is_error] == ["E-DATA-SMALL"]


@pytest.mark.parametrize(
    "source",
    [
        '(text-files "a.csv")) (windows 9 :documents (string #\\Newline)',
        '(csv "a.csv")) (split-by (:group label)',
    ],
)
def test_documents_and_groups_of_a_large_source_are_counted_by_a_run(
    folder: Path, source: str
) -> None:
    (folder / "a.csv").write_text(CSV)
    if "(csv" in source:
        said("csv", folder / "a.csv")
    first = checked(folder, source, ":steps 2")
    assert first.complete
    assert len(unread(first)) == 1
    assert "documents and groups" in unread(first)[0]
    assert unread(checked(folder, source, ":steps 2", asks=True)) == []
    assert unread(checked(folder, source, ":steps 2")) == []


def test_a_statistic_of_a_large_stage_has_its_type_before_the_scan(folder: Path) -> None:
    (folder / "a.csv").write_text(CSV)
    more = "(defparameter *m* (stage-stat (d :train) x :mean))"
    first = checked(folder, '(csv "a.csv")', ":steps 2", more)
    assert [d.code for d in first.diagnostics if d.is_error] == []
    assert len(unread(first)) == 1
