"""Kernels through NVIDIA's own assembler, where it is installed: no stack, no spill, registers for
at least half of the threads that a multiprocessor can hold."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cuda_programs import graph_of, integers, launches, normal

from sexpgpu_cuda.compiler import compile_text
from sexpgpu_cuda.toolchain import found

PTXAS = found("ptxas")
pytestmark = pytest.mark.skipif(PTXAS is None, reason="ptxas is not here: nvidia-cuda-nvcc has it")
HALF = 64
"""Registers of a thread with which 1,024 threads are resident: half of 2,048."""

POOL = {"sizes": (3, 2, 2), "strides": (2, 1, 2), "padding": ((1, 1), (0, 0), (1, 0))}
GRAPHS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "elementwise": (lambda b, x: b("tanh", b("exp", x)), {"x": normal((64, 768), "bf16")}),
    "softmax": (lambda b, x: b("softmax", x, axis=1), {"x": normal((8, 1024))}),
    "norm": (lambda b, x: b("layer-norm", x, axes=(1,), eps=1e-5), {"x": normal((8, 768))}),
    "columns": (lambda b, x: b("reduce-sum", x, axes=(0,), keep=False), {"x": normal((512, 96))}),
    "loss": (
        lambda b, x, i: b("cross-entropy", x, i, axis=1),
        {"x": normal((8, 5003)), "i": integers(5003, (8,))},
    ),
    "sort": (lambda b, x: b("argsort", x, axis=1), {"x": normal((3, 500), "f64")}),
    "long sort": (lambda b, x: b("argsort", x, axis=1), {"x": normal((1, 5000))}),
    "running": (lambda b, x: b("cumsum", x, axis=1), {"x": normal((3, 50), "bf16")}),
    "search": (
        lambda b, e, x: b("searchsorted", e, x),
        {"e": normal((50,)), "x": normal((7,))},
    ),
    "sorted scatter": (
        lambda b, x, i, y: b("scatter-add", x, i, y, axis=0),
        {"x": normal((9, 16)), "i": integers(9, (40,)), "y": normal((40, 16))},
    ),
    **{
        name: (lambda b, x, name=name: b(name, x), {"x": normal((33,), "f64")})
        for name in ("erfc", "asinh", "acos", "tanh", "expm1")
    },
    "pool": (
        lambda b, x: b(
            "avg-pool-gradient", b("avg-pool", x, **POOL), **POOL, **{"input-shape": x.shape}
        ),
        {"x": normal((2, 9, 8, 7, 4), "bf16")},
    ),
    "greatest": (
        lambda b, x: b("max-pool-gradient", x, b("max-pool", x, **POOL), **POOL),
        {"x": normal((2, 9, 8, 7, 4))},
    ),
    **{
        name: (
            lambda b, x, name=name: dict(zip("abc", b.several(name.split()[-1], x))),
            {"x": normal((2, size, size))},
        )
        for name, size in (
            ("cholesky", 40),
            ("lu", 40),
            ("qr", 40),
            ("eigh", 40),
            ("svd", 40),
            ("small svd", 5),
        )
    },
    "triangular": (lambda b, x: b("solve-triangular", x, x), {"x": normal((2, 40, 40), "f64")}),
    "fmod": (lambda b, x: b("rem", x, x), {"x": normal((33,))}),
    "scatter": (
        lambda b, x, i, y: b("scatter-add", x, i, y, axis=0),
        {"x": normal((9, 16)), "i": integers(9, (20,)), "y": normal((20, 16))},
    ),
}

AT = {"strides": (2, 1), "dilations": (1, 2), "padding": ((1, 0), (2, 2)), "groups": 2}
PLAIN: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    **{
        f"product of {dtype}": (
            lambda b, x, y: b("matmul", x, y, **{"transpose-y": True}),
            {"x": normal((3, 33, 16), dtype), "y": normal((3, 40, 16), dtype)},
        )
        for dtype in ("f64", "f32", "bf16", "f16")
    },
    "end of a product": (
        lambda b, x, y, z: dict(zip("ab", b.several("matmul-gelu", x, y, z))),
        {"x": normal((8, 24), "bf16"), "y": normal((24, 16), "bf16"), "z": normal((16,), "bf16")},
    ),
    "convolution": (
        lambda b, x, w: b("conv", x, w, **AT),
        {"x": normal((2, 9, 8, 6), "bf16"), "w": normal((3, 2, 3, 4), "bf16")},
    ),
    "input's gradient": (
        lambda b, g, w: b("conv-input-gradient", g, w, **AT, **{"input-shape": (2, 9, 8, 6)}),
        {"g": normal((2, 4, 10, 4)), "w": normal((3, 2, 3, 4))},
    ),
    "weight's gradient": (
        lambda b, x, g: b("conv-weight-gradient", x, g, **AT, **{"kernel-shape": (3, 2, 3, 4)}),
        {"x": normal((2, 9, 8, 6)), "g": normal((2, 4, 10, 4))},
    ),
    "attention": (
        lambda b, q: dict(zip("ab", b.several("attention-forward", q, q, q, causal=True))),
        {"q": normal((1, 4, 2, 128), "bf16")},
    ),
    "attention's gradient": (
        lambda b, q, kept: dict(
            zip("abc", b.several("attention-backward", *(q,) * 5, kept, causal=True, window=3))
        ),
        {"q": normal((1, 4, 2, 128), "bf16"), "kept": normal((1, 2, 4))},
    ),
}
"""Where a library is not there."""


@pytest.mark.parametrize("name", [*GRAPHS, *PLAIN])
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_a_kernel_is_assembled_without_a_stack(
    name: str, architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, inputs = {**GRAPHS, **PLAIN}[name]
    monkeypatch.setenv("SEXPGPU_LIBRARIES", "none" if name in PLAIN else "")
    for launch in launches(graph_of(make, **inputs)):
        text = compile_text(launch.unit.text(), launch.unit.name, architecture)
        path = tmp_path / "kernel.ptx"
        path.write_text(text)
        flags = [f"-arch={architecture}", "-v", "-fmad=false", "-o", str(tmp_path / "cubin")]
        done = subprocess.run([str(PTXAS), *flags, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "0 bytes stack frame, 0 bytes spill stores" in done.stderr
        assert int(re.findall(r"Used (\d+) registers", done.stderr)[0]) <= HALF
