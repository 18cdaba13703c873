"""The real driver, cuda.bindings and all, over a libcuda of the host's memory (fake/)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "fake"
COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = [
    pytest.mark.skipif(
        find_spec("cuda") is None or find_spec("cuda.bindings") is None,
        reason="cuda-bindings is not here: sexpgpu-cuda[cuda] has it",
    ),
    pytest.mark.skipif(COMPILER is None, reason="no C compiler makes the fake libcuda"),
    pytest.mark.skipif(sys.platform != "linux", reason="libcuda.so.1 is Linux's name"),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    library = tmp_path_factory.mktemp("fake") / "libcuda.so.1"
    words = [str(COMPILER), "-shared", "-fPIC", "-O1", "-Wall", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([*words, "-o", str(library), str(FOLDER / "fake_libcuda.c"), "-ldl"], check=True)
    ran = subprocess.run(
        [sys.executable, str(FOLDER / "fake_run.py"), str(library)],
        env={**os.environ, "SEXPGPU_CHECK": "0"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    made: dict[str, Any] = json.loads(ran.stdout)
    return made


def test_three_steps_as_graphs_leave_the_emulators_bits(found: dict[str, Any]) -> None:
    training = found["training"]
    assert training["same"]
    assert training["graphs"] == 3
    assert training["captured"] > 10
    assert not training["error"]


def test_a_session_that_is_closed_has_given_everything_back(found: dict[str, Any]) -> None:
    assert found["training"]["left"] == 0


def test_the_machine_is_told_as_it_is(found: dict[str, Any]) -> None:
    seen = found["seen"]
    assert seen["gpu"]["architecture"] == "sm_90"
    assert seen["gpu"]["driver"] == "13.0"
    assert seen["probe"]["present"]
    assert seen["facts"]
    assert {"gpu", "driver", "architecture", "kernels"} <= set(seen["key"])
    lines = {line["name"]: line["status"] for line in seen["checks"]}
    assert lines["driver"] == lines["gpu"] == lines["gpu memory"] == "ok"


def test_memory_that_is_full_says_what_was_asked_and_what_is_free(found: dict[str, Any]) -> None:
    told = found["memory_is_full"]
    assert told["code"] == "E-DEVICE-MEMORY"
    assert "needed: 20000000; available: 10000000" in told["message"]


def test_small_rooms_lie_side_by_side(found: dict[str, Any]) -> None:
    assert found["memory_is_full"]["apart"] == [256, 256]


def test_a_fault_names_kernels_of_the_graph_and_stays(found: dict[str, Any]) -> None:
    told = found["a_fault"]
    assert told["code"] == "E-DEVICE-FAULT"
    assert "SEXPGPU_CHECK=1" in told["hint"]
    assert told["named"]
    assert told["again"]
    assert told["last"]


def test_a_fault_of_one_record_names_it_alone(found: dict[str, Any]) -> None:
    told = found["one_by_one"]
    assert told["message"].endswith("kernel: product")


def test_a_library_is_prepared_and_given_its_workspace(found: dict[str, Any]) -> None:
    told = found["one_by_one"]
    assert (told["wanted"], told["ran"]) == (1000, 1)


@pytest.mark.parametrize(
    ("case", "code", "word"),
    [
        ("old", "E-DEVICE-ABSENT", "CUDA 11.4"),
        ("none", "E-DEVICE-ABSENT", "no NVIDIA GPU"),
        ("hidden", "E-DEVICE-ABSENT", "starting the driver"),
        ("binary", "E-DEVICE-COMPILE", "another GPU"),
    ],
)
def test_each_answer_of_a_driver_is_a_problem(
    found: dict[str, Any], case: str, code: str, word: str
) -> None:
    told = found["absences"][case]
    assert told["code"] == code
    assert word in told["message"]
    assert told["hint"]


def test_a_driver_older_than_the_assembler_is_given_ptx(found: dict[str, Any]) -> None:
    assert found["absences"]["ptx"]["code"] == "ptx"
