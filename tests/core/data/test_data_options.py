"""What is written of a source or of stages is of its type, or is told at its place; none raises."""

from __future__ import annotations

import json

import numpy as np
import pytest
from loader_text import REST
from safetensors.numpy import save_file
from test_data_sources import code

from sexpgpu_core import api
from sexpgpu_core.data import kinds
from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.spans import Source

VALUES = (
    "nil", "t", "0", "1", "-1", "2", "1.5", ":u16", ":bogus", '""', '"a"', '"ab"', "(list 1 2)",
    '(list "a.txt")', "(lambda (x) x)", "(expt 10 30)", "(/ 1 3)", "'a", "'((a))", "#\\a", "1e300",
)  # fmt: skip
WRITTEN = {
    "text-files": '"a.txt"', "python-stdlib": ":limit 900", "idx": ':x "a.idx"', "digits": "",
    "npz": '"a.npz"', "npy": '"a.npy"', "safetensors": '"a.safetensors"', "csv": '"a.csv"',
    "token-shards": '"a.bin"', "jsonl": '"a.jsonl"', "parquet": '"a.parquet"',
    "arrow": '"a.arrow"', "images": '"pictures"', "none": "",
    "synthetic": "(lambda (i) (list :x (mod i 3))) :examples 8",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of each kind."""
    found = tmp_path_factory.mktemp("kinds")
    x = np.arange(24, dtype=np.float32).reshape(12, 2)
    (found / "a.txt").write_text("some text of some length, twice: some text of some length")
    (found / "a.idx").write_bytes(b"\0\0\x08\x01\0\0\0\x0c" + bytes(range(12)))
    np.savez(found / "a.npz", x=x)
    np.save(found / "a.npy", x)
    save_file({"x": x}, found / "a.safetensors")
    (found / "a.csv").write_text("x,y\n" + "1,2\n" * 12)
    np.arange(64, dtype=np.uint16).tofile(found / "a.bin")
    (found / "a.jsonl").write_text(f"{json.dumps({'x': 1, 'text': 'abcdef'})}\n" * 12)
    _columnar(found)
    return found


def _columnar(folder):
    pyarrow = pytest.importorskip("pyarrow")
    image = pytest.importorskip("PIL.Image")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"x": list(range(12))})
    parquet.write_table(table, folder / "a.parquet")
    file = pyarrow.OSFile(str(folder / "a.arrow"), "wb")
    with file, pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    for name in "ab":
        (folder / "pictures" / name).mkdir(parents=True)
        for number in range(3):
            image.new("RGB", (4, 4)).save(folder / "pictures" / name / f"{number}.png")


def run_of(source, folder, more="", stages="(stage :train) (batch 2)"):
    text = f"(defloader d (source {source}) {more} {stages}){REST}"
    return Source(str(folder / "run.lisp"), text)


def tried(source):
    """Codes of what is told of a file whose loader is read: batches, a pass, an example."""
    try:
        loader = api.load(source).loaders["d"]
        loader.fields("train")
        loader.examples("train")
        loader.check(["train"])
        loader.batch("train", 0)
        loader.batch("train", 3)
        list(loader.evaluation("train", limit=2))
    except (Problem, Problems) as raised:
        found = raised.diagnostics if isinstance(raised, Problems) else [raised.diagnostic]
        assert all(d.span is not None for d in found), found
        return [d.code for d in found]
    return []


OPTIONS = [
    (row.kind, option.name if option.name != "*" else "other", value)
    for row in kinds.SOURCES
    for option in row.options
    for value in VALUES
    if option.type != "keys"
]


@pytest.mark.parametrize(("kind", "option", "value"), OPTIONS)
def test_an_option_of_any_value_is_taken_or_told(folder, kind, option, value):
    written = WRITTEN[kind].rpartition(" :")[0] if kind == "synthetic" else WRITTEN[kind]
    if kind == "python-stdlib":
        written = "" if option == "limit" else written
    stream = next(r for r in kinds.SOURCES if r.kind == kind).shape == "stream"
    windows = "(windows 4)" if stream else ""
    if (kind, option, value) == ("python-stdlib", "limit", "nil"):
        return  # all of it
    tried(run_of(f"({kind} {written} :{option} {value})", folder, windows))


@pytest.mark.parametrize("kind", [row.kind for row in kinds.SOURCES])
@pytest.mark.parametrize("value", VALUES)
def test_an_argument_more_is_taken_or_told(folder, kind, value):
    arguments, _, options = WRITTEN[kind].rpartition(":") if ":" in WRITTEN[kind] else (
        WRITTEN[kind], "", ""
    )  # fmt: skip
    row = next(r for r in kinds.SOURCES if r.kind == kind)
    windows = "(windows 4)" if row.shape == "stream" else ""
    options = f":{options}" if options else ""
    found = tried(run_of(f"({kind} {arguments} {value} {options})", folder, windows))
    if row.most == (1 if arguments else 0):
        assert set(found) <= {"E-FORM-SHAPE", "E-OPTION"}
        assert found


@pytest.mark.parametrize("kind", [k for k in WRITTEN if WRITTEN[k][:1] in ('"', "(")])
def test_a_source_without_its_argument_is_told(folder, kind):
    row = next(r for r in kinds.SOURCES if r.kind == kind)
    windows = "(windows 4)" if row.shape == "stream" else ""
    more = ":examples 4" if kind == "synthetic" else ""
    assert tried(run_of(f"({kind} {more})", folder, windows)) == ["E-OPTION"]


CLAUSES = (
    "(batch {})", "(windows {})", "(windows 4 :stride {})", "(windows 4 :documents {})",
    "(windows 4 :documents t :pack {})", "(windows 4 :documents t :pad {})",
    "(windows 4 :documents t :short {})", "(windows 4 :documents t :short :keep-if {})",
    "(windows 4 :shift {})", "(windows 4) (split-by {})", "(windows 4) (split-by :hash :seed {})",
    "(windows 4) (map tokens {})", "(windows 4) (counter :many {})", "(windows 4) (fields {})",
    "(windows 4) (fields (tokens {}))", '(windows 4) (fields (tokens "tokens" {}))',
    "(windows 4) (fields (tokens 0 :i32 :missing {}))", "(windows 4) (whole {})", "(whole) {}",
    "(windows 4) (fields (tokens 0 :i32 :hash {}))",
)  # fmt: skip
STAGES = (
    "split", "order", "steps", "mask", "microbatches", "precision", "source", "batch", "windows",
    "map", "split-by",
)  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("clause", CLAUSES)
def test_a_clause_of_any_value_is_taken_or_told(folder, clause, value):
    text = clause.format(value)
    more = "" if "(windows" in text or "whole" in text else "(windows 4)"
    batch = "" if "(batch" in text else "(batch 2)"
    tried(run_of('(text-files "a.txt")', folder, f"{text} {more}", f"(stage :train) {batch}"))


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("option", STAGES)
def test_an_option_of_a_stage_is_taken_or_told(folder, option, value):
    for source, more in (('(text-files "a.txt")', "(windows 4)"), ('(csv "a.csv")', "")):
        tried(run_of(source, folder, more, f"(stage :train :{option} {value}) (batch 2)"))


MORE = (
    "(split-by (:stratify {}))", "(split-by (:group {}))", "(stage :train :mask ({} 1))",
    "(stage :train :mask (y {}))", "(stage :train :split ({} 1))", "(stage :train :split (0 {}))",
    "(fields (z {}))", "(fields (z (0 {})))", "(fields (z ({} 2)))", "(map y {})", "(map {} #'1+)",
    "(fields (y 1 {}))", "(fields (y 1 :f32 :missing {}))", "(fields (y 1 :hash {}))",
    "(split-by :hash :seed {})", "(stage {})", "(stage :train) (stage :train {})",
)  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("clause", MORE)
def test_what_is_said_of_a_table_is_taken_or_told(folder, clause, value):
    text = clause.format(value)
    stage = "" if "(stage" in text else "(stage :train)"
    tried(run_of('(csv "a.csv")', folder, text, f"{stage} (batch 2)"))


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "source",
    ["(mixture (a {} (csv \"a.csv\")) (b 1 (csv \"a.csv\")))", "(mixture ({} 1 (csv \"a.csv\")))",
     "(mixture (a 1 {}))", "(mixture {})", "{}", "({} 1)"],
)  # fmt: skip
def test_a_mixture_of_any_value_is_taken_or_told(folder, source, value):
    tried(run_of(source.format(value), folder))


@pytest.mark.parametrize(
    ("source", "more", "told"),
    [
        ('(csv "a.csv" 5)', "", "5 is no argument of csv, which takes a path, a glob or a list"),
        ('(csv "a.csv" :separator ";;")', "", ':separator of csv is ";;", wants (string 1)'),
        ('(images "pictures" :size (list 2))', "", ":size of images is (2), wants (or (integer 1"),
        ("(synthetic 5 :examples 2)", "", "5 is no argument of synthetic, which takes a function"),
        ('(csv "a.csv")', "(fields (y 1 :bogus))", "a dtype is :bogus"),
        ('(csv "a.csv")', "(fields (y 1 :u8 :missing -1))", ":missing -1 of a field of u8"),
        ('(csv "a.csv")', "(stage :train :mask (y 1.5))", ":mask (y 1.5): y is i32"),
        ('(csv "a.csv")', "(stage :train :mask (y nil))", ":mask (y nil): y is i32"),
        ('(csv "a.csv")', "(split-by :hash :seed 1.5)", "wants an integer"),
        ('(text-files "a.txt")', "(windows 4 :pad (expt 10 30))", "wants an integer from 0 to"),
        ('(text-files "a.txt")', "(windows 4) (fields (t 0))", "d is a stream of tokens"),
    ],
)
def test_what_was_passed_over_says_what_is_wanted(folder, source, more, told):
    stage = "" if "(stage" in more else "(stage :train)"
    text = run_of(source, folder, more, f"{stage} (batch 2)")
    found = code(lambda: api.load(text).loaders["d"].batch("train", 0))
    assert found.code in ("E-OPTION-VALUE", "E-OPTION")
    assert told in found.message
    assert found.span is not None
