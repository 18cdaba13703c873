"""Arrays of files as constants: on each device, in an initial value, resumed, hashed, named."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from e2e_program import Folder, network

HEAD = '(defparameter *table* (file-tensor (npz "t.npz" :field "table") :dtype :f32))'
MODEL = """(let ((h (one-hot x 27 :dtype :f32)))
    (defparam w (27 27) :init (* 0.1 *table*))
    (+ (matmul h w) (matmul h *table*)))"""


@pytest.fixture
def tabled(folder: Folder) -> Folder:
    fill(folder, 0)
    folder.write("x.lisp", network(head=HEAD, model=MODEL))
    return folder


def fill(folder: Folder, seed: int) -> None:
    table = np.random.default_rng(seed).standard_normal((27, 27))
    np.savez(folder.path / "t.npz", table=table, other=np.arange(3))


def ran(folder: Folder, name: str, *more: str) -> dict[str, Any]:
    done = folder.quick("run", "x.lisp", "--name", name, "--json", *more)
    assert done.exit == 0, done.err
    return done.document


def test_devices_agree_and_a_run_goes_on_without_it_in_the_checkpoint(tabled: Folder) -> None:
    losses = [
        ran(tabled, device, "--device", device)["metrics"]["train/loss"]["value"]
        for device in ("cpu", "reference")
    ]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    files = list((tabled.made("cpu") / "checkpoints").rglob("*.safetensors"))
    assert files
    assert not any(b"constant" in file.read_bytes() for file in files)
    again = tabled.quick("checkpoint", "verify", "cpu")
    assert again.exit == 0, again.out + again.err


def test_the_manifest_names_it_and_another_content_is_another_experiment(tabled: Folder) -> None:
    first = ran(tabled, "a")
    (entry,) = [
        e
        for e in json.loads((tabled.made("a") / "manifest.json").read_text())["data"]
        if e["loader"] == "constant"
    ]
    assert entry["source"] == "t.npz table"
    assert entry["fingerprint"].startswith("sha256:")
    fill(tabled, 1)
    assert ran(tabled, "b")["experiment_id"] != first["experiment_id"]


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ('(npz "t.npz" :field "tabel")', "E-OPTION-VALUE", 'did you mean "table"?'),
        ('(npz "t.npz")', "E-OPTION-VALUE", "it has other table"),
        ('(npz "u.npz" :field "table")', "E-DATA-MISSING", "t.npz"),
        ('(text-files "letters.txt")', "E-DATA-FORMAT", "has no arrays"),
        ('(npzz "t.npz")', "E-SOURCE-UNKNOWN", "did you mean npz?"),
    ],
)
def test_a_mistake_is_told_at_the_source(folder: Folder, source: str, code: str, said: str) -> None:
    fill(folder, 0)
    folder.write("x.lisp", network(head=f"(defparameter *table* (file-tensor {source}))"))
    done = folder.quick("check", "x.lisp")
    assert done.exit == 1
    assert code in done.out
    assert said in done.out


def test_an_output_reads_it_too(tabled: Folder) -> None:
    text = (tabled.path / "x.lisp").read_text()
    output = "(defoutput scores (&key (inputs :shape (2 8) :dtype :i32)) (network inputs))\n"
    tabled.write("x.lisp", text.replace("(defrun", output + "(defrun"))
    ran(tabled, "a")
    np.savez(tabled.path / "in.npz", inputs=np.zeros((2, 8), "i4"))
    asked = ("predict", "x.lisp", "--from", "a", "--output", "scores", "--in", "inputs=in.npz")
    done = tabled.quick(*asked, "-o", "out.npz")
    assert done.exit == 0, done.out + done.err
    assert np.isfinite(np.load(tabled.path / "out.npz")["scores"]).all()


COUNTED = """(let ((h (one-hot x 27 :dtype :f32)))
    (defparam w (27 27) :init 0)
    (defstate seen (27 27) :init (* 2 *table*))
    (setf seen (+ (* 0.5 seen) w))
    (+ (matmul h w) (matmul h seen)))"""


def test_a_state_that_begins_as_a_file_is_kept_resumed_and_hashed(folder: Folder) -> None:
    fill(folder, 0)
    folder.write("x.lisp", network(head=HEAD, model=COUNTED))
    whole = ran(folder, "whole", "--steps", "6")
    named = json.loads((folder.made("whole") / "manifest.json").read_text())["data"]
    assert [e["source"] for e in named if e["loader"] == "constant"] == ["t.npz table"]
    ran(folder, "half", "--steps", "3")
    ran(folder, "half", "--steps", "6", "--resume", "latest", "--resume-changed")
    for mine, other in zip(arrays(folder, "whole", "state:"), arrays(folder, "half", "state:")):
        np.testing.assert_array_equal(mine, other)
    fill(folder, 1)
    assert ran(folder, "other", "--steps", "6")["experiment_id"] != whole["experiment_id"]
    folder.write("y.lisp", network(head=HEAD, model=COUNTED.replace("(* 2 ", "(* 3 ")))
    done = folder.quick("run", "y.lisp", "--name", "third", "--json", "--steps", "6")
    assert done.document["experiment_id"] != ran(folder, "again", "--steps", "6")["experiment_id"]


def arrays(folder: Folder, name: str, prefix: str) -> list[Any]:
    """Values of a run's last checkpoint whose names begin so."""
    from safetensors.numpy import load_file

    last = max((folder.made(name) / "checkpoints").iterdir(), key=lambda p: p.name)
    found = {k: v for file in last.glob("*.safetensors") for k, v in load_file(file).items()}
    chosen = [found[k] for k in sorted(found) if k.startswith(prefix)]
    assert chosen
    return chosen
