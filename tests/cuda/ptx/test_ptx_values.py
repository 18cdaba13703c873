"""What instructions compute: NumPy's value for each, one rounding, poison where nobody wrote."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_kernels import INDEX, each, entry, run

RNG = np.random.default_rng(5)
INTEGERS = np.concatenate(
    [np.array([0, 1, 2, 31, 32, 2**31, 2**32 - 1, 2**31 - 1], np.uint32),
     RNG.integers(0, 2**32, 56, dtype=np.uint32)]
)  # fmt: skip
FLOATS = np.concatenate(
    [
        np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-39, 3e38], np.float32),
        (RNG.standard_normal(54) * 10.0 ** RNG.integers(-20, 20, 54)).astype(np.float32),
    ]
)
OTHER = np.roll(FLOATS, 7)
SIGNED = INTEGERS.view(np.int32)


def value(body: str, given: Any, kind: Any) -> Any:
    out = np.zeros(len(given), kind)
    return each(body, given, out, threads=32, grid=len(given) // 32)


def not_below(half: Any) -> Any:
    return (half.astype("u2").view("f2") >= 0).astype("u4")


def halves(low: Any, high: Any) -> Any:
    return low | high << 16


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("add.s32 %r20, %r10, 7;", lambda x: x + np.uint32(7)),
        ("sub.s32 %r20, 7, %r10;", lambda x: np.uint32(7) - x),
        ("mul.lo.s32 %r20, %r10, -3;", lambda x: x * np.uint32(2**32 - 3)),
        ("mul.hi.u32 %r20, %r10, 0xD2511F53;", lambda x: (x.astype("u8") * 0xD2511F53 >> 32)),
        ("mul.wide.u32 %rd9, %r10, 5; shr.u64 %rd9, %rd9, 8; cvt.u32.u64 %r20, %rd9;",
         lambda x: x.astype("u8") * 5 >> 8),
        ("mad.lo.s32 %r20, %r10, %r10, 9;", lambda x: x * x + np.uint32(9)),
        ("and.b32 %r20, %r10, 255;", lambda x: x & 255),
        ("not.b32 %r20, %r10;", lambda x: ~x),
        ("add.s16x2 %r20, %r10, %r10;", lambda x: halves(x * 2 & 0xFFFF, (x >> 16) * 2)),
        ("setp.ge.f16x2 %p1|%p2, %r10, 0; selp.b32 %r20, 1, 0, %p1; @%p2 add.s32 %r20, %r20, 2;",
         lambda x: not_below(x & 0xFFFF) + 2 * not_below(x >> 16)),
        ("min.u16x2 %r20, %r10, 0x00070009;",
         lambda x: halves(np.minimum(x & 0xFFFF, 9), np.minimum(x >> 16, 7))),
        ("shl.b32 %r20, %r10, 33;", lambda x: x * 0),
        ("shr.u32 %r20, %r10, 3;", lambda x: x >> 3),
        ("shr.s32 %r20, %r10, 40;", lambda x: (x.view("i4") >> 31).view("u4")),
        ("shf.l.wrap.b32 %r20, %r10, %r10, 5;", lambda x: (x << 5) | (x >> 27)),
        ("prmt.b32 %r20, %r10, 0, 0x0123;", lambda x: x.byteswap()),
        ("bfe.u32 %r20, %r10, 4, 8;", lambda x: x >> 4 & 255),
        ("bfi.b32 %r20, %r10, 0, 8, 8;", lambda x: (x & 255) << 8),
        ("lop3.b32 %r20, %r10, 255, 15, 0x96;", lambda x: x ^ 255 ^ 15),
        ("popc.b32 %r20, %r10;", lambda x: np.array([int(v).bit_count() for v in x])),
        ("clz.b32 %r20, %r10;", lambda x: np.array([32 - int(v).bit_length() for v in x])),
        ("brev.b32 %r20, %r10;", lambda x: np.array([int(f"{v:032b}"[::-1], 2) for v in x])),
        ("div.u32 %r20, %r10, 10;", lambda x: x // 10),
        ("rem.u32 %r20, %r10, 10;", lambda x: x % 10),
        ("max.u32 %r20, %r10, 77;", lambda x: np.maximum(x, 77)),
        ("setp.lt.u32 %p1, %r10, 99; selp.b32 %r20, 1, 0, %p1;", lambda x: x < 99),
        ("mov.b32 {%rs1, %rs2}, %r10; mov.b32 %r20, {%rs2, %rs1};", lambda x: x << 16 | x >> 16),
        ("cvt.u16.u32 %rs1, %r10; cvt.s32.s16 %r20, %rs1;",
         lambda x: x.astype("u2").view("i2").astype("i4").view("u4")),
        ("cvt.s8.s32 %rs1, %r10; cvt.s32.s16 %r20, %rs1;",
         lambda x: x.astype("u1").view("i1").astype("i4").view("u4")),
    ],
)  # fmt: skip
def test_integers_wrap_and_shift_as_numpy_has_it(body: str, wanted: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(value(body, INTEGERS, np.uint32), wanted(INTEGERS).astype("u4"))


def quotient(x: Any) -> Any:
    return np.array([math.trunc(Fraction(int(v), 7)) for v in x], np.int32)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("div.s32 %r20, %r10, 7;", quotient),
        ("rem.s32 %r20, %r10, 7;", lambda x: x - 7 * quotient(x)),
        ("min.s32 %r20, %r10, -3;", lambda x: np.minimum(x, -3)),
        ("neg.s32 %r20, %r10;", lambda x: -x),
        ("mul.hi.s32 %r20, %r10, -5;", lambda x: x.astype("i8") * -5 >> 32),
        ("cvt.rn.f32.s32 %r20, %r10; cvt.rzi.s64.f32 %rd9, %r20; cvt.u32.u64 %r20, %rd9;",
         lambda x: x.astype("f4").astype("i8").astype("i4")),
    ],
)  # fmt: skip
def test_signed_integers_keep_their_sign(body: str, wanted: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(value(body, SIGNED, np.int32), wanted(SIGNED).astype("i4"))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("add.rn.f32 %r20, %r10, %r11;", np.add),
        ("sub.rn.f32 %r20, %r10, %r11;", np.subtract),
        ("mul.rn.f32 %r20, %r10, %r11;", np.multiply),
        ("div.rn.f32 %r20, %r10, %r11;", np.divide),
        ("sqrt.rn.f32 %r20, %r10;", lambda x, y: np.sqrt(x)),
        ("rcp.rn.f32 %r20, %r10;", lambda x, y: 1 / x),
        ("neg.f32 %r20, %r10;", lambda x, y: -x),
        ("abs.f32 %r20, %r10;", lambda x, y: np.abs(x)),
        ("copysign.f32 %r20, %r11, %r10;", np.copysign),
        ("max.f32 %r20, %r10, %r11;", np.fmax),
        ("min.f32 %r20, %r10, %r11;", np.fmin),
        ("cvt.rmi.f32.f32 %r20, %r10;", lambda x, y: np.floor(x)),
        ("cvt.rni.f32.f32 %r20, %r10;", lambda x, y: np.rint(x)),
        ("cvt.f64.f32 %rd9, %r10; cvt.rn.f32.f64 %r20, %rd9;", lambda x, y: x),
        ("cvt.rn.f16.f32 %rs1, %r10; cvt.f32.f16 %r20, %rs1;", lambda x, y: x.astype("f2")),
        ("setp.ltu.f32 %p1, %r10, %r11; selp.f32 %r20, 0f3F800000, 0f00000000, %p1;",
         lambda x, y: (x < y) | np.isnan(x) | np.isnan(y)),
        ("setp.ne.f32 %p1, %r10, %r11; selp.f32 %r20, 0f3F800000, 0f00000000, %p1;",
         lambda x, y: (x != y) & ~np.isnan(x) & ~np.isnan(y)),
    ],
)  # fmt: skip
def test_floats_are_rounded_once_and_denormals_stay(body: str, wanted: Callable[..., Any]) -> None:
    second = f"{INDEX}ld.global.b32 %r10, [%rd4]; ld.global.b32 %r11, [%rd5];"
    text = f"{second}\n{body}\nst.global.b32 [%rd5], %r20;\nret;"
    found = run(entry(text), [FLOATS, OTHER], grid=2)[1]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, wanted(FLOATS, OTHER).astype("f4"))


floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(floats, floats, floats), min_size=32, max_size=32))
def test_fma_rounds_once(rows: list[tuple[float, float, float]]) -> None:
    a, b, c = (np.array(column, np.float32) for column in zip(*rows))
    text = f"""{INDEX}
ld.param.u64 %rd7, [p2]; add.s64 %rd8, %rd7, %rd3;
ld.global.b32 %r10, [%rd4]; ld.global.b32 %r11, [%rd5]; ld.global.b32 %r12, [%rd8];
fma.rn.f32 %r20, %r10, %r11, %r12; st.global.b32 [%rd8], %r20; ret;"""
    found = run(entry(text, ("u64 p0", "u64 p1", "u64 p2")), [a, b, c])[2]
    for x, y, z, got in zip(a, b, c, found):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        if np.isfinite(got):
            with np.errstate(over="ignore"):
                near = [float(np.nextafter(got, np.float32(s))) for s in (-np.inf, np.inf)]
            error = abs(Fraction(float(got)) - exact)
            assert all(error <= abs(Fraction(n) - exact) for n in near if math.isfinite(n))


def test_bf16_pairs_round_to_nearest_even() -> None:
    import ml_dtypes

    body = "cvt.rn.bf16x2.f32 %r20, %r10, %r10;"
    found = value(body, FLOATS, np.uint32)
    with np.errstate(all="ignore"):
        wanted = FLOATS.astype(ml_dtypes.bfloat16).view(np.uint16)
    numbers = ~np.isnan(FLOATS)
    np.testing.assert_array_equal((found & 0xFFFF)[numbers], wanted[numbers])
    np.testing.assert_array_equal((found >> 16)[numbers], wanted[numbers])


def test_a_register_that_nobody_wrote_is_poison() -> None:
    assert set(value("mov.b32 %r20, %r77;", INTEGERS, np.uint32)) == {2**32 - 1}


def test_float_to_integer_takes_the_nearest_end_and_zero_of_nan() -> None:
    given = np.array([3e38, -3e38, np.nan, 2.9, -2.9, np.inf] * 16, np.float32)[:32]
    found = value("cvt.rzi.s32.f32 %r20, %r10;", given, np.int32)
    assert found[:6].tolist() == [2**31 - 1, -(2**31), 0, 2, -2, 2**31 - 1]


def test_two_halves_of_a_register_are_computed_apart() -> None:
    given = RNG.standard_normal(64).astype(np.float16).view(np.uint32)
    found = each("neg.f16x2 %r20, %r10;", given, np.zeros(32, np.uint32))
    np.testing.assert_array_equal(found.view(np.float16), -given.view(np.float16))
