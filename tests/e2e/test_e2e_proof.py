"""The first checkpoint of a run is proved while the run goes on, and changes nothing of it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from e2e_program import TEXT, network, validate

from sexpgpu_core import api
from sexpgpu_core.checkpoint.folder import Checkpoints
from sexpgpu_core.runtime import control, events, proof

STEPS = 200_000
FILE = network(
    run=f":steps {STEPS} :seed 3 :log-every 5 :checkpoint (:every 20 :keep 1)", passes=""
)
FIRST = "checkpoints/step-00000020"


class Until:
    """Asks the run to stop once something is told of the first checkpoint."""

    def __init__(self) -> None:
        self.folder = Path()
        self.end = time.monotonic() + 500

    def warnings(self, found: list[Any]) -> None:
        """Those of the compiler are of no matter here."""

    def began(self, folder: Path) -> None:
        self.folder = folder

    def event(self, event: Mapping[str, Any]) -> None:
        if event["step"] > 35:
            time.sleep(0.2)  # the processor is the proof's
        proved = event["event"] == "checkpoint" and event["verified"] is not None
        if proved or time.monotonic() > self.end:
            control.ask(self.folder, "stop")


@pytest.fixture
def file(tmp_path: Path, kernel_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(kernel_cache))
    monkeypatch.setattr(proof, "LONG", 0.0)
    monkeypatch.setattr(proof, "NICER", 0)
    (tmp_path / "letters.txt").write_text(TEXT)
    (tmp_path / "x.lisp").write_text(FILE)
    return tmp_path / "x.lisp"


def ran(file: Path) -> tuple[Path, list[Mapping[str, Any]]]:
    """The run's folder, and what its events say of its first checkpoint."""
    done = api.run(file, threads=1, runs_root=file.parent / "runs", progress=Until())
    assert done.state == "stopped"
    found = events.read(done.folder / "events.jsonl")
    for event in found:
        validate(event, "event")
    assert not (done.folder / proof.SCRATCH).exists()
    return done.folder, [e for e in found if e.get("path") == FIRST]


def test_a_sound_checkpoint_is_told_as_verified_though_it_is_no_longer_kept(file: Path) -> None:
    folder, (written, proved) = ran(file)
    assert (written["verified"], proved["verified"]) == (None, True)
    assert proved["step"] > 30
    assert not (folder / FIRST).exists()
    status = json.loads((folder / "status.json").read_text())
    assert "E-CHECKPOINT-VERIFY" not in status["warnings"]


def test_a_checkpoint_that_lacks_what_training_holds_is_told_at_once(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = Checkpoints.save

    def forgetful(self: Checkpoints, step: int, names: Any, read: Any, *rest: Any, **more: Any):  # type: ignore[no-untyped-def]
        def changed(name: str) -> Any:
            return np.zeros_like(read(name)) if name.startswith("optimizer:") else read(name)

        return save(self, step, names, changed, *rest, **more)

    monkeypatch.setattr(Checkpoints, "save", forgetful)
    folder, told = ran(file)
    assert told[-1]["verified"] is False
    warned = [e for e in events.read(folder / "events.jsonl") if e["event"] == "warning"]
    assert any(
        e["diagnostic"]["code"] == "E-CHECKPOINT-VERIFY"
        and "replayed from step-00000020 to step 30" in e["diagnostic"]["message"]
        for e in warned
    )
