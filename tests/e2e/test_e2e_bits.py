"""Threads, caches, logs, passes and checkpoints do not touch a bit of what is trained."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_program import Folder, network, saved, series

STEPS = 40
PLAIN = network(run=f":steps {STEPS} :seed 5 :log-every 10", passes="")
PASSES = "(defeval val :loader (letters :val) :every {} :at (3 7 :end))"


@pytest.fixture
def plain(folder: Folder) -> dict[str, bytes]:
    """What one run of the file comes to."""
    folder.write("x.lisp", PLAIN)
    done = folder("run", "x.lisp", "--name", "plain", "-q")  # a process of its own
    assert done.exit == 0, done.err
    return saved(folder.made("plain"))


def trained(folder: Folder, *flags: str, name: str = "it", **environment: str) -> dict[str, bytes]:
    call = folder if environment else folder.quick
    done = call("run", "x.lisp", "--name", name, *flags, **environment)
    assert done.exit == 0, done.err
    return saved(folder.made(name))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_bit(folder: Folder, plain: dict[str, bytes], threads: int) -> None:
    assert trained(folder, "--threads", str(threads)) == plain


def test_an_empty_and_a_full_cache_change_no_bit(
    folder: Folder, plain: dict[str, bytes], tmp_path: Path
) -> None:
    cache = tmp_path / "fresh"
    assert trained(folder, name="empty", SEXPGPU_CACHE=str(cache)) == plain
    assert any(path.is_file() for path in cache.rglob("*"))
    assert trained(folder, name="full", SEXPGPU_CACHE=str(cache)) == plain


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        (":log-every 1", ""),
        (":log-every 40 :checkpoint (:every 7 :keep 2)", ""),
        (":log-every 3 :checkpoint (:at (1 2 :end))", PASSES.format(5)),
        (':checkpoint (:best ("val/loss" :min) :keep 1)', PASSES.format(1)),
    ],
)
def test_other_cadences_change_no_bit(
    folder: Folder, plain: dict[str, bytes], options: str, passes: str
) -> None:
    folder.write("x.lisp", network(run=f":steps {STEPS} :seed 5 {options}", passes=passes))
    assert trained(folder) == plain


@pytest.mark.parametrize("flag", ["--quiet", "--json", "--no-curve"])
def test_what_is_shown_changes_no_bit(folder: Folder, plain: dict[str, bytes], flag: str) -> None:
    assert trained(folder, flag) == plain


def test_a_metric_more_changes_no_bit(folder: Folder, plain: dict[str, bytes]) -> None:
    loss = "(nn:cross-entropy (network inputs) targets)"
    told = f'(let ((z (network inputs))) (metric "size" (mean (square z))) {loss})'
    told = told.replace(loss, "(nn:cross-entropy z targets)")
    folder.write("x.lisp", PLAIN.replace(loss, told))
    assert trained(folder) == plain


def test_another_seed_changes_all_of_it(folder: Folder, plain: dict[str, bytes]) -> None:
    assert trained(folder, "--seed", "6")["params.safetensors"] != plain["params.safetensors"]


def test_metrics_of_a_step_do_not_depend_on_the_cadence(folder: Folder) -> None:
    for every in (1, 5):
        folder.write("x.lisp", network(run=f":steps 20 :seed 5 :log-every {every}", passes=""))
        trained(folder, name=f"every-{every}")
    often, seldom = (series(folder.made(f"every-{n}"), "step") for n in (1, 5))
    assert {key: often[key] for key in seldom} == seldom
    assert len(often) == 20
