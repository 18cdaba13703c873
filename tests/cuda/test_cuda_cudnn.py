"""Attention and convolutions as cuDNN is asked for them: sizes and strides always; what its own
checks say of an H200, where the library and a compiler for C are here. No GPU is asked."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cuda_models import FOLDER
from host_driver import HostDriver

from sexpgpu_core import api
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder, Graph
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.kernels.kernel import NodeCall
from sexpgpu_cuda import dnn, picked, planned
from sexpgpu_cuda.device import EmulatedDevice
from sexpgpu_cuda.dnn import DnnGraph
from sexpgpu_cuda.tuning import WORKSPACE, Choice, PickCache, Tuning

H200 = {
    "deviceVer": 900, "multiProcessorCount": 132, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
    "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
    "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 2048, "regsPerBlock": 65536, "totalGlobalMem": 150754820096,
    "smClockRateKHz": 1980000, "l2CacheSize": 62914560, "maxBlockSize": [1024, 1024, 64],
    "memClockRateKHz": 3201000, "memoryBusWidth": 6144, "maxGridSize": [2147483647, 65535, 65535],
    "supportCoopLaunch": 1, "pciDeviceId": 0, "isTccDriver": 0, "cudaDeviceId": 0,
    "driverVer": 13000, "deviceName": "NVIDIA H200",
}  # fmt: skip
DRIVER = (
    "cuCtxGetCurrent cuCtxGetLimit cuCtxPopCurrent cuCtxPushCurrent cuDeviceGet cuDeviceGetCount "
    "cuDriverGetVersion "
    "cuGetErrorName cuGetErrorString cuGraphCreate cuGraphGetNodes cuKernelGetAttribute "
    "cuKernelSetAttribute cuLaunchCooperativeKernel cuLaunchKernel cuLaunchKernelEx "
    "cuLibraryGetKernel cuLibraryLoadData cuLibraryLoadFromFile cuLibraryUnload cuLinkAddData "
    "cuLinkComplete cuLinkCreate cuLinkDestroy cuOccupancyMaxPotentialClusterSize cuStreamGetCtx"
)
"""What cuDNN looks for in a driver before it says what an engine takes; none of it is called."""
RUNTIME = "cudaGetDevice cudaDriverGetVersion cudaRuntimeGetVersion cudaGetDeviceProperties"


def calls(graph: Graph) -> dict[str, NodeCall]:
    device = EmulatedDevice()
    found = schedule(graph, OPERATIONS, device.library).calls
    return {c.node.operation: c for c in found if isinstance(c, NodeCall)}


def attended(dtype: str = "bf16", heads: int = 12, few: int = 12, **given: Any) -> Graph:
    b = Builder(OPERATIONS)
    q = b.input("q", "batch", dtype, (2, 256, heads, 64))
    k, v = (b.input(n, "batch", dtype, (2, 256, few, 64)) for n in "kv")
    g = b.input("g", "batch", dtype, (2, 256, heads, 64))
    out, kept = b.several("attention-forward", q, k, v, **given)
    back = b.several("attention-backward", g, q, k, v, out, kept, **given)
    b.graph.results = {"out": out, **dict(zip(("dq", "dk", "dv"), back))}
    return b.graph


def convolved(dtype: str = "bf16", axes: int = 2, groups: int = 1) -> Graph:
    b = Builder(OPERATIONS)
    spatial, window = (16,) * axes, (3,) * axes
    given = {
        "strides": (1,) * axes, "dilations": (1,) * axes, "padding": ((1, 1),) * axes,
        "groups": groups,
    }  # fmt: skip
    x = b.input("x", "batch", dtype, (4, *spatial, 32))
    w = b.input("w", "batch", dtype, (*window, 32 // groups, 64))
    g = b.input("g", "batch", dtype, (4, *spatial, 64))
    b.graph.results = {
        "out": b("conv", x, w, **given),
        "dx": b("conv-input-gradient", g, w, **given, **{"input-shape": x.shape}),
        "dw": b("conv-weight-gradient", x, g, **given, **{"kernel-shape": w.shape}),
    }
    return b.graph


def test_heads_lie_between_rows_and_logarithms_have_an_axis_of_one() -> None:
    found = dnn.attention_graph(calls(attended(causal=True, window=7))["attention-forward"])
    q, _, _, o, stats = found.tensors
    assert (q.sizes, q.strides) == ((2, 12, 256, 64), (256 * 768, 64, 768, 1))
    assert (stats.dtype, stats.sizes, stats.written) == ("f32", (2, 12, 256, 1), True)
    assert o.written
    assert dict(found.options) == {
        "attn_scale": 0.125, "use_causal_mask": True, "diagonal_band_left_bound": 7,
    }  # fmt: skip


def test_the_backward_pass_names_its_operands_in_order() -> None:
    found = dnn.attention_graph(calls(attended())["attention-backward"])
    assert [t.name for t in found.tensors] == [
        *("dO", "q", "k", "v", "o", "stats"),
        *("dQ", "dK", "dV"),
    ]
    assert [t.written for t in found.tensors] == [False] * 6 + [True] * 3


@pytest.mark.parametrize("axes", [1, 2])
def test_pictures_are_seen_with_channels_first_and_lie_with_channels_last(axes: int) -> None:
    found = dnn.convolution_graph(calls(convolved(axes=axes))["conv"])
    image, weight, _ = found.tensors
    rows = 16 if axes == 2 else 1
    assert (image.sizes, image.strides[1]) == ((4, 32, rows, 16), 1)
    assert weight.sizes == (64, 32, 3 if axes == 2 else 1, 3)
    options = dict(found.options)
    assert options["pre_padding"] == ((1, 1) if axes == 2 else (0, 1))
    assert options["stride"] == (1, 1)


def test_where_it_is_not_installed_it_is_said_with_what_to_install() -> None:
    if find_spec("cudnn") is not None:
        pytest.skip("cuDNN's front end is installed")
    from sexpgpu_cuda import cudnn_graphs

    with pytest.raises(Problem) as raised:
        cudnn_graphs.library()
    assert raised.value.diagnostic.code == "E-DEVICE-ABSENT"
    assert "nvidia-cudnn-frontend" in str(raised.value.diagnostic.hint)


class Fake:
    """cuDNN that knows two plans and notes what it is asked to run."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[int, ...], int, int]] = []
        self.built: list[str] = []

    def version(self) -> int:
        return 91900

    def known(self, of: DnnGraph) -> Fake:
        return self

    def choices(self, most: int, limit: int) -> list[Choice]:
        return [Choice("0", 64), Choice("3", 128)]

    def build(self, choice: Choice) -> None:
        self.built.append(choice.algorithm)

    def run(self, choice: Choice, pointers: Any, workspace: int, stream: int) -> None:
        self.asked.append((choice.algorithm, tuple(pointers), workspace, stream))


def test_a_plan_is_picked_once_and_run_with_its_workspace(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake, picks = Fake(), Tuning(PickCache(tmp_path))
    monkeypatch.setattr(planned, "library", lambda: fake)
    monkeypatch.setattr(picked, "tuning", lambda: picks)
    of = dnn.attention_graph(calls(attended(causal=True))["attention-forward"])
    work = planned.Planned(of, (1, 2, 3, 4, 5))
    work.prepare(HostDriver())  # type: ignore[arg-type]
    assert {a for a, *_ in fake.asked} == {"0", "3"}
    (made,) = picks.picks.values()
    assert (fake.built, work.workspace_bytes) == ([made.algorithm], made.workspace)
    fake.asked.clear()
    again = planned.Planned(of, (1, 2, 3, 4, 5))
    again.prepare(HostDriver())  # type: ignore[arg-type]
    assert not fake.asked
    again.run(9, (1, 2, 3, 4, 5, 4096))
    assert fake.asked == [(made.algorithm, (1, 2, 3, 4, 5), 4096, 9)]


HANDLES = ("cuLibraryLoadData", "cuLibraryGetKernel")
"""Whose answers a plan holds when it is built: it refuses null."""


def stub(symbol: str) -> str:
    """A function in C that does nothing; one that is asked for a version answers 13.0, one that
    is asked for a kernel the address of nothing."""
    told = "*x = 13000; " if symbol.endswith("GetVersion") else ""
    if symbol in HANDLES:
        told = "static char nothing[64]; *(void **)x = nothing; "
    return f"int {symbol}(int *x) {{ {told}return 0; }}\n"


def compiler_parts() -> None:
    """What NVIDIA's compiler looks for by name when cuDNN makes a kernel of a plan."""
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for part in sorted(Path(folder).glob("c*/lib/libnvrtc-builtins.so.*")):
            ctypes.CDLL(str(part), mode=ctypes.RTLD_GLOBAL)


@pytest.fixture(scope="session")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes a graph as for an H200, with empty libraries where a driver would be."""
    if find_spec("cudnn") is None or shutil.which("gcc") is None:
        pytest.skip("nvidia-cudnn-frontend or gcc is not installed")
    folder = tmp_path_factory.mktemp("driver")
    for name, symbols in (("libcuda.so.1", DRIVER), ("libcudart.so.13", RUNTIME)):
        source = folder / f"{name}.c"
        source.write_text("".join(map(stub, symbols.split())))
        words = ["gcc", "-w", "-shared", "-fPIC", f"-Wl,-soname,{name}", str(source)]
        subprocess.run([*words, "-o", str(folder / name)], check=True)
        ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
    from sexpgpu_cuda import cudnn_graphs

    compiler_parts()
    properties = cudnn_graphs.library().create_device_properties(json.dumps(H200))
    return lambda of: cudnn_graphs.Graph(of, device_property=properties)


@pytest.mark.parametrize(
    "given",
    [{}, {"causal": True}, {"causal": True, "window": 64}, {"causal": True, "few": 4}],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_cudnn_takes_attention_both_ways(checked: Any, given: dict[str, Any], dtype: str) -> None:
    found = calls(attended(dtype, **given))
    for name in ("attention-forward", "attention-backward"):
        assert checked(dnn.attention_graph(found[name])).choices(1, WORKSPACE)


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("axes", [1, 2])
def test_cudnn_takes_convolutions_all_three_ways(
    checked: Any, dtype: str, groups: int, axes: int
) -> None:
    found = calls(convolved(dtype, axes, groups))
    for call in found.values():
        assert checked(dnn.convolution_graph(call)).choices(1, WORKSPACE)


@pytest.mark.parametrize("name", ["gpt2", "llama", "resnet50"])
def test_a_plan_of_every_call_of_the_big_models_is_built(checked: Any, name: str) -> None:
    """Forward and backward, with a workspace that a run would have."""
    found = of_model(FOLDER / f"{name}.lisp")
    assert {of.operation for of in found} == CALLS[name]
    for of in found:
        graph = checked(of)
        (choice,) = graph.choices(1, WORKSPACE)
        graph.build(choice)


ATTENTION = {"attention-forward", "attention-backward"}
CONVOLUTIONS = {"conv", "conv-input-gradient", "conv-weight-gradient"}
CALLS = {"gpt2": ATTENTION, "llama": ATTENTION, "resnet50": CONVOLUTIONS}


def of_model(file: Path) -> set[DnnGraph]:
    loaded = api.load(file)
    made = api.compile(loaded, api.device("cuda", loaded.registry))
    plans = [u.plan for u in made.job.units if u.plan is not None]
    found = set()
    for call in (c for p in plans for c in p.calls if isinstance(c, NodeCall)):
        if call.node.operation in dnn.SEEN:
            found.add(dnn.convolution_graph(call))
        elif call.node.operation in dnn.NAMES:
            found.add(dnn.attention_graph(call))
    return found


class Broken:
    """A front end whose library does not start, as without a GPU."""

    def create_handle(self) -> None:
        raise RuntimeError("cudnnHandle Create failed")


def test_a_library_that_does_not_start_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    from sexpgpu_cuda import cudnn_graphs

    monkeypatch.setattr(cudnn_graphs, "library", Broken)
    with pytest.raises(Problem, match="does not start: cudnnHandle") as raised:
        cudnn_graphs.Here()
    assert raised.value.diagnostic.code == "E-DEVICE-FAULT"
