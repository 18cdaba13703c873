"""The program run in this process, and a stand-in for the compiler: tests of answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import sexpgpu_core
from sexpgpu_cli import main


class Done(NamedTuple):
    exit: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.out)


Program = Callable[..., Done]


@pytest.fixture
def program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Program:
    """`program("check", "x.lisp")` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path / "cache"))

    def call(*argv: str) -> Done:
        capsys.readouterr()
        code = main.run(list(argv))
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return call


SUMMARY = {
    "experiment_id": "a530c507fd89",
    "knobs": 6,
    "parameters": {"count": 119424, "tensors": 19, "trainable": 119000},
    "steps": 2000,
    "flops_per_step": 623902720,
    "memory": {"peak_bytes": 41943040, "parameters_bytes": 532480},
    "batch": {"tokens": {"dtype": "i32", "shape": [12, 65]}},
    "groups": [{"name": "rest", "optimizer": "optim:adamw", "parameters": 9, "count": 640}],
    "evaluation_ids": {"val": "97dfc65f7428"},
}
SELECTION = {"variant": None, "point": None, "set": {}, "values": {"lr": "0.003"}}


class Api:
    """Answers of `api` and `inspection` as the verbs expect them; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}
        self.report = SimpleNamespace(
            diagnostics=[],
            reached="trust",
            complete=True,
            summary=SUMMARY,
            selection=SELECTION,
            output="",
        )
        self.result = SimpleNamespace(exit=0, status={}, folder=Path("runs/x"), error=None)
        self.events: list[dict[str, Any]] = []

    def check(self, source: Any, **options: Any) -> Any:
        self.asked = {"source": source, **options}
        return self.report

    def run(self, path: str, **options: Any) -> Any:
        self.asked = {"path": path, **options}
        for event in self.events:
            options["progress"].event(event)
        return self.result

    def graph_text(self, path: str, **options: Any) -> str:
        self.asked = {"path": path, **options}
        return "\n".join(f"%{i} = add %0 %0" for i in range(400))

    def evaluate(self, path: str, form: str, **options: Any) -> list[tuple[str, str]]:
        self.asked = {"path": path, "form": form, **options}
        return [("3", "integer"), ("nil", "null")]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    made: Any = Api()
    monkeypatch.setitem(sys.modules, "sexpgpu_core.api", made)
    monkeypatch.setattr(sexpgpu_core, "api", made, raising=False)
    monkeypatch.setitem(sys.modules, "sexpgpu_core.inspection", made)
    monkeypatch.setattr(sexpgpu_core, "inspection", made, raising=False)
    return made
