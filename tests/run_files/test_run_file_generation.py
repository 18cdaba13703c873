"""Outputs that take and return states of rows: what they carry is what one call of all gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_file import HERE, arrays, train

from sexpgpu_core import api, trained
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.generation import Writer
from sexpgpu_core.runtime import runs
from sexpgpu_core.runtime.token_sampling import Sampler
from sexpgpu_core.serving import Model
from sexpgpu_core.spans import Source

FILE = HERE / "generation.lisp"
DEVICES = ("reference", "cpu", "cuda-emulated")
H, C = "state/writer/h", "state/writer/c"
LIKELIEST = Sampler(0.0, None, None, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train("generation", tmp_path_factory.mktemp("generation"), name="it")


def opened(folder: Path, device: str = "cpu", file: Path = FILE) -> Model:
    run, saved = runs.save(folder.parent, folder.name)
    return trained.model(run, saved, file=file, device_name=device)


@pytest.fixture(scope="module", params=DEVICES)
def model(request: pytest.FixtureRequest, folder: Path) -> Iterator[Model]:
    if request.param == "cuda-emulated":
        pytest.importorskip("sexpgpu_cuda")
    with opened(folder, request.param) as found:
        yield found


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def lstm(folder: Path, tokens: Any) -> tuple[Any, Any, Any]:
    """Logits of all places and the states after them, by NumPy in f64, from the states' :init."""
    a = {n.partition("params:writer/")[2]: x for n, x in arrays(folder).items()}
    h, c = np.zeros((len(tokens), 24)), np.full((len(tokens), 24), 0.1)
    logits = []
    for token in tokens.T:
        x = a["embedding/w"].astype(np.float64)[token]
        i, f, g, o = np.split(x @ a["lstm/w"] + a["lstm/b"] + h @ a["lstm/u"], 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        logits.append(h @ a["linear/w"] + a["linear/b"])
    return np.stack(logits, 1), h, c


def text(rows: int, places: int) -> Any:
    return np.random.default_rng(5).integers(32, 127, (rows, places)).astype(np.int32)


def test_pieces_with_their_states_give_what_one_call_of_all_gives(
    folder: Path, model: Model
) -> None:
    tokens = text(3, 9)
    logits, h, c = lstm(folder, tokens)
    states: dict[str, Any] = {}
    found = []
    for piece in (tokens[:, :4], tokens[:, 4:5], tokens[:, 5:]):
        given = model.predict("next", tokens=piece, **states)
        found.append(given.pop("next"))
        assert set(given) == {H, C}
        states = given
    np.testing.assert_allclose(np.concatenate(found, 1), logits, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(states[H], h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(states[C], c, rtol=1e-4, atol=1e-5)


def test_a_state_that_is_not_given_begins_at_its_init(folder: Path, model: Model) -> None:
    tokens = text(2, 3)
    one = model.predict("next", tokens=tokens)
    assert all(np.array_equal(one[n], a) for n, a in model.predict("next", tokens=tokens).items())
    begun = {H: np.zeros((2, 24), np.float32), C: np.full((2, 24), 0.1, np.float32)}
    assert np.array_equal(model.predict("next", tokens=tokens, **begun)["next"], one["next"])
    begun.pop(C)
    assert np.array_equal(model.predict("next", tokens=tokens, **begun)["next"], one["next"])


def test_sampling_goes_on_past_the_context_with_the_states(folder: Path, model: Model) -> None:
    prompt = [int(t) for t in text(1, 21)[0]]  # more than two contexts of 9
    writer = Writer(model, "next")
    assert writer.context == 9
    found = writer.write(prompt, 14, LIKELIEST).tokens
    said = np.array([prompt + found])
    logits, _, _ = lstm(folder, said)
    assert found == [int(t) for t in logits[0, len(prompt) - 1 : -1].argmax(-1)]
    assert writer.write(prompt, 14, LIKELIEST).tokens == found  # each text begins anew


def test_sampling_without_a_cache_gives_the_same_tokens(folder: Path) -> None:
    with opened(folder) as model:
        prompt = [int(t) for t in text(1, 12)[0]]
        found = [Writer(model, "next", cached).write(prompt, 9, LIKELIEST) for cached in (0, 1)]
        assert found[0].tokens == found[1].tokens


def test_rows_go_through_in_chunks_each_with_its_own_state(folder: Path) -> None:
    with opened(folder) as model:
        tokens = np.concatenate([text(21, 8), np.zeros((21, 1), np.int32)], 1)  # batches of 8
        first = model.predict("scores", tokens=tokens)
        assert first[H].shape == (21, 24)
        both = model.predict("scores", tokens=tokens, **{n: first[n] for n in (H, C)})
        rows = [20, 3]
        states = {n: first[n][rows] for n in (H, C)}
        alone = model.predict("scores", tokens=tokens[rows], **states)
        for name, array in alone.items():
            np.testing.assert_allclose(array, both[name][rows], rtol=1e-5, atol=1e-6)


def test_a_pass_keeps_the_states_of_its_rows_from_batch_to_batch(folder: Path) -> None:
    (saved,) = sorted(folder.glob("artifacts/scored/step-*/scores.npz"))
    found = np.load(saved)
    assert set(found.files) == {"scores"}
    tokens = [b["tokens"] for b in api.load(FILE).loaders["text"].evaluation("val")]
    assert len(tokens) > 2
    with opened(folder) as model:
        states: dict[str, Any] = {}
        wanted = []
        for batch in tokens:
            states = {n: a[: len(batch)] for n, a in states.items()}  # the last is short
            states = model.predict("scores", tokens=batch, **states)
            wanted.append(states.pop("scores"))
    np.testing.assert_allclose(found["scores"], np.concatenate(wanted), rtol=1e-4, atol=1e-5)


def test_fields_of_types_of_their_own_say_how_many_rows_there_are(folder: Path) -> None:
    with opened(folder) as model:
        token = np.array([[65], [66]])
        one = model.predict("step", token=token)
        assert one[H].shape == (2, 24)
        two = model.predict("step", token=one["likeliest"], **{n: one[n] for n in (H, C)})
        logits, _, _ = lstm(folder, np.concatenate([token, one["likeliest"]], 1))
        assert np.array_equal(two["likeliest"][:, 0], logits[:, 1].argmax(-1))


@pytest.mark.parametrize(
    ("given", "says", "hint"),
    [
        ({H: np.zeros((2, 24))}, "tokens 3, state/writer/h 2", "begins anew"),
        ({H: np.zeros((3, 23))}, "wants f32 (rows 24)", "axis 1 is 23, not 24"),
        ({H: np.zeros(24)}, "state/writer/h", "anew"),
        ({"state/writer/g": np.zeros((3, 24))}, "reads no state/writer/g", "state/writer/"),
        ({"h": np.zeros((3, 24))}, "reads no h", "state/writer/h f32 (rows 24)"),
    ],
)
def test_states_that_do_not_fit_are_told(
    folder: Path, given: dict[str, Any], says: str, hint: str
) -> None:
    with opened(folder) as model, pytest.raises(Problem) as caught:
        model.predict("next", tokens=text(3, 4), **given)
    told = caught.value.diagnostic
    assert told.code == "E-OUTPUT"
    assert says in told.message
    assert hint in (told.hint or "")


# A memory of the window before, and what check tells


MEMORY = """(defmodel writer (tokens)
  (defstate before (8 width) :init 0 :per :row)
  (let* ((x (nn:embedding tokens 256 width))
         (q (nn:linear x width))
         (now (softmax (matmul q (transpose x)) :axis -1 :mask (causal-mask 8)))
         (then (softmax (matmul q (transpose before)) :axis -1)))
    (prog1 (nn:linear (+ (matmul now x) (matmul then before)) 256)
      (setf before x))))
"""


def changed(*pairs: tuple[str, str]) -> str:
    found = FILE.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in found, old
        found = found.replace(old, new)
    return found


def model_of(found: str) -> str:
    return found[found.index("(defmodel writer") : found.index("(defun objective")]


def test_a_memory_of_the_window_before_is_read_by_each_place_of_the_next(tmp_path: Path) -> None:
    one = "(defoutput step (&key (token :shape (2 1) :dtype :i32))"
    found = changed((model_of(FILE.read_text(encoding="utf-8")), MEMORY))
    found = found[: found.index(one)] + found[found.index("(defrun") :]
    file = tmp_path / "memory.lisp"
    file.write_text(found, encoding="utf-8")
    done = api.run(file, runs_root=tmp_path, name="it")
    assert done.exit == 0, done.error
    with opened(done.folder, file=file) as model:
        prompt = [int(t) for t in text(1, 13)[0]]
        cached, whole = (Writer(model, "next", c).write(prompt, 12, LIKELIEST) for c in (1, 0))
        assert cached.tokens == whole.tokens
        said = np.array([[*prompt, *cached.tokens][:24]], np.int32)
        states: dict[str, Any] = {}
        logits = []
        for window in np.split(said, 3, axis=1):
            states = model.predict("next", tokens=window, **states)
            logits.append(states.pop("next"))
        likeliest = np.concatenate(logits, 1)[0].argmax(-1)
        assert cached.tokens[:11] == likeliest[12:23].tolist()


def mended(found: str) -> tuple[str, str]:
    """What the first mistake says, and the text with its edit."""
    first = api.check(Source("changed.lisp", found)).diagnostics[0]
    assert first.code == "E-OUTPUT"
    assert first.edit is not None
    (change,) = first.edit.changes
    return first.message, found[: change.span.start] + change.new + found[change.span.end :]


def test_an_output_that_reaches_a_state_of_rows_says_so_by_an_edit() -> None:
    says, after = mended(changed((' "Of a batch, and the states after it." (:state t)', "")))
    assert says == "output scores reaches a state :per :row, and takes none"
    assert not api.check(Source("changed.lisp", after)).diagnostics


def test_an_output_that_reaches_no_state_of_rows_says_so_by_an_edit() -> None:
    says, after = mended(
        changed(("  (writer inputs))\n\n(defoutput", "  (full '(2) 1.0))\n\n(defoutput"))
    )
    assert says == "output scores reaches no state :per :row"
    assert "(:state nil)" in after


def test_a_name_of_a_state_is_no_name_of_a_result() -> None:
    found = changed(("(batch :likeliest", "(batch :state/writer/h (writer token) :likeliest"))
    first = api.check(Source("changed.lisp", found)).diagnostics[0]
    assert "state/writer/h of its own" in first.message
