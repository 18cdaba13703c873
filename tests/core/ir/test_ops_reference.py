"""References against NumPy and formulas written another way, in f32, bf16 and integers."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder, Type
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS

_NAMES = {np.dtype(np.bool_): "bool", np.dtype(ml_dtypes.bfloat16): "bf16"}


def _dtype(x: np.ndarray) -> str:
    return _NAMES.get(x.dtype) or f"{x.dtype.kind}{8 * x.dtype.itemsize}"


def apply(operation: str, *operands, **attributes):
    """The results of one operation on arrays; underscores in names are dashes."""
    arrays = [np.asarray(x) for x in operands]
    b = Builder(OPERATIONS)
    inputs = [b.input(str(i), "batch", _dtype(x), x.shape) for i, x in enumerate(arrays)]
    named = {k.replace("_", "-"): v for k, v in attributes.items()}
    found = b.several(operation, *inputs, **named)
    b.graph.results = {str(i): v for i, v in enumerate(found)}
    given = {str(i): x for i, x in enumerate(arrays)}
    results = tuple(run(b.graph, given, OPERATIONS).values())
    for value, result in zip(found, results):
        assert (_dtype(result), result.shape) == (value.dtype, value.shape)
    return results[0] if len(results) == 1 else results


X = np.random.default_rng(3).standard_normal((4, 5)).astype(np.float32)
UNARY = {
    "exp": math.exp, "log1p": lambda v: math.log1p(abs(v)), "tanh": math.tanh, "erf": math.erf,
    "erfc": math.erfc, "sigmoid": lambda v: 1 / (1 + math.exp(-v)), "sin": math.sin,
    "silu": lambda v: v / (1 + math.exp(-v)), "softplus": lambda v: math.log(1 + math.exp(v)),
    "relu": lambda v: max(v, 0.0), "gelu": lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))),
    "mish": lambda v: v * math.tanh(math.log(1 + math.exp(v))),
    "elu": lambda v: v if v > 0 else math.exp(v) - 1, "expm1": math.expm1, "atan": math.atan,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_elementwise_functions(name: str) -> None:
    x = np.abs(X) if name == "log1p" else X
    wanted = np.vectorize(UNARY[name])(x.astype(np.float64))
    np.testing.assert_allclose(apply(name, x), wanted, rtol=2e-6, atol=1e-6)


def test_sixteen_bit_floats_are_computed_in_f32_and_rounded_once() -> None:
    x, y = (a.astype(ml_dtypes.bfloat16) for a in (X, X[::-1]))
    wide = x.astype(np.float32), y.astype(np.float32)
    assert (apply("add", x, y) == (wide[0] + wide[1]).astype(ml_dtypes.bfloat16)).all()
    product = (wide[0] @ wide[1].T).astype(ml_dtypes.bfloat16)
    assert (apply("matmul", x, y, transpose_y=True) == product).all()
    total = wide[0].sum(axis=1).astype(ml_dtypes.bfloat16)
    assert (apply("reduce-sum", x, axes=(1,), keep=False) == total).all()


def test_integers_keep_their_dtype() -> None:
    i = np.array([[7, -7], [5, 0]], np.int32)
    assert apply("mod", i, np.int32(3)).tolist() == [[1, 2], [2, 0]]
    assert apply("rem", i, np.int32(3)).tolist() == [[1, -1], [2, 0]]
    assert apply("reduce-sum", i.astype(np.int8), axes=(0, 1), keep=False) == 5
    assert apply("floor", i).tolist() == i.tolist()
    assert apply("matmul", i, i).tolist() == (i @ i).tolist()


def test_casts() -> None:
    x = np.array([1.7, -1.7, 0.0, 2.5], np.float32)
    assert apply("cast", x, dtype="i32").tolist() == [1, -1, 0, 2]
    assert apply("cast", x, dtype="bool").tolist() == [True, True, False, True]
    assert apply("cast", x > 0, dtype="f32").tolist() == [1.0, 0.0, 0.0, 1.0]
    assert apply("bitcast", x, dtype="u32").tolist() == x.view(np.uint32).tolist()
    assert apply("round", x).tolist() == [2.0, -2.0, 0.0, 2.0]
    assert apply("truncate", x).tolist() == [1.0, -1.0, 0.0, 2.0]


def test_shift_and_bits() -> None:
    x = np.array([5, -5, 1, 1], np.int32)
    count = np.array([1, -1, 31, 40], np.int32)
    assert apply("shift", x, count).tolist() == [10, -3, -(2**31), 0]
    assert apply("shift", x[:2], np.int32(-40)).tolist() == [0, -1]
    assert apply("popcount", np.array([255, 1, 0], np.uint8)).tolist() == [8, 1, 0]
    assert apply("bit-not", np.array([0], np.uint8)).tolist() == [255]


def test_nan_wins() -> None:
    x = np.array([np.nan, 1.0, 3.0], np.float32)
    assert np.isnan(apply("maximum", x, np.float32(2)))[0]
    assert np.isnan(apply("reduce-max", x, axes=(0,), keep=False))
    assert apply("argmax", x, axis=0, keep=False) == 0


def test_fma_rounds_once() -> None:
    x = np.float32(1 + 2.0**-12)
    y = np.float32(-(1 + 2.0**-11))
    assert apply("fma", x, x, y) == np.float32(2.0**-24)
    assert apply("add", apply("multiply", x, x), y) == 0.0
    assert (
        apply("fma", np.float32(1), np.float32(1 + 2.0**-23), np.float32(2.0**-24)) == 1 + 2.0**-22
    )


def test_moves() -> None:
    assert (apply("permute", X, axes=(1, 0)) == X.T).all()
    assert (apply("slice", X, starts=(1, 0), stops=(4, 5), steps=(2, 3)) == X[1:4:2, ::3]).all()
    padded = apply("pad", X[:2, 0], low=(1,), high=(1,), interior=(1,), value=9.0)
    assert padded.tolist() == [9.0, X[0, 0], 9.0, X[1, 0], 9.0]
    assert (apply("flip", X, axes=(1,)) == X[:, ::-1]).all()
    written = apply("slice-set", X, X[:2, :2] * 0, starts=(1, 3))
    assert (written[1:3, 3:] == 0).all()
    assert (written[0] == X[0]).all()
    assert (apply("concat", X, X[:1], axis=0) == np.concatenate([X, X[:1]])).all()


def test_running_reductions() -> None:
    x = X[0]
    assert apply("cumsum", x, axis=0, exclusive=True)[0] == 0
    np.testing.assert_allclose(
        apply("cumsum", x, axis=0, reverse=True), np.cumsum(x[::-1])[::-1], rtol=1e-6
    )
    np.testing.assert_allclose(
        apply("cumprod", x, axis=0, exclusive=True), [1, *np.cumprod(x)[:-1]], rtol=1e-6
    )
    assert (apply("cummin", X, axis=1) == np.minimum.accumulate(X, axis=1)).all()


def test_gather_and_its_kin_agree_with_numpy() -> None:
    index = np.array([[3, 0], [1, 1]], np.int32)
    assert (apply("gather", X, index, axis=0) == X[index]).all()
    assert (apply("gather", X, index, axis=1) == X[:, index]).all()
    batched = apply("gather", X[:2], index, axis=1, batch_axes=1)
    assert (batched == np.take_along_axis(X[:2], index, 1)).all()
    assert (apply("take-along", X[:2], index, axis=1) == batched).all()
    added = apply("scatter-add", np.zeros((4, 5), np.float32), index, X[index], axis=0)
    wanted = np.zeros((4, 5), np.float32)
    np.add.at(wanted, index, X[index])
    np.testing.assert_array_equal(added, wanted)


def test_equal_indices_the_last_counts() -> None:
    index, y = np.array([1, 1, 0], np.int32), np.array([5.0, 6.0, 7.0], np.float32)
    x = np.zeros(3, np.float32)
    assert apply("scatter-set", x, index, y, axis=0).tolist() == [7.0, 6.0, 0.0]
    assert apply("put-along", x, index, y, axis=0).tolist() == [7.0, 6.0, 0.0]


@pytest.mark.parametrize("bad", [-1, 4])
def test_an_index_outside_is_an_error_or_dropped(bad: int) -> None:
    index = np.array([0, bad], np.int32)
    with pytest.raises(Problem, match="E-RUN-INDEX"):
        apply("gather", X, index, axis=0)
    assert (apply("gather", X, index, axis=0, out="drop")[1] == 0).all()
    kept = apply("scatter-add", X, index, X[:2], axis=0, out="drop")
    assert (kept[1:] == X[1:]).all()
    assert (kept[0] == X[0] + X[0]).all()


def test_sorting_is_stable_with_nan_last() -> None:
    x = np.array([2.0, np.nan, 1.0, 2.0, 3.0], np.float32)
    assert apply("argsort", x, axis=0).tolist() == [2, 0, 3, 4, 1]
    assert apply("argsort", x, axis=0, descending=True).tolist() == [4, 0, 3, 2, 1]
    values, index = apply("top-k", x, k=3, axis=0)
    assert (values.tolist(), index.tolist()) == ([3.0, 2.0, 2.0], [4, 0, 3])
    assert apply("sort", x, axis=0)[:4].tolist() == [1.0, 2.0, 2.0, 3.0]


def test_searchsorted_and_one_hot() -> None:
    edges, x = np.array([1, 2, 2, 4], np.int32), np.array([2, 0, 9], np.int32)
    assert apply("searchsorted", edges, x).tolist() == [1, 0, 4]
    assert apply("searchsorted", edges, x, right=True).tolist() == [3, 0, 4]
    assert apply("one-hot", x, n=3, axis=1).tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert apply("one-hot", x, n=3, axis=0, dtype="f32")[2].tolist() == [1.0, 0.0, 0.0]


def test_softmax_and_losses() -> None:
    e = np.exp(X.astype(np.float64))
    share = e / e.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(apply("softmax", X, axis=1), share, rtol=1e-5)
    np.testing.assert_allclose(apply("log-softmax", X, axis=1), np.log(share), rtol=1e-5)
    labels = np.array([0, 4, 2, 1], np.int32)
    losses = -np.log(share[range(4), labels])
    np.testing.assert_allclose(apply("cross-entropy", X, labels, axis=1), losses, rtol=1e-5)
    ignored = apply("cross-entropy", X, labels, axis=1, ignore_index=2)
    np.testing.assert_allclose(ignored, losses * [1, 1, 0, 1], rtol=1e-5)
    soft = np.eye(5, dtype=np.float32)[labels]
    np.testing.assert_allclose(apply("cross-entropy", X, soft, axis=1), losses, rtol=1e-5)
    smooth = 0.9 * losses - 0.1 * np.log(share).mean(axis=1)
    np.testing.assert_allclose(
        apply("cross-entropy", X, labels, axis=1, smoothing=0.1), smooth, rtol=1e-5
    )


def test_losses_do_not_overflow() -> None:
    x = np.array([[1e4, -1e4]], np.float32)
    assert apply("cross-entropy", x, np.array([1], np.int32), axis=1).tolist() == [2e4]
    assert apply("binary-cross-entropy", x, np.array([[0.0, 1.0]], np.float32)).tolist() == [
        [1e4, 1e4]
    ]
    assert apply("logsumexp", x, axes=(1,), keep=False).tolist() == [1e4]


def test_a_label_outside_is_an_error() -> None:
    with pytest.raises(Problem, match="E-RUN-INDEX"):
        apply("cross-entropy", X, np.array([0, 1, 2, 5], np.int32), axis=1)


def test_a_row_that_is_masked_whole_is_zero() -> None:
    mask = np.ones((4, 5), bool)
    mask[2] = False
    found = apply("softmax", X, mask, axis=1)
    assert (found[2] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), [1, 1, 0, 1], rtol=1e-6)


def test_norms() -> None:
    wide = X.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    normal = centred / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(apply("layer-norm", X, axes=(1,), eps=1e-5), normal, atol=1e-6)
    root = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-6)
    weight = X[0]
    np.testing.assert_allclose(
        apply("rms-norm", X, weight, axes=(1,), eps=1e-6), root * weight, atol=1e-6
    )


def test_attention_by_hand() -> None:
    random = np.random.default_rng(4)
    q, k, v = (random.standard_normal((2, 4, 2, 3)).astype(np.float32) for _ in range(3))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(3)
    scores = np.where(np.tri(4, dtype=bool), scores, -np.inf)
    share = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    wanted = np.einsum("bhqk,bkhd->bqhd", share, v)
    np.testing.assert_allclose(apply("attention", q, k, v, causal=True), wanted, atol=1e-6)
    grouped = apply("attention", q, k[:, :, :1], v[:, :, :1], causal=True)
    np.testing.assert_allclose(
        grouped[:, :, :1],
        apply("attention", q[:, :, :1], k[:, :, :1], v[:, :, :1], causal=True),
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bqhd,bkhd->bhqk", [(2, 3, 2, 4), (2, 5, 2, 4)]),
        ("...ij,jk->...ki", [(2, 2, 3), (3, 4)]),
        ("ij,k", [(2, 3), (2,)]),
        ("ii->i", [(3, 3)]),
        ("iij,j->i", [(3, 3, 2), (2,)]),
        ("ab,bc,cd->da", [(2, 3), (3, 4), (4, 2)]),
        ("i,i->", [(4,), (4,)]),
        ("ij->", [(2, 3)]),
        ("a,a,a->a", [(3,), (3,), (3,)]),
        ("...,...->...", [(2, 3), (1, 3)]),
    ],
)
def test_einsum_agrees_with_numpy(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    random = np.random.default_rng(5)
    operands = [random.standard_normal(s) for s in shapes]
    wanted = np.einsum(subscripts, *operands)
    np.testing.assert_allclose(
        apply("einsum", *operands, subscripts=subscripts), wanted, rtol=1e-12
    )


def test_rope_turns_pairs() -> None:
    x = np.random.default_rng(6).standard_normal((1, 3, 1, 4))
    found = apply("rope", x)
    for n in range(3):
        for j in range(2):
            angle = n * 10000.0 ** (-j / 2)
            pair = complex(x[0, n, 0, j], x[0, n, 0, j + 2]) * complex(
                math.cos(angle), math.sin(angle)
            )
            np.testing.assert_allclose(
                [found[0, n, 0, j], found[0, n, 0, j + 2]], [pair.real, pair.imag], rtol=1e-12
            )


def test_convolution_by_hand() -> None:
    random = np.random.default_rng(7)
    x, w = random.standard_normal((2, 5, 6, 4)), random.standard_normal((3, 2, 2, 6))
    found = apply(
        "conv", x, w, strides=(2, 1), dilations=(1, 2), padding=((1, 0), (2, 1)), groups=2
    )
    wide = np.pad(x, ((0, 0), (1, 0), (2, 1), (0, 0)))
    wanted = np.zeros(found.shape)
    for b, i, j, o in np.ndindex(found.shape):
        c = slice(0, 2) if o < 3 else slice(2, 4)
        patch = wide[b, 2 * i : 2 * i + 3, j : j + 4 : 2, c]
        wanted[b, i, j, o] = (patch * w[..., o]).sum()
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_pooling_never_counts_padding_unless_asked() -> None:
    x = -np.ones((1, 3, 1), np.float32)
    at = {"sizes": (2,), "strides": (2,), "padding": ((1, 0),)}
    assert apply("max-pool", x, **at).ravel().tolist() == [-1.0, -1.0]
    assert apply("avg-pool", x, **at).ravel().tolist() == [-1.0, -1.0]
    assert apply("avg-pool", x, count_padding=True, **at).ravel().tolist() == [-0.5, -1.0]


def test_fma_is_rounded_once_in_f64() -> None:
    from fractions import Fraction

    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, 500))
    z = -x * y * (1 + random.integers(-3, 4, 500) * 2.0**-52)
    (got,) = OPERATIONS["fma"].reference((x, y, z), {}, (Type("f64", (500,)),))
    exact = [float(Fraction(a) * Fraction(b) + Fraction(c)) for a, b, c in zip(x, y, z)]
    np.testing.assert_array_equal(got, exact)


@pytest.mark.parametrize("dtype", ["u8", "i8", "u32", "i32", "u64", "i64"])
def test_a_float_beyond_an_integers_range_is_its_end(dtype: str) -> None:
    x = np.array([np.nan, -np.inf, -1e30, -2.9, 2.9, 1e30, np.inf], "f4")
    (got,) = OPERATIONS["cast"].reference((x,), {"dtype": dtype}, (Type(dtype, (7,)),))
    low, high = np.iinfo(got.dtype).min, np.iinfo(got.dtype).max
    assert got.tolist() == [0, low, low, max(-2, low), 2, high, high]
