"""The check of a machine with a GPU, tried on the emulator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_HERE = {"resume", "big", "sanitizer", "beside"}
SAFE = ("-P",) if sys.version_info >= (3, 11) else ()


def test_the_check_of_a_gpu_runs_on_the_emulator(tmp_path: Path) -> None:
    pytest.importorskip("sexpgpu_cuda", reason="the device is sexpgpu-cuda's")
    path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    words = ["-m", "bench.gpu", "dlrm", "--emulated"]
    done = subprocess.run(
        [sys.executable, *SAFE, *words], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    parts = {row["part"] for row in rows}
    assert parts == {"calls", "machine", "steps", "plain", "replay", *NOT_HERE}
    found = {r["part"]: r for r in rows if "loss" in r}
    assert set(found) == {"steps", "plain"}
    assert all(r["loss"] < 1e-5 > r["values"] for r in found.values())
    assert [r["same"] for r in rows if "same" in r] == [True]
    left = {r["part"] for r in rows if "left_out" in r}
    assert left - {"calls"} == NOT_HERE  # whose calls are PyTorch's, where it is not
    assert not (ROOT / "bench" / "results" / "gpu.json").exists()
