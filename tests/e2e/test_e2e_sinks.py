"""`--sink` and `export-events`: the same lines, and mistakes told before anything runs."""

from __future__ import annotations

import pytest
from e2e_program import TEXT, Folder, held, network

FILE = network(run=":steps 6 :seed 3 :log-every 2")


@pytest.fixture
def file(folder: Folder) -> Folder:
    folder.write("letters.txt", TEXT)
    folder.write("x.lisp", FILE)
    return folder


def test_what_a_run_gives_to_its_sinks_is_what_the_verb_gives_afterwards(file: Folder) -> None:
    (file.path / "sexpgpu.toml").write_text('[run]\nsinks = ["csv:path=set.csv"]\n')
    held(file("run", "x.lisp", "--name", "one", "-q", "--sink", "jsonl:path=live.jsonl"), 0)
    own = (file.path / "runs" / "one" / "events.jsonl").read_text()
    assert (file.path / "live.jsonl").read_text() == own
    done = file.quick("export-events", "one", "--to", "jsonl:path=later.jsonl", "--json")
    held(done, 0)
    assert done.document["events"] == len(own.splitlines())
    assert (file.path / "later.jsonl").read_text() == own
    assert "train/loss" in (file.path / "set.csv").read_text()
    done = file.quick("export-events", "one", "--to", "tensorboard:path=board")
    held(done, 0)
    assert len(list((file.path / "board" / "one").iterdir())) == 1


@pytest.mark.parametrize(
    ("flags", "exit_", "code", "hint"),
    [
        (("--sink", "cvs:path=x"), 2, "E-USAGE-VALUE", "csv"),
        (("--sink", "csv"), 2, "E-USAGE-VALUE", "csv:path=..."),
        (("--sink", "csv:path=-"), 2, "E-USAGE-VALUE", "csv:path=..."),
        (("--sink", "jsonl:path= "), 2, "E-USAGE-VALUE", "jsonl:path=..."),
        (("--sink", "tensorboard:path"), 2, "E-USAGE-VALUE", "tensorboard:path=..."),
        (("--sink", "csv:pth=x"), 2, "E-USAGE-VALUE", "path"),
        (("--ranks", "2"), 4, "E-DEVICE-ABSENT", "--ranks 1"),
        (("--ranks", "0"), 2, "E-USAGE-VALUE", ""),
    ],
)
def test_sinks_and_ranks_that_there_are_not_are_told_before_a_run_begins(
    file: Folder, flags: tuple[str, ...], exit_: int, code: str, hint: str
) -> None:
    done = file.quick("run", "x.lisp", *flags, "--json")
    held(done, exit_)
    (found,) = done.document["diagnostics"]
    assert found["code"] == code
    assert hint in (found["hint"] or "")
    assert not (file.path / "runs").exists()


def test_the_verb_refuses_a_sink_that_names_no_file(file: Folder) -> None:
    held(file("run", "x.lisp", "--name", "one", "-q"), 0)
    before = sorted(path.name for path in file.path.iterdir())
    for to, why in (("csv:path=-", "path is -"), ("csv:path=", "is empty"), ("csv:path", "empty")):
        done = file.quick("export-events", "one", "--to", to, "--json")
        held(done, 2)
        (found,) = done.document["diagnostics"]
        assert why in found["message"]
    assert sorted(path.name for path in file.path.iterdir()) == before


def test_a_sink_that_cannot_be_opened_costs_the_run_nothing(file: Folder) -> None:
    done = file(
        "run", "x.lisp", "--name", "one", "-q", "--sink", "csv:path=letters.txt/x", "--json"
    )
    held(done, 0)
    log = (file.path / "runs" / "one" / "events.jsonl").read_text()
    assert "W-SINK-FAILED" in log or "sink" in (file.path / "runs" / "one" / "log.txt").read_text()
    done = file.quick("export-events", "one", "--to", "csv:path=letters.txt/x", "--json")
    held(done, 2)
    assert "letters.txt" in done.document["diagnostics"][0]["message"]
