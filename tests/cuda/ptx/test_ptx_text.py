"""PTX text to kernels: what is understood, and what is refused with its line."""

from __future__ import annotations

import pytest
from ptx_kernels import HEAD, entry

from sexpgpu_cuda.ptx.faults import PtxFault
from sexpgpu_cuda.ptx.launch import prepare
from sexpgpu_cuda.ptx.text import (
    Address,
    Immediate,
    Register,
    Symbol,
    Vector,
    instruction,
    operand,
    parse,
)


def test_an_instruction_has_words_operands_and_a_guard() -> None:
    found = instruction("@!%p1 ld.global.nc.v2.b32 {%r1, _}, [%rd4+16]", 7)
    assert found.words == ("ld", "global", "nc", "v2", "b32")
    assert found.guard == ("%p1", False)
    items = Vector((Register("%r1"), Register("_")))
    assert found.operands == (items, Address(Register("%rd4"), 16))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-5", Immediate(-5)),
        ("0x1F", Immediate(31)),
        ("0f3F800000", Immediate(0x3F800000)),
        ("0d3FF0000000000000", Immediate(0x3FF0000000000000)),
        ("%tid.x", Register("%tid.x")),
        ("$L__BB0_1", Symbol("$L__BB0_1")),
        ("[sums+-4]", Address(Symbol("sums"), -4)),
        ("%r1|%p2", Vector((Register("%r1"), Register("%p2")))),
        ("true", Immediate(1)),
    ],
)
def test_operands_are_read_as_they_are_written(text: str, value: object) -> None:
    assert operand(text) == value


def test_a_kernel_has_its_parameters_labels_and_limit() -> None:
    text = f"""{HEAD}
.visible .entry first(
    .param .u64 .ptr .global .align 1 first_0,
    .param .u32 first_1
)
.maxntid 128, 1, 1
{{
    .reg .b32 %r<3>; // a remark; with a semicolon
    mov.b32 %r1, 0;
$here:
    add.s32 %r1, %r1, 1;
    bra $here;
}}
"""
    found = parse(text)["first"]
    assert [(p.name, p.bits) for p in found.parameters] == [("first_0", 64), ("first_1", 32)]
    assert found.labels == {"$here": 1}
    assert found.limit == 128
    assert found.blocks[1][0].line == 13


def test_shared_variables_lie_one_after_another_at_their_alignment() -> None:
    before = ".shared .align 4 .b8 a[6];\n.shared .align 16 .b8 b[32];\n"
    found = entry("ret;", before=before)
    assert [(s.name, s.offset, s.bytes) for s in found.shared] == [("a", 0, 6), ("b", 16, 32)]
    assert found.shared_bytes == 48


@pytest.mark.parametrize(
    "line",
    [
        "tex.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%r1, %r2}];",
        "ld.local.b32 %r1, [%rd1];",
        "ld.b32 %r1, [%rd1];",
        "mul.f32 %r1, %r2, %r3;",
        "add.rz.f32 %r1, %r2, %r3;",
        "cvt.s32.f32 %r1, %r2;",
        "atom.global.inc.u32 %r1, [%rd1], %r2;",
        "vote.all.pred %p1, %p2;",
    ],
)
def test_an_unknown_instruction_is_named_with_its_line(line: str) -> None:
    with pytest.raises(PtxFault, match="unknown") as caught:
        prepare(entry(f"mov.b32 %r1, 1;\n{line}\nret;"))
    assert line.rstrip(";") in str(caught.value)
    assert "line 15" in str(caught.value)


def test_an_unknown_directive_is_refused() -> None:
    with pytest.raises(PtxFault, match="directive"):
        parse(f"{HEAD}.const .b8 table[4];\n")


def test_a_kernel_without_an_end_is_refused() -> None:
    with pytest.raises(PtxFault, match="no end"):
        parse(f"{HEAD}.visible .entry k(.param .u64 p0)\n{{\nret;\n")
