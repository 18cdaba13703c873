"""What the examples say at their heads of a trained model's use."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from e2e_program import EXAMPLES, TEXT, Folder, held, status
from example_files import NAMES, graph, small

from sexpgpu_core import trained
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.runtime import runs


def commands(name: str) -> Iterator[list[str]]:
    """Of an example's head: predict and sample, without the example's folder."""
    head = (EXAMPLES / f"{name}.lisp").read_text("utf-8").split("\n(", 1)[0]
    for line in head.replace("\\\n;;;", "").splitlines():
        if line.startswith((";;;   sexpgpu predict", ";;;   sexpgpu sample")):
            words = shlex.split(line[3:].partition(";")[0])
            yield [word.replace("examples/", "") for word in words[1:]]


def write_arrays(folder: Path, name: str) -> None:
    """The arrays that the commands name."""
    shape = (3, 64) if name == "digits" else (3, 28, 28)
    np.save(folder / "images.npy", np.random.default_rng(1).integers(0, 16, shape, np.uint8))
    np.save(folder / "who.npy", np.array([3], np.int32))
    np.save(folder / "hour.npy", np.array([20], np.int32))
    np.save(folder / "masked.npy", np.array([[-1, 1, 2, 3] * 4], np.int32))


@pytest.mark.parametrize("name", NAMES)
def test_a_trained_example_is_used_as_its_head_says(ready: Folder, name: str) -> None:
    write_arrays(ready.path, name)
    ready.write("letters.txt", TEXT + "ROMEO:\n")
    flags = (*small(name), "--steps", "2", "--name", "it", "-q")
    held(ready("run", f"{name}.lisp", *flags), 0)
    said = list(commands(name))
    assert said
    for words in said:
        done = ready.quick(*words, "--json")
        held(done, 0)
        if "-o" in words:
            arrays = np.load(ready.path / words[words.index("-o") + 1])
            assert arrays.files
            assert all(np.isfinite(arrays[array]).all() for array in arrays.files)
        else:
            assert done.document["text"]


def test_an_output_of_a_whole_graph_gives_each_node_the_class_of_its_pass(ready: Folder) -> None:
    held(ready("run", "gcn-cora.lisp", "--steps", "30", "--name", "it", "-q"), 0)
    arrays = graph()
    with trained.model(*runs.save(ready.path / "runs", "it")) as model:
        given = {name: arrays[name] for name in ("features", "edges")}
        found = model.predict("fields", **given)
    told = status(ready.made("it"))
    assert found["share"].sum(axis=1) == pytest.approx(np.ones(24), abs=1e-5)
    right = (found["field"] == arrays["labels"])[arrays["split"] == 3].mean()
    assert right == pytest.approx(told["metrics"]["test/accuracy"]["value"])


def test_what_was_hidden_of_a_text_is_filled_in_and_the_rest_stays(ready: Folder) -> None:
    held(ready("run", "bert-mlm.lisp", *small("bert-mlm"), "--name", "it", "-q"), 0)
    with trained.model(*runs.save(ready.path / "runs", "it")) as model:
        text = TEXT[:16]
        tokens = np.array([model.encode(text)])
        assert model.decode(tokens[0]) == text
        hidden = [3, 8]
        tokens[0, hidden] = -1
        found = model.predict("filled", tokens=tokens)
    filled = model.decode(found["filled"][0])
    assert [filled[at] for at in range(16) if at not in hidden] == [
        text[at] for at in range(16) if at not in hidden
    ]
    assert (found["guesses"][0, hidden, 0] == found["filled"][0, hidden]).all()
    assert (np.diff(found["shares"], axis=-1) <= 0).all()


def test_a_model_of_no_text_has_no_tokenizer(ready: Folder) -> None:
    held(ready("run", "dlrm.lisp", *small("dlrm"), "--steps", "2", "--name", "it", "-q"), 0)
    save = runs.save(ready.path / "runs", "it")
    with trained.model(*save) as model, pytest.raises(Problem) as told:
        model.encode("a text")
    assert told.value.diagnostic.code == "E-OUTPUT"
