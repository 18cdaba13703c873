"""Passes that compute outputs, save them, and read the weights of the best checkpoint; calls that
are replaced; frozen weights in a narrower dtype."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from run_file import HERE, arrays, events, train

from sexpgpu_core import api
from sexpgpu_core.runtime.artifacts import pictures, png
from sexpgpu_core.spans import Source


def changed(file: str, *pairs: tuple[str, str]) -> Source:
    text = (HERE / f"{file}.lisp").read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return Source(str(HERE / "changed.lisp"), text)


def told(source: Source, code: str) -> str:
    found = [d for d in api.check(source).diagnostics if d.code == code]
    assert found, [(d.code, d.message) for d in api.check(source).diagnostics]
    assert found[0].span is not None
    return found[0].message


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train("saved_outputs", tmp_path_factory.mktemp("saved"))


def test_a_pass_saves_every_row_of_an_output_in_order(saved: Path) -> None:
    done = {e["pass"]: e for e in events(saved, "eval")}
    assert done["codes"]["artifacts"] == ["artifacts/codes/step-00000030/code.npz"]
    codes = np.load(saved / done["codes"]["artifacts"][0])["code"]
    weights = {n.partition("params:")[2]: a for n, a in arrays(saved).items()}
    loader = api.load(HERE / "saved_outputs.lisp").loaders["digits"]
    image = np.concatenate([b["image"] for b in loader.evaluation("val")]).astype(np.float32)
    layers = [weights[f"encoder/{n}/{k}"] for n in ("linear", "linear-2") for k in ("w", "b")]
    w, b, v, c = layers
    np.testing.assert_allclose(codes, np.tanh(image / 16 @ w + b) @ v + c, rtol=1e-4, atol=1e-5)
    length = float(np.sqrt((codes.astype(np.float64) ** 2).sum(1)).mean())
    assert done["codes"]["metrics"]["codes/length"] == pytest.approx(length, rel=1e-5)
    assert done["codes"]["examples"] == len(image)


def test_a_pass_without_a_loader_draws_the_same_at_every_step_and_saves_pictures(
    saved: Path,
) -> None:
    drawn = [e for e in events(saved, "eval") if e["pass"] == "draws"]
    assert [e["step"] for e in drawn] == [0, 30]
    for event in drawn:
        data = (saved / event["artifacts"][0]).read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", data[16:24]) == (4 * 10 - 2, 2 * 10 - 2)
    assert drawn[0]["metrics"]["draws/ink"] != drawn[1]["metrics"]["draws/ink"]


def test_the_best_weights_are_read_for_the_pass_alone(tmp_path: Path) -> None:
    # at last the loss is climbed: the best step is an earlier one
    steep = ("(optim:adamw :lr 1e-2)", "(optim:sgd :lr (where (< (ctx :step) 20) 0.5 -5.0))")
    name = "saved_outputs"
    source = changed(name, steep, (":every 10)", ":every 10 :at (:end))"))
    live = changed(name, steep, (':weights (:best "val/loss")', ":weights :live"))
    for key, text in (("best", source), ("live", live)):
        (tmp_path / f"{key}.lisp").write_text(text.text, encoding="utf-8")
    found = {k: api.run(tmp_path / f"{k}.lisp", runs_root=tmp_path) for k in ("best", "live")}
    assert {d.exit for d in found.values()} == {0}
    best, other = found["best"].folder, found["live"].folder
    last = {k: events(f, "eval")[-1] for k, f in (("best", best), ("live", other))}
    assert last["best"]["weights"] == "best"
    assert last["best"]["metrics"] != last["live"]["metrics"]
    step = min(events(best, "eval"), key=lambda e: e["metrics"].get("val/loss", np.inf))["step"]
    assert step < 30
    codes = np.load(best / last["best"]["artifacts"][0])["code"]
    weights = {n.partition("params:")[2]: a for n, a in arrays(best, step).items()}
    loader = api.load(HERE / "saved_outputs.lisp").loaders["digits"]
    image = np.concatenate([b["image"] for b in loader.evaluation("val")]).astype(np.float32)
    hidden = np.tanh(image / 16 @ weights["encoder/linear/w"] + weights["encoder/linear/b"])
    wanted = hidden @ weights["encoder/linear-2/w"] + weights["encoder/linear-2/b"]
    np.testing.assert_allclose(codes, wanted, rtol=1e-4, atol=1e-5)
    ends = [arrays(best), arrays(other)]
    assert all(np.array_equal(ends[1][n], a) for n, a in ends[0].items() if n[:6] == "params")


@pytest.mark.parametrize(
    ("old", "new", "code", "word"),
    [
        (":output draw :at", ":output code :at", "E-OUTPUT", "wants the field image"),
        ("(list 6 8 8)", "(list 6 64)", "E-OUTPUT", "is no picture"),
        (":random (normal 1)", "", "E-OUTPUT", "wants the field z"),
        (":at (0 :end) :save", ":batches 2 :save", "E-OPTION-VALUE", ":batches"),
        (":output code :weights", ":weights", "E-OPTION-VALUE", ":save"),
        (":keep 1 :best (\"val/loss\" :min)", ":keep 1", "E-OPTION-VALUE", "none is kept"),
        (":output code :weights", ":output code :every 5 :weights", "E-OPTION-VALUE", "at the end"),
        (":save t", ":save :npz", "E-OPTION-VALUE", "t or nil"),
        ("(encoder image))\n\n(defrun", "(mean (encoder image) :axis 0))\n\n(defrun", "E-OUTPUT",
         "mixes rows"),
    ],
)  # fmt: skip
def test_an_output_that_cannot_be_of_the_pass_is_told(
    old: str, new: str, code: str, word: str
) -> None:
    assert word in told(changed("saved_outputs", (old, new)), code)


def test_a_sheet_holds_each_picture_at_its_place() -> None:
    found = pictures(np.arange(5 * 2 * 3, dtype=np.uint8).reshape(5, 2, 3), 3)
    assert found.shape == (2 * 2 + 2, 3 * 3 + 2 * 2, 1)
    assert found[4:6, 5:8, 0].tolist() == [[24, 25, 26], [27, 28, 29]]
    data = png(found)
    lines = zlib.decompress(data[data.index(b"IDAT") + 4 : -16])
    assert lines == b"".join(b"\0" + line.tobytes() for line in found)


# with-call


def test_replaced_calls_keep_the_paths_of_what_they_replace(tmp_path: Path) -> None:
    folder, one = train("replaced_calls", tmp_path), None
    found = {n.partition("params:")[2]: a for n, a in arrays(folder).items() if "params:" in n}
    scope = "net/h/0/attention/qkv"
    assert {f"{scope}/w", f"{scope}/down", f"{scope}/up"} <= set(found)
    assert not any("with-adapter" in name for name in found)
    one = train("replaced_calls", tmp_path, steps=1, name="one")
    first = {n.partition("params:")[2]: a for n, a in arrays(one).items() if "params:" in n}
    moved = {n for n, a in found.items() if not np.array_equal(a, first[n])}
    assert f"{scope}/w" not in moved
    assert f"{scope}/down" in moved


def test_a_replacement_that_replaces_nothing_names_the_nearest_call() -> None:
    source = changed("replaced_calls", ('"**/attention/*"', '"net/h/0/attention/qvk"'))
    said = next(d for d in api.check(source).diagnostics if d.code == "E-OPTION-VALUE")
    assert "net/h/0/attention/qkv" in (said.hint or "")


def test_the_original_is_called_once() -> None:
    source = changed("replaced_calls", ("(+ y (matmul", "(+ (nn:linear x out) y (matmul"))
    assert "calls linear twice" in told(source, "E-PARAM-DUPLICATE")


# Frozen groups


def test_a_frozen_group_is_kept_in_its_dtype_and_read_as_it_was_declared(tmp_path: Path) -> None:
    every = (":log-every 10", ":log-every 10 :checkpoint (:every 10)")
    source = changed("adapters", (":frozen)", ":frozen :dtype :bf16)"), every)
    (tmp_path / "adapters.lisp").write_text(source.text, encoding="utf-8")
    done = api.run(tmp_path / "adapters.lisp", runs_root=tmp_path)
    assert done.exit == 0
    kept = {n: a.dtype.name for n, a in arrays(done.folder).items() if n.startswith("params:")}
    assert {n: d for n, d in kept.items() if n.endswith("/w")} == {
        "params:net/in/w": "bfloat16", "params:net/out/w": "bfloat16"
    }  # fmt: skip
    assert {d for n, d in kept.items() if not n.endswith("/w")} == {"float32"}
    again = api.run(tmp_path / "adapters.lisp", runs_root=tmp_path, resume=f"{done.folder.name}@10")
    assert again.exit == 0


def test_a_dtype_is_of_frozen_groups_alone() -> None:
    source = changed("adapters", ("(optim:adamw :lr 1e-2)", "(optim:adamw :lr 1e-2) :dtype :bf16"))
    assert "this one is trained" in told(source, "E-OPTION-VALUE")
