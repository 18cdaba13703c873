"""Questions about a tensor whose answers are ordinary values."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator import machine
from ...evaluator.definitions import core_symbol, native_macro
from ...evaluator.printer import brief
from ...evaluator.values import NIL, Cons, Symbol, T, Value, keyword, list_items, make_list
from ..faults import describe
from ..host import tracer
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
    first = [p in bound and p not in patterns[:i] for i, p in enumerate(patterns)]
    checks = make_list(p if p.__class__ is int else NIL for p in patterns)
    spelled = make_list(core_symbol("_") if p not in bound else p for p in patterns)
    quote = core_symbol("QUOTE")
    sizes = make_list(
        [core_symbol("%SIZES"), tensor, make_list([quote, checks]), make_list([quote, spelled])]
    )
    chosen = [Symbol(f"SIZE-{i}") for i in range(len(patterns))]
    variables = [p if f else c for p, c, f in zip(patterns, chosen, first)]
    ignored = [v for v in variables if v not in bound]
    ignorable = make_list([*ignored, *dict.fromkeys(bound)])
    declare = make_list([core_symbol("DECLARE"), Cons(core_symbol("IGNORABLE"), ignorable)])
    head = core_symbol("DESTRUCTURING-BIND")
    return Cons(head, Cons(make_list(variables), Cons(sizes, Cons(declare, make_list(forms)))))


@tensor_builtin("%sizes", "(x checks names)")
def sizes(x: Value, checks: Value, names: Value) -> Value:
    """The sizes of x after bind-shape's checks; E-SHAPE-BIND."""
    found = _tensor("bind-shape", x).shape
    wanted = list_items(checks)
    words = [
        str(w) if w is not NIL else getattr(n, "name", "_").lower()
        for w, n in zip(wanted, list_items(names))
    ]
    bound: dict[str, int] = {}
    why = _unlike_rank(words, found)
    for axis, (word, size) in enumerate(zip(words, found)):
        known = int(word) if word.isdigit() else bound.setdefault(word, size)
        if word != "_" and known != size and not why:
            why = (
                f"axis {axis} is {size}, {word} is {known}"
                if not word.isdigit()
                else (f"axis {axis} is {size}, not {word}")
            )
    if why:
        raise problem(
            "E-SHAPE-BIND",
            f"bind-shape ({' '.join(words)}) of {describe(x)}: {why}",
            hint="one name, number or _ for each axis; a name that stands twice is one size",
            shape=list(found),
        )
    _note(bound)
    return make_list(found)


def _unlike_rank(words: list[str], found: tuple[int, ...]) -> str:
    if len(words) == len(found):
        return ""
    return f"{len(words)} names for {len(found)} axes"


def _note(bound: dict[str, int]) -> None:
    """What sizes are called, for messages about them."""
    t, span = tracer("bind-shape"), machine.current().call_span
    names = {n: s for n, s in bound.items() if n != "_" and not n.isdigit()}
    if span is not None and (t.scope.path, names, span) not in t.bound:
        t.bound.append((t.scope.path, names, span))


@native_macro("check-shape")
def check_shape(form: Cons, environment: Value) -> Value:
    """(check-shape (size...) x): x, whose sizes must be those of the forms; `_` skips an axis."""
    try:
        pattern, tensor = list_items(form.cdr)
        sizes = list_items(pattern)
    except (ValueError, TypeError):
        raise problem("E-FORM-SHAPE", "check-shape is (check-shape (size...) tensor)") from None
    skipped = [s.__class__ is Symbol and s.name == "_" for s in sizes]
    values = Cons(core_symbol("LIST"), make_list(NIL if k else s for k, s in zip(skipped, sizes)))
    quoted = make_list([core_symbol("QUOTE"), pattern])
    return make_list([core_symbol("%CHECK-SHAPE"), tensor, values, quoted])


@tensor_builtin("%check-shape", "(x sizes forms)")
def checked_shape(x: Value, sizes: Value, forms: Value) -> Value:
    """x after check-shape's checks; E-SHAPE-BIND names the axis and the form that says its size."""
    found, wanted = _tensor("check-shape", x).shape, list_items(sizes)
    words = [brief(f).lower() for f in list_items(forms)]
    why = _unlike_rank(words, found)
    for axis, (word, size, known) in enumerate(zip(words, found, wanted)):
        if known is not NIL and integer("check-shape", "size", known) != size and not why:
            said = f"{known}" if word == str(known) else f"{word}, which is {known}"
            why = f"axis {axis} is {size}, not {said}"
    if why:
        raise problem(
            "E-SHAPE-BIND",
            f"check-shape ({' '.join(words)}) of {describe(x)}: {why}",
            hint="one form or _ for each axis, whose value is its size",
            shape=list(found),
            sizes=found,
        )
    return x
