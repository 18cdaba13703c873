"""cuDNN's graphs through its own front end: the only module that imports `cudnn`.

A graph is made and checked for a GPU, or for properties of one that is not here; plans are built
and executed on a GPU.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sexpgpu_core.diagnostics import problem

from .dnn import DnnGraph, Tensor
from .tuning import Choice

DATA = {"f32": "FLOAT", "bf16": "BFLOAT16", "f16": "HALF"}


@functools.cache
def library() -> Any:
    """Raises E-DEVICE-ABSENT where it is not installed."""
    try:
        import cudnn
    except ImportError as error:
        raise problem(
            "E-DEVICE-ABSENT",
            f"cuDNN is not here ({error}): it makes attention and convolutions",
            hint="pip install 'sexpgpu-cuda[cuda]', or nvidia-cudnn-frontend and nvidia-cudnn-cu13",
        ) from error
    return cudnn


Tensors = Mapping[str, Any]
Results = Sequence[Any]


def _forward(graph: Any, given: Tensors, options: dict[str, Any]) -> Results:
    found: Results = graph.sdpa(
        q=given["q"], k=given["k"], v=given["v"], generate_stats=True, **options
    )
    return found


def _backward(graph: Any, given: Tensors, options: dict[str, Any]) -> Results:
    """The way whose bits do not change from launch to launch."""
    found: Results = graph.sdpa_backward(**given, use_deterministic_algorithm=True, **options)
    return found


def _convolved(name: str, **names: str) -> Callable[[Any, Tensors, dict[str, Any]], Results]:
    def make(graph: Any, given: Tensors, options: dict[str, Any]) -> Results:
        operands = {word: given[ours] for word, ours in names.items()}
        lists = {word: list(value) for word, value in options.items()}
        return (getattr(graph, name)(**operands, **lists),)

    return make


MADE: Mapping[str, Callable[[Any, Tensors, dict[str, Any]], Results]] = {
    "attention-forward": _forward,
    "attention-backward": _backward,
    "conv": _convolved("conv_fprop", image="image", weight="weight"),
    "conv-input-gradient": _convolved("conv_dgrad", loss="loss", filter="weight"),
    "conv-weight-gradient": _convolved("conv_wgrad", image="image", loss="loss"),
}


class Graph:
    """One operation that cuDNN knows. `where`: what `cudnn.pygraph` is told of the GPU, a handle
    or a device's properties. Raises E-DEVICE-OPERATION where no engine does it."""

    def __init__(self, of: DnnGraph, **where: Any) -> None:
        cudnn = library()
        self.of = of
        self._handle = where.get("handle")
        narrow, wide = self._dtype(of.dtype), cudnn.data_type.FLOAT
        self._graph = cudnn.pygraph(
            io_data_type=narrow, intermediate_data_type=wide, compute_data_type=wide, **where
        )
        given = {t.name: self._tensor(t) for t in of.tensors if not t.written}
        results = MADE[of.operation](self._graph, given, dict(of.options))
        written = [t for t in of.tensors if t.written]
        for tensor, made in zip(written, results):
            made.set_output(True).set_data_type(self._dtype(tensor.dtype))
            made.set_dim(list(tensor.sizes)).set_stride(list(tensor.strides))
        self._tensors = [*given.values(), *results]
        self._check()

    def _dtype(self, dtype: str) -> Any:
        return getattr(library().data_type, DATA[dtype])

    def _tensor(self, of: Tensor) -> Any:
        return self._graph.tensor(
            name=of.name, dim=list(of.sizes), stride=list(of.strides),
            data_type=self._dtype(of.dtype),
        )  # fmt: skip

    def _check(self) -> None:
        """Only plans whose bits are the same each time, and that do not narrow f32."""
        cudnn, graph = library(), self._graph
        notes = cudnn.numerical_note
        barred = [notes.NONDETERMINISTIC, notes.REDUCED_PRECISION_REDUCTION]
        if self.of.dtype == "f32":
            barred += [notes.DOWN_CONVERT_INPUTS, notes.TENSOR_CORE]
        try:
            graph.validate()
            graph.build_operation_graph()
            graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
            graph.deselect_numeric_notes(barred)
            graph.check_support()
        except (cudnn.cudnnGraphNotSupportedError, RuntimeError) as error:
            told = (str(error).strip().splitlines() or [""])[0]
            raise problem(
                "E-DEVICE-OPERATION",
                f"cuDNN does not take {self.of.key}: {told}",
                operation=self.of.operation,
                device="cuda",
            ) from error

    @property
    def plans(self) -> int:
        return int(self._graph.get_execution_plan_count())

    def choices(self, most: int, limit: int) -> list[Choice]:
        """Plans by their numbers, the likeliest first, built; with workspaces of at most `limit`
        bytes. Where no plan asks for so little, the one that asks for least: attention's backward
        pass adds in a fixed order out of a sum of its own for every 128 keys."""
        found: list[Choice] = []
        least: Choice | None = None
        for number in range(self.plans):
            try:
                self._graph.build_plan_at_index(number)
            except (library().cudnnGraphNotSupportedError, RuntimeError):
                continue  # barred, or not for this GPU after all
            size = int(self._graph.get_workspace_size_plan_at_index(number))
            if size <= limit:
                found.append(Choice(str(number), size))
            elif least is None or size < least.workspace:
                least = Choice(str(number), size)
            if len(found) == most:
                break
        return found or ([least] if least is not None else [])

    def build(self, choice: Choice) -> None:
        self._graph.build_plan_at_index(int(choice.algorithm))

    def run(self, choice: Choice, pointers: Sequence[int], workspace: int, stream: int) -> None:
        """Enqueue it. `pointers`: in the order of the tensors."""
        library().set_stream(handle=self._handle, stream=stream)
        where = dict(zip(self._tensors, pointers))
        number = int(choice.algorithm)
        self._graph.execute_plan_at_index(where, workspace, number, handle=self._handle)


class Here:
    """cuDNN on the current GPU, with a handle of this process. Raises E-DEVICE-ABSENT,
    E-DEVICE-FAULT where it does not start."""

    def __init__(self) -> None:
        cudnn = library()
        try:
            self._handle = cudnn.create_handle()
        except RuntimeError as error:
            told = f"cuDNN does not start: {error}"
            raise problem("E-DEVICE-FAULT", told, library="cuDNN") from error

    def version(self) -> int:
        return int(library().backend_version())

    def known(self, of: DnnGraph) -> Graph:
        return Graph(of, handle=self._handle)
