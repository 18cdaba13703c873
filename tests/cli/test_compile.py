"""`compile --for`: what it says and writes, and what it says where it cannot."""

from __future__ import annotations

import json
import stat
from importlib.resources import files
from pathlib import Path

import pytest
from cli_program import Program

from sexpgpu_core import api

pytestmark = pytest.mark.skipif(
    "cuda-emulated" not in api.plugins().names("devices"), reason="sexpgpu-cuda is not installed"
)
FILE = Path(__file__).parents[1] / "cuda" / "models" / "gpt2.lisp"
SMALL = (str(FILE), "--variant", "small", "-s", "depth=1")


@pytest.fixture
def assembler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of ptxas a program that writes a text for a cubin."""
    path = tmp_path / "ptxas"
    path.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nprintf code > "$2"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("SEXPGPU_PTXAS", str(path))
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("assembler")
def test_compile_writes_a_file_a_kernel_and_finds_them_again(
    program: Program, tmp_path: Path
) -> None:
    folder = tmp_path / "kernels"
    done = program("compile", *SMALL, "--for", "sm_90", "-o", str(folder), "--json")
    assert done.exit == 0, done.err
    made = done.document
    assert made["made"] == len(list(folder.iterdir())) > 20
    assert made["bytes"] == 4 * made["made"]
    assert made["omitted"] == {"kernels": made["made"] - 20}
    again = program("compile", *SMALL, "--for", "sm_90", "--json").document
    assert (again["made"], again["cached"]) == (0, made["made"])
    jsonschema = pytest.importorskip("jsonschema")
    schema = files("sexpgpu_core").joinpath("schemas", "compile.json")
    jsonschema.validate(made, json.loads(schema.read_text(encoding="utf-8")))
    text = program("compile", *SMALL, "--for", "sm_90").out
    assert text.startswith(f"{made['made']} kernels for sm_90: 0 made, ")
    assert len(text.encode()) < 2048


def test_a_target_that_no_device_has_is_answered_with_the_nearest(program: Program) -> None:
    done = program("compile", *SMALL, "--for", "sm90")
    assert done.exit == 2
    assert "did you mean sm_90?" in done.err


def test_without_an_assembler_it_is_said_what_to_install(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEXPGPU_PTXAS", "/dev/null")
    done = program("compile", *SMALL, "--for", "sm_90")
    assert done.exit == 4
    assert "E-DEVICE-ABSENT" in done.err
    assert "pip install 'sexpgpu-cuda[cuda-compile]'" in done.err


def test_explain_for_a_gpu_lists_kernels_and_is_what_its_schema_says(program: Program) -> None:
    done = program("explain", *SMALL, "--device", "cuda", "--gpu", "A100", "--json")
    assert done.exit == 0, done.err
    found = done.document
    assert found["device"]["model"] == "A100"
    assert found["kernels"][0]["predicted_s"] >= found["kernels"][-1]["predicted_s"]
    jsonschema = pytest.importorskip("jsonschema")
    schema = files("sexpgpu_core").joinpath("schemas", "explain.json")
    jsonschema.validate(found, json.loads(schema.read_text(encoding="utf-8")))
    text = program("explain", *SMALL, "--device", "cuda").out
    assert text.startswith("a step ")
    assert "roofline of one H200, not measured" in text
    assert program("explain", *SMALL, "--device", "cpu", "--gpu", "A100").exit == 2
    assert program("explain", *SMALL, "--device", "cuda", "--gpu", "V100").exit == 2


def test_a_run_on_cuda_says_that_nothing_launches_yet(program: Program) -> None:
    done = program("run", *SMALL, "--device", "cuda")
    assert done.exit == 4
    assert "E-DEVICE-ABSENT" in done.err
