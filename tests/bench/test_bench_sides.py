"""The bench goes on where a side or a model gives nothing, and says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import __main__ as command
from bench import report, sides
from bench.models import MODELS, Spec
from bench.sides import Failed, Side


def test_a_side_that_does_not_start_says_why_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(Failed) as found:
        Side("eager", "torch", Spec("no-such-model", [], str(tmp_path)))
    assert str(found.value).startswith("ModuleNotFoundError: No module named")


def test_a_mode_that_cannot_take_a_model_is_missing_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def side(name: str, kind: str, spec: Spec) -> str:
        if spec.channels_last:
            raise Failed("too late")
        return name

    monkeypatch.setattr(sides, "Side", side)
    found, missing = sides.started(Spec("gcn-cora", [], ""), ["eager", "compile"])
    assert (found, missing) == (["sexpgpu", "eager"], {"compile": MODELS["gcn-cora"].why})
    found, missing = sides.started(Spec("mnist", [], ""), ["eager"])
    assert (found, missing) == (["sexpgpu", "eager"], {"eager-channels-last": "too late"})


def test_a_model_that_fails_is_a_row_and_the_next_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def of_model(name: str, options: object, found: command.Rows) -> None:
        if name == "digits":
            raise Failed("no such data")
        found.sides.append({"model": name, "median_ms": 1.5})

    file = tmp_path / "found.json"
    monkeypatch.setattr(command, "of_model", of_model)
    monkeypatch.setattr("sys.argv", ["bench", "digits", "mnist", "--json", str(file)])
    assert command.main() == 1
    assert json.loads(file.read_text())["rows"] == [
        {"model": "mnist", "median_ms": 1.5},
        {"model": "digits", "failed": "no such data"},
    ]


def test_every_model_has_an_example_and_a_twin() -> None:
    for name in MODELS:
        assert Spec(name, [], "").file.exists()
        assert (Path(sides.__file__).parent / "twins" / f"{name.replace('-', '_')}.py").exists()


def test_rows_with_other_keys_share_a_table() -> None:
    assert report.table([{"a": 1}, {"b": 2.0}]).split() == ["a", "b", "1", "2.000"]
