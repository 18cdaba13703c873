"""Memory: vectors, bounds, alignment, what may be written, races over global memory."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_kernels import BASE, INDEX, entry, run

from sexpgpu_cuda.ptx.faults import PtxFault
from sexpgpu_cuda.ptx.launch import launch, prepare
from sexpgpu_cuda.ptx.memory import Allocation, Memory, Span

WIDE = f"""{INDEX}
mul.wide.u32 %rd6, %r4, 16; add.s64 %rd7, %rd1, %rd6; add.s64 %rd8, %rd2, %rd6;
"""
COPY = (
    WIDE
    + "ld.global.nc.v4.b32 {%r5, %r6, %r7, %r8}, [%rd7+OFFSET];\n"
    + "st.global.v4.b32 [%rd8], {%r8, %r7, %r6, %r5};\nret;"
)


def test_a_vector_moves_16_bytes_a_thread() -> None:
    given = np.arange(128, dtype=np.uint32)
    found = run(entry(COPY.replace("OFFSET", "0")), [given, np.zeros_like(given)])[1]
    np.testing.assert_array_equal(found.reshape(-1, 4), given.reshape(-1, 4)[:, ::-1])


def test_an_access_that_is_not_aligned_is_a_fault_with_its_line() -> None:
    given = np.arange(160, dtype=np.uint32)
    with pytest.raises(PtxFault, match="alignment: 0x7f0000000004 is no multiple of 16") as caught:
        run(entry(COPY.replace("OFFSET", "4")), [given, np.zeros_like(given)])
    assert "ld.global.nc.v4.b32" in str(caught.value)
    assert "line" in str(caught.value)


@pytest.mark.parametrize(("room", "doing"), [(500, "read 16 bytes"), (0, "read 16 bytes")])
def test_what_lies_outside_a_launch_s_spans_is_not_touched(room: int, doing: str) -> None:
    given = np.arange(128, dtype=np.uint32)
    with pytest.raises(PtxFault, match=f"bounds: .* threads {doing}"):
        run(entry(COPY.replace("OFFSET", "0")), [given, np.zeros_like(given)], room=room or 8)


def test_bytes_between_two_buffers_belong_to_neither() -> None:
    given = np.arange(128, dtype=np.uint32)
    with pytest.raises(PtxFault, match="bounds: 1 of 32 threads read"):
        run(entry(COPY.replace("OFFSET", "16")), [given, np.zeros_like(given)])


def test_bytes_and_halves_are_stored_apart() -> None:
    text = f"""{INDEX}
cvt.u64.u32 %rd6, %r4; add.s64 %rd7, %rd2, %rd6;
cvt.u16.u32 %rs1, %r4; st.global.b8 [%rd7], %rs1; ret;"""
    found = run(entry(text), [np.zeros(32, np.uint8), np.zeros(32, np.uint8)])[1]
    np.testing.assert_array_equal(found, np.arange(32))


ONE = "{index}cvt.u64.u32 %rd6, %r4; st.global.b32 [%rd2], %r4; ret;"


def test_two_threads_that_write_one_place_race() -> None:
    with pytest.raises(PtxFault, match="race: thread 1 two threads write"):
        run(entry(ONE.format(index=INDEX)), [np.zeros(32, "u4"), np.zeros(32, "u4")])


NEIGHBOUR = f"""{INDEX}
st.global.b32 [%rd5], %r4;
bar.sync 0;
xor.b32 %r9, %r4, MASK; mul.wide.u32 %rd9, %r9, 4; add.s64 %rd9, %rd2, %rd9;
ld.global.b32 %r11, [%rd9];
st.global.b32 [%rd4], %r11;
ret;"""


def test_a_barrier_orders_global_memory_within_a_block() -> None:
    out = np.zeros(64, np.uint32)
    found = run(entry(NEIGHBOUR.replace("MASK", "1")), [out, out], grid=2)[0]
    np.testing.assert_array_equal(found, np.arange(64) ^ 1)


def test_nothing_orders_blocks_within_a_launch() -> None:
    out = np.zeros(64, np.uint32)
    with pytest.raises(PtxFault, match="race"):
        run(entry(NEIGHBOUR.replace("MASK", "32")), [out, out], grid=2)


def test_the_launch_itself_is_checked() -> None:
    with pytest.raises(PtxFault, match="3 arguments for 2"):
        run(entry("ret;"), [np.zeros(2, "u4"), np.zeros(2, "u4")], more=[1])


def test_a_kernel_that_never_ends_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sexpgpu_cuda.ptx.launch.TURNS", 50)
    with pytest.raises(PtxFault, match="does not end"):
        run(entry("HERE:\nbra HERE;"), [np.zeros(2, "u4"), np.zeros(2, "u4")])


@pytest.mark.parametrize("races", [False, True])
def test_threads_of_one_access_read_and_write_different_allocations(races: bool) -> None:
    body = """
ld.param.u64 %rd1, [p0];
ld.param.u64 %rd2, [p1];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 4;
setp.lt.u32 %p1, %r1, 9;
selp.b64 %rd4, %rd1, %rd2, %p1;
add.s64 %rd5, %rd4, %rd3;
ld.global.b32 %r2, [%rd5];
add.s32 %r2, %r2, 1;
st.global.b32 [%rd5], %r2;
ret;
"""
    raw = [np.arange(64, dtype="u4"), np.arange(100, 164, dtype="u4")]
    starts = (BASE, BASE + (1 << 30))
    memory = Memory(
        [Allocation(s, r.view("u1")) for s, r in zip(starts, raw)],
        [Span(s, s + r.nbytes) for s, r in zip(starts, raw)],
    )
    launch(prepare(entry(body)), 1, 32, starts, memory, races)
    number = np.arange(64)
    np.testing.assert_array_equal(raw[0], number + (number < 9))
    np.testing.assert_array_equal(raw[1], number + 100 + ((number >= 9) & (number < 32)))
