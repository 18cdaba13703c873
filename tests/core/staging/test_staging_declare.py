"""Run files to declarations: what each form leaves behind."""

from __future__ import annotations

import pytest
from staging_case import LOADER, declared, only, whole

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.staging.trace import curriculum_of, stage_counters

KNOBS = """(defknob width 10 "Units." :type (integer 1 64))
(defknob lr 1e-3 :type (float (0) 1))
(defknob mode :fast :choices (:fast :slow))
(defvariant small "Small." :width 4)
(defvariant tiny :from small :lr 1e-2)
"""
USES = "(defmodel net (x) (if (eq mode :fast) (* lr (nn:linear x width)) x))\n"


def knobs(**more: object) -> dict[str, str]:
    experiment, _ = declared(whole(knobs=KNOBS, model=USES), **more)
    return {name: knob.text for name, knob in experiment.knobs.items()}


def test_a_knob_is_default_then_variant_then_point_then_set() -> None:
    assert knobs() == {"width": "10", "lr": "0.001", "mode": ":fast"}
    assert knobs(variant="tiny") == {"width": "4", "lr": "0.01", "mode": ":fast"}
    assert knobs(variant="small", point=("s/1", {"width": "5"}))["width"] == "5"
    assert (
        knobs(variant="small", point=("s/1", {"width": "5"}), sets={"width": "6", "lr": "1e-1"})[
            "width"
        ]
        == "6"
    )


def test_a_whole_number_is_taken_for_a_float() -> None:
    assert knobs(sets={"lr": "1"})["lr"] == "1.0"


def test_choices_are_kept() -> None:
    assert only(whole(knobs=KNOBS, model=USES), sets={"mode": ":quick"}).code == "E-KNOB-VALUE"


def test_variants_are_checked_also_when_they_are_not_chosen() -> None:
    text = whole(knobs=KNOBS + "(defvariant odd :widht 3)\n", model=USES)
    found = only(text)
    assert found.code == "E-KNOB-UNKNOWN"
    assert "width" in (found.hint or "")
    assert (
        only(whole(knobs=KNOBS + "(defvariant odd :width 300)\n", model=USES)).code
        == "E-KNOB-VALUE"
    )


def test_an_unknown_variant_names_the_nearest() -> None:
    found = only(whole(knobs=KNOBS, model=USES), variant="tny")
    assert found.code == "E-VARIANT-UNKNOWN"
    assert "tiny" in (found.hint or "")


def test_variants_from_each_other_are_a_cycle() -> None:
    text = whole(knobs="(defvariant a :from b)\n(defvariant b :from a)\n")
    assert only(text, variant="a").code == "E-VARIANT-CYCLE"


def test_a_string_knob_takes_raw_text() -> None:
    text = whole(
        knobs='(defknob file "a.txt")\n', model="(defmodel net (x) file (nn:linear x 10))\n"
    )
    experiment, _ = declared(text, sets={"file": "data/b.txt"})
    assert experiment.knobs["file"].text == '"data/b.txt"'
    for given, kept in (('"b c.txt"', '"b c.txt"'), ("a b", '"a b"'), ("12", '"12"')):
        assert declared(text, sets={"file": given})[0].knobs["file"].text == kept


def test_a_quoted_value_is_told_since_none_is_evaluated() -> None:
    text = whole(knobs="(defknob k '(1 2))\n", model="(defmodel net (x) k (nn:linear x 10))\n")
    for value, datum in (("'(3 4)", "k=(3 4)"), ("(quote (3 4))", "k=(3 4)")):
        found = only(text, sets={"k": value})
        assert found.code == "E-KNOB-VALUE"
        assert datum in (found.hint or "")


@pytest.mark.parametrize(
    ("default", "right", "wrong"),
    [
        ("10", "12", "1.5"),
        ("1e-3", "2", "nil"),
        ("1/2", "0.25", ":a"),
        ('"a"', "b", None),
        ("t", "nil", "3"),
        ("nil", "t", "3"),
        (":sgd", ":adam", "3"),
        ("'(1 2)", "(3)", "3"),
    ],
)
def test_a_knob_without_a_type_has_that_of_its_default(
    default: str, right: str, wrong: str | None
) -> None:
    text = whole(knobs=f"(defknob k {default})\n", model="(defmodel net (x) k (nn:linear x 10))\n")
    declared(text, sets={"k": right})
    if wrong is not None:
        assert only(text, sets={"k": wrong}).code == "E-KNOB-VALUE"


def test_a_loader_keeps_what_its_clauses_say() -> None:
    loader = """(defloader text
  (source (python-stdlib :tokenizer :chars :limit 1000))
  (windows 17 :stride 16)
  (stage :train :split ((0 0.2) (0.4 1)) :order :random :batch 3)
  (stage :val :split (0.2 0.4) :windows (9 :stride 8))
  (batch 4)
  (counter :tokens (* (ctx :batch) (1- (ctx :window)))))
"""
    experiment, evaluator = declared(whole(loader=loader, passes=""))
    found = experiment.loaders["text"]
    assert found.source.kind == "python-stdlib"
    assert dict(found.source.options) == {"tokenizer": ":chars", "limit": 1000}
    assert (found.windows.size, found.windows.stride) == (17, 16)
    assert found.stages["train"].split == ((0.0, 0.2), (0.4, 1.0))
    assert (found.stages["train"].order, found.stages["train"].batch) == ("random", 3)
    assert found.stages["val"].windows.size == 9
    assert stage_counters(experiment, evaluator, "text", "train", 3) == {"tokens": 48}
    assert stage_counters(experiment, evaluator, "text", "val", 4) == {"tokens": 32}


def test_a_run_keeps_its_options() -> None:
    run = """(defrun :steps 10 :seed 7 :precision :bf16 :log-every 5 :finite-guard (:skip 3)
  :checkpoint (:every 4 :at (1 :end) :keep 2 :best ("val/loss" :min)))
"""
    found = declared(whole(run=run))[0].run
    assert (found.steps, found.seed, found.precision, found.log_every) == (10, 7, "bf16", 5)
    assert found.finite_guard == ("skip", 3)
    assert found.checkpoint.at == (1, "end")
    assert found.checkpoint.best == ("val/loss", "min")


def test_steps_and_seed_from_outside_stand() -> None:
    experiment, _ = declared(whole(), steps=5, seed=9)
    assert (experiment.run.steps, experiment.run.seed) == (5, 9)
    assert experiment.selection == {"steps": "5", "seed": "9"}


@pytest.mark.parametrize("run", ["(defrun)\n", "(defrun :steps 1 :epochs 2)\n"])
def test_a_run_has_one_length(run: str) -> None:
    assert only(whole(run=run)).code in ("E-MISSING", "E-OPTION-VALUE")


def test_a_macro_may_expand_into_declarations() -> None:
    macro = (
        "(defmacro passes (&rest names) `(progn ,@(mapcar (lambda (n) `(defeval ,n"
        " :loader (data :val))) names)))\n"
    )
    experiment, _ = declared(whole(passes=macro + "(passes one two)\n"))
    assert list(experiment.passes) == ["one", "two"]


def test_a_pass_finds_the_loader_of_its_stage() -> None:
    found = declared(whole(passes="(defeval val :loader :val :every 5 :at (0 :end))\n"))[0].passes[
        "val"
    ]
    assert (found.loader, found.stage, found.every, found.at) == ("data", "val", 5, (0, "end"))


def test_loader_info_gives_numbers_of_the_header() -> None:
    model = "(defmodel net (x) (nn:linear x (loader-info data :classes)))\n"
    found = declared(whole(model=model))[0]
    assert found.loaders["data"].source.kind == "digits"


def test_curriculum_names_the_curriculum_of() -> None:
    curriculum = "(defun curriculum () (if (< (ctx :step) 3) :train nil))\n"
    experiment, evaluator = declared(
        whole(optimizer="(defun optimizer () (groups (group :rest (optim:sgd))))\n" + curriculum)
    )
    asked = curriculum_of(experiment, evaluator, 10, ["data:train"])
    assert asked({"step": 1}, lambda series, which: None) == "data:train"
    assert asked({"step": 3}, lambda series, which: None) is None


def test_a_curriculum_that_names_no_stage_is_told() -> None:
    text = whole(
        optimizer=(
            "(defun optimizer () (groups (group :rest (optim:sgd))))\n(defun"
            " curriculum () :trian)\n"
        )
    )
    experiment, evaluator = declared(text)
    with pytest.raises(Problem) as caught:
        curriculum_of(experiment, evaluator, 10, [])({"step": 0}, lambda series, which: None)
    assert caught.value.diagnostic.code == "E-CURRICULUM"
    assert "train" in (caught.value.diagnostic.hint or "")


def test_modules_are_kept_with_their_hash() -> None:
    names = [m.name for m in declared(whole())[0].modules]
    assert [n for n in names if n.count("/") == 1] == ["sexpgpu/nn", "sexpgpu/optim"]
    assert {"sexpgpu/nn/norms", "sexpgpu/optim/schedules"} < set(names)


def test_a_stage_twice_is_told() -> None:
    loader = LOADER.replace("(batch 8)", "(stage :val) (batch 8)")
    assert only(whole(loader=loader)).code == "E-TWICE"


def test_a_precision_that_nothing_computes_in_is_refused() -> None:
    found = only(whole(run="(defrun :steps 10 :precision :f8)"))
    assert found.code == "E-OPTION-VALUE"
    assert found.hint == "one of :f32 :bf16 :f16 :f64"
