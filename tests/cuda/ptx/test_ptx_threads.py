"""Threads: divergence and loops, barriers, shared memory, shuffles, votes, atomics."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_kernels import INDEX, each, entry, run

from sexpgpu_cuda.ptx.faults import PtxFault

GIVEN = np.arange(64, dtype=np.uint32)


def test_threads_that_part_meet_again() -> None:
    body = """
setp.lt.u32 %p1, %r10, 40;
@%p1 bra SMALL;
mul.lo.s32 %r20, %r10, 2;
bra JOIN;
SMALL:
add.s32 %r20, %r10, 1000;
JOIN:
add.s32 %r20, %r20, 1;"""
    found = each(body, GIVEN, np.zeros(64, np.uint32), grid=2)
    np.testing.assert_array_equal(found, np.where(GIVEN < 40, GIVEN + 1001, GIVEN * 2 + 1))


def test_each_thread_loops_as_often_as_it_wants() -> None:
    body = """
mov.b32 %r20, 0; mov.b32 %r21, 0;
HEAD:
setp.ge.u32 %p1, %r21, %r10;
@%p1 bra OUT;
add.s32 %r20, %r20, %r21; add.s32 %r21, %r21, 1;
bra.uni HEAD;
OUT:"""
    found = each(body, GIVEN, np.zeros(64, np.uint32), threads=64)
    np.testing.assert_array_equal(found, GIVEN * (GIVEN - 1) // 2)


def test_a_predicate_guards_any_instruction() -> None:
    body = "mov.b32 %r20, 5;\nsetp.lt.u32 %p1, %r10, 3;\n@!%p1 add.s32 %r20, %r10, 100;"
    found = each(body, GIVEN, np.zeros(64, np.uint32), grid=2)
    np.testing.assert_array_equal(found, np.where(GIVEN < 3, 5, GIVEN + 100))


SHARED = ".shared .align 16 .b8 room[256];\n"
TURNED = """
mov.b32 %r30, room;
shl.b32 %r31, %r1, 2; add.s32 %r32, %r30, %r31;
st.shared.b32 [%r32], %r10;
{barrier}
sub.s32 %r33, 63, %r1; shl.b32 %r33, %r33, 2; add.s32 %r34, %r30, %r33;
ld.shared.b32 %r20, [%r34];
st.global.b32 [%rd5], %r20;
ret;"""


def turned(barrier: str, races: bool = True) -> np.ndarray:
    text = f"{INDEX}ld.global.b32 %r10, [%rd4];{TURNED.format(barrier=barrier)}"
    given = np.arange(128, dtype=np.uint32)
    out = np.zeros(128, np.uint32)
    kernel = entry(text, before=SHARED)
    return run(kernel, [given, out], grid=2, threads=64, races=races)[1]


def test_a_barrier_orders_shared_memory_of_each_block() -> None:
    wanted = np.concatenate([np.arange(64)[::-1], np.arange(64, 128)[::-1]])
    np.testing.assert_array_equal(turned("bar.sync 0;"), wanted)


def test_without_the_barrier_it_is_a_race() -> None:
    with pytest.raises(PtxFault, match=r"race: thread .* reads what another thread writes"):
        turned("")


def test_a_barrier_that_some_threads_miss_is_a_fault() -> None:
    with pytest.raises(PtxFault, match="barrier"):
        turned("setp.eq.s32 %p1, %r1, 0;\n@%p1 bra PAST;\nbar.sync 0;\nPAST:", races=False)


def test_shared_memory_that_nobody_wrote_is_poison() -> None:
    text = (
        f"{INDEX}mov.b32 %r30, room;\nld.shared.b32 %r20, [%r30+12];\nst.global.b32 [%rd5], %r20;"
    )
    out = np.zeros(32, np.float32)
    kernel = entry(text + "\nret;", before=SHARED)
    assert np.isnan(run(kernel, [np.zeros(32, np.float32), out])[1]).all()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("bfly.b32 %r20, %r10, 5, 31, -1", lambda i: i ^ 5),
        ("down.b32 %r20, %r10, 3, 31, -1", lambda i: i + 3 if i + 3 < 32 else i),
        ("up.b32 %r20, %r10, 3, 0, -1", lambda i: i - 3 if i >= 3 else i),
        ("idx.b32 %r20, %r10, 9, 31, -1", lambda i: 9),
        ("down.b32 %r20, %r10, 3, 0x181F, -1", lambda i: i + 3 if i % 8 + 3 < 8 else i),
    ],
)
def test_a_shuffle_reads_another_lane_of_its_warp(words: str, wanted: object) -> None:
    found = each(f"shfl.sync.{words};", GIVEN, np.zeros(64, np.uint32), threads=64)
    assert callable(wanted)
    assert found.tolist() == [wanted(i % 32) + i // 32 * 32 for i in range(64)]


def test_a_shuffle_says_whether_there_was_a_lane() -> None:
    body = "shfl.sync.down.b32 %r21|%p1, %r10, 1, 31, -1;\nselp.b32 %r20, 1, 0, %p1;"
    assert each(body, GIVEN, np.zeros(64, np.uint32), grid=2).sum() == 62


def test_a_shuffle_among_threads_that_are_elsewhere_is_a_fault() -> None:
    body = "mov.b32 %r20, 0;\nsetp.lt.u32 %p1, %r10, 9;\n@%p1 bra PAST;\n"
    body += "shfl.sync.bfly.b32 %r20, %r10, 1, 31, -1;\nPAST:"
    with pytest.raises(PtxFault, match="names threads that are not there"):
        each(body, GIVEN, np.zeros(64, np.uint32), grid=2)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("vote.sync.ballot.b32 %r20, %p1, -1;", [7, 0]),
        ("vote.sync.any.pred %p2, %p1, -1; selp.b32 %r20, 1, 0, %p2;", [1, 0]),
        ("vote.sync.all.pred %p2, %p1, -1; selp.b32 %r20, 1, 0, %p2;", [0, 0]),
        ("vote.sync.uni.pred %p2, %p1, -1; selp.b32 %r20, 1, 0, %p2;", [0, 1]),
    ],
)
def test_a_vote_asks_a_whole_warp(body: str, wanted: list[int]) -> None:
    found = each(f"setp.lt.u32 %p1, %r10, 3;\n{body}", GIVEN, np.zeros(64, np.uint32), threads=64)
    assert [int(found[0]), int(found[32])] == wanted
    assert len(set(found[:32])) == len(set(found[32:])) == 1


def test_atomics_take_their_turn_in_the_order_of_the_threads() -> None:
    text = f"""{INDEX}ld.global.b32 %r10, [%rd4];
atom.global.add.f32 %r20, [%rd2], %r10;
ret;"""
    given = np.random.default_rng(1).standard_normal(64).astype(np.float32)
    total = np.float32(0)
    for x in given:
        total += x
    found = run(entry(text), [given, np.zeros(64, np.float32)], grid=2)[1]
    assert found[0] == total


def test_the_least_of_all_threads_is_found_by_an_atomic() -> None:
    text = f"""{INDEX}ld.global.b32 %r10, [%rd4];
red.global.min.u32 [%rd2], %r10;
atom.global.cas.b32 %r21, [%rd2+4], 0, 9;
ret;"""
    given = np.array([7, 5, 9] * 22, np.uint32)[:64]
    out = np.full(64, 0, np.uint32)
    out[0] = 2**32 - 1
    assert run(entry(text), [given, out], threads=64)[1][:2].tolist() == [5, 9]
