"""Files and loaders that are wrong, each in its own way: what is written, what is told of it."""

from __future__ import annotations

import gzip
import io
import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np


class Wrong(NamedTuple):
    """`marked`: how the text that the diagnostic points at begins; `told`: words of its message or
    hint."""

    loader: str
    files: Mapping[str, bytes]
    code: str
    marked: str
    told: str


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def tensors(head: Any, body: bytes = bytes(16)) -> bytes:
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + body


def tensor(shape: Any = (4,), dtype: str = "F32", offsets: Any = (0, 16)) -> bytes:
    return tensors({"x": {"dtype": dtype, "shape": shape, "data_offsets": offsets}})


IMAGE = struct.pack(">4B3I", 0, 0, 8, 3, 20, 2, 2) + bytes(80)
LABEL = struct.pack(">4BI", 0, 0, 8, 1, 20) + bytes(20)
ROWS = {"a.csv": b"x,y\n1,2\n3,4\n5,6\n"}
TEXT = {"t.txt": b"the quick brown fox. " * 20}
FORMAT, TYPE, VALUE, OPTION = "E-DATA-FORMAT", "E-DATA-TYPE", "E-OPTION-VALUE", "E-OPTION"


def csv(text: bytes, code: str, told: str, more: str = "", marked: str = "(csv") -> Wrong:
    return Wrong(f'(source (csv "a.csv")) {more}', {"a.csv": text}, code, marked, told)


def rows(more: str, code: str, marked: str, told: str) -> Wrong:
    return Wrong(f'(source (csv "a.csv")) {more}', ROWS, code, marked, told)


def jsonl(text: bytes, code: str, told: str) -> Wrong:
    return Wrong('(source (jsonl "a.jsonl"))', {"a.jsonl": text}, code, "(jsonl", told)


def one(kind: str, text: bytes, told: str, code: str = FORMAT) -> Wrong:
    return Wrong(f'(source ({kind} "a"))', {"a": text}, code, f"({kind}", told)


def idx(image: bytes, told: str, name: str = "i") -> Wrong:
    source = f'(source (idx :image "{name}" :label "l"))'
    return Wrong(source, {name: image, "l": LABEL}, FORMAT, "(idx", told)


def text(more: str, code: str, marked: str, told: str, tokenizer: str = "bytes") -> Wrong:
    source = f'(source (text-files "t.txt" :tokenizer :{tokenizer}))'
    return Wrong(f"{source} {more}", TEXT, code, marked, told)


def shards(body: bytes, more: str, code: str, told: str, marked: str = "(token-shards") -> Wrong:
    source = f'(source (token-shards "a.bin")) (windows 10 {more})'
    return Wrong(source, {"a.bin": body}, code, marked, told)


def mixture(parts: str, code: str, marked: str, told: str, more: str = "") -> Wrong:
    files = {
        **TEXT,
        "u.txt": b"the quick brown fox! " * 20,
        "a.csv": b"x\n1\n2\n",
        "b.csv": b"z\n1\n2\n",
    }
    windows = "(windows 4)" if "t.txt" in parts else ""
    return Wrong(f"(source (mixture {parts})) {windows} {more}", files, code, marked, told)


FILES = {
    "path": Wrong('(source (csv "b.csv"))', ROWS, "E-DATA-MISSING", '"b.csv"', "no file matches"),
    "glob": Wrong('(source (csv "n*.csv"))', ROWS, "E-DATA-MISSING", '"n*.csv"', "no file matches"),
    "folder": Wrong('(source (csv "."))', ROWS, "E-DATA-MISSING", "(csv", "no file matches"),
    "csv-empty": csv(b"", "E-DATA-SMALL", "no rows"),
    "csv-header": csv(b"x,y\n", "E-DATA-SMALL", "no rows"),
    "csv-short-row": csv(b"x,y\n1,2\n3\n4,5\n", FORMAT, "a.csv:3 has 1 cells, not 2"),
    "csv-long-row": csv(b"x,y\n1,2\n3,4,5\n", FORMAT, "a.csv:3 has 3 cells, not 2"),
    "csv-names-twice": csv(b"x,x\n1,2\n3,4\n", FORMAT, "two columns x"),
    "csv-quote": csv(b'x,s\n1,"a"\n3,"c\n4,d\n', FORMAT, "a.csv:3 opens a quote"),
    "csv-quote-last": csv(b'x,s\n1,a\n3,"c', FORMAT, "a.csv:3 opens a quote"),
    "csv-gap": csv(b"x,y\n1,2\n,4\n4,5\n", TYPE, "no value at a.csv:3"),
    "jsonl-list": jsonl(b'{"x": 1}\n[1, 2]\n{"x": 2}\n', FORMAT, "a.jsonl:2 is no object"),
    "jsonl-broken": jsonl(b'{"x": 1}\n{"x": \n{"x": 2}\n', FORMAT, "a.jsonl:2 is no JSON"),
    "jsonl-lacks": jsonl(b'{"x": 1}\n{"y": 2}\n', TYPE, "no value at a.jsonl:2"),
    "jsonl-null": jsonl(b'{"x": 1}\n{"x": null}\n', TYPE, "no value at a.jsonl:2"),
    "jsonl-lengths": jsonl(b'{"x": [1]}\n{"x": [1, 2]}\n', TYPE, "[1] numbers in row 1"),
    "npz-lengths": one("npz", npz(x=np.zeros((5, 2)), y=np.zeros(4)), "unlike numbers"),
    "npz-objects": one("npz", npz(x=np.array([1, "a"], object)), "no numbers"),
    "npz-texts": one("npz", npz(x=np.array(["a", "b"])), "no numbers"),
    "npz-none": one("npz", npz(), "holds no array"),
    "npz-no-archive": one("npz", b"hello", "no .npz file"),
    "npz-no-rows": one("npz", npz(x=np.zeros((0, 3))), "0 examples", "E-DATA-SMALL"),
    "npy-objects": one("npy", npy(np.array([1, None], object)), "no numbers"),
    "npy-ends-early": one("npy", npy(np.zeros(100))[:300], "ends early: 172 bytes"),
    "npy-header": one("npy", npy(np.zeros(100))[:40], "no numbers"),
    "npy-nine-bytes": one("npy", npy(np.zeros(100))[:9], "no numbers"),
    "npy-magic": one("npy", b"\x93NUMPY", "no .npy array"),
    "idx-header": idx(IMAGE[:7], "header ends before its 3 sizes"),
    "idx-no-axes": idx(struct.pack(">4B", 0, 0, 8, 0), "header ends"),
    "idx-short": idx(IMAGE[:50], "34 bytes of data where its header says 80"),
    "idx-long": idx(IMAGE + b"xx", "82 bytes of data where its header says 80"),
    "idx-magic": idx(b"PK" + IMAGE, "does not begin with an idx header"),
    "idx-no-gzip": idx(b"hello", "Not a gzipped file", "i.gz"),
    "idx-gzip-cut": idx(gzip.compress(IMAGE)[:20], "ended before", "i.gz"),
    "idx-lengths": idx(struct.pack(">4B3I", 0, 0, 8, 3, 19, 2, 2) + bytes(76), "unlike numbers"),
    "safetensors-long": one("safetensors", struct.pack("<Q", 10**12) + b"{}", "longer than"),
    "safetensors-json": one("safetensors", struct.pack("<Q", 5) + b"{nope", "no JSON"),
    "safetensors-list": one("safetensors", tensors([1]), "its header is no object"),
    "safetensors-none": one("safetensors", tensors({}), "no tensor"),
    "safetensors-entry": one("safetensors", tensors({"x": {"dtype": "F32"}}), "of x"),
    "safetensors-text": one("safetensors", tensors({"x": "F32"}), "of x that are known"),
    "safetensors-dtype": one("safetensors", tensor(dtype="F99"), "of x that are known"),
    "safetensors-shape": one("safetensors", tensor((-4,)), "x is f32 [-4]"),
    "safetensors-size": one("safetensors", tensor((5,)), "x is f32 [5], and has 16 bytes"),
    "safetensors-end": one("safetensors", tensor((40,), offsets=(0, 160)), "ends before"),
    "shards-odd": shards(bytes(201), "", FORMAT, "201 bytes are no whole number"),
    "shards-none": shards(b"", "", "E-DATA-SMALL", "0 tokens"),
    "shards-documents": shards(
        bytes(200), ":documents t", VALUE, "does not know where documents", "t"
    ),
}  # fmt: skip
CLAUSES = {
    "field-no-column": rows('(fields (x "xx"))', "E-FIELD", '"xx"', "the source has no xx"),
    "field-no-number": rows("(fields (x 7))", "E-FIELD", "7", "the source has no 7"),
    "field-dtype": rows('(fields (x "x" :f33))', VALUE, ":f33", "did you mean :f32?"),
    "field-reversed": rows("(fields (x (2 0)))", "E-FIELD", "(2 0)", "columns (2 0)"),
    "field-too-far": rows("(fields (x (0 9)))", "E-FIELD", "(0 9)", "of a source that has 2"),
    "field-twice": rows('(fields (x "x") (x "y"))', "E-TWICE", '(x "y")', "two fields x"),
    "field-option": rows('(fields (x "x" :f32 :mising 0))', OPTION, ":mising", ":missing"),
    "field-text": csv(
        b"x,y\na,2\nb,4\n", TYPE, "holds text", '(fields (x "x" :f32))', '(x "x"'
    ),
    "split-reversed": rows("(stage :train :split (0.9 0))", VALUE, "0.9", "no part of 0 to 1"),
    "split-over": rows("(stage :train :split (0 1.5))", VALUE, "0", "no part of 0 to 1"),
    "split-none": rows("(stage :train :split (0.5 0.5))", VALUE, "0.5", "leaves no example"),
    "split-shares": rows(
        "(stage :train :split ((0 0.6) (0.4 1)))", VALUE, "0", "which share examples"
    ),
    "split-by-no-field": rows("(split-by (:group z))", "E-FIELD", "z", "no such field"),
    "stages-twice": rows("(stage :train) (stage :train)", "E-TWICE", "(stage", "two stages"),
    "stage-small": rows("(stage :train :batch 9)", "E-DATA-SMALL", "(csv", "fewer than a batch"),
    "mask-no-field": rows("(stage :train :mask (z 1))", "E-FIELD", "z", "no such field"),
    "split-by-text": csv(
        b"x,y\na,2\nb,4\n", "E-FIELD", "x holds text", "(split-by (:stratify x))", "x"
    ),
    "mask-text": csv(
        b"x,y\na,2\nb,4\n", "E-FIELD", '(fields (x "x" :hash 0))', "(stage :train :mask (x 1))", "x"
    ),
    "split-by-near": rows("(split-by (:group xx))", "E-FIELD", "xx", "Did you mean x?"),
    "streams-hashed": rows(
        "(split-by :hash) (stage :train :order :streams)", VALUE, ":streams", "as they lie"
    ),
    "split-by-of-stage": rows(
        "(stage :train :split-by (:group z))", "E-FIELD", "z", "no such field"
    ),
    "order": rows("(stage :train :order :shufled)", VALUE, ":shufled", ":shuffled"),
    "windows-of-table": rows("(windows 4)", OPTION, "(windows", "leave (windows ...) out"),
    "map-no-field": rows("(map z (lambda (x) x))", "E-FIELD", "z", "no such field"),
    "map-text": rows('(map x (lambda (x) (format nil "~a" x)))', TYPE, "x", "no number"),
    "map-nothing": rows("(map x (lambda (x) (cdr (list x))))", TYPE, "x", "without a number"),
    "map-huge": rows("(map x (lambda (x) (expt 10 (+ x 400))))", TYPE, "x", "many digits"),
    "map-beyond": rows("(map x (lambda (x) (* x (expt 2 31))))", TYPE, "x", "2,147,483,648"),
    "windows-large": text("(windows 1000)", "E-DATA-SMALL", "(text-files", "420 tokens"),
    "windows-none": text("", OPTION, "(text-files", "(windows 65)"),
    "windows-0": text("(windows 0)", VALUE, "0", "an integer from 1"),
    "stride-0": text("(windows 10 :stride 0)", VALUE, "0", "an integer from 1"),
    "documents-text": text('(windows 9 :documents "Z")', VALUE, '"Z"', "Z", "chars"),
    "documents-number": text("(windows 9 :documents 0)", VALUE, "0", "no token of the"),
    "short-anywhere": text("(windows 9 :short :drop)", VALUE, ":drop", "is of documents"),
    "pad-anywhere": text("(windows 9 :pad 3)", VALUE, "3", "is of documents"),
    "mixture-none": mixture("", VALUE, "(mixture", "1 to 32 sources"),
    "mixture-0": mixture('(a 0 (text-files "t.txt"))', VALUE, "0", "the weight of a is 0"),
    "mixture-twice": mixture(
        '(a 1 (text-files "t.txt")) (a 1 (text-files "t.txt"))', "E-TWICE", "a", "two sources a"
    ),
    "mixture-fields": mixture(
        '(a 1 (csv "a.csv")) (b 1 (csv "b.csv"))', FORMAT, "(mixture", "other fields"
    ),
    "mixture-nested": mixture(
        '(a 1 (mixture (c 1 (text-files "t.txt"))))', VALUE, "(mixture (c", "in one mixture"
    ),
    "mixture-drawn": mixture("(a 1 (none))", VALUE, "(none)", "leave it out"),
    "mixture-alphabets": mixture(
        '(a 1 (text-files "t.txt" :tokenizer :chars)) (b 1 (text-files "u.txt" :tokenizer :chars))',
        FORMAT, "(mixture", "only one has '!'",
    ),
    "mixture-streams": mixture(
        '(a 1 (text-files "t.txt"))', VALUE, "(mixture", "no mixture",
        "(stage :train :order :streams)",
    ),
}  # fmt: skip
WRONG = {**FILES, **CLAUSES}
