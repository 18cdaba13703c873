"""Initial values: by seed and path alone, with the variance they promise."""

from __future__ import annotations

import pytest

from sexpgpu_core.ir.types import Type
from sexpgpu_core.staging.initialize import Initializer, default_initializer, fans, initial_value

np = pytest.importorskip("numpy")
WIDE = Type("f32", (400, 300))


def test_a_value_depends_on_seed_and_path_only() -> None:
    one = initial_value(Initializer("normal", (0.02,)), WIDE, "a/w", 1)
    assert np.array_equal(one, initial_value(Initializer("normal", (0.02,)), WIDE, "a/w", 1))
    assert not np.array_equal(one, initial_value(Initializer("normal", (0.02,)), WIDE, "b/w", 1))
    assert not np.array_equal(one, initial_value(Initializer("normal", (0.02,)), WIDE, "a/w", 2))


def test_a_longer_parameter_begins_with_the_shorter_ones_numbers() -> None:
    short = initial_value(Initializer("normal", (1.0,)), Type("f32", (10,)), "w", 1)
    long = initial_value(Initializer("normal", (1.0,)), Type("f32", (100,)), "w", 1)
    assert np.array_equal(short, long[:10])


@pytest.mark.parametrize(
    ("init", "deviation"),
    [
        (Initializer("normal", (0.02,)), 0.02),
        (Initializer("lecun"), (1 / 400) ** 0.5),
        (Initializer("lecun", (), "out"), (1 / 300) ** 0.5),
        (Initializer("he"), (2 / 400) ** 0.5),
        (Initializer("glorot"), (2 / 700) ** 0.5),
        (Initializer("uniform", (-1.0, 1.0)), 3**-0.5),
    ],
)
def test_deviations_are_those_of_the_papers(init: Initializer, deviation: float) -> None:
    value = initial_value(init, WIDE, "w", 3)
    assert value.dtype == np.float32
    assert float(value.std()) == pytest.approx(deviation, rel=0.02)
    assert float(abs(value.mean())) < 0.02 * deviation


def test_truncated_normals_stay_within_two_deviations() -> None:
    value = initial_value(Initializer("truncated-normal", (0.5,)), WIDE, "w", 1)
    assert float(np.abs(value).max()) <= 1.0
    assert float(value.std()) == pytest.approx(0.5 * 0.88, rel=0.02)


@pytest.mark.parametrize("shape", [(40, 30), (30, 40), (2, 20, 20)])
def test_orthogonal_has_orthonormal_rows_or_columns(shape: tuple[int, ...]) -> None:
    axes = len(shape) - 2
    value = initial_value(Initializer("orthogonal", (1.0,), "in", axes), Type("f32", shape), "w", 1)
    m = value.reshape(-1, *shape[-2:])[0]
    small = m.T @ m if shape[-2] >= shape[-1] else m @ m.T
    assert np.allclose(small, np.eye(len(small)), atol=1e-5)


def test_fans_take_the_receptive_field_and_leave_batch_axes_out() -> None:
    assert fans((3, 3, 16, 32), 0) == (144, 288)
    assert fans((4, 16, 32), 1) == (16, 32)
    assert fans((7,), 0) == (7, 7)


def test_the_default_is_lecun_from_two_axes_on() -> None:
    assert default_initializer((3, 4)).kind == "lecun"
    assert default_initializer((3,)) == Initializer("number", (0.0,))


@pytest.mark.parametrize("shape", [(40, 30), (20, 20)])
def test_orthogonal_is_the_q_of_normals_whose_r_has_a_positive_diagonal(
    shape: tuple[int, ...],
) -> None:
    kind = Type("f32", shape)
    q = initial_value(Initializer("orthogonal", (1.0,)), kind, "w", 1).astype("f8")
    r = q.T @ initial_value(Initializer("normal", (1.0,)), kind, "w", 1)
    assert np.allclose(r, np.triu(r), atol=1e-4)
    assert (np.diagonal(r) > 0).all()
