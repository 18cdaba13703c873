"""Units to cubins: LLVM text to PTX, PTX to machine code by ptxas, several processes at a time,
kept on disk by all that the code depends on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sexpgpu_core.device import COMPILED, Code
from sexpgpu_core.diagnostics import problem
from sexpgpu_core.object_cache import ContentCache

from . import toolchain
from .addresses import drafted
from .compiler import compile_text
from .work import Launch, Loop, Record, Unit, units

if TYPE_CHECKING:
    from sexpgpu_core.compile.pipeline import Compiled

FLAGS = ("-v", "-fmad=false", "-O3")
"""Nothing is contracted: a rounding is where the graph has it (45.10)."""


class Cubin(NamedTuple):
    """A kernel's machine code. Bytes of stack and shared memory; `spilled`: written and read
    back; `threads`: of a block."""

    name: str
    architecture: str
    registers: int
    stack: int
    spilled: int
    shared: int
    threads: int
    cached: bool
    code: bytes


class CubinCache(ContentCache):
    """An entry: a line of facts, then the code."""

    kind = "cubin"


def machine_code(compiled: Compiled, target: str) -> Iterator[Code]:
    """Every kernel of an experiment's programs as a cubin. Raises E-DEVICE-ABSENT without ptxas,
    E-DEVICE-COMPILE where a kernel is refused."""
    job = compiled.job
    code: dict[str, tuple[Unit, int]] = {}
    for unit in job.units:
        if unit.plan is not None:
            code.update(code_of(drafted(unit.plan, job.persistent).records))
    for cubin in build(code.values(), target):
        facts = {n: getattr(cubin, n) for n in ("registers", "stack", "spilled", "shared")}
        facts["threads"] = cubin.threads
        yield Code(cubin.name, cubin.code, cubin.cached, facts)


def code_of(records: Iterable[Record]) -> dict[str, tuple[Unit, int]]:
    """Every distinct kernel by key, with the threads of its blocks."""
    records = list(records)
    threads = dict(_threads(records))
    return {unit.key: (unit, threads[unit.key]) for unit in units(records)}


def _threads(records: Iterable[Record]) -> Iterable[tuple[str, int]]:
    for record in records:
        if isinstance(record, Launch):
            yield record.unit.key, record.threads
        elif isinstance(record, Loop):
            yield from _threads(record.first)


def build(
    code: Iterable[tuple[Unit, int]],
    architecture: str,
    jobs: int = 0,
    cache: CubinCache | None = None,
) -> list[Cubin]:
    """The cubins, in order. `jobs`: assemblers at a time, 0 for one a core. Raises
    E-DEVICE-ABSENT without ptxas, E-DEVICE-COMPILE where a kernel is refused."""
    assembler = toolchain.ptxas()
    kept, made = cache or CubinCache(), f"{architecture}-ptxas{toolchain.version(assembler)}"

    def fresh(unit: Unit, text: str) -> bytes:
        ptx = compile_text(text, unit.name, architecture)
        body = assembled(assembler, ptx, unit.name, architecture)
        kept.put(f"{unit.key}-{made}", body)
        return body

    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        waiting: list[tuple[Unit, int, bytes | Future[bytes]]] = []
        for unit, threads in code:
            known = kept.get(f"{unit.key}-{made}")
            body = known if known is not None else pool.submit(fresh, unit, unit.text())
            waiting.append((unit, threads, body))
        _tell([body for *_, body in waiting if not isinstance(body, bytes)])
        return [_taken(*given, architecture) for given in waiting]


def _tell(made: Sequence[Future[bytes]]) -> None:
    """How many are done, to whom wants to know."""
    watch = COMPILED.get()
    if watch is not None:
        for one in made:
            one.add_done_callback(lambda _: watch(sum(f.done() for f in made), len(made)))


def _taken(unit: Unit, threads: int, body: bytes | Future[bytes], architecture: str) -> Cubin:
    """A cubin out of a cache's entry, waited for where it is being made."""
    known = isinstance(body, bytes)
    facts, _, machine = (body if isinstance(body, bytes) else body.result()).partition(b"\n")
    registers, stack, spilled, shared = json.loads(facts)
    return Cubin(
        unit.name, architecture, registers, stack, spilled, shared, threads, known, machine
    )


def assembled(assembler: str, ptx: str, name: str, architecture: str) -> bytes:
    """A cache's entry of one PTX module. Raises E-DEVICE-COMPILE."""
    with tempfile.TemporaryDirectory(prefix="sexpgpu-ptxas-") as folder:
        source, target = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        words = [assembler, f"-arch={architecture}", *FLAGS, "-o", str(target), str(source)]
        try:
            ran = subprocess.run(words, capture_output=True, text=True, timeout=600)
        except (OSError, subprocess.SubprocessError) as error:
            raise problem("E-DEVICE-COMPILE", f"ptxas did not run: {error}") from error
        if ran.returncode != 0:
            told = (ran.stderr.strip() or ran.stdout.strip()).splitlines()[:3]
            raise problem("E-DEVICE-COMPILE", f"ptxas refused {name}: {' '.join(told)}")
        return json.dumps(facts_of(ran.stderr)).encode() + b"\n" + target.read_bytes()


def facts_of(log: str) -> tuple[int, int, int, int]:
    """Registers, stack, bytes spilled and shared bytes, as `ptxas -v` tells them."""

    def number(pattern: str) -> int:
        return sum(int(n) for n in re.findall(pattern, log))

    spilled = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
    stack = number(r"(\d+) bytes stack frame")
    return number(r"Used (\d+) registers"), stack, spilled, number(r"(\d+) bytes smem")
