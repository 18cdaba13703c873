"""Calls that a GPU's libraries do, one by one beside PyTorch's in the same dtype: how far each is
from f64, by the greatest difference over the greatest value.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from sexpgpu_core.device import Unit
from sexpgpu_core.ir import Builder, Graph
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.plan.make import layout_persistent, make_plan

Row = dict[str, Any]
Arrays = Mapping[str, Any]
UNIT = {"f32": 1e-5, "bf16": 2e-2, "f16": 3e-3}
"""What is no difference of a dtype."""
WORSE = 4
"""Times PyTorch's distance that ours may be."""


class Case(NamedTuple):
    """`operation` of inputs in this order, drawn at these shapes; `twin`: its results in PyTorch
    from (torch, inputs...)."""

    name: str
    operation: str
    shapes: Mapping[str, tuple[int, ...]]
    attributes: Mapping[str, Any]
    twin: Callable[..., tuple[Any, ...]]
    dtypes: tuple[str, ...] = ("f32", "bf16")


def _product(turned: bool = False, end: str = "") -> Callable[..., tuple[Any, ...]]:
    def twin(torch: Any, x: Any, y: Any, third: Any = None) -> tuple[Any, ...]:
        sums = x @ (y.mT if turned else y)
        if end == "slope":
            third = third.detach().requires_grad_()
            value = torch.nn.functional.gelu(third, approximate="tanh")
            return (torch.autograd.grad(value, third, sums)[0],)
        sums = sums if third is None else sums + third
        if end == "gelu":
            return torch.nn.functional.gelu(sums, approximate="tanh"), sums
        return (sums,)

    return twin


def _attended(torch: Any, q: Any, k: Any, v: Any, causal: bool, window: int | None) -> Any:
    """(batch places heads depth), heads of k and v perhaps fewer."""
    at = torch.arange(q.shape[1], device=q.device)
    apart = at[:, None] - at[None, :]
    seen = apart >= 0 if causal else torch.ones_like(apart, dtype=torch.bool)
    seen = seen if window is None else seen & (apart.abs() < window)
    times = q.shape[2] // k.shape[2]
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(times, 1) for x in (k, v))
    found = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    return found.transpose(1, 2)


def _attention(causal: bool, window: int | None) -> Callable[..., tuple[Any, ...]]:
    def twin(torch: Any, q: Any, k: Any, v: Any, g: Any) -> tuple[Any, ...]:
        given = [x.detach().requires_grad_() for x in (q, k, v)]
        out = _attended(torch, *given, causal, window)
        return out.detach(), *torch.autograd.grad(out, given, g)

    return twin


def _convolution(stride: int, groups: int) -> Callable[..., tuple[Any, ...]]:
    def twin(torch: Any, x: Any, w: Any, g: Any) -> tuple[Any, ...]:
        x, w = (v.detach().requires_grad_() for v in (x, w))
        turned = x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)
        found = torch.nn.functional.conv2d(*turned, stride=stride, padding=1, groups=groups)
        out = found.permute(0, 2, 3, 1)
        return out.detach(), *torch.autograd.grad(out, (x, w), g)

    return twin


def cases(small: bool) -> Iterator[Case]:
    """Products with their ends, attention, convolutions: at sizes of use, or of the emulator."""
    m, k, n = (24, 32, 40) if small else (2048, 768, 3072)
    xy = {"x": (m, k), "y": (k, n)}
    yield Case("product", "matmul", xy, {}, _product())
    yield Case("product with bias", "matmul-bias", {**xy, "third": (n,)}, {}, _product())
    yield Case("product with gelu", "matmul-gelu", {**xy, "third": (n,)}, {}, _product(end="gelu"))
    turned = {"x": (m, k), "y": (n, k), "third": (m, n)}
    slope = _product(True, "slope")
    yield Case("product with slope", "matmul-gelu-slope", turned, {"transpose-y": True}, slope)
    b, t, h, few, d = (1, 24, 4, 2, 16) if small else (8, 1024, 12, 4, 64)
    heads = {"q": (b, t, h, d), "k": (b, t, few, d), "v": (b, t, few, d), "g": (b, t, h, d)}
    for name, causal, window in (("full", False, None), ("causal", True, None),
                                 ("window", True, t // 4)):  # fmt: skip
        said = {"causal": causal, **({} if window is None else {"window": window})}
        twin = _attention(causal, window)
        yield Case(f"attention {name}", "attention", heads, said, twin, ("bf16", "f16"))
    size, channels = (6, 8) if small else (56, 64)
    for stride, groups in ((1, 1), (2, 1), (1, 4)):
        out = (size - 1) // stride + 1
        shapes = {"x": (2, size, size, channels), "w": (3, 3, channels // groups, channels),
                  "g": (2, out, out, channels)}  # fmt: skip
        said = {"strides": (stride,) * 2, "dilations": (1, 1), "padding": ((1, 1),) * 2,
                "groups": groups}  # fmt: skip
        name = f"convolution, stride {stride}, {groups} groups"
        yield Case(name, "conv", shapes, said, _convolution(stride, groups))


def graph_of(case: Case, dtype: str) -> Graph:
    """Results by number, as the twin gives them."""
    b = Builder(OPERATIONS)
    given = {n: b.input(n, "batch", dtype, shape) for n, shape in case.shapes.items()}
    said: dict[str, Any] = dict(case.attributes)
    if case.operation == "attention":
        q, k, v, g = given.values()
        said["scale"] = q.shape[-1] ** -0.5
        out, kept = b.several("attention-forward", q, k, v, **said)
        found = (out, *b.several("attention-backward", g, q, k, v, out, kept, **said))
    elif case.operation == "conv":
        x, w, g = given.values()
        to_input = b("conv-input-gradient", g, w, **said, **{"input-shape": x.shape})
        to_weight = b("conv-weight-gradient", x, g, **said, **{"kernel-shape": w.shape})
        found = (b("conv", x, w, **said), to_input, to_weight)
    else:
        found = tuple(b.several(case.operation, *given.values(), **said))
    b.graph.results = {str(i): value for i, value in enumerate(found)}
    return b.graph


def computed(device: Any, graph: Graph, arrays: Arrays) -> list[Any]:
    """What the device makes of a graph, in f64."""
    nothing = layout_persistent({})
    plan = make_plan(
        "call", schedule(graph, OPERATIONS, device.library, cells=device.cells), nothing
    )
    session = device.open([Unit("call", graph, plan)], nothing)
    try:
        found = session.program("call").launch(arrays, {}).outcome().results
    finally:
        session.close()
    return [np.asarray(found[name]).astype("f8") for name in graph.results]


def compared(device: Any, small: bool) -> Iterator[Row]:
    """A row a call and dtype; none where PyTorch is not here. `failed`: ours is further off."""
    if importlib.util.find_spec("torch") is None:
        return
    import torch

    place = "cuda" if torch.cuda.is_available() else "cpu"
    kinds = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    for case in cases(small):
        for dtype in case.dtypes:
            draw = np.random.default_rng(0).normal
            arrays = {n: draw(size=s).astype(numpy_dtype(dtype)) for n, s in case.shapes.items()}
            wide = [torch.from_numpy(a.astype("f8")).to(place) for a in arrays.values()]
            truth = case.twin(torch, *wide)
            theirs = case.twin(torch, *(x.to(kinds[dtype]) for x in wide))
            ours = computed(device, graph_of(case, dtype), arrays)
            far = [_far(a, t) for a, t in zip(ours, truth)]
            other = [_far(a.double().cpu().numpy(), t) for a, t in zip(theirs, truth)]
            row: Row = {"call": case.name, "dtype": dtype, "ours": far, "torch": other}
            if any(a > WORSE * b + UNIT[dtype] for a, b in zip(far, other)):
                row["failed"] = "further from f64 than PyTorch's"
            yield row


def _far(found: Any, truth: Any) -> float:
    wanted = truth.cpu().numpy()
    return float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-30))
