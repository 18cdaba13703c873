"""A kind of source by its name: how it is written, its options, what it needs, an example."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .word import Word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..registry import Registry

EXAMPLES = {
    "text-files": '(source (text-files "corpus/*.txt" :tokenizer :chars))',
    "python-stdlib": "(source (python-stdlib :limit 200000))",
    "idx": '(source (idx :image "images.gz" :label "labels.gz"))',
    "digits": "(source (digits))",
    "npz": '(source (npz "data.npz"))',
    "npy": '(source (npy :image "images.npy" :label "labels.npy"))',
    "safetensors": '(source (safetensors "data.safetensors"))',
    "token-shards": '(source (token-shards "s3://bucket/web_*.bin" :vocab 50257))',
    "csv": '(source (csv "people.csv" :separator ";"))',
    "jsonl": '(source (jsonl "names.jsonl"))',
    "parquet": '(source (parquet "part-*.parquet"))',
    "arrow": '(source (arrow "data-*.arrow"))',
    "images": '(source (images "pictures" :size (64 64)))',
    "synthetic": "(source (synthetic (lambda (i) (list :x (random 1.0) :label (mod i 2)))"
    " :examples 100))",
    "none": "(source (none :examples 1000))",
    "mixture": '(source (mixture (web 0.7 (text-files "web.txt"))'
    ' (code 0.3 (text-files "code.txt"))))',
}
"""Of core's kinds; those of plug-ins say how they are written by their options."""

MIXTURE = "Rows of several sources, each with a name and a weight; field source (i32) says which."


def source_names(registry: Registry) -> Iterator[str]:
    """All kinds, and the mixture of them."""
    yield from registry.names("sources")
    yield "mixture"


def source_word(name: str, registry: Registry) -> Word | None:
    """The word of a kind, if there is one of that name."""
    if name == "mixture":
        usage, doc = "(source (mixture (name weight source)...))", f"{MIXTURE} {_example(name)}"
        return Word(name, "source of a loader", usage, doc, (), False, "data")
    row = registry.get("sources", name)
    if row is None:
        return None
    named = [o for o in row.options if o.name != "*"]
    told = " ".join(f"[:{o.name} {o.type}]" for o in named)
    usage = f"(source ({' '.join(filter(None, (name, '...', told)))}))"
    lines = [row.doc, *(f":{o.name} is {o.doc}." for o in named if o.doc)]
    if row.needs:
        lines.append("Needs " + ", ".join(row.needs) + ".")
    doc = " ".join(filter(None, (*lines, _example(name))))
    return Word(name, f"source of a loader, a {row.shape}", usage, doc, (), False, "data")


def _example(name: str) -> str:
    return f"As in {EXAMPLES[name]}." if name in EXAMPLES else ""
