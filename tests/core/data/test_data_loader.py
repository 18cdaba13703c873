"""Declared loaders to batches: fields, counts, epochs, passes, and what is wrong with the data."""

from __future__ import annotations

import gzip
import struct
import subprocess
import sys

import numpy as np
import pytest

from sexpgpu_core.data.loader import Ahead, Loader
from sexpgpu_core.data.prefetch import Prefetcher
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.experiment.declarations import (
    LoaderDeclaration,
    SourceDeclaration,
    StageDeclaration,
    Windows,
)
from sexpgpu_core.ir.types import Type
from sexpgpu_core.spans import Source, Span

SAFE = ("-P",) if sys.version_info >= (3, 11) else ()


def stage(name, split=((0, 1),), **given):
    fields = dict.fromkeys(StageDeclaration._fields)
    return StageDeclaration(**{**fields, "name": name, "split": split, **given})


def declared(kind, *arguments, stages=None, span=None, **given):
    options = given.pop("options", {})
    fields = dict.fromkeys(LoaderDeclaration._fields)
    made = {
        "name": "text",
        "doc": "",
        "source": SourceDeclaration(kind, arguments, options, span),
        "fields": (),
        "whole": False,
        "stages": {s.name: s for s in stages or [stage("train")]},
        "maps": (),
        "counters": {},
    }
    return LoaderDeclaration(**{**fields, **made, **given})


@pytest.fixture
def text(tmp_path):
    (tmp_path / "a.txt").write_bytes(bytes(range(100)))
    return tmp_path


def trained(folder, **given):
    stages = [stage("train", ((0, 0.9),)), stage("val", ((0.9, 1),))]
    cut = Windows(4, 4)
    return Loader(
        declared("text-files", "a.txt", stages=stages, windows=cut, batch=3, **given), folder, 1
    )


def code(work):
    with pytest.raises(Problem) as raised:
        work()
    return raised.value.diagnostic


def test_fields_have_no_batch_axis_and_need_no_numpy(text):
    loader = trained(text)
    assert loader.fields("train") == {"tokens": Type("i32", (4,))}
    assert (loader.examples("train"), loader.batches("train"), loader.vocab) == (22, 7, 256)
    program = (
        "import sys; from sexpgpu_core.data import kinds\n"
        "from sexpgpu_core.staging.source_options import complete\n"
        "row = kinds.by_name(kinds.SOURCES)['python-stdlib']\n"
        "kinds.resolve(row.header)(complete(row, (), {'limit': 10000}, '.'))\n"
        "import sexpgpu_core.data.loader, sexpgpu_core.data.idx, sexpgpu_core.data.digits\n"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, *SAFE, "-c", program]).returncode == 0


def test_an_epoch_of_batches_has_each_window_at_most_once_and_the_next_another_order(text):
    loader = trained(text)
    first = [loader.batch("train", n)["tokens"] for n in range(7)]
    assert first[0].dtype == np.int32
    assert first[0].shape == (3, 4)
    starts = np.concatenate([b[:, 0] for b in first])
    assert len(set(starts.tolist())) == 21
    assert set(starts.tolist()) <= set(range(0, 88, 4))
    second = np.concatenate([loader.batch("train", 7 + n)["tokens"][:, 0] for n in range(7)])
    assert second.tolist() != starts.tolist()
    assert loader.epoch("train", 9) == (1, 2 / 7)


def test_a_batch_is_a_function_of_its_number_alone(text):
    loader = trained(text)
    inorder = [loader.batch("train", n)["tokens"] for n in range(20)]
    for n in (19, 3, 11):
        assert (trained(text).batch("train", n)["tokens"] == inorder[n]).all()


def test_a_pass_sees_every_example_once_in_order_and_its_last_batch_is_short(text):
    loader = trained(text)
    assert loader.evaluation_rows("train") == (7, 1)
    batches = [b["tokens"] for b in loader.evaluation("train")]
    assert [len(b) for b in batches] == [3] * 7 + [1]
    assert np.concatenate(batches).ravel().tolist() == list(range(88))
    assert loader.evaluation_rows("train", 2) == (2, 0)
    assert len(list(loader.evaluation("train", 2))) == 2


def test_streams_continue_each_row_in_the_next_batch(text):
    loader = Loader(
        declared(
            "text-files",
            "a.txt",
            stages=[stage("train", order=":streams")],
            windows=Windows(4, 4),
            batch=3,
        ),
        text,
    )
    one, two = (loader.batch("train", n)["tokens"] for n in (0, 1))
    assert (two[:, 0] == one[:, -1] + 1).all()
    passed = [b["tokens"] for b in loader.evaluation("train")]
    assert [len(b) for b in passed] == [3] * 8 + [1]
    assert sorted(np.concatenate(passed)[:, 0].tolist()) == list(range(0, 100, 4))


def test_characters_are_the_sorted_distinct_ones_of_the_whole_text(tmp_path):
    (tmp_path / "a.txt").write_text("héllo wörld", encoding="utf-8")
    loader = Loader(
        declared(
            "text-files",
            "*.txt",
            options={"tokenizer": ":chars"},
            windows=Windows(11, 11),
            batch=1,
        ),
        tmp_path,
    )
    assert (loader.vocab, loader.header()["vocab"], loader.header()["tokens"]) == (9, 9, 11)
    tokens = loader.batch("train", 0)["tokens"][0]
    assert loader.reader().decode(tokens) == "héllo wörld"
    assert tokens.max() == 8


def test_the_standard_library_is_text_with_a_limit():
    loader = Loader(
        declared("python-stdlib", options={"limit": 50_000}, windows=Windows(64, 64), batch=8), "."
    )
    assert loader.header()["tokens"] == 50_000
    assert loader.batch("train", 0)["tokens"].shape == (8, 64)


def idx(path, array, code):
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    data = head + array.astype(array.dtype.newbyteorder(">")).tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def test_idx_files_give_pixels_as_they_are_and_labels_as_i32(tmp_path):
    images = np.arange(5 * 2 * 3, dtype=np.uint8).reshape(5, 2, 3)
    idx(tmp_path / "i.gz", images, 8)
    idx(tmp_path / "l", np.arange(5, dtype=np.uint8), 8)
    found = declared("idx", options={":image": "i.gz", "label": "l"}, batch=2)
    loader = Loader(found, tmp_path)
    assert loader.fields("train") == {"image": Type("u8", (2, 3)), "label": Type("i32")}
    for batch in loader.evaluation("train"):
        assert (batch["image"] == images[batch["label"]]).all()
    assert list(loader.batch("train", 0, ["label"])) == ["label"]


def test_npz_arrays_are_fields_and_whole_ones_have_no_batch_axis(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((6, 2), np.float32), y=np.arange(6))
    loader = Loader(declared("npz", "a.npz", batch=2), tmp_path)
    assert loader.fields("train") == {"x": Type("f32", (2,)), "y": Type("i32")}
    assert loader.batch("train", 0)["y"].dtype == np.int32
    np.savez(tmp_path / "g.npz", x=np.ones((6, 2), np.float32), edges=np.zeros((9, 2), np.int64))
    whole = Loader(declared("npz", "g.npz", whole=True), tmp_path)
    assert whole.fields("train")["edges"] == Type("i32", (9, 2))
    assert whole.batch("train", 3)["edges"].shape == (9, 2)
    assert whole.batches("train") == 1
    split = Loader(declared("npz", "g.npz", batch=2), tmp_path)
    assert code(lambda: split.fields("train")).code == "E-DATA-FORMAT"


def test_fields_renames_and_chooses(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((6, 2), np.float32), y=np.arange(6))
    loader = Loader(declared("npz", "a.npz", fields=(("label", "y", ":f32"),), batch=2), tmp_path)
    assert loader.fields("train") == {"label": Type("f32")}
    assert loader.batch("train", 0)["label"].dtype == np.float32


def test_digits_are_known_without_reading_them():
    pytest.importorskip("sklearn", reason="the digits are in scikit-learn's package")
    loader = Loader(declared("digits", batch=100), ".")
    batch = loader.batch("train", 0)
    assert batch["image"].shape == (100, 64)
    assert batch["image"].max() == 16
    assert set(np.unique(batch["label"])) <= set(range(10))


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr("sexpgpu_core.data.digits.find_spec", lambda name: None)
    found = code(lambda: Loader(declared("digits", batch=100), ".").batch("train", 0))
    assert found.code == "E-DATA-EXTRA"
    assert "sexpgpu[digits]" in found.hint


def test_integers_beyond_an_i32_are_told(tmp_path):
    np.savez(tmp_path / "a.npz", y=np.array([1, 2**31]))
    found = code(lambda: Loader(declared("npz", "a.npz", batch=2), tmp_path).batch("train", 0))
    assert found.code == "E-DATA-TYPE"
    assert "field y has 1 to 2147483648" in found.message


def test_hashed_and_stratified_splits_do_not_overlap(tmp_path):
    labels = np.repeat(np.arange(4), 25)
    np.savez(tmp_path / "a.npz", y=labels, i=np.arange(100))
    stages = [stage("train", ((0, 0.8),)), stage("val", ((0.8, 1),))]
    for by in ((":hash", 3), ((":stratify", "y"),)):
        loader = Loader(declared("npz", "a.npz", stages=stages, split_by=by, batch=1), tmp_path)
        seen = [np.concatenate([b["i"] for b in loader.evaluation(s)]) for s in ("train", "val")]
        assert [len(s) for s in seen] == [80, 20]
        assert set(np.concatenate(seen)) == set(range(100))
        if by != (":hash", 3):
            assert np.bincount(labels[seen[1]]).tolist() == [5] * 4


def test_a_missing_file_names_the_nearest_with_an_edit(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "shakespeare.txt").write_text("x" * 50)
    source = Source("f.lisp", '(source (text-files "data/shakespear.txt"))')
    found = declared(
        "text-files",
        "data/shakespear.txt",
        span=Span(source, 0, len(source.text)),
        windows=Windows(4, 4),
        batch=1,
    )
    wrong = code(lambda: Loader(found, tmp_path).fields("train"))
    assert wrong.code == "E-DATA-MISSING"
    assert wrong.span.text == '"data/shakespear.txt"'
    assert wrong.edit.changes[0].new == '"data/shakespeare.txt"'


def test_too_few_examples_say_how_many_there_are(text):
    few = Loader(declared("text-files", "a.txt", windows=Windows(4, 4), batch=99), text)
    assert code(lambda: few.batches("train")).facts == {"examples": 25, "batch": 99}
    short = Loader(declared("text-files", "a.txt", windows=Windows(101, 101), batch=1), text)
    assert code(lambda: short.fields("train")).code == "E-DATA-SMALL"


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x00\x08\x01", b"no idx", b"\x00\x00\x08\x01\x00\x00\x00\x09ab"]
)
def test_a_damaged_file_is_e_data_format(tmp_path, content):
    (tmp_path / "l").write_bytes(content)
    loader = Loader(declared("idx", options={"label": "l"}, batch=1), tmp_path)
    assert code(lambda: loader.batch("train", 0)).code == "E-DATA-FORMAT"


def test_unknown_stage_kind_and_option_name_the_nearest(text):
    loader = trained(text)
    assert code(lambda: loader.fields("trian")).code == "E-LOADER-STAGE"
    unknown = Loader(declared("text-file", "a.txt", windows=Windows(4, 4), batch=1), text)
    assert "text-files" in code(lambda: unknown.fields("train")).hint
    option = declared("text-files", "a.txt", options={"tokeniser": ":chars"}, windows=Windows(4, 4))
    assert "tokenizer" in code(lambda: Loader(option, text).fields("train")).hint


def test_overlapping_stages_are_a_warning(text):
    stages = [stage("train", ((0, 0.9),)), stage("val", ((0.8, 1),))]
    loader = Loader(
        declared("text-files", "a.txt", stages=stages, windows=Windows(4, 4), batch=3), text
    )
    assert [d.code for d in loader.check(["train"])] == ["W-SPLIT-OVERLAP"]
    assert [d.code for d in loader.check(["train", "val"])] == ["W-STAGE-OVERLAP"]
    assert trained(text).check(["train"]) == []


@pytest.mark.parametrize("ahead", [(0, 1), (1, 1), (2, 1), (2, 3), (8, 1), (8, 4)])
def test_prefetched_batches_are_the_loaders_own_and_errors_come_through(text, ahead):
    loader = trained(text)
    loader.ahead = Ahead(*ahead)
    ahead = Prefetcher(loader, "train", 5, 20)
    for n in range(5, 20):
        batch, waited = ahead.take()
        assert (batch["tokens"] == loader.batch("train", n)["tokens"]).all()
        assert waited >= 0
    ahead.close()
    few = Loader(declared("text-files", "a.txt", windows=Windows(4, 4), batch=99), text)
    few.ahead = loader.ahead
    failing = Prefetcher(few, "train", 0, 2)
    assert code(failing.take).code == "E-DATA-SMALL"
    failing.close()


def test_the_manifest_entry_hashes_contents(text):
    entry = trained(text).identity()
    assert entry["fingerprint"].startswith("sha256:")
    assert (entry["examples"], entry["bytes"], entry["files"]) == (100, 100, 1)


def test_data_that_is_drawn_has_no_fields_and_no_end(tmp_path):
    loader = Loader(declared("none", batch=4), tmp_path)
    assert (loader.fields("train"), loader.examples("train"), loader.batches("train")) == (
        {},
        None,
        None,
    )
    assert loader.batch("train", 1_000) == {}
    assert list(loader.evaluation("train", 3)) == [{}, {}, {}]
    bounded = Loader(declared("none", options={"examples": 9}, batch=4), tmp_path)
    assert (bounded.batches("train"), bounded.epoch("train", 3)) == (2, (1, 0.5))


def test_a_folder_with_brackets_in_its_name_takes_globs(tmp_path):
    folder = tmp_path / "[a]"
    folder.mkdir()
    for name in "ba":
        (folder / f"{name}.txt").write_text(name * 4)
    loader = Loader(declared("text-files", "*.txt", windows=Windows(8, 8), batch=1), folder)
    assert bytes(loader.batch("train", 0)["tokens"][0].astype("u1").tobytes()) == b"aaaabbbb"


def test_headers_of_all_kinds_are_pure_python():
    program = (
        "import sys; from sexpgpu_core.data import kinds\n"
        "rows = kinds.SOURCES\n"
        "assert len(rows) > 9\n"
        "[kinds.resolve(row.header) for row in rows]\n"
        "heavy = {'numpy', 'pyarrow', 'PIL', 'boto3', 'botocore'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, *SAFE, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
