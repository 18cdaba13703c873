"""Constants of data: (file-tensor source), an array of a file hashed by its content (R9),
(stage-stat (loader :stage) field kind), a number of a training split (R49), and (token-id text)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...diagnostics import Change, Diagnostic, Edit, Problem, diagnostic, nearest, problem
from ...evaluator import machine
from ...evaluator.definitions import native_macro
from ...evaluator.values import NIL, Cons, String, Symbol, T, Value
from ...experiment.declarations import SourceDeclaration
from ...ir.types import Type, numpy_dtype
from ...reader import element_span
from ...spans import Span
from ..arguments import dtype as dtype_of
from ..arguments import integers
from ..collector import Collector
from ..faults import describe
from ..host import host
from ..source_options import tokenizer_of
from ..syntax import Declaration, Slot, keyword_pairs, option_name, python_value, tails
from ..table import tensor_builtin
from ..tensor import FileTensor
from .runs import read_stage
from .sources import made_source, read_source

if TYPE_CHECKING:
    import numpy as np


@native_macro("file-tensor")
def file_tensor(form: Cons, environment: Value) -> Value:
    """(file-tensor source &key dtype): an array of a file whole, a constant that is kept on the
    device, in its dtype or that of `:dtype`. `:field` of the source names the array where there are
    several. It may stand in `defparameter` and in `:init`; the hash of the experiment covers its
    content, the manifest names it, and no checkpoint holds it.

    (file-tensor (npz "pos.npz" :field "table") :dtype :f32)"""
    d = Declaration(form)
    parts = tails(form.cdr)
    if not parts:
        raise d.refuse("a source is missing", hint='(file-tensor (npz "a.npz" :field "table"))')
    read = read_source(d, parts[0], more=("field",))
    if read.kind in ("mixture", "none", "synthetic"):
        raise d.refuse(f"{read.kind} has no array", parts[0])
    options = keyword_pairs(d, parts[0].cdr, ("dtype",))
    dtype = d.slot(options["dtype"], ":dtype") if "dtype" in options else None
    field = read.options.pop("field", None)

    def finish() -> Value:
        named = field.text() if field is not None else None
        try:
            wanted = dtype.value if dtype is not None else NIL
            return _made(host().collector, made_source(read), named, wanted)
        except Problem as fault:
            raise fault.locate(read.span) from None

    d.finish = finish
    return d.expansion()


def _made(
    collector: Collector, source: SourceDeclaration, named: str | None, dtype: Value
) -> FileTensor:
    header = dict(collector.read(source, "header"))
    paths = tuple(header.get("paths", ()))
    field, (own, shape) = _array(source.kind, header.get("arrays") or {}, named)
    found = dtype_of("file-tensor", dtype, own)
    assert collector.hash_files is not None
    print_ = collector.hash_files(f"{source.kind} {field} {own} {shape} {found}", paths)
    facts = {
        "loader": "constant",
        "source": " ".join(map(str, (*source.arguments, field))),
        "fingerprint": print_,
        "bytes": sum(path.stat().st_size for path in paths),
        "files": len(paths),
    }

    def read(dtype: str) -> np.ndarray:
        return _read(collector.read(source, "load"), field, numpy_dtype(dtype))

    return FileTensor(Type(found, shape), print_.partition(":")[2], read, facts)


def _array(
    kind: str, arrays: Mapping[str, tuple[str, tuple[int, ...]]], named: str | None
) -> tuple[str, tuple[str, tuple[int, ...]]]:
    """The field that is meant: the one that is named, or the only one."""
    if not arrays:
        raise problem("E-DATA-FORMAT", f"file-tensor: a source of kind {kind} has no arrays")
    name = named if named is not None else next(iter(arrays))
    if name in arrays and (named is not None or len(arrays) == 1):
        return name, arrays[name]
    near = nearest(name, arrays) if named is not None else None
    hint = f'did you mean "{near}"?' if near else "it has " + " ".join(sorted(arrays))
    said = f"has no array {named}" if named is not None else "has several arrays: say :field"
    raise problem("E-OPTION-VALUE", f"file-tensor: the source {said}", hint=hint)


def _read(reader: Any, field: str, dtype: Any) -> np.ndarray:
    """The array in a dtype, contiguous. A reader without whole arrays gives all its rows."""
    import numpy as np

    arrays = getattr(reader, "arrays", None)
    if arrays is not None:
        found = arrays[field]  # in memory, or rows that stay in their file
        whole = found.rows(slice(None)) if hasattr(found, "rows") else found
        return np.asarray(whole, dtype, order="C")
    raise problem("E-DATA-FORMAT", "file-tensor: the source gives rows, and no array as a whole")


# stage-stat

KINDS = ("mean", "std", "min", "max", "count-by")
WANTED = "(stage-stat (digits :train) image :mean :axis 0)"


@native_macro("stage-stat")
def stage_stat(form: Cons, environment: Value) -> Value:
    """(stage-stat (loader :stage) field kind &key axis): a number of a stage's own examples, a
    constant in f32 (f64 in a run of that) that is computed in f64 once before the run. `kind`:
    :mean :std :min :max, over everything or over the axes of `:axis`, 0 among them, the axis of the
    examples; or :count-by n, how often each of 0 to n - 1 stands in a field of integers. The hash
    of the experiment covers the data and what is asked, the manifest names it, and no checkpoint
    holds it.

    (stage-stat (digits :train) image :mean)"""
    d = Declaration(form)
    parts = tails(form.cdr)
    if len(parts) < 3:
        raise d.refuse("a stage, a field and a kind", hint=WANTED)
    loader, stage, _ = read_stage(d, parts[0])
    if loader is None:
        raise d.refuse("the stage is (loader :stage)", parts[0], hint=WANTED)
    field = d.name(parts[1], "the field").name.lower()
    kind = option_name(d, parts[2], KINDS, "the kind of stage-stat")
    rest, count = parts[2].cdr, None
    if kind == "count-by":
        if rest.__class__ is not Cons:
            raise d.refuse(":count-by has a count", parts[2], hint=":count-by 10")
        count, rest = d.slot(rest, ":count-by"), rest.cdr
    options = keyword_pairs(d, rest, () if count else ("axis",))
    axis = d.slot(options["axis"], ":axis") if "axis" in options else None
    d.finish = lambda: _number(d, (loader, stage, field, kind), count, axis, parts[0])
    return d.expansion()


def _number(
    d: Declaration,
    asked: tuple[str, str, str, str],
    count: Slot | None,
    axis: Slot | None,
    written: Cons,
) -> FileTensor:
    from ..host_calls import HostCalls

    loader, stage, field, kind = asked
    collector = host().collector
    declared = collector.loaders.get(loader)
    if declared is None:
        near = nearest(loader, collector.loaders)
        raise problem(
            "E-LOADER-STAGE",
            f"no loader {loader}",
            hint=f"did you mean {near}?" if near else "declare it by (defloader ...) before this",
        ).locate(d.span)
    if stage not in declared.stages:
        near = nearest(stage, declared.stages)
        known = "stages: " + " ".join(f":{s}" for s in declared.stages)
        hint = f"did you mean :{near}?" if near else known
        told = f"loader {loader} has no stage :{stage}"
        raise problem("E-LOADER-STAGE", told, hint=hint).locate(element_span(written))
    assert collector.statistic is not None
    try:
        axes = None if axis is None else integers("stage-stat", "axis", axis.value)
        number = count.integer(1) if count is not None else None
        found = collector.statistic(
            declared, (stage, field, kind, number, axes), HostCalls(machine.current())
        )
    except Problem as fault:
        raise fault.locate(d.span) from None
    row = (loader, stage, element_span(written))
    if row not in collector.statistics:
        collector.statistics.append(row)
    return FileTensor(found.type, found.name, found.read, found.facts)


def leaking(
    read: Sequence[tuple[str, str, Span | None]], training: Sequence[tuple[str, str]]
) -> Iterator[Diagnostic]:
    """W-STAT-LEAK for each stage that stage-stat reads and that does not train."""
    for loader, stage, span in read:
        if (loader, stage) in training:
            continue
        own = [s for n, s in training if n == loader]
        edit = None
        if span is not None and len(own) == 1:
            edit = Edit(f"read :{own[0]}", (Change(span, f"({loader} :{own[0]})"),))
        yield diagnostic(
            "W-STAT-LEAK",
            f"stage-stat reads {loader} :{stage}, which does not train",
            span=span,
            edit=edit,
            stage=stage,
        )


# token-id


@tensor_builtin("token-id", "(text &key tokenizer)")
def token_id(text: Value, *, tokenizer: Value = NIL) -> int:
    """The number of the token that a text is, of the loaders' tokenizer; `:tokenizer` says which
    where they have several: a name, or '(:hf "tokenizer.json") with its file, which wants no
    loader. A text of several tokens is E-OPTION-VALUE.

    (token-id "a" :tokenizer :bytes)"""
    if not isinstance(text, String):
        told = f"token-id takes a text, not {describe(text)}"
        raise problem("E-OPTION-VALUE", told, hint='(token-id "a")')
    wanted = _tokenizer(tokenizer)
    if isinstance(wanted, tuple):
        name, of = str(wanted[0]), host().collector.tokenizer(wanted)
        return _one(text.text(), {name: _encoded(text.text(), of)})
    found = {name: _encoded(text.text(), read) for name, read in _encodings(wanted).items()}
    if not found:
        raise problem(
            "E-OPTION-VALUE",
            f"token-id: no loader before it has {'a' if wanted is None else 'the'} tokenizer"
            + (f" {wanted}" if wanted else ""),
            hint='(source (text-files "a.txt" :tokenizer :chars)) brings one',
        )
    return _one(text.text(), found)


def _one(text: str, found: Mapping[str, list[int]]) -> int:
    """The token that a text is; E-OPTION-VALUE where it is several, or others in each loader."""
    if len(set(map(tuple, found.values()))) > 1:
        told = " and ".join(f"{ids} in {name}" for name, ids in found.items())
        raise problem("E-OPTION-VALUE", f"token-id: {text!r} is {told}")
    ids = next(iter(found.values()))
    if len(ids) != 1:
        raise problem(
            "E-OPTION-VALUE",
            f"token-id: {text!r} is {len(ids)} tokens, and no single one",
            hint="a number above all tokens is (loader-info text :vocab), as of a mask",
        )
    return ids[0]


def _tokenizer(value: Value) -> str | tuple[Any, ...] | None:
    """A tokenizer's name with its colon, or a list of it and its files; None where it is the
    loaders'."""
    if value is NIL or value is T:
        return None
    if value.__class__ is Cons:
        written: tuple[Any, ...] = python_value(value)
        row, files = tokenizer_of(written, host().collector.tokenizers)
        return written if files else f":{row.name}"
    name = f":{value.name.lower()}" if value.__class__ is Symbol else ""
    known = host().collector.tokenizers
    if name.lstrip(":") not in known:
        near = nearest(name.lstrip(":"), known)
        told = f":tokenizer of token-id is {describe(value)}"
        hint = (f"did you mean :{near}? " if near else "") + "one of "
        raise problem("E-OPTION-VALUE", told, hint=hint + " ".join(f":{n}" for n in sorted(known)))
    return name


def _encodings(wanted: str | None) -> dict[str, Any]:
    """What encodes a text, by the loader that it is of; bytes want no loader."""
    if wanted == ":bytes":
        return {"bytes": None}
    collector, found = host().collector, {}
    for name, loader in collector.loaders.items():
        of_stages = [s.source for s in loader.stages.values() if s.source is not None]
        for number, source in enumerate(_leaves([loader.source, *of_stages])):
            own = _own_tokenizer(collector, source)
            if own is not None and wanted in (None, own):
                found[f"{name} ({number})" if number else name] = (
                    None if own == ":bytes" else collector.encoding(source)
                )
    return found


def _leaves(sources: Sequence[SourceDeclaration]) -> Iterator[SourceDeclaration]:
    """The sources that read something, those of mixtures among them."""
    for source in sources:
        if source.kind == "mixture":
            yield from _leaves([of for _, _, of in source.arguments])
        else:
            yield source


def _own_tokenizer(collector: Collector, source: SourceDeclaration) -> str | None:
    """A source's tokenizer; None where it has none."""
    row = collector.sources.get(source.kind)
    known = row is not None and any(option.name == "tokenizer" for option in row.options)
    if not known or (source.kind == "jsonl" and not source.options.get("tokens")):
        return None
    own = source.options.get("tokenizer")
    head = own[0] if isinstance(own, tuple) and own else own
    return ":bytes" if head is None or head is True else str(head)


def _encoded(text: str, encoding: Any) -> list[int]:
    if encoding is None:
        return list(text.encode())
    try:
        found: list[int] = encoding.encode(text)
    except Problem as unknown:
        told = f"token-id: {unknown.diagnostic.message}"
        raise problem("E-OPTION-VALUE", told) from None
    return found
