"""Whose a call is: the library's where it is there and takes it, else ours, with the reason."""

from __future__ import annotations

from typing import Any

import pytest
from cuda_programs import graph_of, integers, normal, opened, planned

from sexpgpu_core.diagnostics import Problem, problem
from sexpgpu_cuda import cublaslt, multiply, providers
from sexpgpu_cuda import planned as planned_calls
from sexpgpu_cuda.draft import Draft
from sexpgpu_cuda.providers import VARIABLE, Libraries, here, wanted
from sexpgpu_cuda.rooms import Addresses
from sexpgpu_cuda.tuning import Choice
from sexpgpu_cuda.work import Launch, LibraryCall


def product(dtype: str = "f32") -> Any:
    made = integers(9, (3, 3), dtype) if dtype[0] == "i" else normal((3, 3), dtype)
    return graph_of(lambda b, x: b("matmul", x, x), x=made)


def drafted(graph: Any, libraries: Libraries) -> Draft:
    plan, rooms = planned(graph).plan, Addresses()
    assert plan is not None
    held, transient = rooms.room(8), rooms.room(1 << 20)
    return Draft(plan, rooms, held, transient, rooms.room(8).address, libraries=libraries)


def whose(graph: Any, libraries: Libraries) -> tuple[str, ...]:
    """Reasons of what is ours; () where all is the library's."""
    found = drafted(graph, libraries)
    calls = [r for r in found.records if isinstance(r, (Launch, LibraryCall))]
    assert all(isinstance(r, Launch) for r in calls) == bool(found.places.refused)
    return tuple(r.why for r in found.places.refused)


class Refusing:
    """A cuBLASLt without algorithms."""

    def __init__(self, found: list[Choice]) -> None:
        self.found = found

    def describe(self, gemm: Any) -> Refusing:
        return self

    def pointers(self, bias: int, auxiliary: int) -> None: ...

    def choices(self, of: Any, most: int, limit: int) -> list[Choice]:
        return self.found


def test_a_library_that_is_there_and_takes_it_makes_it(monkeypatch: Any) -> None:
    assert whose(product(), Libraries()) == ()
    monkeypatch.setattr(multiply, "multiplier", lambda: Refusing([Choice("00", 0)]))
    assert whose(product(), Libraries(asked=True)) == ()


def test_a_dtype_that_no_library_has_is_ours() -> None:
    assert whose(product("i32"), Libraries()) == ("cuBLASLt has no i32",)


def test_a_product_without_an_algorithm_is_ours(monkeypatch: Any) -> None:
    monkeypatch.setattr(multiply, "multiplier", lambda: Refusing([]))
    (why,) = whose(product(), Libraries(asked=True))
    assert why.startswith("no algorithm of cuBLASLt does matmul f32")


def test_a_graph_that_cudnn_refuses_is_ours(monkeypatch: Any) -> None:
    def known(of: Any) -> Any:
        raise problem("E-DEVICE-OPERATION", f"cuDNN does not take {of.operation}: odd")

    monkeypatch.setattr(planned_calls, "library", lambda: type("Dnn", (), {"known": known}))
    at = {"strides": (1,), "dilations": (1,), "padding": ((0, 0),), "groups": 1}
    graph = graph_of(
        lambda b, x, w: b("conv", x, w, **at), x=normal((1, 5, 2)), w=normal((2, 2, 3))
    )
    assert whose(graph, Libraries(asked=True)) == ("cuDNN does not take conv: odd",)


def test_a_library_that_is_not_installed_makes_nothing(monkeypatch: Any) -> None:
    def absent() -> Any:
        raise problem("E-DEVICE-ABSENT", "cuBLASLt is not here")

    monkeypatch.setattr(multiply, "multiplier", absent)
    monkeypatch.setattr(planned_calls, "library", lambda: None)
    assert here() == Libraries((("cuBLASLt", "cuBLASLt is not here"),), True)
    assert whose(product(), here()) == ("cuBLASLt is not here",)


@pytest.mark.parametrize(
    ("text", "left"), [("", ()), ("none", ("cuBLASLt", "cuDNN")), ("cuDNN", ("cuBLASLt",))]
)
def test_the_environment_leaves_libraries_out(
    text: str, left: tuple[str, ...], monkeypatch: Any
) -> None:
    monkeypatch.setenv(VARIABLE, text)
    assert tuple(name for name, _ in wanted().absent) == left
    assert providers.numerics() == ({"without": " ".join(left)} if left else {})


def test_a_library_that_does_not_exist_is_told_with_the_nearest(monkeypatch: Any) -> None:
    monkeypatch.setenv(VARIABLE, "cublas")
    with pytest.raises(Problem, match=r"E-USAGE-CONFIG.*cublas") as raised:
        opened(planned(product()))
    assert raised.value.diagnostic.hint == "did you mean cublaslt?"


def test_what_a_library_computes_in_is_what_its_numbers_are_known_of() -> None:
    assert set(providers.DTYPES["cuBLASLt"]) == set(cublaslt.DATA)
