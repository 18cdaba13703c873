"""parquet and Arrow files: what they say at check is what is read, in batches of any size."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from loader_text import loader_of
from test_data_sources import code, everything

from sexpgpu_core.data import records
from sexpgpu_core.ir.types import Type

pa = pytest.importorskip("pyarrow", reason="parquet and arrow need pyarrow")
from pyarrow import parquet  # noqa: E402

ROWS = 21


def table() -> object:
    r = np.random.default_rng(0)
    return pa.table(
        {
            "x": pa.array(r.normal(size=ROWS)),
            "image": pa.array(r.integers(0, 255, (ROWS, 3)).tolist(), pa.list_(pa.uint8())),
            "label": pa.array(r.integers(0, 9, ROWS), pa.int64()),
            "on": pa.array((r.integers(0, 2, ROWS) > 0).tolist()),
            "name": pa.array([f"tówn {i % 4}" for i in range(ROWS)]),
            "part": pa.array([None if i == 5 else float(i) for i in range(ROWS)]),
        }
    )


def written(kind: str, found: object, path: object, rows: int = 8) -> str:
    """The file of a kind, in groups or batches of some rows."""
    if kind == "parquet":
        parquet.write_table(found, path, row_group_size=rows)
    else:
        make = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with pa.OSFile(str(path), "wb") as file, make(file, found.schema) as writer:
            for batch in found.to_batches(max_chunksize=rows):
                writer.write_batch(batch)
    return kind if kind != "stream" else "arrow"


FIELDS = (
    '(fields (x "x") (image "image") (label "label") (on "on") (name "name" :hash 0)'
    ' (part "part" :f32 :missing -1))'
)


@pytest.mark.parametrize("kept", [1 << 26, 0])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
def test_columns_are_read_as_they_are_said(tmp_path, monkeypatch, kind, kept):
    monkeypatch.setattr(records, "KEPT", kept)
    source = table()
    named = written(kind, source, tmp_path / "a.file")
    loader = loader_of(f'(source ({named} "a.file")) {FIELDS}', tmp_path)
    assert loader.fields("train") == {
        "x": Type("f32"), "image": Type("u8", (3,)), "label": Type("i32"), "on": Type("bool"),
        "name": Type("u32"), "part": Type("f32"),
    }  # fmt: skip
    found = everything(loader)
    assert np.array_equal(found["x"], source["x"].to_numpy().astype(np.float32))
    assert found["image"].tolist() == source["image"].to_pylist()
    assert found["label"].tolist() == source["label"].to_pylist()
    assert found["on"].tolist() == source["on"].to_pylist()
    assert found["part"].tolist() == [-1 if i == 5 else i for i in range(ROWS)]
    assert found["name"][0] == found["name"][4] != found["name"][1]
    names = loader.reader().texts("name", [5, 0])
    assert names == ["tówn 1", "tówn 0"]
    assert loader.reader().texts("label", [0]) == [str(source["label"][0].as_py())]


def test_several_files_are_one_table_and_unlike_ones_are_told(tmp_path):
    one = table()
    written("parquet", one, tmp_path / "a1.parquet")
    written("parquet", one.slice(3), tmp_path / "a2.parquet")
    loader = loader_of('(source (parquet "a*.parquet")) (fields (y "label"))', tmp_path)
    assert loader.examples("train") == 2 * ROWS - 3
    assert everything(loader)["y"].tolist() == [
        *one["label"].to_pylist(), *one["label"].to_pylist()[3:],
    ]  # fmt: skip
    written("parquet", one.select(["x"]), tmp_path / "a3.parquet")
    told = code(lambda: loader_of('(source (parquet "a*.parquet"))', tmp_path).fields("train"))
    assert (told.code, "a3.parquet has other columns" in told.message) == ("E-DATA-FORMAT", True)


@pytest.mark.parametrize(
    ("columns", "wanted", "told"),
    [
        ({"p": [[1, 2], [3]]}, "E-DATA-TYPE", "its lists are not all of shape [2]"),
        ({"p": [1, 2**40]}, "E-DATA-TYPE", "beyond an int32"),
        ({"p": [1.5, None]}, "E-DATA-TYPE", "column p has no value at row group 1"),
        ({"p": [{"a": 1}, {"a": 2}]}, "E-DATA-TYPE", "which no tensor takes"),
        ({"p": ["a", "b"]}, "E-DATA-TYPE", "holds text"),
        ({"p": []}, "E-DATA-SMALL", "no rows"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path, columns, wanted, told):
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    clause = '(source (parquet "a.parquet")) (fields (p "p" :f32))' if told == "holds text" else (
        '(source (parquet "a.parquet"))'
    )  # fmt: skip

    def work():
        loader = loader_of(clause, tmp_path)
        loader.fields("train")
        everything(loader)

    found = code(work)
    assert (found.code, told in found.message) == (wanted, True), found.message


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_another_file_is_told(tmp_path, kind):
    (tmp_path / "a").write_bytes(b"no such file at all")
    found = code(lambda: loader_of(f'(source ({kind} "a"))', tmp_path).fields("train"))
    assert (found.code, f"a is no {kind} file" in found.message) == ("E-DATA-FORMAT", True)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch, kind):
    written(kind, table(), tmp_path / "a")
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    found = code(lambda: loader_of(f'(source ({kind} "a"))', tmp_path).fields("train"))
    assert found.code == "E-DATA-EXTRA"
    assert found.hint == 'python -m pip install "sexpgpu[arrow]"'


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_field_of_f64_has_all_digits_of_its_column(tmp_path, kind):
    source = table()
    named = written(kind, source, tmp_path / "a.file")
    for dtype in (":f64", ":f32"):
        fields = f'(fields (x "x" {dtype}) (part "part" :f32 :missing -1))'
        found = everything(loader_of(f'(source ({named} "a.file")) {fields}', tmp_path))
        wanted = np.asarray(source.column("x").to_pylist())
        assert found["x"].tolist() == (wanted if dtype == ":f64" else wanted.astype("f4")).tolist()
        assert found["part"].dtype == np.float32
        assert found["part"][5] == -1
