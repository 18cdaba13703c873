"""What is missing is said with its code and what to install; a driver's errors are problems."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.diagnostics.catalogue import catalogue
from sexpgpu_cuda import bindings, codes, presence
from sexpgpu_cuda.failures import FAILURES, refused
from sexpgpu_cuda.gpu import GpuDevice
from sexpgpu_cuda.work import Unit


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where cuda-bindings is not installed."""
    monkeypatch.setitem(sys.modules, "cuda", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)


@pytest.mark.usefixtures("without")
def test_without_the_bindings_the_device_says_what_to_install() -> None:
    with pytest.raises(Problem) as raised:
        bindings.driver_module()
    d = raised.value.diagnostic
    assert d.code == "E-DEVICE-ABSENT"
    assert "sexpgpu[cuda]" in str(d.hint)
    facts = GpuDevice().probe()
    assert not facts.present
    assert facts.why == d.message
    assert facts.fix == d.hint
    assert presence.probe() == {"present": False, "detail": d.message}


@pytest.mark.usefixtures("without")
def test_doctor_has_a_line_for_each_part_and_a_fix_where_it_is_missing() -> None:
    lines = {line["name"]: line for line in presence.checks()}
    parts = {"driver", "cuda-bindings", "cuBLASLt", "cuDNN", "cuDNN frontend", "ptxas", "cubins"}
    assert parts <= lines.keys()
    assert all(line["group"] == "cuda" for line in lines.values())
    assert all(line["fix"] for line in lines.values() if line["status"] in ("skipped", "warning"))
    assert lines["driver"]["status"] == "skipped"


def test_an_assembler_of_another_major_version_is_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(presence.toolchain, "found", lambda tool: "/opt/ptxas")
    for version, status in (("12.4.1", "warning"), ("13.0.88", "ok")):
        monkeypatch.setattr(presence.toolchain, "version", lambda path, v=version: v)
        (line,) = (x for x in presence.checks() if x["name"] == "ptxas")
        assert line["status"] == status
        assert line["detail"].startswith(version)


@pytest.mark.parametrize(
    ("name", "version", "status"),
    [
        ("cuDNN", "9.19.0.56", "ok"),
        ("cuDNN", "9.8.0.87", "warning"),
        ("cuBLASLt", "12.9.1.4", "warning"),
        ("cuDNN frontend", "1.18.0", "ok"),
        ("cuDNN frontend", "1.32.0", "warning"),
        ("cuda-bindings", "13.0.1", "warning"),
    ],
)
def test_versions_that_do_not_fit_the_others_are_a_warning(
    monkeypatch: pytest.MonkeyPatch, name: str, version: str, status: str
) -> None:
    monkeypatch.setattr(presence, "libraries", lambda: {name: version})
    (line,) = (x for x in presence.checks() if x["name"] == name)
    assert line["status"] == status
    assert line["detail"].startswith(version)
    assert bool(line["fix"]) == (status == "warning")


def test_versions_that_fit_are_those_that_the_extra_asks_for() -> None:
    project = Path(presence.__file__).parents[1] / "pyproject.toml"
    text = project.read_text("utf-8")
    for name, (least, _) in presence.FITS.items():
        (asked,) = re.findall(f'"{presence.PACKAGES[name][0]}[>=]=([0-9.]+)', text)
        numbers = [int(n) for n in asked.split(".")]
        assert numbers[: len(least)] == list(least), name


def test_every_error_of_a_driver_has_a_code_of_ours() -> None:
    for name, found in FAILURES.items():
        assert found.code in catalogue()
        told = refused(name, "trying", bytes=3).diagnostic
        assert told.hint
        assert name in told.message
        assert "bytes: 3" in told.message
    assert refused("CUDA_ERROR_NEW", "trying").diagnostic.code == "E-DEVICE-FAULT"
    assert refused("CUDA_ERROR_CONTAINED", "waiting").diagnostic.code == "E-DEVICE-LOST"


def test_cubins_of_a_folder_are_taken_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never() -> str:
        raise AssertionError("it is there")

    (tmp_path / "k1.cubin").write_bytes(b"\x7fELF made elsewhere")
    monkeypatch.setenv("SEXPGPU_CUBINS", str(tmp_path))
    (found,) = codes.bodies({"1": (Unit("1", "k1", never), 32)}, "cubin", "sm_90")
    assert found.body == b"\x7fELF made elsewhere"
    assert found.cached
    assert codes.shipped("k2") is None
