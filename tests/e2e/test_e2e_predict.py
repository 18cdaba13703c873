"""predict and sample: a trained model's outputs from the command line and from Python."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from e2e_program import TEXT, Folder, held, network, validate

from sexpgpu_core import trained
from sexpgpu_core.generation import Writer
from sexpgpu_core.runtime import runs
from sexpgpu_core.runtime.token_sampling import Sampler

OUTPUTS = """
(defoutput scores (&key inputs) "Shares of the letters." (softmax (network inputs) :axis -1))
(defoutput both (&key inputs)
  (metric "highest" (reduce-max inputs) :reduce :max)
  (batch :first (slice (network inputs) :axis 1 :end 1) :width (iota width)))
(defoutput noisy (&key inputs)
  (+ (network inputs) (random-normal nil :like (network inputs))))
(defoutput centred (&key inputs) (let ((y (network inputs))) (- y (mean y))))
(defoutput drawn (&key (x :shape (2 8) :dtype :i32 :random 3)) (network x))
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Folder:
    folder = Folder(tmp_path_factory.mktemp("predict"), kernel_cache)
    folder.write("letters.txt", TEXT)
    folder.write("x.lisp", network(run=":steps 12 :seed 3 :checkpoint (:every 6)"))
    held(folder("run", "x.lisp", "--name", "one", "--variant", "small", "-q"), 0)
    text = network(run=":steps 12 :seed 3 :checkpoint (:every 6)")
    folder.write("x.lisp", text.replace("(defrun ", OUTPUTS + "(defrun "))
    letters = np.frombuffer(TEXT.encode(), np.uint8)[:189].reshape(21, 9)
    np.savez(folder.path / "x.npz", tokens=letters.astype(np.int32), other=letters)
    return folder


def predicted(ran: Folder, output: str, *more: str) -> dict[str, Any]:
    out = ran.path / f"{output}.npz"
    argv = ("x.lisp", "--output", output, "--in", "tokens=x.npz", "-o", out.name, *more)
    done = ran.quick("predict", *argv, "--json")
    held(done, 0)
    validate(done.document)
    return dict(np.load(out))


def test_any_number_of_rows_in_chunks_that_are_exact(ran: Folder) -> None:
    whole = predicted(ran, "scores")["scores"]
    assert whole.shape == (21, 8, 27)
    assert whole.sum(-1) == pytest.approx(np.ones((21, 8)), abs=1e-5)
    model = trained.model(*runs.save(ran.path / "runs", "one"), file=ran.path / "x.lisp")
    tokens = np.load(ran.path / "x.npz")["tokens"]
    for rows in ([0], [8], [20], range(5), range(13, 21), range(10)):
        alone = model.predict("scores", tokens=tokens[list(rows)])["scores"]
        assert alone == pytest.approx(whole[list(rows)], abs=1e-6)
    model.close()


def test_the_values_are_those_of_the_graphs_references(ran: Folder) -> None:
    run, saved = runs.save(ran.path / "runs", "one")
    tokens = np.load(ran.path / "x.npz")["tokens"]
    found = [
        trained.model(run, saved, file=ran.path / "x.lisp", device_name=device).predict(
            "scores", tokens=tokens
        )["scores"]
        for device in ("cpu", "reference")
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-5)


def test_several_arrays_and_metrics(ran: Folder) -> None:
    done = ran.quick("predict", "x.lisp", "--output", "both", "--in", "tokens=x.npz", "--json")
    held(done, 0)
    shapes = {row["name"]: row["shape"] for row in done.document["outputs"]}
    assert shapes == {"first": [21, 1, 27], "width": [8]}  # the variant that was trained
    letters = np.load(ran.path / "x.npz")["tokens"][:, :-1].astype(np.float32) - 96
    assert done.document["metrics"] == {"highest": letters.max()}
    assert done.document["rows"] == 21
    text = ran.quick("predict", "x.lisp", "--output", "both", "--in", "tokens=x.npz")
    assert "first f32 (21 1 27)" in text.out
    assert "from one@12" in text.err


def test_random_numbers_follow_the_row_and_the_seed(ran: Folder) -> None:
    first = predicted(ran, "noisy")["noisy"]
    assert (predicted(ran, "noisy")["noisy"] == first).all()
    assert (predicted(ran, "noisy", "--seed", "4")["noisy"] != first).any()
    model = trained.model(*runs.save(ran.path / "runs", "one"), file=ran.path / "x.lisp")
    tokens = np.load(ran.path / "x.npz")["tokens"]
    again = model.predict("noisy", tokens=tokens[:10])["noisy"]
    assert again == pytest.approx(first[:10], abs=1e-6)


def test_an_output_whose_rows_meet_is_given_all_at_once(ran: Folder) -> None:
    found = predicted(ran, "centred")["centred"]
    assert abs(found.mean()) < 1e-5
    assert abs(found[:8].mean()) > 1e-4


def test_a_field_that_is_drawn_needs_no_array(ran: Folder) -> None:
    done = ran.quick("predict", "x.lisp", "--output", "drawn", "-o", "d.npy")
    held(done, 0)
    found = np.load(ran.path / "d.npy")
    assert found.shape == (2, 8, 27)
    assert (found == found[0, 0]).all()


def test_another_step_gives_other_values(ran: Folder) -> None:
    last = predicted(ran, "scores")["scores"]
    early = predicted(ran, "scores", "--from", "one@6")["scores"]
    assert (last != early).any()


@pytest.mark.parametrize(
    ("argv", "exit_", "code"),
    [
        (("--output", "scors", "--in", "tokens=x.npz"), 2, "E-USAGE-VALUE"),
        ((), 2, "E-USAGE-MISSING"),
        (("--output", "scores"), 1, "E-OUTPUT"),
        (("--output", "scores", "--in", "token=x.npz"), 2, "E-USAGE-VALUE"),
        (("--output", "scores", "--in", "tokens=x.txt"), 2, "E-USAGE-VALUE"),
        (("--output", "scores", "--in", "tokens=none.npz"), 2, "E-USAGE-FILE"),
        (("--output", "scores", "--in", "tokens=x.lisp.npz"), 2, "E-USAGE-FILE"),
        (("--output", "scores", "--in", "tokens"), 2, "E-USAGE-VALUE"),
        (("--output", "scores", "--in", "tokens=x.npz", "-o", "y.csv"), 2, "E-USAGE-VALUE"),
        (("--output", "both", "--in", "tokens=x.npz", "-o", "y.npy"), 2, "E-USAGE-VALUE"),
        (("--output", "scores", "--in", "tokens=wide.npy"), 1, "E-OUTPUT"),
        (("--output", "scores", "--in", "tokens=halves.npy"), 1, "E-OUTPUT"),
        (("--output", "scores", "--from", "one@7", "--in", "tokens=x.npz"), 3, "E-CHECKPOINT-NONE"),
        (("--output", "scores", "--weights", "ema", "--in", "tokens=x.npz"), 2, "E-USAGE-VALUE"),
    ],
)
def test_what_does_not_fit_is_told(
    ran: Folder, argv: tuple[str, ...], exit_: int, code: str
) -> None:
    ran.write("x.lisp.npz", b"no archive")
    np.save(ran.path / "wide.npy", np.zeros((3, 10), np.int32))
    np.save(ran.path / "halves.npy", np.full((3, 9), 0.5))
    done = ran.quick("predict", "x.lisp", *argv, "--json")
    held(done, exit_)
    assert [d["code"] for d in done.diagnostics] == [code]


@pytest.mark.parametrize(
    ("field", "array", "told"),
    [
        ("tokens", np.zeros((3, 10), np.int32), "axis 1 is 10, not 9"),
        ("tokens", np.zeros(9, np.int32), "put the axis of rows in front"),
        ("tokens", np.zeros((3, 9, 1), np.int32), "it has 3 axes, not 2"),
        ("tokens", np.full((3, 9), 0.5), "x.round().astype('int32')"),
        ("tokens", np.full((3, 9), 1j), "real numbers"),
        ("tokens", np.full((3, 9), "a"), "real numbers"),
        ("tokens", np.full((3, 9), 1 << 40), "values that int32 has not"),
        ("inputs", np.zeros((3, 8), np.int32), "tokens i32 (rows 9); of what it reads prepare"),
    ],
)
def test_the_help_says_how_an_array_would_fit(
    ran: Folder, field: str, array: np.ndarray, told: str
) -> None:
    np.save(ran.path / "unfit.npy", array)
    argv = ("x.lisp", "--output", "scores", "--in", f"{field}=unfit.npy", "--json")
    done = ran.quick("predict", *argv)
    (found,) = done.diagnostics
    assert found["code"] == "E-OUTPUT"
    assert told in found["hint"]


def test_a_file_that_has_other_parameters_is_told(ran: Folder) -> None:
    text = (ran.path / "x.lisp").read_text().replace("(list width 27)", "(list width width 27)")
    ran.write("wide.lisp", text)
    argv = ("wide.lisp", "--from", "one", "--output", "scores", "--in", "tokens=x.npz")
    done = ran.quick("predict", *argv, "--json")
    held(done, 3)
    assert done.diagnostics[0]["code"] == "E-RESUME-PARAM"


def test_the_newest_run_of_the_file_that_has_a_checkpoint_is_taken(ran: Folder) -> None:
    other = ran.write("y.lisp", (ran.path / "x.lisp").read_text())
    held(ran.quick("run", "y.lisp", "--name", "other", "-q"), 0)
    cut = ran.made("cut")
    shutil.copytree(ran.made("one"), cut)
    shutil.rmtree(cut / "checkpoints")
    told = json.loads((cut / "manifest.json").read_text())
    newest = {**told, "run": "cut", "created_at": "2099-01-01T00:00:00.000Z"}
    (cut / "manifest.json").write_text(json.dumps(newest))
    done = ran.quick("predict", "x.lisp", "--output", "scores", "--in", "tokens=x.npz")
    held(done, 0)
    assert "from one@12" in done.err
    for path in (cut, ran.made("other")):
        shutil.rmtree(path)
    other.unlink()


def test_a_file_without_a_run_is_told(ran: Folder) -> None:
    ran.write("other.lisp", (ran.path / "x.lisp").read_text())
    done = ran.quick("predict", "other.lisp", "--output", "scores", "--json")
    held(done, 2)
    assert done.diagnostics[0]["code"] == "E-USAGE-RUN"


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Folder:
    """A folder with a run of a small transformer over bytes."""
    folder = Folder(tmp_path_factory.mktemp("sample"), kernel_cache)
    folder.write("letters.txt", TEXT)
    model = "(nn:linear (nn:transformer (nn:embedding x 256 16) 2 :heads 2 :rope t :causal t) 256)"
    text = network(run=":steps 60 :seed 3", model=model).replace("(letter tokens)", "tokens")
    output = "(defoutput next (&key tokens) (:autoregressive t) (network tokens))\n"
    folder.write("x.lisp", text.replace("(defrun ", output + "(defrun "))
    held(folder("run", "x.lisp", "--name", "one", "-q"), 0)
    return folder


def sampled(letters: Folder, *more: str) -> dict[str, Any]:
    done = letters.quick("sample", "x.lisp", *more, "--json")
    held(done, 0)
    validate(done.document)
    return done.document


def test_a_seed_gives_a_text_again(letters: Folder) -> None:
    first = sampled(letters, "--prompt", "the qu", "--tokens", "40")
    assert first["prompt"] == list(b"the qu")
    assert len(first["tokens"]) == 40
    assert bytes(first["tokens"]).decode("utf-8", errors="replace") == first["text"]
    again = sampled(letters, "--prompt", "the qu", "--tokens", "40")
    assert again["tokens"] == first["tokens"]
    other = sampled(letters, "--prompt", "the qu", "--tokens", "40", "--seed", "9")
    assert other["tokens"] != first["tokens"]
    greedy = [sampled(letters, "--temperature", "0", "--seed", str(n))["tokens"] for n in (1, 2)]
    assert greedy[0] == greedy[1] == sampled(letters, "--top-k", "1")["tokens"]
    text = letters.quick("sample", "x.lisp", "--prompt", "the qu", "--tokens", "40")
    assert text.out.rstrip("\n") == ("the qu" + first["text"]).rstrip("\n")


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_kept_keys_and_values_give_the_tokens_of_the_whole_graph(
    letters: Folder, device: str
) -> None:
    save = runs.save(letters.path / "runs", "one")
    with trained.model(*save, file=letters.path / "x.lisp", device_name=device) as model:
        kept, whole = Writer(model), Writer(model, cached=False)
        assert kept.context == 9
        for sampler in (Sampler(seed=5), Sampler(0.0), Sampler(2.0, top_k=40, top_p=0.9)):
            found = kept.write("the quick brown fox", 30, sampler)  # longer than the context
            assert found.tokens == whole.write("the quick brown fox", 30, sampler).tokens


@pytest.mark.parametrize(
    ("argv", "exit_", "code"),
    [
        (("--output", "nxt"), 2, "E-USAGE-VALUE"),
        (("--prompt", ""), 2, "E-USAGE-VALUE"),
        (("--top-p", "1.5"), 2, "E-USAGE-VALUE"),
        (("--from", "one@7"), 3, "E-CHECKPOINT-NONE"),
    ],
)
def test_what_cannot_be_sampled_is_told(
    letters: Folder, argv: tuple[str, ...], exit_: int, code: str
) -> None:
    done = letters.quick("sample", "x.lisp", *argv, "--json")
    held(done, exit_)
    assert [d["code"] for d in done.diagnostics] == [code]


def test_an_output_that_is_not_autoregressive_is_told(ran: Folder) -> None:
    for argv, exit_ in ((("--output", "scores"), 1), ((), 2)):
        done = ran.quick("sample", "x.lisp", *argv, "--json")
        held(done, exit_)
