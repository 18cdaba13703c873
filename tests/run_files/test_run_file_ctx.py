"""Each cell of the table of `ctx` holds: a key is known where it says so, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ctx_cases import (
    COUNTERS,
    FILE,
    KEYS,
    NOWHERE,
    PLACES,
    STAGELESS,
    VALUES,
    WRONG,
    Wrong,
    asking,
    filled,
)
from run_file import HERE, events

from sexpgpu_core import api
from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.spans import Source

PAGE = HERE.parents[2] / "shared" / "design" / "contracts" / "ctx.md"
ROW = re.compile(r"^\| (.*?) \| (number|text|step scalar) \| .*? \| ([A-Z ]+) \|", re.M)


def said(text: str) -> list[Diagnostic]:
    return list(api.check(Source(str(HERE / "asked.lisp"), text)).diagnostics)


def errors(text: str) -> list[Diagnostic]:
    return [d for d in said(text) if d.is_error]


def of_key(key: str) -> str:
    return '(ctx :metric "val/loss")' if key == "metric" else f"(ctx :{key})"


@pytest.mark.skipif(not PAGE.exists(), reason="the design's pages are not beside the checkout")
def test_the_table_is_that_of_the_contract() -> None:
    found: dict[str, tuple[str, set[str]]] = {}
    for cell, kind, places in ROW.findall(PAGE.read_text(encoding="utf-8")):
        key = re.findall(r":([a-z-]+)", cell)[0]
        found.setdefault("seen" if key == "tokens" else key, (kind, set(places.split())))
    found["stage"][1].add("U")  # nil there
    assert found == {key: (kind, set(places)) for key, (kind, places) in KEYS.items()}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_known_in_its_places_alone(key: str, place: str) -> None:
    found = errors(asking(place, of_key(key)))
    if place in KEYS[key].places:
        assert found == []
        return
    (told,) = found
    assert told.code == "E-CTX-KEY"
    assert told.span is not None
    assert told.span.text in (of_key(key), f":{key}")  # the key alone where another is near
    assert told.message == (
        "(ctx :seen) is no key" if (key, place) == ("seen", "L") else
        f"(ctx :{key}) is not known in {PLACES[place]}"
    )  # fmt: skip
    if (key, place) != ("seen", "L"):
        where = re.findall("|".join(PLACES.values()), told.hint or "")
        assert set(where) >= {PLACES[p] for p in KEYS[key].places}


@pytest.mark.parametrize("key", [k for k in KEYS if k != "metric"])
def test_numbers_and_texts_are_known_while_tracing_and_step_scalars_are_not(key: str) -> None:
    for place in KEYS[key].places:
        test = "=" if KEYS[key].kind == "step scalar" else "equal"
        found = errors(asking(place, f"(if ({test} (ctx :{key}) 99) 1 2)"))
        if KEYS[key].kind != "step scalar" or place == "C":
            assert found == [], place
        else:
            assert [d.code for d in found] == ["E-STAGE-TENSOR"], place


@pytest.mark.parametrize(("place", "form", "values"), VALUES)
def test_a_key_has_its_value(place: str, form: str, values: str) -> None:
    known = values.split()
    test = "(or " + " ".join(f"(equalp {form} {v})" for v in known) + ")"
    assert errors(asking(place, f'(or {test} (error "~s" {form}))')) == []
    for value in known:
        others = "(or " + " ".join(f"(equalp {form} {v})" for v in known if v != value) + ")"
        found = errors(asking(place, f'(or {others} (error "~s" {form}))'))
        assert found, f"never {value}"


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: f"{w.place} {w.form}")
def test_what_is_no_question_is_told(wrong: Wrong) -> None:
    tell(errors(asking(wrong.place, wrong.form)), wrong)


def tell(found: list[Diagnostic], wrong: Wrong) -> None:
    (told,) = found
    assert told.code == wrong.code
    assert told.span is not None
    assert told.span.text.startswith(wrong.marked)
    assert wrong.told in f"{told.message} {told.hint}"
    assert "Use the nearest" not in (told.hint or "Use the nearest")


@pytest.mark.parametrize("wrong", STAGELESS, ids=lambda w: w.place)
def test_the_share_of_a_stage_is_known_where_it_says_its_steps(wrong: Wrong) -> None:
    text = asking(wrong.place, wrong.form)
    assert errors(text) == []
    tell(errors(text.replace(" :steps 8)", ")")), wrong)


@pytest.mark.parametrize("wrong", COUNTERS, ids=lambda w: w.form)
def test_a_counter_that_is_wrong_is_told_at_its_clause(wrong: Wrong) -> None:
    tell(errors(filled().replace("(counter :seen 1)", wrong.form)), wrong)


@pytest.mark.parametrize(("words", "written"), NOWHERE)
def test_no_key_is_known_where_there_is_no_graph(words: str, written: str) -> None:
    text = filled().replace(words, written, 1)
    assert text != filled()
    (told,) = errors(text)
    assert (told.code, told.span and told.span.text[:5]) == ("E-CTX-KEY", "(ctx ")
    assert "where no key is known" in told.message
    assert "ask inside" in (told.hint or "")


STEP_KEYS = [k for k, (kind, _) in KEYS.items() if kind == "step scalar"]


def test_step_scalars_have_the_numbers_of_before_the_step(tmp_path: Path) -> None:
    told = " ".join(f'(metric "{k}" (* (ctx :{k}) (tensor 1.0)))' for k in STEP_KEYS)
    passed = " ".join(
        f'(metric "{k}" (* (ctx :{k}) (tensor 1.0)))' for k in STEP_KEYS if "E" in KEYS[k].places
    )
    text = filled(O=f"(progn {told} 1)", E=f"(progn {passed} 1)")
    file = tmp_path / "it.lisp"
    file.write_text(text, encoding="utf-8")
    done = api.run(file, runs_root=tmp_path, name="it")
    assert done.exit == 0, done.error
    rate = {
        "step": 1, "updates": 1, "progress": 1 / 4, "stage-step": 1, "stage-progress": 1 / 8,
        "epoch": 0, "epoch-progress": 1 / 89, "examples": 16, "seen": 1,
    }  # fmt: skip
    found = events(tmp_path / "it", "step")
    assert [e["step"] for e in found] == [1, 2, 3, 4]  # that which saw t is t + 1
    steps = [e["metrics"] for e in found]
    for t, found in enumerate(steps):
        for k, by in rate.items():
            assert found[f"train/{k}"] == pytest.approx(t * by), (t, k)
    passes = {e["step"]: e["metrics"] for e in events(tmp_path / "it", "eval")}
    assert set(passes) == {2, 4}
    for t, found in passes.items():
        for k in (k for k in rate if "E" in KEYS[k].places):
            assert found[f"val/{k}"] == pytest.approx(t * rate[k]), (t, k)


def test_the_file_itself_is_right() -> None:
    assert said(filled()) == []
    assert FILE.count("@") == len(PLACES)
