"""check --data as a user starts it: lines, a document by its schema, exits."""

from __future__ import annotations

import numpy as np
import pytest
from e2e_program import TEXT, Folder, events, held, network, validate

LETTERS = "".join(chr(97 + (i * i + 7 * i // 3) % 26) for i in range(1800))


@pytest.fixture
def sound(folder: Folder) -> Folder:
    folder.write("x.lisp", network())
    folder.write("letters.txt", LETTERS)
    return folder


def test_what_was_read_stands_below_the_summary_and_in_the_document(sound: Folder) -> None:
    said = sound.quick("check", "x.lisp", "--data")
    assert said.exit == 0
    assert "read        letters :train: 160 examples; tokens 97 to 122" in said.out
    told = sound.quick("check", "x.lisp", "--data", "--json")
    held(told, 0)
    document = told.document
    validate(document)
    (train, val) = document["files"][0]["data"]["stages"]
    assert (train["loader"], train["stage"], train["examples"]) == ("letters", "train", 160)
    assert val["fields"]["tokens"]["most"] <= 122


def test_a_leak_is_a_warning_that_can_be_denied(sound: Folder) -> None:
    sound.write("letters.txt", TEXT)  # a sentence that repeats itself
    said = sound.quick("check", "x.lisp", "--data")
    assert (said.exit, "warning[W-SPLIT-LEAK]" in said.out) == (0, True)
    assert sound.quick("check", "x.lisp", "--data", "--deny", "W-SPLIT-LEAK").exit == 1
    assert "W-SPLIT-LEAK" not in sound.quick("check", "x.lisp").out


def test_a_run_tells_of_a_leak_once(sound: Folder) -> None:
    drawn = np.random.default_rng(3).integers(97, 123, 1800).astype("u1")
    sound.write("letters.txt", drawn.tobytes())
    assert sound.quick("run", "x.lisp", "--name", "fine").exit == 0
    sound.write("letters.txt", TEXT)
    assert sound.quick("run", "x.lisp", "--name", "leaking").exit == 0
    leaks = {}
    for name in ("fine", "leaking"):
        told = [e["diagnostic"] for e in events(sound.made(name)) if e["event"] == "warning"]
        leaks[name] = [d["message"] for d in told if d["code"] == "W-SPLIT-LEAK"]
    assert leaks["fine"] == []
    assert len(leaks["leaking"]) == 1
    assert "letters :val are equal to examples of :train" in leaks["leaking"][0]
