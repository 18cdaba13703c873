"""What a check remembers: the summary of a compile, and nothing where an input changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sexpgpu_core import api
from sexpgpu_core.compile import checked, pipeline
from sexpgpu_core.diagnostics import Problems
from sexpgpu_core.spans import Source

FILE = """
(defknob width 16 "Hidden units.")
(defloader d (source (digits)) (stage :train :split (0 0.8)) (stage :val :split (0.8 1))
  (batch 32))
(defmodel linear (x out)
  (defparam w ((dim x -1) out) :init (he))
  (matmul x w))
(defmodel net (x) (linear (relu (linear x width)) 10))
(defun objective (&key image label)
  (metric "loss" (mean (cross-entropy (net image) label))))
(defeval val :loader (d :val) :every 10)
(defoptimizer sgd (&key (lr 0.1)) (optimizer-update (param grad) (- param (* lr grad))))
(defun optimizer () (groups (group :rest (sgd))))
(defrun :steps 20 :seed 1)
"""


class GraphDevice:
    """A device that takes graphs as they are."""

    name = "graphs"
    level = "graph"

    def library(self, operation: str) -> bool:
        return False


@pytest.fixture
def compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts compiles; the cache is empty."""
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path))
    counted: list[int] = []
    real = pipeline.compile_traces

    def counting(*arguments: Any) -> Any:
        counted.append(1)
        return real(*arguments)

    monkeypatch.setattr(pipeline, "compile_traces", counting)
    return counted


def summary(text: str = FILE, device: Any = None, **selection: Any) -> dict[str, Any]:
    loaded = api.load(Source("file.lisp", text), **selection)
    return checked.check_experiment(
        loaded.experiment,
        loaded.evaluator,
        operations=api.operations(loaded.registry),
        device=device or GraphDevice(),
        loaders=loaded.loaders,
    )


def test_the_second_check_compiles_nothing_and_says_the_same(compiles: list[int]) -> None:
    first = summary()
    again = summary()
    assert again == first
    assert len(compiles) == 1
    loaded = api.load(Source("file.lisp", FILE))
    assert api.compile(loaded, GraphDevice()).job.summary == first  # type: ignore[arg-type]


def test_comments_and_names_change_nothing_that_is_compiled(compiles: list[int]) -> None:
    first = summary()
    renamed = FILE.replace("width", "breadth").replace(
        "(defun objective", "; a loss\n(defun objective"
    )
    assert summary(renamed) == first
    assert len(compiles) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("defknob width 16", "defknob width 17"),
        ("(batch 32)", "(batch 16)"),
        ("relu", "tanh"),
        ("(* lr grad)", "(* lr grad grad)"),
        ('(metric "loss"', '(metric "other"'),
        (":split (0.8 1)", ":split (0.9 1)"),
        (":seed 1)", ":seed 1 :precision :bf16)"),
        (":seed 1)", ":seed 1 :microbatches 2)"),
        (":seed 1)", ":seed 1 :finite-guard :off)"),
    ],
)
def test_an_edit_that_matters_is_compiled(compiles: list[int], old: str, new: str) -> None:
    summary()
    assert old in FILE
    summary(FILE.replace(old, new))
    assert len(compiles) == 2


def test_another_device_or_compiler_is_compiled(
    compiles: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(GraphDevice):
        name = "others"

    summary()
    summary(device=Other())
    monkeypatch.setattr(checked, "_code", lambda device: (("a.py", 1, 1),))
    summary()
    assert len(compiles) == 3


def test_what_does_not_compile_is_told_every_time(compiles: list[int]) -> None:
    unreached = FILE.replace("(matmul x w)", "(defparam v (3)) (matmul x w)")
    for _ in range(2):
        with pytest.raises(Problems) as raised:
            summary(unreached)
        assert {d.code for d in raised.value.diagnostics} == {"E-PARAM-UNREACHED"}
    assert len(compiles) == 2
