"""The proof of the first checkpoint is begun only where it cannot cost the run its memory."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sexpgpu_core import training
from sexpgpu_core.checkpoint.folder import Saved
from sexpgpu_core.runtime import proof


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """(needed, meminfo) to whether a child was begun for a long run."""

    def whether(needed: int, meminfo: str) -> bool:
        (tmp_path / "meminfo").write_text(meminfo)
        monkeypatch.setattr(proof, "MEMINFO", tmp_path / "meminfo")
        started: list[int] = []
        monkeypatch.setattr(proof.Proof, "_start", lambda self, until: started.append(until))
        saved = tmp_path / "step-00000020"
        saved.mkdir(exist_ok=True)
        nobody: Any = None
        made = proof.Proof(tmp_path, nobody, nobody, 5, 1_000_000, needed)
        made.saved(Saved(saved.name, 20, saved, {}), {"path": "checkpoints/step-00000020"})
        made.follow(31, 1.0, lambda: None)
        return bool(started)

    return whether


@pytest.mark.parametrize(
    ("meminfo", "starts"),
    [
        ("MemTotal: 9000 kB\nMemAvailable: 2000 kB\n", True),
        ("MemTotal: 9000 kB\nMemAvailable: 900 kB\n", False),
        ("nothing known", True),
    ],
)
def test_it_wants_as_much_memory_free_as_it_will_hold(
    begun: Any, meminfo: str, starts: bool
) -> None:
    assert begun(1_000_000, meminfo) is starts


def test_a_device_with_memory_of_its_own_has_no_second_process_on_it(tmp_path: Path) -> None:
    job = SimpleNamespace(
        experiment=SimpleNamespace(run=SimpleNamespace(log_every=5)),
        steps=10,
        summary={"memory": {"peak_bytes": 10}},
    )
    compiled: Any = SimpleNamespace(job=job)
    folder: Any = SimpleNamespace(path=tmp_path, events=None, status=None)
    own: Any = SimpleNamespace(in_host_memory=False)
    unsaid: Any = SimpleNamespace()
    host: Any = SimpleNamespace(in_host_memory=True)
    assert training._proof(own, compiled, folder) is None
    assert training._proof(unsaid, compiled, folder) is None
    assert training._proof(host, compiled, folder) is not None
