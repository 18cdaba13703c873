"""Bad files: each with its code, the place, and help that says what to write."""

from __future__ import annotations

import pytest
from staging_case import LOADER, MODEL, PASS, RUN, body, declared, faults, only, warnings, whole


def place(text: str, found: str) -> tuple[int, int]:
    at = text.index(found)
    line = text.count("\n", 0, at) + 1
    return line, at - text.rfind("\n", 0, at)


def test_the_smallest_file_has_no_fault() -> None:
    assert faults(whole()) == []


def test_a_set_of_an_unknown_knob_names_the_nearest() -> None:
    found = only(
        whole(knobs='(defknob width 10 "W.")\n', model="(defmodel net (x) (nn:linear x width))\n"),
        sets={"widht": "3"},
    )
    assert found.code == "E-KNOB-UNKNOWN"
    assert "width" in (found.hint or "")


def test_a_knob_value_of_another_type_shows_the_type() -> None:
    text = whole(
        knobs='(defknob width 10 "W." :type (integer 1 64))\n',
        model="(defmodel net (x) (nn:linear x width))\n",
    )
    for value in ("0", "2.5", "(1 2", "true"):
        assert only(text, sets={"width": value}).code == "E-KNOB-VALUE"
    assert faults(text, sets={"width": "12"}) == []


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("loader", "defloader"),
        ("model", "defmodel"),
        ("objective", "objective"),
        ("optimizer", "optimizer"),
        ("run", "defrun"),
    ],
)
def test_a_missing_contract_name_shows_the_smallest_form(part: str, name: str) -> None:
    parts = {part: ""}
    if part == "loader":
        parts["passes"] = ""
    if part == "model":
        parts["objective"] = "(defun objective (&key image) (mean image))\n"
    codes = [(d.code, d.facts.get("name")) for d in faults(whole(**parts), "declare")]
    assert ("E-MISSING", name) in codes
    hint = next(d.hint for d in faults(whole(**parts), "declare") if d.code == "E-MISSING")
    assert hint is not None
    assert name in hint


def test_all_missing_names_are_told_at_once() -> None:
    found = faults(whole(objective="", optimizer="", run=""), "declare")
    assert [d.facts["name"] for d in found if d.code == "E-MISSING"] == [
        "objective",
        "optimizer",
        "defrun",
    ]


def test_a_name_out_of_order_says_after_what() -> None:
    found = only(whole(loader="", run=LOADER + RUN, passes=""))
    assert found.code == "E-ORDER"
    assert "defloader" in found.message
    assert "optimizer" in found.message


def test_a_misspelt_keyword_of_a_layer_names_the_nearest() -> None:
    text = whole(model="(defmodel net (x) (nn:linear x 10 :bais nil))\n")
    found = only(text)
    assert found.code == "E-CALL-KEYWORD"
    assert "bias" in (found.hint or "")
    assert found.span is not None
    assert (found.span.line, found.span.column) == place(text, ":bais")


def test_a_misspelt_option_of_a_declaration_has_an_edit() -> None:
    found = only(whole(loader=LOADER.replace(":split", ":splt", 1)))
    assert found.code == "E-OPTION"
    assert found.edit is not None
    assert [c.new for c in found.edit.changes] == [":split"]


def test_an_unknown_source_names_the_nearest() -> None:
    found = only(whole(loader=LOADER.replace("(digits)", "(digts)"), passes=""))
    assert found.code == "E-SOURCE-UNKNOWN"
    assert "digits" in (found.hint or "")


def test_leaves_of_a_declaration_are_evaluated_and_its_lists_are_syntax() -> None:
    knobs = "(defparameter *share* 4/5)\n(defparameter *shape* '(64 10))\n"
    model = """(defmodel net (x)
  (defparam w (64 (+ 5 5)))
  (defparam v *shape*)
  (matmul (reshape (cast x :f32) '(-1 64)) (+ v w)))
"""
    loader = LOADER.replace("(0 0.8)", "((- 1 1) *share*)")
    assert faults(whole(knobs=knobs, loader=loader, model=model)) == []


def test_a_quoted_list_in_a_declaration_has_a_safe_edit() -> None:
    for wrong in ("'(0 0.8)", "(list 0 0.8)"):
        found = only(whole(loader=LOADER.replace("(0 0.8)", wrong)))
        assert found.code == "E-OPTION-VALUE"
        assert found.edit is not None
        assert found.edit.safe
        assert found.edit.changes[0].new == "(0 0.8)"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("(defparam w (normal 0.1) :shape (list 64 4))", "(defparam w (64 4) :init (normal 0.1))"),
        ("(defparam w :shape '(64 4))", "(defparam w (64 4))"),
        ("(defparam w :shape (64 4) :init 0)", "(defparam w (64 4) :init 0)"),
    ],
)
def test_a_shape_by_keyword_is_put_second_and_its_name_is_no_further_mistake(
    wrong: str, right: str
) -> None:
    text = body(f"{wrong} (matmul x w)")
    found = only(text)
    assert found.code == "E-OPTION"
    assert found.edit is not None
    (change,) = found.edit.changes
    at = change.span
    mended = text[: at.start] + change.new + text[at.end :]
    assert right in mended
    assert [f.code for f in faults(mended)] == ["E-GROUP-UNMATCHED"]  # a parameter now


def test_matmul_of_unlike_sizes_shows_both_types() -> None:
    text = body("(matmul x (zeros '(32 4)))")
    found = only(text)
    assert found.code == "E-SHAPE-MATMUL"
    assert "f32 (8 64)" in found.message
    assert "f32 (32 4)" in found.message
    assert found.span is not None
    assert (found.span.line, found.span.column) == place(text, "(matmul x")


def test_matmul_that_lacks_a_transpose_says_so() -> None:
    found = only(body("(matmul x (zeros '(10 64)))"))
    assert found.hint == "(matmul x (transpose (zeros '(10 64)))) gives f32 (8 10)"


def test_matmul_of_a_scalar_is_told_by_its_rank() -> None:
    assert only(body("(matmul x (sum x))")).code == "E-SHAPE-MATMUL"


def test_unlike_dtypes_have_an_edit_that_casts() -> None:
    text = body("(+ x (iota 64))")
    found = only(text)
    assert found.code == "E-DTYPE-MIX"
    assert found.edit is not None
    assert found.edit.changes[0].new == "(cast (iota 64) :f32)"
    change = found.edit.changes[0]
    mended = text[: change.span.start] + change.new + text[change.span.end :]
    assert faults(mended) == []


def test_a_float_with_an_integer_tensor_is_weak() -> None:
    assert only(body("(+ x (cast (* 0.5 (iota 64)) :f32))")).code == "E-DTYPE-WEAK"


def test_division_of_integers_is_told() -> None:
    assert only(body("(+ x (cast (/ (iota 64) 2) :f32))")).code == "E-DTYPE-INTEGER"


def test_a_number_outside_the_dtype_is_told() -> None:
    assert only(body("(+ x (cast (+ (iota 64 :dtype :u8) 300) :f32))")).code == "E-DTYPE-RANGE"


def test_if_on_a_tensor_names_where() -> None:
    found = only(body("(if (> (mean x) 0) x (- x))"))
    assert found.code == "E-STAGE-TENSOR"
    assert "where" in (found.hint or "")


def test_a_field_that_is_not_there_shows_the_list() -> None:
    found = only(
        whole(objective="(defun objective (&key imag label) (nn:cross-entropy (net imag) label))\n")
    )
    assert found.code == "E-FIELD"
    assert "image" in (found.hint or "")


def test_an_objective_with_a_shape_asks_for_a_reduction() -> None:
    found = only(whole(objective="(defun objective (&key image) (net image))\n"))
    assert found.code == "E-OBJECTIVE-SCALAR"
    assert "mean" in (found.hint or "")


def test_a_parameter_in_prepare_stands_outside_its_place() -> None:
    text = whole(
        prepare="(defun prepare (&key image label)"
        " (batch :image (nn:linear image 64) :label label))\n"
    )
    assert only(text).code == "E-STAGE-OUTSIDE"


def test_a_tensor_builtin_where_nothing_is_traced_is_told() -> None:
    assert only(whole(knobs="(defparameter *z* (zeros '(2)))\n")).code == "E-STAGE-OUTSIDE"


def test_two_calls_of_one_name_in_a_model_are_told() -> None:
    text = whole(model='(defmodel net (x) (nn:linear (nn:linear x 64 :name "a") 10 :name "a"))\n')
    assert only(text).code == "E-PARAM-DUPLICATE"


def test_a_parameter_in_no_group_is_named() -> None:
    text = whole(optimizer="(defun optimizer () (groups (group (select :rank 2) (optim:sgd))))\n")
    found = only(text)
    assert found.code == "E-GROUP-UNMATCHED"
    assert found.facts["path"] == "net/linear/b"


def test_a_selector_that_matches_nothing_is_told() -> None:
    text = whole(
        optimizer='(defun optimizer () (groups (group (select :path "**/nothing") (optim:sgd))'
        " (group :rest (optim:sgd))))\n"
    )
    assert only(text).code == "E-GROUP-EMPTY"
    assert (
        faults(text.replace('"**/nothing") (optim:sgd)', '"**/nothing") (optim:sgd) :optional t'))
        == []
    )


def test_an_unknown_ctx_key_names_the_nearest() -> None:
    found = only(body("(progn (ctx :stepp) x)"))
    assert found.code == "E-CTX-KEY"
    assert ":step" in (found.hint or "")


def test_a_pass_over_an_unknown_stage_is_told() -> None:
    assert only(whole(passes="(defeval val :loader (data :vla))\n")).code == "E-LOADER-STAGE"


def test_a_target_on_no_pass_is_told() -> None:
    assert only(whole(passes='(deftarget "test/loss" :below 1)\n')).code == "E-SERIES"


def test_two_loaders_of_one_name_are_told() -> None:
    assert only(whole(loader=LOADER + LOADER)).code == "E-TWICE"


def test_a_declaration_in_a_loop_is_told_where_to_stand() -> None:
    found = only(whole(model="(dotimes (i 2) (defmodel net (x) (nn:linear x 10)))\n"))
    assert found.code == "E-TWICE"
    assert "outside" in (found.hint or "")
    assert not found.related


def test_metrics_of_one_name_are_told() -> None:
    text = whole(
        objective=(
            '(defun objective (&key image) (metric "a" (mean image)) (metric "a"'
            " (mean (net image))))\n"
        )
    )
    assert only(text).code == "E-METRIC"


def test_a_batch_is_asked_for_outside_of_a_graph() -> None:
    found = only(body("(progn (loader-batch data :train 0) x)"))
    assert found.code == "E-STAGE-OUTSIDE"
    assert "keywords" in (found.hint or "")
    assert only(body("(progn (loader-batch data) x)")).code == "E-FORM-SHAPE"


def test_name_as_a_keyword_of_a_model_breaks_the_contract() -> None:
    assert only(whole(model="(defmodel net (x &key name) (nn:linear x 10))\n")).code == "E-CONTRACT"


def test_a_knob_that_nothing_reads_is_a_warning() -> None:
    _, evaluator = declared(whole(knobs="(defknob spare 1)\n"))
    assert warnings(evaluator) == ["W-KNOB-UNUSED"]


def test_faults_come_in_source_order() -> None:
    text = whole(
        loader=LOADER.replace(":split", ":splt", 1),
        model=MODEL + "(defmodel other (x) (nn:linear2 x 1))\n",
        passes="",
    )
    spans = [d.span.start for d in faults(text, "declare") if d.span]
    assert spans == sorted(spans)
    assert len(spans) >= 1


def test_an_objective_of_several_values_is_told_how_losses_are_named() -> None:
    text = whole(objective="(defun objective (&key image) (values (mean (net image)) 1))\n")
    found = only(text)
    assert found.code == "E-CONTRACT"
    assert "(losses :d x :g y)" in (found.hint or "")


@pytest.mark.parametrize(("key", "code"), [('"d"', "E-GROUP-LOSS"), ("3", "E-TYPE")])
def test_a_loss_of_a_group_is_a_name(key: str, code: str) -> None:
    rule = f"(group :rest (optim:adamw) :loss {key})"
    assert only(whole(optimizer=f"(defun optimizer () (groups {rule}))\n")).code == code


def test_several_globs_after_path_become_any_of_them() -> None:
    rules = '(group (select :path "**/w" "**/b") (optim:adamw))'
    found = only(whole(optimizer=f"(defun optimizer () (groups {rules}))\n"))
    assert found.code == "E-FORM-SHAPE"
    assert found.edit is not None
    (change,) = found.edit.changes
    assert change.new == '(select :or ((:path "**/w") (:path "**/b")))'


def test_a_default_of_a_field_is_told_as_what_draws_it() -> None:
    output = "(defoutput y (&key (z (random-normal '(4 4)))) z)\n"
    found = faults(whole(passes=PASS + output))[0]
    assert found.code == "E-FORM-SHAPE"
    assert ":random (normal 1)" in (found.hint or "")


def test_a_parameter_made_twice_shows_the_first() -> None:
    model = "(defmodel net (x) (defparam w (64 10)) (defparam w (64 10)) (matmul x w))\n"
    found = only(whole(model=model))
    assert found.code == "E-PARAM-DUPLICATE"
    assert [r.message for r in found.related] == ["first made here"]
