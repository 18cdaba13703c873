"""csv and jsonl: one scan in pieces, whatever they are; memory does not grow with a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loader_text import loader_of
from test_data_sources import code, everything

from sexpgpu_core.data import index, pieces, records, tabular
from sexpgpu_core.diagnostics import Problem

CELLS = st.one_of(
    st.integers(-(2**40), 2**40),
    st.floats(-1e6, 1e6, width=32),
    st.booleans(),
    st.none(),
    st.sampled_from(["", "a", "1", "1.5", "ü,x"]),
)


def facts(path: Path, kind: str, piece: int) -> tuple[dict, dict]:
    """Header and all values of a file read in pieces of some rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE", piece)
        patch.setenv("SEXPGPU_CACHE", str(path.parent / f"cache-{piece}"))
        options = {"arguments": (path.name,), "base": str(path.parent)}
        header = (tabular.csv_header if kind == "csv" else tabular.jsonl_header)(options)
        table = (tabular.CsvTable if kind == "csv" else tabular.JsonTable)(options)
        found: dict = {
            name: table.texts(name, range(len(table)))
            if dtype == "text"
            else table.arrays[name].rows(slice(None)).tolist()
            for name, (dtype, _) in header["fields"].items()
        }
    said = {k: header[k] for k in ("count", "fields")}
    return said | {"gaps": sorted(header["gaps"])}, found


@settings(max_examples=40, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("abc"), CELLS), min_size=1, max_size=9))
def test_pieces_of_any_size_give_one_table(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("pieces")
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    whole = facts(folder / "a.jsonl", "jsonl", 100)
    for size in (1, 2, 4):
        assert repr(facts(folder / "a.jsonl", "jsonl", size)) == repr(whole)
    names = list(dict.fromkeys(name for row in rows for name in row))
    assert whole[0]["count"] == len(rows)
    assert list(whole[0]["fields"]) == names


def test_texts_and_numbers_of_csv_are_where_they_were(tmp_path):
    rows = [(i, i / 4, f'"t{i}\nof, ""two"" lines"', "") for i in range(11)]
    lines = "\n".join(",".join(map(str, row)) for row in rows)
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfn,x,text,none\n\n" + lines.encode())
    for size in (1, 3, 100):
        said, found = facts(tmp_path / "a.csv", "csv", size)
        assert found["n"] == list(range(11))
        assert found["x"] == [i / 4 for i in range(11)]
        assert found["text"] == [f't{i}\nof, "two" lines' for i in range(11)]
        assert said["fields"] == {
            "n": ("i32", ()), "x": ("f32", ()), "text": ("text", ()), "none": ("text", ()),
        }  # fmt: skip


def test_records_in_a_file_are_those_in_memory(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x,y,t\n" + "".join(f"{i},{i}.5,t{i}\n" for i in range(50)))
    (tmp_path / "b.csv").write_text("x,y,t\n7,8,end\n")
    clause = '(source (csv "a.csv" "b.csv")) (fields (x "x") (y "y") (t "t" :hash 0))'
    memory = everything(loader_of(clause, tmp_path))
    monkeypatch.setattr(records, "KEPT", 0)
    loader = loader_of(clause, tmp_path)
    assert all(np.array_equal(memory[n], a) for n, a in everything(loader).items())
    assert loader.reader().texts("t", [50, 3]) == ["end", "t3"]


def test_a_cache_that_lost_its_file_or_takes_none_costs_a_scan(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    given = '(source (csv "a.csv"))'
    assert everything(loader_of(given, tmp_path))["x"].tolist() == [1, 2]
    monkeypatch.setattr(index, "cache_folder", lambda: Path(os.devnull))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert everything(loader_of(given, tmp_path))["x"].tolist() == [1, 2]
    for spool in tmp_path.glob("*.spool"):
        spool.unlink()
    assert everything(loader_of(given, tmp_path))["x"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", "x,x\n1,2\n", "has two columns x"),
        ("a.csv", f'x\n"{"a" * 200_000}"\n', "a.csv:2 is no csv"),
        ("a.jsonl", '{"x": 1}\n\xff\n', "a.jsonl:2 is no JSON"),
        ("a.jsonl", '{"p": [[1, 2], [3, 4, 5], [6]]}\n', "p is ragged in row 1"),
    ],
)
def test_files_that_do_not_read_are_told_with_the_line(tmp_path, name, text, told):
    (tmp_path / name).write_text(text, encoding="latin1")
    kind = name.partition(".")[2]
    found = code(lambda: loader_of(f'(source ({kind} "{name}"))', tmp_path).fields("train"))
    assert told in found.message, found.message


PEAK = """
import resource, sys
import numpy as np
from sexpgpu_core.data import records, tabular
records.KEPT = 1 << 20
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 if sys.platform == "darwin" else 1024)
options = {"arguments": (sys.argv[1],), "base": "/"}
small = {"arguments": (sys.argv[2],), "base": "/"}
tabular.CsvTable(small).texts("town", [0])  # all imports
before = peak()
table = tabular.CsvTable(options)
out = {f"c{i}": np.empty(4096, "f4") for i in range(10)}
table.read(np.arange(0, len(table), len(table) // 4096)[:4096], out)
table.texts("town", range(256))
print(peak() - before)
"""  # noqa: E501


def test_memory_does_not_grow_with_a_file(tmp_path):
    """The size is TESTS_CSV_MB megabytes, 24 if nothing is said."""
    megabytes = int(os.environ.get("TESTS_CSV_MB", "24"))
    row = np.random.default_rng(0).normal(size=(4096, 10)).round(4)
    block = "".join(",".join(map(str, r)) + f",town {i % 9}\n" for i, r in enumerate(row.tolist()))
    head = ",".join(f"c{i}" for i in range(10)) + ",town\n"
    for name, blocks in (("small.csv", 1), ("big.csv", (megabytes << 20) // len(block))):
        with open(tmp_path / name, "w") as file:
            file.write(head)
            for _ in range(blocks):
                file.write(block)
    run = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path / "big.csv"), str(tmp_path / "small.csv")],
        env={**os.environ, "SEXPGPU_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(run.stdout) < 16 << 10, f"{int(run.stdout) >> 10} MB more"


DIGITS = [0.1, 1 / 3, 2.5, -7e30]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("kept", [1 << 26, 0])
def test_a_field_of_f64_has_all_digits_of_its_column(tmp_path, monkeypatch, kind, kept):
    """Those beside it are what they were, and so is the table where no field is of f64."""
    monkeypatch.setattr(records, "KEPT", kept)
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path / "cache"))
    rows = [{"x": x, "y": 1 / 7, "n": i} for i, x in enumerate(DIGITS)]
    lines = [",".join(map(repr, row.values())) for row in rows]
    text = "\n".join(["x,y,n", *lines] if kind == "csv" else map(json.dumps, rows))
    (tmp_path / "a.txt").write_text(text)
    source = f'(source ({kind} "a.txt"))'
    for _ in range(2):  # the second reads what the first has kept
        single = everything(loader_of(f'{source} (fields (y "y") (n "n"))', tmp_path))
        assert single["y"].tolist() == [np.float32(1 / 7)] * 4
        fields = (
            '(fields (x "x" :f64) (y "y") (both ("x" "y") :f64) (m "x" :f64 :missing 0) (n "n"))'
        )
        found = everything(loader_of(f"{source} {fields}", tmp_path))
        assert found["x"].tolist() == found["m"].tolist() == DIGITS
        assert found["both"].tolist() == [[x, 1 / 7] for x in DIGITS]
        assert found["y"].dtype == np.float32
        assert found["y"].tolist() == single["y"].tolist()
        assert found["n"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("wide", ["", ' (y "y" :f64)'])
def test_a_number_that_f32_has_not_is_told(tmp_path, wide):
    """It was infinite before. In a table of f64 the field of f32 is told as well."""
    (tmp_path / "a.csv").write_text("x,y\n1.5,2.5\n-7e300,inf\n")
    loader = loader_of(f'(source (csv "a.csv")) (fields (x "x"){wide})', tmp_path)
    with pytest.raises(Problem) as caught:
        everything(loader)
    found = caught.value.diagnostic
    assert found.code == "E-DATA-TYPE"
    assert found.message == "column x has -7e+300, which f32 has not"
    assert found.hint == 'declare a dtype that holds it: (fields (x "x" :f64))'
    whole = loader_of('(source (csv "a.csv")) (fields (x "x" :f64) (y "y" :f64))', tmp_path)
    assert everything(whole)["y"].tolist() == [2.5, np.inf]
