"""Pictures: blocks, windows, crops and resampling, beside loops, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builtin_calls import both, call, slopes_agree

X = np.random.default_rng(3).standard_normal((2, 6, 8, 4)).astype("f4")
SMALL = np.random.default_rng(4).standard_normal((1, 3, 4, 2))


def test_channels_become_blocks_in_pytorchs_order() -> None:
    found = both(lambda a: call("pixel-shuffle", a, 2), X)
    wanted = np.zeros((2, 12, 16, 1), "f4")
    for i in range(2):
        for j in range(2):
            wanted[:, i::2, j::2, 0] = X[..., 2 * i + j]
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(both(lambda a: call("pixel-unshuffle", a, 2), found), X)


def test_windows_of_two_axes_are_on_one_new_axis() -> None:
    at = {"axis": [1, 2], "stride": [2, 1], "dilation": [1, 3]}
    found = both(lambda a: call("unfold", a, [3, 2], **at), X)
    assert found.shape == (2, 2, 5, 6, 4)
    for i in range(3):
        for j in range(2):
            np.testing.assert_array_equal(
                found[:, :, :, 2 * i + j], X[:, i : i + 3 : 2, 3 * j : 3 * j + 5]
            )
    turned = both(lambda a: call("unfold", a, [2, 3], axis=[2, 1]), X)
    np.testing.assert_array_equal(turned[:, :, :, 1], X[:, 1:5, :7])
    slopes_agree(lambda a: call("unfold", a, 2, axis=1), SMALL)


def test_crops_by_number_by_tensor_and_from_the_centre() -> None:
    np.testing.assert_array_equal(both(lambda a: call("crop", a, [3, 4]), X), X[:, 1:4, 2:6])
    moved = both(lambda a: call("crop", a, [3, 4], start=[3, 0]), X)
    np.testing.assert_array_equal(moved, X[:, 3:, :4])
    start = np.array([[0, 2], [9, -3]], "i4")
    found = both(lambda a, s: call("crop", a, [3, 4], start=s), X, start)
    np.testing.assert_array_equal(found[0], X[0, :3, 2:6])
    np.testing.assert_array_equal(found[1], X[1, 3:, :4])


@pytest.mark.parametrize("sizes", [(1, 1), (3, 4), (4, 3), (6, 8), (7, 9)])
def test_adaptive_windows_divide_the_axes(sizes: tuple[int, int]) -> None:
    found = both(lambda a: call("adaptive-avg-pool", a, sizes), X)
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            rows, columns = (
                slice(k * n // m, -(-(k + 1) * n // m))
                for k, n, m in ((i, 6, sizes[0]), (j, 8, sizes[1]))
            )
            np.testing.assert_allclose(
                found[:, i, j], X[:, rows, columns].mean((1, 2)), rtol=1e-5, atol=1e-6
            )


def test_nearest_repeats_elements_of_any_dtype() -> None:
    x = np.arange(6).reshape(1, 3, 2).astype("i4")
    found = both(lambda a: call("interpolate", a, [5]), x)
    np.testing.assert_array_equal(found[0], x[0, [0, 0, 1, 1, 2]])


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("smooth", [False, True])
def test_weights_of_a_resampled_axis_sum_to_one(mode: str, aligned: bool, smooth: bool) -> None:
    at = {"mode": mode, "align_corners": aligned, "antialias": smooth}
    for sizes in ((3, 5), (12, 8), (1, 1), (7, 16)):
        ones = both(lambda a, s=sizes: call("interpolate", a, s, **at), np.ones_like(X))
        np.testing.assert_allclose(ones, 1, rtol=1e-6)
        both(lambda a, s=sizes: call("interpolate", a, s, **at), X)
    slopes_agree(lambda a: call("interpolate", a, [5, 2], **at), SMALL)


def test_linear_between_two_elements() -> None:
    x = np.array([[[0.0], [10.0]]], "f4")
    half = both(lambda a: call("interpolate", a, [4], mode="linear"), x)
    assert half.ravel().tolist() == [0, 2.5, 7.5, 10]
    ends = both(lambda a: call("interpolate", a, [3], mode="linear", align_corners=True), x)
    assert ends.ravel().tolist() == [0, 5, 10]


GRID = (np.random.default_rng(6).standard_normal((1, 2, 3, 2)) * 0.9).round(2) + 0.003


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
def test_places_between_elements(mode: str, padding: str, aligned: bool) -> None:
    def sampled(a: Any, g: Any) -> Any:
        return call("grid-sample", a, g, mode=mode, padding=padding, align_corners=aligned)

    both(sampled, X, np.concatenate([GRID, GRID * 3]).astype("f4"), tolerance=1e-5)
    both(sampled, X[:, :1], np.concatenate([GRID, GRID * 3]).astype("f4"), tolerance=1e-5)
    slopes_agree(lambda a: sampled(a, _constant(GRID)), SMALL)
    if mode != "nearest":
        slopes_agree(lambda g: sampled(_constant(SMALL), g), GRID)


def _constant(array: Any) -> Any:
    from builtin_calls import constant

    return constant(array)


def test_a_grid_of_the_elements_own_places_gives_them_back() -> None:
    y, x = np.meshgrid(np.linspace(-1, 1, 6), np.linspace(-1, 1, 8), indexing="ij")
    grid = np.broadcast_to(np.stack([x, y], -1), (2, 6, 8, 2)).astype("f4")
    for mode in ("linear", "nearest", "cubic"):
        found = both(
            lambda a, g, m=mode: call("grid-sample", a, g, mode=m, align_corners=True), X, grid
        )
        np.testing.assert_allclose(found, X, atol=2e-5)


def test_volumes_are_sampled_too() -> None:
    x = np.random.default_rng(1).standard_normal((1, 2, 3, 4, 2))
    grid = np.random.default_rng(2).uniform(-0.9, 0.9, (1, 2, 2, 2, 3)).round(2) + 0.001
    slopes_agree(lambda a, g: call("grid-sample", a, g), x, grid)
