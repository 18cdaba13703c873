"""The kinds of source that core brings, as rows of texts. What reads them is a reference."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from ..records import NamedTuple


class SourceOption(NamedTuple):
    """One keyword of a kind. `type`: a Lisp type; `default`: Lisp text, or None where required.

    The name `*` admits any keyword (a field's name with its file)."""

    name: str
    type: str
    default: str | None = None
    doc: str = ""


class SourceKind(NamedTuple):
    """`header`: Options -> Header, without NumPy; `load`: Options -> Reader or StreamReader.
    `argument`: the Lisp type of what stands before the options, `least` to `most` times; None where
    any number stands."""

    kind: str
    shape: str  # table, stream
    doc: str
    options: tuple[SourceOption, ...]
    header: str
    load: str
    needs: tuple[str, ...] = ()
    remote: bool = False
    most: int | None = None
    least: int = 0
    argument: str = "(or string list)"


class TokenizerKind(NamedTuple):
    """A row of `:tokenizer`, as entries.TokenizerEntry has it; `of`: distribution and version."""

    name: str
    vocabulary: int | None
    load: str
    needs: tuple[str, ...] = ()
    header: str = ""
    files: int = 0
    exact: bool = False
    doc: str = ""
    of: str = ""


_HERE = "sexpgpu_core.data."
_TOKENIZER = SourceOption(
    "tokenizer",
    "tokenizer",
    ":bytes",
    'bytes (t), :chars, or another\'s name; (:hf "tokenizer.json") with its file',
)
_SIDE = "(integer 1 65536)"
_SIZE = f"(or {_SIDE} (cons {_SIDE} (cons {_SIDE} null)))"
_EXAMPLES = f"(integer 1 {2**62})"
_COUNT = SourceOption("examples", _EXAMPLES, None, "how many there are")
_FILES = SourceOption("*", "(or string list)", "nil", "a field's name with its file, files or glob")

TOKENIZERS: tuple[TokenizerKind, ...] = (
    TokenizerKind("bytes", 256, _HERE + "encoding:Bytes", exact=True, doc="The bytes of a text."),
    TokenizerKind(
        "chars",
        None,
        _HERE + "encoding:Characters",
        doc="The distinct characters of the whole text, in order of their code points.",
    ),
    TokenizerKind(
        "hf",
        None,
        _HERE + "hugging_face:opened",
        ("sexpgpu[tokenizers]",),
        _HERE + "hugging_face:vocabulary",
        files=1,
        doc="A tokenizer.json of the library tokenizers: BPE, WordPiece, Unigram, words.",
    ),
)

SOURCES: tuple[SourceKind, ...] = (
    SourceKind(
        "text-files",
        "stream",
        "Text of the files that paths or globs name, in that order; field tokens (i32).",
        (_TOKENIZER,),
        _HERE + "text:files_header",
        _HERE + "text:FileText",
        least=1,
    ),
    SourceKind(
        "python-stdlib",
        "stream",
        "The text of the standard library's own modules, sorted by path; field tokens (i32).",
        (_TOKENIZER, SourceOption("limit", "(integer 1)", "nil", "bytes at most")),
        _HERE + "text:stdlib_header",
        _HERE + "text:StdlibText",
        most=0,
    ),
    SourceKind(
        "idx",
        "table",
        "MNIST's format, .gz too: :image PATH :label PATH, a keyword names its field.",
        (_FILES,),
        _HERE + "idx:header",
        _HERE + "idx:IdxTable",
        most=2,
    ),
    SourceKind(
        "digits",
        "table",
        "scikit-learn's 1,797 handwritten digits: image f32 (64) from 0 to 16, label i32.",
        (),
        _HERE + "digits:header",
        _HERE + "digits:Digits",
        ("sexpgpu[digits]",),
        most=0,
    ),
    SourceKind(
        "npz",
        "table",
        "The arrays of a NumPy .npz file; axis 0 counts examples.",
        (),
        _HERE + "arrays:npz_header",
        _HERE + "arrays:NpzTable",
        most=1,
        least=1,
    ),
    SourceKind(
        "npy",
        "table",
        "NumPy .npy files, :image PATH :label PATH; without a keyword the field is x.",
        (_FILES,),
        _HERE + "arrays:npy_header",
        _HERE + "arrays:NpyTable",
        most=1,
    ),
    SourceKind(
        "safetensors",
        "table",
        "The tensors of a safetensors file; axis 0 counts examples.",
        (),
        _HERE + "tensor_files:header",
        _HERE + "tensor_files:SafetensorsTable",
        most=1,
        least=1,
    ),
    SourceKind(
        "token-shards",
        "stream",
        "Files of tokens, u16 or u32, raw or as llm.c writes them; field tokens (i32).",
        (
            SourceOption("dtype", "(member :u16 :u32)", ":u16", "of files without a header"),
            SourceOption("vocab", "(integer 1)", "nil", "how many tokens there are"),
        ),
        _HERE + "shards:header",
        _HERE + "shards:TokenShards",
        least=1,
    ),
    SourceKind(
        "csv",
        "table",
        "Columns of csv files by name or number: whole numbers i32, others f32, the rest is text.",
        (
            SourceOption("separator", "(string 1)", '","', "what stands between cells"),
            SourceOption("header", "boolean", "t", "nil where the first line is data"),
        ),
        _HERE + "tabular:csv_header",
        _HERE + "tabular:CsvTable",
        least=1,
    ),
    SourceKind(
        "jsonl",
        "table",
        "An object a line; its keys are columns, of numbers, lists of numbers or texts.",
        (
            SourceOption("tokens", "keys", "nil", "a stream: texts of keys, and their weights"),
            SourceOption("tokenizer", _TOKENIZER.type, "nil", "of :tokens, as text-files has it"),
        ),
        _HERE + "tabular:jsonl_header",
        _HERE + "tabular:json_reader",
        least=1,
    ),
    SourceKind(
        "parquet",
        "table",
        "Columns of parquet files; lists of one length have an axis, texts are for :hash and map.",
        (),
        _HERE + "columnar:parquet_header",
        _HERE + "columnar:ParquetTable",
        ("sexpgpu[arrow]",),
        least=1,
    ),
    SourceKind(
        "arrow",
        "table",
        "Columns of Arrow's files and streams, as the library datasets saves them.",
        (),
        _HERE + "columnar:arrow_header",
        _HERE + "columnar:ArrowFileTable",
        ("sexpgpu[arrow]",),
        least=1,
    ),
    SourceKind(
        "images",
        "table",
        "A folder a class of PNG or JPEG files: image u8 (h w 3), label i32 by sorted names.",
        (
            SourceOption("size", _SIZE, "nil", "n or (h w), to which each is scaled"),
            SourceOption("channels", "(member 1 3 4)", "3", "grey, colours, colours and alpha"),
        ),
        _HERE + "images:header",
        _HERE + "images:Images",
        ("sexpgpu[images]",),
        most=1,
        least=1,
        argument="string",
    ),
    SourceKind(
        "synthetic",
        "table",
        "A function of an example's number gives a property list of its fields.",
        (_COUNT,),
        _HERE + "synthetic:header",
        _HERE + "synthetic:Synthetic",
        most=1,
        least=1,
        argument="function",
    ),
    SourceKind(
        "none",
        "table",
        "No fields: the data is drawn in prepare. :examples n makes an epoch.",
        (SourceOption("examples", _EXAMPLES, "nil", "examples of an epoch"),),
        _HERE + "nothing:header",
        _HERE + "nothing:Nothing",
        most=0,
    ),
)


def tokenizer_table(rows: Iterable[Any]) -> dict[str, Any]:
    """Rows of tokenizers by their names."""
    return {row.name: row for row in rows}


def by_name(rows: Iterable[Any]) -> dict[str, Any]:
    """Rows of kinds (core's and plug-ins') by their names."""
    return {row.kind: row for row in rows}


def resolve(reference: str) -> Any:
    """The object that `module:attribute` names, imported now."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)
