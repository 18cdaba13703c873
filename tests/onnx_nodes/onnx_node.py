"""A node being translated: its operands as tensors or as arrays that are known, its attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_calls import call, constant, dtype_of

from sexpgpu_core.staging.tensor import Tensor


class Unmapped(Exception):
    """Why a test has no counterpart."""


class Wire:
    """A value between nodes. `array`: its contents where they are known while tracing;
    `folded`: known from constants and shapes alone, never from the data of a test."""

    def __init__(self, tensor: Any = None, array: Any = None, folded: bool = False) -> None:
        self._tensor = tensor
        self.array = array
        self.folded = folded

    @property
    def tensor(self) -> Any:
        if self._tensor is None:
            if not isinstance(self.array, np.ndarray) or dtype_of(self.array.dtype) is None:
                raise Unmapped(f"a value of {_kind(self.array)}, which no tensor is")
            self._tensor = constant(self.array)
        return self._tensor


class Lazy(Wire):
    """An input of the model: a tensor of the graph once a node asks for it as one."""

    def __init__(self, made: Any, array: Any) -> None:
        super().__init__(None, array)
        self._made = made

    @property
    def tensor(self) -> Any:
        if self._tensor is None:
            self._tensor = self._made()
        return self._tensor


def _kind(array: Any) -> str:
    return str(array.dtype) if isinstance(array, np.ndarray) else type(array).__name__


class Node:
    """`n[0]` an operand as a tensor, `n.known(1)` as an array, `n.get(name)` an attribute."""

    def __init__(self, proto: Any, inputs: list[Wire | None], opset: int) -> None:
        from onnx.helper import get_attribute_value

        self.operation = proto.op_type
        self.inputs = inputs
        self.outputs = len(proto.output)
        self.wanted = [bool(name) for name in proto.output]
        self.opset = opset
        self.attributes = {a.name: get_attribute_value(a) for a in proto.attribute}

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, at: int) -> Any:
        wire = self.inputs[at]
        assert wire is not None
        return wire.tensor

    def has(self, at: int) -> bool:
        return at < len(self.inputs) and self.inputs[at] is not None

    def maybe(self, at: int) -> Any:
        return self[at] if self.has(at) else None

    def known(self, at: int, default: Any = None) -> Any:
        """The contents of an operand that shapes depend on."""
        if not self.has(at):
            return default
        wire = self.inputs[at]
        assert wire is not None
        if wire.array is None:
            raise Unmapped(f"operand {at} of {self.operation} decides a shape and is computed")
        return np.asarray(wire.array)

    def numbers(self, at: int) -> list[int] | None:
        found = self.known(at)
        return None if found is None else [int(v) for v in found.ravel()]

    def get(self, name: str, default: Any = None) -> Any:
        found = self.attributes.get(name, default)
        return found.decode() if isinstance(found, bytes) else found

    def all(self) -> list[Any]:
        return [self[i] for i in range(len(self.inputs))]

    def shape(self, at: int = 0) -> tuple[int, ...]:
        return tuple(self[at].shape)


def rank(x: Any) -> int:
    return len(x.shape)


def axis_of(axis: int, x: Any) -> int:
    return axis % rank(x) if rank(x) else 0


def channels_last(x: Any) -> Any:
    """(b c n...) to (b n... c)."""
    return call("move-axis", x, 1, -1)


def channels_first(x: Any) -> Any:
    return call("move-axis", x, -1, 1)


def cast(x: Any, dtype: str) -> Tensor:
    found: Tensor = call("cast", x, dtype)
    return found


def onnx_dtype(number: int) -> str:
    """Our dtype of a TensorProto's number."""
    from onnx.helper import tensor_dtype_to_np_dtype

    found = dtype_of(tensor_dtype_to_np_dtype(number))
    if found is None:
        raise Unmapped("a dtype that is not ours")
    return found
