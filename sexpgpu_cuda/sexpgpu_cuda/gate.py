"""The gate before a step's commits: open where the verdict is true and no call erred, in this
launch or in one that the host has not yet taken."""

from __future__ import annotations

import hashlib

from sexpgpu_core.kernels.target import Register

from .kernels import emitter
from .target import GLOBAL, PtxTarget
from .work import Launch, Places, Span, Unit


def gate_text(name: str, asked: bool) -> str:
    """One thread. Parameters: verdict, error words, gate, halt, number of error words. A call that
    erred halts: launches that are in flight behind it change nothing either."""
    t = PtxTarget(1)
    zero, one = t.constant("i32", 0), t.constant("i32", 1)
    t.label("entry")
    t.jump("head")
    t.label("head")
    k, line = t.phi(zero, "entry")
    erred, erred_line = t.phi(zero, "entry")
    word = t.load(t.address(Register("%errors", "ptr"), k, "i64"), "i64")
    found = t.select(t.compare("eq", word, t.like(word, -1)), erred, one)
    following = t.binary("add", k, one)
    t.close(line, following)
    t.close(erred_line, found)
    t.branch(t.compare("slt", following, Register("%count", "i32")), "head", "done")
    t.label("done")
    halted = t.binary("or", t.load(Register("%halt", "ptr"), "i32"), found)
    t.store(halted, Register("%halt", "ptr"))
    open_ = t.binary("xor", halted, one)
    if asked:
        byte = t.load(Register("%verdict", "ptr"), "i8")
        good = t.convert("zext", t.compare("ne", byte, t.like(byte, 0)), "i32")
        open_ = t.binary("and", open_, good)
    t.store(open_, Register("%gate", "ptr"))
    t.lines.append("  ret void")
    given = [f"{GLOBAL} %{n}" for n in ("verdict", "errors", "gate", "halt")]
    return t.kernel(name, [*given, "i32 %count"], 1, 0)


def gate_launch(places: Places, calls: int) -> Launch:
    """`calls`: how many error words there are, at least 1."""
    verdict = places.plan.verdict
    asked = verdict is not None
    key = hashlib.sha256(f"{emitter()} gate {asked}".encode()).hexdigest()[:32]
    name = f"g{key}"
    unit = Unit(key, name, lambda: gate_text(name, asked))
    spans = [
        Span(places.errors, places.errors + 8 * calls, False),
        places.word(places.gate, True),
        places.word(places.halt, True),
    ]
    address = 0
    if verdict is not None:
        address = places.address(verdict)
        spans.append(Span(address, address + 1, False))
    arguments = (address, places.errors, places.gate, places.halt, calls)
    return Launch(unit, 1, 1, arguments, tuple(spans))
