"""The verb checkpoint: what there is, whether it is sound, what differs, weights for others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from e2e_program import TEXT, Folder, held, network, saved, validate

load_file = pytest.importorskip("safetensors.numpy").load_file

FILE = network(
    run=':steps 30 :seed 3 :log-every 5 :checkpoint (:every 10 :best ("val/loss" :min))',
    head='(defknob rate 1e-2 "Learning rate.")',
    rate="rate",
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Folder:
    """A folder with a run `one` that has three checkpoints."""
    folder = Folder(tmp_path_factory.mktemp("checkpoints"), kernel_cache)
    folder.write("letters.txt", TEXT)
    folder.write("x.lisp", FILE)
    held(folder("run", "x.lisp", "--name", "one", "-q"), 0)
    return folder


@pytest.fixture
def mine(ran: Folder, tmp_path: Path) -> Folder:
    """A copy that a test may change."""
    shutil.copytree(ran.path, tmp_path, dirs_exist_ok=True)
    return Folder(tmp_path, ran.cache)


def test_checkpoints_are_listed_and_shown(ran: Folder) -> None:
    listed = ran.quick("checkpoint", "list", "one", "--json")
    held(listed, 0)
    assert [entry["step"] for entry in listed.document["checkpoints"]] == [10, 20, 30]
    rows = ran.quick("checkpoint", "list", "one").out.splitlines()
    assert [row.split()[0] for row in rows] == ["step", "10", "20", "30"]
    last = listed.document["checkpoints"][-1]["best"]["val/loss"]["step"]
    assert [row.split()[0] for row in rows if " val/loss " in row] == [str(last)]
    shown = ran.quick("checkpoint", "show", "one@20", "--json")
    held(shown, 0)
    validate(shown.document)
    assert shown.document["step"] == 20
    text = ran.quick("checkpoint", "show", "one@best").out
    assert "params.safetensors" in text
    assert len(text.encode()) < 2048


@pytest.mark.parametrize(
    ("save", "exit_", "code"),
    [
        ("one@7", 3, "E-CHECKPOINT-NONE"),
        ("one@seven", 2, "E-USAGE-VALUE"),
        ("two", 2, "E-USAGE-RUN"),
    ],
)
def test_a_checkpoint_that_is_not_there_is_told(
    ran: Folder, save: str, exit_: int, code: str
) -> None:
    for words in (("show", save), ("export", save, "-o", "w"), ("diff", "one", save)):
        done = ran.quick("checkpoint", *words, "--json")
        held(done, exit_)
        assert [d["code"] for d in done.diagnostics] == [code]


def test_a_word_that_checkpoint_has_not_is_told(ran: Folder) -> None:
    wrong = ran.quick("checkpoint", "lits", "one")
    held(wrong, 2)
    assert "did you mean checkpoint list?" in wrong.err
    none = ran.quick("checkpoint")
    held(none, 2)
    assert "error[E-USAGE-MISSING]" in none.err


def test_a_sound_run_is_proved_by_a_replay(ran: Folder) -> None:
    done = ran.quick("checkpoint", "verify", "one", "--json")
    held(done, 0)
    assert done.document["replayed"] == {"from": 20, "to": 30}
    assert [c["verified"] for c in done.document["checkpoints"]] == [True] * 3
    some = ran.quick("checkpoint", "verify", "one", "--steps", "12")
    held(some, 0)
    assert "replayed from step 10 to 22: the same bits" in some.out


def test_what_is_not_sound_is_exit_1(mine: Folder) -> None:
    file = mine.made("one") / "checkpoints" / "step-00000020" / "params.safetensors"
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(bytes(data))
    done = mine.quick("checkpoint", "verify", "one", "--json")
    held(done, 1)
    assert [c["verified"] for c in done.document["checkpoints"]] == [True, False, True]
    assert [d["code"] for d in done.document["diagnostics"]] == ["E-CHECKPOINT-CORRUPT"]
    assert "error[E-CHECKPOINT-CORRUPT]" in mine.quick("checkpoint", "verify", "one").err


def test_a_run_whose_data_changed_cannot_be_replayed(mine: Folder) -> None:
    manifest = mine.made("one") / "manifest.json"
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**told, "cwd": str(mine.path)}))
    held(mine.quick("checkpoint", "verify", "one"), 0)
    mine.write("letters.txt", TEXT[1:])
    done = mine.quick("checkpoint", "verify", "one")
    held(done, 3)
    assert "error[E-RESUME-CHANGED]" in done.err


def test_what_differs_is_named(ran: Folder) -> None:
    done = ran.quick("checkpoint", "diff", "one@10", "one@30", "--json", "--limit", "0")
    held(done, 0)
    validate(done.document)
    assert done.document["verdict"] == "changed"
    areas = {change["area"] for change in done.document["changes"]}
    assert {"parameter", "optimizer", "data", "evaluation"} <= areas
    same = ran.quick("checkpoint", "diff", "one", "one@30", "--json")
    held(same, 0)
    validate(same.document)
    assert (same.document["verdict"], same.document["changes"]) == ("identical", [])
    text = ran.quick("checkpoint", "diff", "one@10", "one@30").out
    assert len(text.encode()) < 2300


def test_weights_are_exported_under_names_of_ones_own(ran: Folder) -> None:
    whole = ran.quick("checkpoint", "export", "one@20", "-o", "w.safetensors", "--json")
    held(whole, 0)
    arrays = load_file(ran.path / "w.safetensors")
    ours = load_file(ran.made("one") / "checkpoints/step-00000020/params.safetensors")
    assert sorted(arrays) == sorted(ours) == whole.document["tensors"]
    for name, array in arrays.items():
        assert array.tobytes() == ours[name].tobytes()
    rules = ("--rename", "network/layers/{i}=net/{i}", "--rename", "/=.")
    held(ran.quick("checkpoint", "export", "one@20", "-o", "r.safetensors", *rules), 0)
    renamed = {n.replace("network/layers/", "net/").replace("/", ".") for n in ours}
    assert set(load_file(ran.path / "r.safetensors")) == renamed


@pytest.mark.parametrize(
    "flags",
    [
        ("--rename", "nix=x"),
        ("--rename", "x"),
        ("--rename", "network/layers/{i}/w=a", "--rename", "network/layers/{i}/b=a"),
        ("--weights", "ema"),
        ("-o", "no/folder/w"),
    ],
)
def test_an_export_that_cannot_be_is_told(ran: Folder, flags: tuple[str, ...]) -> None:
    done = ran.quick("checkpoint", "export", "one", "-o", "no.safetensors", *flags)
    held(done, 2)
    assert "error[E-USAGE-" in done.err
    assert not list(ran.path.glob("*no.safetensors*"))


def test_checkpoints_are_pruned_when_it_is_asked(mine: Folder) -> None:
    def steps() -> list[int]:
        listed = mine.quick("checkpoint", "list", "one", "--json").document
        return [entry["step"] for entry in listed["checkpoints"]]

    before = saved(mine.made("one"))
    tried = mine.quick("checkpoint", "prune", "one", "--keep", "1", "--dry-run")
    held(tried, 0)
    assert tried.out.startswith("would remove 2 checkpoints")
    assert steps() == [10, 20, 30]
    for wrong in ((), ("--keep", "1", "--best")):
        held(mine.quick("checkpoint", "prune", "one", *wrong), 2)
    done = mine.quick("checkpoint", "prune", "one", "--keep", "2")
    held(done, 0)
    assert done.out.startswith("removed 1 checkpoint, ")
    assert steps() == [20, 30]
    done = mine.quick("checkpoint", "prune", "one", "--best", "--json")
    held(done, 0)
    assert [entry["name"] for entry in done.document["checkpoints"]] == ["step-00000020"]
    assert saved(mine.made("one")) == before
    held(mine.quick("run", "x.lisp", "--name", "one", "--resume", "latest", "-q"), 0)
