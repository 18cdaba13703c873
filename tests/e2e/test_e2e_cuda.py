"""Runs on the emulated CUDA device train as the reference does."""

from __future__ import annotations

import pytest
from e2e_program import EXAMPLES, Folder, series

from sexpgpu_core import api

pytestmark = pytest.mark.skipif(
    "cuda-emulated" not in api.plugins().names("devices"),
    reason="sexpgpu-cuda is not installed",
)
SMALL = ("--variant", "smoke", "-q")
HALF = ("-s", "heads=2", "-s", "depth=1")
CHOICES = {
    "digits": ("-s", "width=24"),
    "chars": ("-s", "text=letters.txt", "-s", "context=12", "-s", "width=16", *HALF),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_step_of_an_example_is_the_references(folder: Folder, name: str) -> None:
    if name == "digits":
        pytest.importorskip("sklearn")
    folder.write(f"{name}.lisp", (EXAMPLES / f"{name}.lisp").read_bytes())
    flags = (*SMALL, *CHOICES[name], "--steps", "1")
    for device in ("cuda-emulated", "reference"):
        done = folder("run", f"{name}.lisp", *flags, "--device", device, "--name", device)
        assert done.exit == 0, done.err
    for kind in ("step", "eval"):
        ours, plain = (series(folder.made(d), kind) for d in ("cuda-emulated", "reference"))
        assert ours.keys() == plain.keys() != set()
        for key, metrics in ours.items():
            assert metrics == pytest.approx(plain[key], rel=2e-4, abs=1e-6)
