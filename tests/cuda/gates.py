"""Every kernel of the big models through ptxas and nvdisasm, with their libraries and without: no
stack, no local memory, full tiles 16 bytes at a time, registers for half of the threads. `nox -s
gates` has what it needs."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from cuda_models import MODELS, compiled, kernels

from sexpgpu_cuda import cubins, providers, sass
from sexpgpu_cuda.work import Unit


def both(name: str) -> list[tuple[Unit, int]]:
    """A model's kernels with its libraries, and those that it has without."""
    model = compiled(name)
    found = {unit.key: (unit, threads) for unit, threads in kernels(model)}
    os.environ[providers.VARIABLE] = "none"
    found.update({unit.key: (unit, threads) for unit, threads in kernels(model)})
    del os.environ[providers.VARIABLE]
    return list(found.values())


def main(architecture: str = "sm_90") -> int:
    """Exit 1 where a kernel breaks its budget."""
    wrong = 0
    for name in MODELS:
        code = both(name)
        began = time.perf_counter()
        made = cubins.build(code, architecture)
        cold = time.perf_counter() - began
        fresh = sum(not c.cached for c in made)
        began = time.perf_counter()
        cubins.build(code, architecture)
        warm = time.perf_counter() - began
        with ThreadPoolExecutor(2) as pool:
            seen = list(pool.map(sass.accesses, [c.code for c in made]))
        found = [sass.faults(u, c, s) for (u, _), c, s in zip(code, made, seen)]
        for cubin, faults in zip(made, found):
            if faults:
                sys.stdout.write(f"{name}: {cubin.name}: {'; '.join(faults)}\n")
        wrong += sum(map(bool, found))
        full = sum(bool(u.vectors) for u, _ in code)
        most = max(c.registers for c in made)
        sys.stdout.write(
            f"{name}: {len(made)} kernels for {architecture}, {full} with full tiles, at most "
            f"{most} registers; {fresh} made in {cold:.1f} s, all from the cache in {warm:.2f} s\n"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
