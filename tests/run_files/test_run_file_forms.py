"""Forms that a run keeps values for: a whole pass gathered, numbers of a split, groups that rest,
weights of a file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_file import HERE, arrays, events, train
from safetensors.numpy import save_file

from sexpgpu_core import api
from sexpgpu_core.spans import Source


def changed(file: str, *pairs: tuple[str, str]) -> Source:
    """A file of this folder with texts in place of others."""
    text = (HERE / f"{file}.lisp").read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return Source(str(HERE / "changed.lisp"), text)


def codes(source: Source) -> list[str]:
    return [d.code for d in api.check(source).diagnostics]


def resumed_alike(file: Path, root: Path, at: int) -> None:
    """A run that goes on from a step ends in the bits of one that was never broken off."""
    whole = api.run(file, runs_root=root, name="whole")
    wanted, seen = arrays(whole.folder), events(whole.folder, "eval")
    again = api.run(file, runs_root=root, resume=f"whole@{at}")
    assert again.exit == 0
    found = arrays(again.folder)
    assert found.keys() == wanted.keys()
    assert all(np.array_equal(found[n], a) for n, a in wanted.items())
    assert events(again.folder, "eval")[-1:] == seen[-1:] or not seen or _alike(again.folder, seen)


def _alike(folder: Path, seen: list[dict[str, Any]]) -> bool:
    return bool(events(folder, "eval")[-1]["metrics"] == seen[-1]["metrics"])


@pytest.fixture
def lora(tmp_path: Path) -> Path:
    """lora.lisp beside the weights that it loads."""
    rng = np.random.default_rng(1)
    shapes = {"0.w": (64, 32), "0.b": (32,), "1.w": (32, 10), "1.b": (10,)}
    made = {f"layers.{n}": rng.normal(0, 0.1, s).astype(np.float32) for n, s in shapes.items()}
    save_file({**made, "step": np.array([3])}, tmp_path / "base.safetensors")
    shutil.copy(HERE / "lora.lisp", tmp_path)
    return tmp_path / "lora.lisp"


# over-pass


def area(scores: np.ndarray, labels: np.ndarray) -> float:
    """The share of pairs of a positive and a negative in the right order."""
    apart = scores[labels][:, None] - scores[~labels][None, :]
    return float(np.mean((apart > 0) + 0.5 * (apart == 0)))


def test_a_metric_over_a_pass_is_of_all_its_examples(tmp_path: Path) -> None:
    folder = train("ranking", tmp_path)
    found = {n.partition("net/")[2]: a for n, a in arrays(folder).items() if n[:6] == "params"}
    loader = api.load(HERE / "ranking.lisp").loaders["digits"]
    batches = list(loader.evaluation("val"))
    assert len(batches[-1]["label"]) < len(batches[0]["label"])
    image = np.concatenate([b["image"] for b in batches]).astype(np.float32)
    label = np.concatenate([b["label"] for b in batches]) == 0
    hidden = np.maximum(image / 16 @ found["linear/w"] + found["linear/b"], 0)
    scores = (hidden @ found["linear-2/w"] + found["linear-2/b"])[:, 0]
    told = events(folder, "eval")[-1]["metrics"]
    assert told["val/auc"] == pytest.approx(area(scores, label), abs=1e-5)


@pytest.mark.parametrize("rows", [7, 36, 360])
def test_it_does_not_depend_on_how_the_pass_is_cut(rows: int, tmp_path: Path) -> None:
    whole = events(train("ranking", tmp_path, name="a"), "eval")[-1]["metrics"]
    source = changed("ranking", (":batch 50", f":batch {rows}"))
    path = tmp_path / "cut.lisp"
    path.write_text(source.text, encoding="utf-8")
    cut = events(api.run(path, runs_root=tmp_path, name="b").folder, "eval")[-1]["metrics"]
    for name in ("val/auc", "val/precision"):
        assert cut[name] == pytest.approx(whole[name], abs=2e-6), name


def test_a_pass_of_some_batches_gathers_those(tmp_path: Path) -> None:
    source = changed("ranking", (":every 10 :at (0)", ":at (:end) :batches 3"))
    path = tmp_path / "some.lisp"
    path.write_text(source.text, encoding="utf-8")
    done = api.run(path, runs_root=tmp_path)
    assert done.exit == 0, done.error
    assert 0 <= events(done.folder, "eval")[-1]["metrics"]["val/auc"] <= 1


def test_series_of_the_whole_are_in_the_manifest_and_on_resume(tmp_path: Path) -> None:
    resumed_alike(HERE / "ranking.lisp", tmp_path, 10)
    (opened,) = events(tmp_path / "whole", "open")
    assert {"val/auc", "val/loss"} <= set(opened["series"])


OBJECTIVE = '(metric "loss" (mean (binary-cross-entropy (score image) (cast (= label 0) :f32))))'


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (OBJECTIVE, "(mean (over-pass (score image)))", "E-STAGE-OUTSIDE"),
        ("(over-pass s) (over-pass zero)", "(over-pass (mean s)) zero", "E-METRIC"),
        ("(over-pass s) (over-pass zero)", "(over-pass (iota 50)) (over-pass zero)", "E-METRIC"),
        ('"auc" (nn:auc', '"auc" (+ (mean s) (nn:auc', "E-METRIC"),
        ("(over-pass s) (over-pass zero)", "s zero", "W-METRIC-BATCHWISE"),
    ],
)
def test_what_cannot_be_gathered_is_told(old: str, new: str, code: str) -> None:
    text = (HERE / "ranking.lisp").read_text(encoding="utf-8").replace(old, new)
    if "(+ (mean s)" in new:
        text = text.replace(
            "(over-pass s) (over-pass zero)))", "(over-pass s) (over-pass zero))))", 1
        )
    assert {c for c in codes(Source("changed.lisp", text)) if c != "W-UNUSED"} == {code}


def test_the_edit_of_a_metric_by_batches_gathers_its_operands() -> None:
    source = changed("ranking", ("(over-pass s) (over-pass zero)", "s zero"))
    found = next(d for d in api.check(source).diagnostics if d.code == "W-METRIC-BATCHWISE")
    assert found.edit is not None
    (change,) = found.edit.changes
    text = source.text[: change.span.start] + change.new + source.text[change.span.end :]
    assert "(nn:auc (over-pass s) (over-pass zero))" in text
    assert len(codes(Source("changed.lisp", text))) == 1  # the other metric's


# stage-stat


def test_numbers_of_a_split_are_of_that_split_alone(tmp_path: Path) -> None:
    loaded = api.load(HERE / "normalized.lisp")
    compiled = api.compile(loaded, api.device("cpu", loaded.registry))
    loader = loaded.loaders["digits"]
    batches = list(loader.evaluation("train"))
    image = np.concatenate([b["image"] for b in batches]).astype(np.float64)
    label = np.concatenate([b["label"] for b in batches])
    job = compiled.job
    found = [job.initial(n) for n in job.persistent.types if n.startswith("constant:")]
    wanted = [image.mean(0), image.std(0), np.bincount(label, minlength=10)]
    for array in wanted:
        assert any(a.shape == array.shape and np.allclose(a, array, rtol=1e-6) for a in found)
    assert all(a.dtype == np.float32 for a in found)


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("image :mean", lambda x, y: x.mean()),
        ("image :std :axis '(0 1)", lambda x, y: x.std()),
        ("image :min :axis 0", lambda x, y: x.min(0)),
        ("image :max", lambda x, y: x.max()),
        ("label :count-by 12", lambda x, y: np.bincount(y, minlength=12)),
    ],
)
def test_each_kind_of_number_is_what_numpy_says(written: str, wanted: Any) -> None:
    source = changed("normalized", ("image :mean :axis 0", written))
    loaded = api.load(source)
    value = loaded.evaluator.evaluate("*mean*")
    batches = list(loaded.loaders["digits"].evaluation("train"))
    x = np.concatenate([b["image"] for b in batches]).astype(np.float64)
    y = np.concatenate([b["label"] for b in batches])
    expected = np.asarray(wanted(x, y))
    assert value.type.shape == expected.shape
    assert np.allclose(value.load(), expected, rtol=1e-6)


def test_numbers_of_a_split_are_in_the_identity_and_the_manifest(tmp_path: Path) -> None:
    one = api.identity(api.load(HERE / "normalized.lisp"))
    two = api.identity(api.load(changed("normalized", ("image :std :axis 0", "image :std"))))
    assert one != two
    resumed_alike(HERE / "normalized.lisp", tmp_path, 10)
    manifest = json.loads((tmp_path / "whole" / "manifest.json").read_text(encoding="utf-8"))
    assert {"stage-stat image mean", "stage-stat label count-by"} <= {
        entry["source"] for entry in manifest["data"]
    }


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("(digits :train) image :std", "(digits :val) image :std", "W-STAT-LEAK"),
        ("(digits :train) image :std", "(digits :test) image :std", "E-LOADER-STAGE"),
        ("(digits :train) image :std", "(digit :train) image :std", "E-LOADER-STAGE"),
        ("image :std :axis 0", "images :std :axis 0", "E-FIELD"),
        ("image :std :axis 0", "image :deviation :axis 0", "E-OPTION"),
        ("image :std :axis 0", "image :std :axes 0", "E-OPTION"),
        ("image :std :axis 0", "image :std :axis 1", "E-OPTION-VALUE"),
        ("label :count-by classes", "label :count-by 0", "E-OPTION-VALUE"),
    ],
)
def test_a_number_that_is_not_there_is_told(old: str, new: str, code: str) -> None:
    assert code in codes(changed("normalized", (old, new)))


def test_a_stage_that_is_not_there_is_told_at_its_words() -> None:
    source = changed("normalized", ("(digits :train) image :std", "(digits :trian) image :std"))
    (told,) = [d for d in api.check(source).diagnostics if d.code == "E-LOADER-STAGE"]
    assert (told.span and told.span.text, told.hint) == ("(digits :trian)", "did you mean :train?")


def test_a_number_of_a_split_beside_what_it_does_not_fit_is_told_as_any_tensor() -> None:
    call = "(- label (stage-stat (digits :train) label :count-by 10))"
    text = (HERE / "normalized.lisp").read_text(encoding="utf-8")
    start = text.index("(defun prepare")
    more = f"(defun prepare (&key image label)\n  (batch :image image :label {call}))\n"
    end = text.index("(def", start + 1)
    said = api.check(Source(str(HERE / "x.lisp"), text[:start] + more + text[end:])).diagnostics
    (told,) = [d for d in said if d.is_error]
    assert (told.code, told.span and told.span.text) == ("E-DTYPE-MIX", call)
    notes = [note.message for note in told.related]
    assert "operand 2 is f32 (10), data that is read before the run" in notes


def test_values_that_are_not_counted_end_the_run(tmp_path: Path) -> None:
    source = changed("normalized", ("label :count-by classes", "label :count-by 5"))
    path = tmp_path / "few.lisp"
    path.write_text(source.text, encoding="utf-8")
    done = api.run(path, runs_root=tmp_path)
    assert done.exit == 3
    assert done.error is not None
    assert done.error.code == "E-DATA-FORMAT"


# Groups that rest


def moved(folder: Path, step: int, part: str) -> bool:
    """Whether parameters of a part moved in a step."""
    before, after = arrays(folder, step - 1), arrays(folder, step)
    names = [n for n in before if n.startswith((f"params:{part}", f"optimizer:{part}"))]
    assert names
    return any(not np.array_equal(before[n], after[n]) for n in names)


def test_a_group_moves_at_its_own_steps_and_counts_them(tmp_path: Path) -> None:
    folder = train("taking_turns", tmp_path)
    for step in range(2, 13):
        assert moved(folder, step, "critic")
        assert moved(folder, step, "generator") == (step % 3 == 0), step
    document = json.loads(
        (folder / "checkpoints" / "step-00000012" / "checkpoint.json").read_text(encoding="utf-8")
    )
    assert document["group_updates"] == {"3/2": 4}


def test_its_first_update_is_that_of_a_first_step(tmp_path: Path) -> None:
    """Bias correction counts the group's own updates: Adam's first step is lr in each element."""
    folder = train("taking_turns", tmp_path)
    before, after = arrays(folder, 2), arrays(folder, 3)
    names = [n for n in before if n.startswith("params:generator")]
    steps = np.concatenate([np.abs(after[n] - before[n]).ravel() for n in names])
    assert np.max(steps) == pytest.approx(1e-3, rel=0.05)


def test_groups_that_rest_resume_to_the_same_bits(tmp_path: Path) -> None:
    resumed_alike(HERE / "taking_turns.lisp", tmp_path, 7)


def test_microbatches_do_not_change_who_moves(tmp_path: Path) -> None:
    whole = arrays(train("taking_turns", tmp_path))
    parts = arrays(train("taking_turns", tmp_path, sets=[("blocks", "4")], name="parts"))
    for name, a in whole.items():
        assert np.allclose(a, parts[name], rtol=1e-3, atol=1e-5), name


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (":every 3 :offset 3", "E-OPTION-VALUE"),
        (":every 0 :offset 0", "E-OPTION-VALUE"),
        (":every 2 :offset 1", None),
    ],
)
def test_cadences_that_make_no_sense_are_told(new: str, code: str | None) -> None:
    assert codes(changed("taking_turns", (":every 3 :offset 2", new))) == ([code] if code else [])


def test_more_than_four_patterns_are_refused() -> None:
    groups = "".join(
        f'(group (select :path "{path}") (optim:sgd :lr 0.1) :loss :critic :every {every})'
        for path, every in (("critic/linear/w", 2), ("critic/linear/b", 3), ("critic/**", 5))
    )
    old = '(group (select :path "critic/**") (optim:adamw :lr 1e-3) :loss :critic)'
    assert codes(changed("taking_turns", (old, groups))) == ["E-GROUP-PATTERNS"]


def test_what_a_group_minimises_and_when_is_part_of_the_experiment() -> None:
    one = api.identity(api.load(HERE / "taking_turns.lisp"))
    two = api.identity(api.load(changed("taking_turns", (":every 3 :offset 2", ":every 3"))))
    assert one != two


# LoRA


def test_loaded_weights_stay_and_adapters_learn_over_a_resume(lora: Path, tmp_path: Path) -> None:
    assert api.check(lora).diagnostics == []
    resumed_alike(lora, tmp_path / "runs", 10)
    found = arrays(tmp_path / "runs" / "whole")
    from safetensors.numpy import load_file

    base = load_file(tmp_path / "base.safetensors")
    for ours, theirs in (("in", "layers.0"), ("out", "layers.1")):
        for part in "wb":
            assert np.array_equal(found[f"params:net/{ours}/{part}"], base[f"{theirs}.{part}"])
        assert np.abs(found[f"params:net/{ours}/up"]).max() > 0
    losses = [e["metrics"]["val/loss"] for e in events(tmp_path / "runs" / "whole", "eval")]
    assert losses[-1] < losses[0]


def test_progress_is_that_of_the_counter_which_ends_the_run() -> None:
    from sexpgpu_core.runtime.progress import Progress

    assert Progress(10, step=4).share == 0.4
    assert Progress(10, step=4, counters={"tokens": 30}, until=("tokens", 40)).share == 0.75
    assert Progress(10, counters={"tokens": 50}, until=("tokens", 40)).copy().share == 1.0
