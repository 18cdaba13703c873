"""Linear algebra over the last two axes; f32 and f64, factors computed in f64."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.builtins.listing import proper
from ...evaluator.values import NIL, MultipleValues, Value, keyword
from ...ir.graph import Value as Node
from ..arguments import flag
from ..faults import describe
from ..host import tracer
from ..promote import integer, node_of, operands, real
from ..table import tensor_builtin
from ..tensor import Tensor
from ..tracer import Tracer
from .making import eye
from .shape import reshaped

COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def _define(name: str, says: str, result: str) -> None:
    def call(x: Value) -> Tensor:
        t = tracer(name)
        return t.tensor(t.builder(name, node_of(name, x, t)))

    call.__doc__ = f"{says}. f32 or f64, (... n n); {result}. ({name} x)"
    tensor_builtin(name, "(x)")(call)


_define("cholesky", "Lower l with l l' = x, whose symmetric part counts", "NaN if not positive")
_define("inverse", "The inverse, by LU", "shape of x")
_define("det", "The determinant, by LU", "without the last two axes")
_define("logdet", "The logarithm of the determinant, NaN below 0", "without the last two axes")


def _define_several(name: str, says: str) -> None:
    def call(x: Value) -> Value:
        t = tracer(name)
        found = t.builder.several(name, node_of(name, x, t))
        return MultipleValues(t.tensor(v) for v in found)

    call.__doc__ = f"{says}. f32 or f64, no gradient. ({name} x)"
    tensor_builtin(name, "(x)")(call)


_define_several("qr", "Two values, q with orthonormal columns and r, its diagonal >= 0")
_define_several(
    "eigh", "Two values of the symmetric part: eigenvalues ascending, vectors in columns"
)


@tensor_builtin("svd", "(x &key full)")
def svd(x: Value, *, full: Value = NIL) -> Value:
    """Three values, u, s descending and v' with x = u s v'; square u and v' with `:full t`.

    f32 or f64, no gradient. (svd x)"""
    t = tracer("svd")
    more = {"full": True} if flag(full) else {}
    return MultipleValues(
        t.tensor(v) for v in t.builder.several("svd", node_of("svd", x, t), **more)
    )


def _system(name: str, a: Value, b: Value, **more: bool) -> Tensor:
    """b a vector or a matrix; leading axes broadcast."""
    t, (matrix, right) = operands(name, (a, b))
    if len(matrix.shape) < 2 or not right.shape:
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"{name} of {describe(a)} and {describe(b)}",
            hint="a is (... n n), b is (n) or (... n m)",
        )
    column = len(right.shape) == 1
    if column:
        right = reshaped(t, right, (*right.shape, 1))
    matrix, right = _leading(t, name, matrix, right)
    found = t.builder(name, matrix, right, **{k: v for k, v in more.items() if v})
    return t.tensor(reshaped(t, found, found.shape[:-1]) if column else found)


def _leading(t: Tracer, name: str, a: Node, b: Node) -> tuple[Node, Node]:
    from ...ir.types import broadcast

    lead = broadcast(a.shape[:-2], b.shape[:-2])
    if lead is None:
        raise problem(
            "E-SHAPE-BROADCAST", f"{name} of {a.type} and {b.type}: leading axes differ",
            shapes=[a.shape, b.shape],
        )  # fmt: skip
    return _widened(t, a, lead), _widened(t, b, lead)


def _widened(t: Tracer, x: Node, lead: tuple[int, ...]) -> Node:
    shape = (*lead, *x.shape[-2:])
    return x if x.shape == shape else t.builder("broadcast-to", x, shape=shape)


@tensor_builtin("solve", "(a b)")
def solve(a: Value, b: Value) -> Tensor:
    """x with a x = b, by LU. f32 or f64, shape of b. (solve a b)"""
    return _system("solve", a, b)


@tensor_builtin("solve-triangular", "(a b &key upper transpose unit)")
def solve_triangular(
    a: Value, b: Value, *, upper: Value = NIL, transpose: Value = NIL, unit: Value = NIL
) -> Tensor:
    """x with a x = b, a the lower triangle, or the upper, or its transpose; unit: diagonal of 1.

    f32 or f64, shape of b. (solve-triangular l b)"""
    return _system(
        "solve-triangular", a, b, upper=flag(upper), transpose=flag(transpose), unit=flag(unit)
    )


@tensor_builtin("newton-schulz", "(x &key (steps 5) (coefficients '(3.4445 -4.7750 2.0315)))")
def newton_schulz(x: Value, *, steps: Value = 5, coefficients: Value = None) -> Tensor:
    """The orthogonal factor of x, about, by matrix products alone, for Muon. F, no gradient.

    (newton-schulz g)"""
    name = "newton-schulz"
    t = tracer(name)
    node, count = node_of(name, x, t), integer(name, "steps", steps)
    given: tuple[float, ...] = COEFFICIENTS
    if coefficients is not None:
        given = tuple(real(name, "coefficients", v) for v in proper(name, coefficients))
    if len(given) != 3 or count < 0:
        raise problem("E-TYPE", f"{name} takes three coefficients and steps from 0")
    return t.tensor(t.builder(name, node, steps=count, coefficients=given))


@tensor_builtin("matrix-power", "(x n)")
def matrix_power(x: Value, n: Value) -> Tensor:
    """x multiplied by itself n times, n >= 0. N, (... n n). (matrix-power x 3)"""
    name = "matrix-power"
    t = tracer(name)
    node, power = node_of(name, x, t), integer(name, "n", n)
    if len(node.shape) < 2 or node.shape[-1] != node.shape[-2] or power < 0:
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"{name} of {describe(x)} to {power}",
            hint="x is (... n n), the power a whole number from 0: (inverse x) is x to the -1",
        )
    found: Node | None = None
    while power:
        if power & 1:
            found = node if found is None else t.builder("matmul", found, node)
        power >>= 1
        node = t.builder("matmul", node, node) if power else node
    if found is None:
        unit = t.node(eye(node.shape[-1], dtype=keyword(node.dtype.upper())))
        found = _widened(t, unit, node.shape[:-2])
    return t.tensor(found)
