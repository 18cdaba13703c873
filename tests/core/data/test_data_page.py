"""What docs/data.md says that each source gives, sentence by sentence: a case that shows it."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from loader_text import loader_of

from sexpgpu_core.data.loader import Loader
from sexpgpu_core.data.prefetch import Prefetcher
from sexpgpu_core.ir.types import Type

PAGE = " ".join((Path(__file__).parents[3] / "docs" / "data.md").read_text("utf-8").split())
IN_ORDER = "(stage :train :order :sequential)"
TEXT = b"abcdefgh\nij\nklmnopqrstuv\nwxyz\n"


class Said(NamedTuple):
    """Words of the page; a loader's clauses and the files that they read; the types of its fields,
    and what its first batch holds of some of them."""

    words: str
    clauses: str
    files: Mapping[str, bytes]
    types: Mapping[str, Type]
    holds: Mapping[str, Any] = {}
    needs: str = "numpy"


def i32(*shape: int) -> Type:
    return Type("i32", shape)


def f32(*shape: int) -> Type:
    return Type("f32", shape)


def bytes_of(save: Callable[..., Any], *given: Any, **more: Any) -> bytes:
    file = io.BytesIO()
    save(file, *given, **more)
    return file.getvalue()


ROWS = np.arange(12.0, dtype=np.float32).reshape(4, 3)
LABELS = np.array([3, 1, 4, 1], np.int32)
IDX = struct.pack(">4B2I", 0, 0, 8, 2, 4, 3) + bytes(range(12))
ONES = struct.pack(">4BI", 0, 0, 8, 1, 4) + bytes([3, 1, 4, 1])
SHARD = np.arange(40, dtype=np.uint16)
LLM_C = np.zeros(256, np.int32)
LLM_C[:3] = 20240520, 1, 40
CSV = b'age,income,city\n31,2.5,rome\n42,1e3,oslo\n25,1.0,"x, y"\n58,7.5,lima\n'
JSONL = "".join(
    json.dumps({"name": n, "image": [i, 0.5], "label": i}) + "\n" for i, n in enumerate("abcd")
).encode()
TALK = b'{"q": "abc", "a": "de"}\n{"q": "f", "a": "ghij"}\n'


def tensors(**arrays: np.ndarray) -> bytes:
    head, body = {}, b""
    for name, array in arrays.items():
        at = len(body)
        body += array.tobytes()
        dtype = {"float32": "F32", "int32": "I32"}[str(array.dtype)]
        head[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": (at, len(body))}
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + body


def columns(kind: str) -> Callable[[], bytes]:
    """A parquet file or one of Arrow, with a list of one length in every row."""

    def made() -> bytes:
        import pyarrow as pa
        from pyarrow import parquet

        given = {"image": pa.array(ROWS.tolist(), pa.list_(pa.float32())), "label": LABELS}
        table, file = pa.table({**given, "name": list("abcd")}), io.BytesIO()
        if kind == "parquet":
            parquet.write_table(table, file)
            return file.getvalue()
        with pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
        return file.getvalue()

    return made


def picture(level: int) -> Callable[[], bytes]:
    def made() -> bytes:
        from PIL import Image

        return bytes_of(Image.new("RGB", (5, 4), (level, 0, 0)).save, format="PNG")

    return made


TABLE = {"image": f32(3), "label": i32()}
FIRST = {"image": ROWS[:2], "label": LABELS[:2]}
TOKENS = np.frombuffer(TEXT, np.uint8)
SOURCES = (
    Said(
        "Text of the files that paths or globs name, in that order; field tokens (i32).",
        f'(source (text-files "b.txt" "a*.txt")) (windows 4) {IN_ORDER}',
        {"b.txt": b"xy", "a1.txt": b"zw", "a2.txt": b"uvst"}, {"tokens": i32(4)},
        {"tokens": [list(b"xyzw"), list(b"uvst")]},
    ),
    Said(
        "MNIST's format, .gz too: :image PATH :label PATH, a keyword names its field.",
        f'(source (idx :image "i.gz" :mark "l")) {IN_ORDER}',
        {"i.gz": gzip.compress(IDX), "l": ONES},
        {"image": Type("u8", (3,)), "mark": i32()}, {"mark": [3, 1]},
    ),
    Said(
        "1,797 handwritten digits: image f32 (64) from 0 to 16, label i32.",
        "(source (digits))", {}, {"image": f32(64), "label": i32()}, needs="sklearn",
    ),
    Said(
        "The arrays of a NumPy .npz file; axis 0 counts examples.",
        f'(source (npz "a.npz")) {IN_ORDER}',
        {"a.npz": bytes_of(np.savez, image=ROWS, label=LABELS)}, TABLE, FIRST,
    ),
    Said(
        "NumPy .npy files, :image PATH :label PATH;",
        f'(source (npy :image "i.npy" :label "l.npy")) {IN_ORDER}',
        {"i.npy": bytes_of(np.save, ROWS), "l.npy": bytes_of(np.save, LABELS)}, TABLE, FIRST,
    ),
    Said(
        "without a keyword the field is x.",
        f'(source (npy "i.npy")) {IN_ORDER}', {"i.npy": bytes_of(np.save, ROWS)},
        {"x": f32(3)}, {"x": ROWS[:2]},
    ),
    Said(
        "The tensors of a safetensors file; axis 0 counts examples.",
        f'(source (safetensors "a")) {IN_ORDER}', {"a": tensors(image=ROWS, label=LABELS)},
        TABLE, FIRST,
    ),
    Said(
        "Files of tokens, u16 or u32, raw or as llm.c writes them; field tokens (i32).",
        f'(source (token-shards "a" "b")) (windows 40) {IN_ORDER}',
        {"a": LLM_C.tobytes() + SHARD.tobytes(), "b": SHARD[::-1].tobytes()},
        {"tokens": i32(40)}, {"tokens": [SHARD, SHARD[::-1]]},
    ),
    Said(
        "Files of tokens, u16 or u32, raw",
        f'(source (token-shards "a" :dtype :u32)) (windows 4) {IN_ORDER}',
        {"a": np.arange(70_000, 70_008, dtype=np.uint32).tobytes()}, {"tokens": i32(4)},
        {"tokens": np.arange(70_000, 70_008).reshape(2, 4)},
    ),
    Said(
        "Columns of csv files by name or number: whole numbers i32, others f32, the rest is text.",
        f'(source (csv "a")) (fields (age 0) (income "income") (city "city" :hash 0)) {IN_ORDER}',
        {"a": CSV}, {"age": i32(), "income": f32(), "city": Type("u32", ())},
        {"age": [31, 42], "income": [2.5, 1000]},
    ),
    Said(
        "its keys are columns, of numbers, lists of numbers or texts.",
        f'(source (jsonl "a")) (fields (label "label") (image "image") (name "name" :hash 0)) '
        f"{IN_ORDER}",
        {"a": JSONL}, {"label": i32(), "image": f32(2), "name": Type("u32", ())},
        {"image": [[0, 0.5], [1, 0.5]]},
    ),
    Said(
        "Columns of parquet files; lists of one length have an axis, texts are for :hash and map.",
        f'(source (parquet "a")) (map name #\'length) {IN_ORDER}', {"a": columns("parquet")},
        {**TABLE, "name": i32()}, {**FIRST, "name": [1, 1]}, "pyarrow",
    ),
    Said(
        "Columns of Arrow's files and streams, as the library datasets saves them.",
        f'(source (arrow "a")) (map name #\'length) {IN_ORDER}', {"a": columns("arrow")},
        {**TABLE, "name": i32()}, FIRST, "pyarrow",
    ),
    Said(
        "A folder a class of PNG or JPEG files: image u8 (h w 3), label i32 by sorted names.",
        f'(source (images "p")) (split-by :position) {IN_ORDER}',
        {"p/b/1.png": picture(9), "p/a/2.png": picture(7)},
        {"image": Type("u8", (4, 5, 3)), "label": i32()}, {"label": [0, 1]}, "PIL",
    ),
    Said(
        "A function of an example's number gives a property list of its fields.",
        f"(source (synthetic (lambda (i) (list :x (* i 1.5) :n i)) :examples 4)) {IN_ORDER}",
        {}, {"x": f32(), "n": i32()}, {"x": [0, 1.5], "n": [0, 1]},
    ),
    Said("No fields: the data is drawn in prepare.", "(source (none :examples 4))", {}, {}),
)  # fmt: skip
TXT = '(source (text-files "t"))'
CLAUSES = (
    Said(
        "a number or a name, a range of them (the end is not in it) as one field",
        f'(source (csv "a")) (fields (both (0 2) :f32)) {IN_ORDER}', {"a": CSV},
        {"both": f32(2)}, {"both": [[31, 2.5], [42, 1000]]},
    ),
    Said(
        "`:missing` for what has no value",
        f'(source (csv "a")) (fields (y "y" :f32 :missing -1)) {IN_ORDER}',
        {"a": b"x,y\n1,\n2,3\n"}, {"y": f32()}, {"y": [-1, 3]},
    ),
    Said(
        "brings the f32 field `mask`, 1 where the field `split` is 1",
        '(source (csv "a")) (stage :train :order :sequential :mask (split 1))',
        {"a": b"split\n0\n1\n1\n"}, {"split": i32(), "mask": f32()}, {"mask": [0, 1]},
    ),
    Said(
        "the arrays are one example, as they are",
        '(source (npz "a")) (whole) (stage :train)',
        {"a": bytes_of(np.savez, x=ROWS, y=np.float32([7, 8]))},
        {"x": f32(4, 3), "y": f32(2)}, {"x": ROWS, "y": [7, 8]},
    ),
    Said(
        "a *stream* is one long row of tokens that `windows` cuts into examples.",
        f"{TXT} (windows 5 :stride 3) {IN_ORDER}", {"t": TEXT}, {"tokens": i32(5)},
        {"tokens": [TOKENS[:5], TOKENS[3:8]]},
    ),
    Said(
        "The last window of a document is filled with `:pad` (0), and the f32 field `weights` is 0 "
        "there",
        f"{TXT} (windows 6 :documents (string #\\Newline)) {IN_ORDER}", {"t": TEXT},
        {"tokens": i32(6), "weights": f32(6)},
        {"tokens": [list(b"abcdef"), [*b"gh\n", 0, 0, 0]], "weights": [[1] * 6, [1] * 3 + [0] * 3]},
    ),
    Said(
        "`:short :drop` leaves such windows out",
        f"{TXT} (windows 6 :documents 10 :short :drop) {IN_ORDER}", {"t": TEXT},
        {"tokens": i32(6), "weights": f32(6)}, {"tokens": [list(b"abcdef"), list(b"klmnop")]},
    ),
    Said(
        "`:short :keep-if 8` those with fewer than 8 tokens",
        f"{TXT} (windows 9 :documents 10 :short :keep-if 8) {IN_ORDER}", {"t": TEXT},
        {"tokens": i32(9), "weights": f32(9)},
        {"tokens": [list(b"abcdefgh\n"), list(b"klmnopqrs")]},
    ),
    Said(
        "With `:order :streams` the field `begins` is true where a row's window begins a document",
        f"{TXT} (windows 9 :documents 10) (stage :train :order :streams)", {"t": TEXT},
        {"tokens": i32(9), "weights": f32(9), "begins": Type("bool", ())},
        {"begins": [True, False]},
    ),
    Said(
        "`segments` (i32) numbers them from 1, 0 where there is padding; `positions` counts from "
        "each one's begin",
        f"{TXT} (windows 14 :documents 10 :pack t) {IN_ORDER}", {"t": TEXT},
        {"tokens": i32(14), "weights": f32(14), "segments": i32(14), "positions": i32(14)},
        {"segments": [[1] * 9 + [2] * 3 + [0] * 2, [1] * 13 + [0]],
         "positions": [[*range(9), *range(3), 0, 0], [*range(13), 0]]},
    ),
    Said(
        "`:tokens` names the keys whose texts are joined, and what their tokens weigh",
        f'(source (jsonl "a" :tokens ((q :weight 0) (a :weight 1)))) (windows 5) {IN_ORDER}',
        {"a": TALK}, {"tokens": i32(5), "weights": f32(5)},
        {"tokens": [list(b"abcde"), list(b"fghij")], "weights": [[0, 0, 0, 1, 1], [0, 1, 1, 1, 1]]},
    ),
    Said(
        "the field `source` (i32) says which one a row is of",
        '(source (mixture (x 1 (csv "a")) (y 1 (csv "b")))) (stage :train :batch 1024)',
        {"a": b"v\n" + b"1\n" * 2000, "b": b"v\n" + b"2\n" * 2000}, {"v": i32(), "source": i32()},
    ),
)  # fmt: skip


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[Said], Loader]:
    def made(said: Said) -> Loader:
        pytest.importorskip(said.needs)
        for name, body in said.files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(body() if callable(body) else body)
        return loader_of(said.clauses, tmp_path)

    return made


@pytest.mark.parametrize("said", [*SOURCES, *CLAUSES], ids=lambda said: said.words[:40])
def test_the_page_says_it_and_a_loader_gives_it(said: Said, opened: Any) -> None:
    assert said.words in PAGE
    loader = opened(said)
    assert loader.fields("train") == said.types
    batch = loader.batch("train", 0)
    assert sorted(batch) == sorted(said.types)
    for name, array in batch.items():
        whole = "(whole)" in said.clauses
        assert array.shape[(not whole) :] == said.types[name].shape
    for name, values in said.holds.items():
        np.testing.assert_array_equal(batch[name], values)


def test_every_source_of_the_table_has_a_case() -> None:
    rows = re.findall(r"\| `([a-z-]+)` \| (?:table|stream) \|", PAGE)
    assert len(rows) == 15
    shown = {re.search(r"\(source \(([a-z-]+)", said.clauses)[1] for said in SOURCES}  # type: ignore[index]
    assert {*rows} - shown == {"python-stdlib"}  # below


def test_the_standard_library_is_sorted_by_path_and_limited(tmp_path: Path) -> None:
    loader = loader_of(f"(source (python-stdlib :limit 4000)) (windows 9) {IN_ORDER}", tmp_path)
    first = min(p for p in Path(os.__file__).parent.iterdir() if p.suffix == ".py")
    assert loader.header()["tokens"] == 4000
    assert loader.batch("train", 0)["tokens"][0].tolist() == list(first.read_bytes()[:9])


ORDERS = {
    "`:shuffled` (the default where a stage trains)": "(stage :train)",
    "`:sequential` (the default of passes)": "(stage :train :order :sequential)",
    "`:random` (windows at any offset)": "(stage :train :order :random)",
    "row r of a batch goes on where row r of the one before ended": (
        "(stage :train :order :streams)"
    ),
}


@pytest.mark.parametrize("words", ORDERS)
def test_an_order_is_what_the_page_says(words: str, tmp_path: Path) -> None:
    assert words in PAGE
    (tmp_path / "t").write_bytes(bytes(range(100)))
    loader = loader_of(f"{TXT} (windows 5) {ORDERS[words]}", tmp_path)
    batches = [
        loader.batch("train", n)["tokens"][:, 0] for n in range(loader.batches("train") or 0)
    ]
    starts = np.concatenate(batches).tolist()
    passed = [s for b in loader.evaluation("train") for s in b["tokens"][:, 0].tolist()]
    if "shuffled" in words:
        assert starts != sorted(starts)
        assert sorted(starts) == list(range(0, 100, 5))
        assert passed == list(range(0, 100, 5))
    elif "sequential" in words:
        assert starts == list(range(0, 100, 5))
    elif "random" in words:
        assert any(start % 5 for start in starts)
    else:
        assert np.array_equal(np.diff(np.stack(batches), axis=0), np.full((9, 2), 5))


def test_a_short_batch_is_dropped_in_training_and_kept_in_passes(tmp_path: Path) -> None:
    assert "A last short batch is dropped in training and kept in passes" in PAGE
    (tmp_path / "a").write_bytes(b"v\n1\n2\n3\n")
    loader = loader_of('(source (csv "a"))', tmp_path)
    assert loader.batches("train") == 1
    assert [len(b["v"]) for b in loader.evaluation("train")] == [2, 1]


def test_shares_of_a_mixture_are_exact_at_every_1024_rows(tmp_path: Path) -> None:
    assert "shares are exact at every 1,024 rows" in PAGE
    for name in "ab":
        (tmp_path / name).write_bytes(b"v\n" + b"1\n" * 2000)
    source = '(source (mixture (x 3 (csv "a")) (y 1 (csv "b")))) (stage :train :batch 1024)'
    loader = loader_of(source, tmp_path)
    for number in range(3):
        counts = np.bincount(loader.batch("train", number)["source"], minlength=2)
        assert counts.tolist() == [768, 256]


@pytest.mark.parametrize(("depth", "threads"), [(0, 1), (2, 1), (8, 4)])
def test_no_number_depends_on_how_batches_are_fetched(
    depth: int, threads: int, tmp_path: Path
) -> None:
    assert "no number depends on either" in PAGE
    (tmp_path / "t").write_bytes(bytes(range(100)))
    loader = loader_of(f"{TXT} (windows 5)", tmp_path)
    wanted = [loader.batch("train", n)["tokens"] for n in range(20)]
    loader.ahead = type(loader.ahead)(depth, threads)
    ahead = Prefetcher(loader, "train", 0, 20)
    for tokens in wanted:
        np.testing.assert_array_equal(ahead.take()[0]["tokens"], tokens)
    ahead.close()


def test_shares_that_are_no_whole_rows_are_carried_from_block_to_block(tmp_path: Path) -> None:
    """After p rows a part has given p w of them, to less than one (45.15)."""
    for name in "ab":
        (tmp_path / name).write_bytes(b"v\n" + b"1\n" * 2000)
    source = '(source (mixture (x 2 (csv "a")) (y 1 (csv "b")))) (stage :train :batch 1024)'
    loader = loader_of(source, tmp_path)
    given = 0
    for number in range(6):
        rows = loader.batch("train", number)["source"]
        given += int((rows == 1).sum())
        assert abs(given - 1024 * (number + 1) / 3) < 1
    assert given == 2048
