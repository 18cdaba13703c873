"""(file-tensor source &key dtype): an array of a file as a constant, hashed by its content (R9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...diagnostics import Problem, nearest, problem
from ...evaluator.definitions import native_macro
from ...evaluator.values import NIL, Cons, Value
from ...experiment.declarations import SourceDeclaration
from ...ir.types import Type, numpy_dtype
from ..arguments import dtype as dtype_of
from ..collector import Collector
from ..host import host
from ..syntax import Declaration, keyword_pairs, tails
from ..tensor import FileTensor
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
    if read.kind in ("mixture", "none"):
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

    def load() -> np.ndarray:
        return _read(collector.read(source, "load"), field, numpy_dtype(found))

    return FileTensor(Type(found, shape), print_.partition(":")[2], load, facts)


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
        return np.ascontiguousarray(arrays[field]).astype(dtype, copy=False)
    raise problem("E-DATA-FORMAT", "file-tensor: the source gives rows, and no array as a whole")
