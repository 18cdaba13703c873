"""gather, scatter and their kin against the references; guards; columns shared by threads."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_programs import array, check, run_node

RNG = np.random.default_rng(0)


def indices(high: int, shape: tuple[int, ...], dtype: str = "i4") -> np.ndarray:
    return RNG.integers(0, high, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "i32", "bool"])
def test_gather(dtype: str) -> None:
    x = array(RNG, (7, 5, 6), dtype) if dtype != "bool" else RNG.random((7, 5, 6)) > 0.5
    check("gather", [x, indices(5, (3, 4))], axis=1)
    check("gather", [x, indices(6, (7, 4), "i8")], axis=2, **{"batch-axes": 1})


@pytest.mark.parametrize("operation", ["scatter-add", "scatter-set"])
def test_scatter(operation: str) -> None:
    arrays = [array(RNG, (7, 5, 6)), indices(5, (3, 4)), array(RNG, (7, 3, 4, 6))]
    check(operation, arrays, axis=1)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_an_embeddings_gradient(dtype: str) -> None:
    arrays = [
        array(RNG, (65, 128), dtype),
        indices(65, (12, 64)),
        array(RNG, (12, 64, 128), dtype),
    ]
    check("scatter-add", arrays, 1e-5 if dtype == "f32" else 1e-2, threads=2, axis=0)


def test_additions_happen_in_ascending_position() -> None:
    y = array(RNG, (5000, 40))
    arrays = [np.zeros((3, 40), "f4"), indices(3, (5000,)), y]
    one, two = (run_node("scatter-add", arrays, t, axis=0)[0].results["0"] for t in (1, 2))
    wanted = np.zeros((3, 40), "f4")
    np.add.at(wanted, arrays[1], y)
    assert one.tobytes() == two.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_along_an_axis(axis: int) -> None:
    x = array(RNG, (4, 5, 6))
    shape = list(x.shape)
    shape[axis] = 3
    index, y = indices(x.shape[axis], tuple(shape)), array(RNG, tuple(shape))
    check("take-along", [x, index], axis=axis)
    check("put-along", [x, index, y], axis=axis)
    check("add-along", [x, index, y], axis=axis)


@pytest.mark.parametrize("operation", ["gather", "scatter-add", "take-along", "add-along"])
def test_an_index_out_of_range_is_reported(operation: str) -> None:
    along = operation.endswith("along")
    index = np.array([[0], [9]], "i4") if along else np.array([0, 9], "i4")
    arrays = [array(RNG, (2, 4)) if along else array(RNG, (4, 3)), index]
    if not operation.startswith(("gather", "take")):
        arrays.append(array(RNG, (2, 1) if along else (2, 3)))
    outcome, _ = run_node(operation, arrays, axis=1 if along else 0)
    assert outcome.error == (0, 1)
    assert not outcome.committed


@pytest.mark.parametrize("operation", ["gather", "scatter-add", "scatter-set"])
def test_an_index_out_of_range_may_be_dropped(operation: str) -> None:
    index = np.array([1, -1, 7, 3], "i4")
    arrays = [array(RNG, (5, 3)), index]
    if operation != "gather":
        arrays.append(array(RNG, (4, 3)))
    assert check(operation, arrays, axis=0, out="drop").error is None
