"""Values that are staged: tensors, step scalars and handles of constants.

A generic builtin hands a call with such an operand to `generic`, which looks into one table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..diagnostics import problem
from ..evaluator.values import Function, Ratio, Staged, Value
from ..ir import scalars
from ..ir.graph import Value as Node
from ..ir.types import Type
from .exact import round_to

if TYPE_CHECKING:
    from .regions import Region
    from .tracer import Tracer

GENERIC: dict[str, Function] = {}
"""Functions on staged operands by lower-case name: the tensor builtins and the standard's names."""


class Typed(Staged):
    """What has a dtype and a shape while a function is traced."""

    __slots__ = ()

    @property
    def type(self) -> Type:
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> str:
        return self.type.dtype

    def generic(self, name: str, arguments: tuple[Value, ...]) -> Value:
        return call_generic(name, arguments)

    def refuse(self, place: str) -> Exception:
        return _refused("a tensor", place)

    def describe(self) -> str:
        return f"#<tensor {self.type}>"

    def type_name(self) -> str:
        return "tensor"


class Tensor(Typed):
    """A node's result in a graph of one tracer. dtype and shape are known, contents are not."""

    __slots__ = ("region", "tracer", "value")

    def __init__(self, value: Node, tracer: Tracer, region: Region) -> None:
        self.value = value
        self.tracer = tracer
        self.region = region

    @property
    def type(self) -> Type:
        return self.value.node.types[self.value.result]


class Handle(Typed):
    """`(tensor ...)`: constant data that becomes a node in each graph that uses it. `values`: as
    they are written."""

    __slots__ = ("_type", "values")

    def __init__(self, type: Type, values: tuple[Any, ...]) -> None:
        self._type = type
        self.values = values

    @property
    def type(self) -> Type:
        return self._type

    def in_dtype(self, dtype: str) -> tuple[Any, ...]:
        """The elements, rounded once; E-DTYPE-RANGE."""
        if dtype == "bool":
            return tuple(map(bool, self.values))
        return tuple([round_to(v, dtype) for v in self.values])


class FileTensor(Typed):
    """`(file-tensor ...)`: an array of a file, an input of each graph that uses it.

    `name` holds the hash of the contents, and is the input's; `read` gives the array in a dtype.
    """

    __slots__ = ("_type", "facts", "name", "read")

    def __init__(
        self, type: Type, name: str, read: Callable[[str], Any], facts: Mapping[str, Any]
    ) -> None:
        self._type = type
        self.name = name
        self.read = read
        self.facts = facts  # an entry of the manifest's `data`

    def load(self) -> Any:
        """The array."""
        return self.read(self._type.dtype)

    def in_dtype(self, dtype: str) -> FileTensor:
        """The same array, read in another dtype: not that of this one, cast."""
        if dtype == self._type.dtype:
            return self
        name = f"{self.name}-{dtype}"
        return FileTensor(self._type._replace(dtype=dtype), name, self.read, self.facts)

    @property
    def type(self) -> Type:
        return self._type


class StepScalar(Staged):
    """A number that the host computes before each launch: a tree of `ir.scalars` (45.8)."""

    __slots__ = ("tree",)

    def __init__(self, tree: scalars.Tree) -> None:
        self.tree = tree

    def generic(self, name: str, arguments: tuple[Value, ...]) -> Value:
        return call_generic(name, arguments)

    def refuse(self, place: str) -> Exception:
        return _refused(
            "a step scalar",
            place,
            "its value is known only while the run goes on: choose with (where test x y)",
        )

    def describe(self) -> str:
        return f"#<step-scalar {scalars.text(self.tree)}>"

    def type_name(self) -> str:
        return "step-scalar"

    @property
    def is_test(self) -> bool:
        """Whether it is the answer of a comparison."""
        return isinstance(self.tree, tuple) and self.tree[0] in COMPARISONS


COMPARISONS = frozenset(("=", "/=", "<", "<=", ">", ">="))


def call_generic(name: str, arguments: tuple[Value, ...]) -> Value:
    """The call (name argument...) with a staged operand."""
    function = GENERIC.get(name)
    if function is None:
        what = "a tensor or step scalar"
        raise problem(
            "E-TYPE",
            f"{name} takes no {what}",
            hint="what takes tensors is in `sexpgpu docs tensor-builtins`",
            wanted="an ordinary value",
        )
    if len(arguments) < function.least or (
        function.most is not None and len(arguments) > function.most
    ):
        raise problem(
            "E-CALL-ARGUMENTS",
            f"{name} of a tensor takes {function.lambda_list}, not {len(arguments)} arguments",
            lambda_list=function.lambda_list,
        )
    return function.call(*arguments)


def tree_of(value: Value) -> scalars.Tree:
    """The tree of a number or step scalar."""
    if value.__class__ is StepScalar:
        return value.tree
    if value.__class__ is Ratio:
        return Fraction(value.numerator, value.denominator)
    return value


def is_tensor(value: Value) -> bool:
    return value.__class__ in (Tensor, Handle, FileTensor)


def _refused(what: str, place: str, otherwise: str | None = None) -> Exception:
    """E-STAGE-TENSOR with what to write at such a place; `otherwise` where no word is for it."""
    from .counterparts import WHERE, counterpart

    found = counterpart(place)
    hint = otherwise if otherwise is not None and found is WHERE else found.hint
    return problem(
        "E-STAGE-TENSOR", f"{what} stands where {place} needs a value", hint=hint, place=place,
        written=place.removeprefix("an argument of "), nearest=found.word,
    )  # fmt: skip
