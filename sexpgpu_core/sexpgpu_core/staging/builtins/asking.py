"""Questions about a tensor whose answers are ordinary values."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.definitions import core_symbol, native_macro
from ...evaluator.values import NIL, Cons, Symbol, T, Value, keyword, list_items, make_list
from ..faults import describe
from ..promote import integer, not_a_tensor
from ..table import tensor_builtin
from ..tensor import Handle, Tensor, is_tensor


def _tensor(name: str, x: Value) -> Tensor | Handle:
    if not is_tensor(x):
        raise not_a_tensor(name, x)
    return x  # type: ignore[no-any-return]


@tensor_builtin("shape", "(x)")
def shape(x: Value) -> Value:
    """The sizes of x as a list of integers. (shape x) => (12 64)"""
    return make_list(_tensor("shape", x).shape)


@tensor_builtin("dim", "(x axis)")
def dim(x: Value, axis: Value) -> int:
    """The size of an axis; negative axes count from the end. (dim x -1)"""
    sizes = _tensor("dim", x).shape
    at = integer("dim", "axis", axis)
    if not -len(sizes) <= at < len(sizes):
        raise problem("E-SHAPE-AXIS", f"dim: axis {at} of {describe(x)}", axis=at, rank=len(sizes))
    return sizes[at]


@tensor_builtin("rank", "(x)")
def rank(x: Value) -> int:
    """The number of axes of x. (rank x)"""
    return len(_tensor("rank", x).shape)


@tensor_builtin("size", "(x)")
def size(x: Value) -> int:
    """The number of elements of x. (size x)"""
    return _tensor("size", x).type.size


@tensor_builtin("dtype", "(x)")
def dtype(x: Value) -> Value:
    """The dtype of x as a keyword. (dtype x) => :f32"""
    return keyword(_tensor("dtype", x).dtype.upper())


@tensor_builtin("tensorp", "(x)")
def tensorp(x: Value) -> Value:
    """Whether x is a tensor or a handle of one; nil for step scalars. (tensorp x)"""
    return T if is_tensor(x) else NIL


@native_macro("bind-shape")
def bind_shape(form: Cons, environment: Value) -> Value:
    """(bind-shape (name...) x form...): names to sizes; `_` skips, a number must match."""
    try:
        names, tensor, *forms = list_items(form.cdr)
        patterns = list_items(names)
    except (ValueError, TypeError):
        raise problem(
            "E-FORM-SHAPE", "bind-shape is (bind-shape (name...) tensor form...)"
        ) from None
    bound = [p for p in patterns if isinstance(p, Symbol) and p.name != "_"]
    checks = make_list(p if p.__class__ is int else NIL for p in patterns)
    spelled = make_list(core_symbol("_") if p not in bound else p for p in patterns)
    quote = core_symbol("QUOTE")
    sizes = make_list(
        [core_symbol("%SIZES"), tensor, make_list([quote, checks]), make_list([quote, spelled])]
    )
    chosen = [Symbol(f"SIZE-{i}") for i in range(len(patterns))]
    variables = [p if p in bound else c for p, c in zip(patterns, chosen)]
    ignored = [v for v in variables if v not in bound]
    declare = make_list(
        [core_symbol("DECLARE"), Cons(core_symbol("IGNORABLE"), make_list([*ignored, *bound]))]
    )
    head = core_symbol("DESTRUCTURING-BIND")
    return Cons(head, Cons(make_list(variables), Cons(sizes, Cons(declare, make_list(forms)))))


@tensor_builtin("%sizes", "(x checks names)")
def sizes(x: Value, checks: Value, names: Value) -> Value:
    """The sizes of x after bind-shape's checks; E-SHAPE-BIND."""
    found = _tensor("bind-shape", x).shape
    wanted = list_items(checks)
    fits = len(found) == len(wanted) and all(
        w is NIL or w == size for w, size in zip(wanted, found)
    )
    if not fits:
        pattern = " ".join(
            str(w) if w is not NIL else getattr(n, "name", "_").lower()
            for w, n in zip(wanted, list_items(names))
        )
        raise problem(
            "E-SHAPE-BIND",
            f"bind-shape ({pattern}) does not fit {describe(x)}",
            hint="one name, number or _ for each axis",
            shape=list(found),
        )
    return make_list(found)
