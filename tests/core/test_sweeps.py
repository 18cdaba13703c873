"""A declared sweep to its points: order, draws, filters, repetitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexpgpu_core import api, sweeps
from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.lisp_files import read_source
from sexpgpu_core.spans import Source

pytest.importorskip("sexpgpu_nn", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_optim", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_cpu", reason="what is compiled here is for its devices")

FILE = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defknob width 32 "Units." :type (integer 1))
(defknob rate 1e-3 "Rate." :type (float (0) 1))
(defvariant small "Less." :width 8)
(defvariant tiny :from small :rate 3e-3)
{sweep}
(defloader d (source (digits)) (stage :train :split (0 0.8)) (stage :val :split (0.8 1)) (batch 64))
(defmodel net (x) (nn:linear (nn:linear (cast x :f32) width) 10))
(defun objective (&key image label) (metric "loss" (nn:cross-entropy (net image) label)))
(defeval val :loader (d :val))
(defun optimizer () (groups (group :rest (optim:adamw :lr rate))))
(defrun :steps 20 :seed 7)
"""


def found(sweep: str) -> sweeps.Points:
    return api.sweep(Source("x.lisp", FILE.format(sweep=sweep)), "s")


def points(sweep: str) -> list[sweeps.Point]:
    return found(sweep).points


def test_a_grid_is_the_product_in_the_order_written() -> None:
    found = points("(defsweep s :grid ((rate (1e-3 3e-3)) (width (8 16))))")
    assert [p.values for p in found] == [
        {"rate": "0.001", "width": "8"},
        {"rate": "0.001", "width": "16"},
        {"rate": "0.003", "width": "8"},
        {"rate": "0.003", "width": "16"},
    ]
    assert [p.name for p in found][:2] == ["rate0.001-width8", "rate0.001-width16"]
    assert {p.seed for p in found} == {7}


def test_lists_of_zip_go_together_and_cross_a_grid() -> None:
    found = points("(defsweep s :zip ((rate (1e-3 3e-3)) (width (8 16))))")
    assert [p.name for p in found] == ["rate0.001-width8", "rate0.003-width16"]
    with pytest.raises(Problem, match="unlike length"):
        points("(defsweep s :zip ((rate (1e-3)) (width (8 16))))")


def test_where_and_seeds() -> None:
    found = points(
        "(defsweep s :grid ((rate (1e-3 1e-2)) (width (8 16)))"
        " :where (< (* rate width) 0.1) :seeds 2)"
    )
    assert [p.name for p in found] == [
        *("rate0.001-width8-seed7", "rate0.001-width8-seed8"),
        *("rate0.001-width16-seed7", "rate0.001-width16-seed8"),
        *("rate0.01-width8-seed7", "rate0.01-width8-seed8"),
    ]
    with pytest.raises(Problem, match="leaves nothing"):
        points("(defsweep s :grid ((width (8 16))) :where (> width 16))")
    with pytest.raises(Problem, match="E-SWEEP-SHAPE"):
        points("(defsweep s :grid ((width (8 16))) :seeds 0)")


def test_draws_lie_in_their_bounds_and_are_the_same_every_time() -> None:
    sweep = "(defsweep s :random ((rate (log-uniform 1e-4 1e-1)) (width (choice 8 16))) :n 20)"
    found = points(sweep)
    assert found == points(sweep)
    assert len({p.name for p in found}) == 20
    assert all(1e-4 <= float(p.values["rate"]) <= 1e-1 for p in found)
    assert {p.values["width"] for p in found} == {"8", "16"}
    few = points(sweep.replace(":n 20", ":n 5"))
    assert few == found[:5]
    for bad in ("(uniform 1)", "(log-uniform 0 1)"):
        with pytest.raises(Problem, match="E-SWEEP-SHAPE"):
            points(f"(defsweep s :random ((rate {bad})) :n 2)")


@pytest.mark.parametrize(
    ("sweep", "code", "told"),
    [
        ("", "E-SWEEP-SHAPE", "it varies nothing"),
        (":grid ()", "E-SWEEP-SHAPE", "it varies nothing"),
        (":grid ((width (:form (list))))", "E-SWEEP-SHAPE", "width has no values"),
        (":random ((rate (choice))) :n 3", "E-SWEEP-SHAPE", "choice of rate names no values"),
        (":random ((rate (uniform -1e308 1e308))) :n 3", "E-SWEEP-SHAPE", "too far apart"),
        (":random ((rate (uniform 0.1 0.2)))", "E-SWEEP-SHAPE", "go together"),
        (":grid ((rate (0.1))) :n 3", "E-SWEEP-SHAPE", "go together"),
        (":grid ((rate (0.1))) :zip ((rate (0.2)))", "E-KNOB-TWICE", "rate stands twice"),
        (":grid ((rat (0.1)))", "E-KNOB-UNKNOWN", "names no knob: rat"),
        (":grid ((rate (0.1))) :over (wid)", "E-KNOB-UNKNOWN", ":over no knob: wid"),
        (":grid ((rate (0.1))) :over (width)", "E-SWEEP-SHAPE", "does not vary"),
        (':grid ((rate (0.1))) :rank ("val/loss" :min :at :first)', "E-SWEEP-SHAPE", ":at of"),
        (":random ((rate (uniform 0.1 0.2))) :n 100001", "E-SWEEP-SHAPE", "100,000 are the most"),
        (":grid ((width (1 2))) :seeds 1000000000", "E-SWEEP-SHAPE", "2,000,000,000 points"),
    ],
)
def test_a_malformed_sweep_is_told_by_check_and_by_who_runs_it(
    sweep: str, code: str, told: str
) -> None:
    source = Source("x.lisp", FILE.format(sweep=f"(defsweep s {sweep})"))
    (found,) = (d for d in api.check(source).diagnostics if d.severity == "error")
    assert found.code == code
    assert told in found.message
    with pytest.raises((Problem, Problems)) as raised:
        api.sweep(source, "s")
    error = raised.value
    assert code in ([error.diagnostic] if isinstance(error, Problem) else error.diagnostics)[0].code


def test_log_uniform_draws_have_no_more_digits_than_any_library_agrees_on() -> None:
    found = points("(defsweep s :random ((rate (log-uniform 1e-7 1e-1))) :n 200)")
    for point in found:
        assert float(point.values["rate"]) == float(f"{float(point.values['rate']):.12g}")
    assert found[0].values["rate"] == "0.00440620575364"


def test_names_fit_a_file_and_differ_where_values_do() -> None:
    long = "x" * 300
    knob = '(defknob text "a" "Text." :type string)'
    found = points(f'{knob}(defsweep s :grid ((text ("{long}1" "{long}2"))) :seeds 2)')
    assert len({p.name for p in found}) == 4
    assert all(len(p.name) < 200 for p in found)
    assert {p.seed for p in found} == {7, 8}


def test_values_of_any_type_and_knobs_of_modules(tmp_path: Path) -> None:
    (tmp_path / "part.lisp").write_text(
        '(provide hidden units)(defknob units 32 "Units." :type (integer 1))(defun hidden () units)'
    )
    knobs = (
        '(defknob sizes \'(8) "Sizes." :type list)(defknob flag nil "Flag.")'
        '(defknob kind :a "Kind.")(defknob part-of 1/2 "Part." :type rational)'
    )
    sweep = (
        f"{knobs}(defsweep s :grid ((sizes ((list 8 16) nil)) (flag (t)) (kind (:b))"
        " (part-of (1/3)) (part:units (8 16))) :where (> part:units 8))"
    )
    text = FILE.format(sweep=sweep)
    head = '(require "sexpgpu/optim")\n'
    file = tmp_path / "x.lisp"
    file.write_text(text.replace(head, head + '(require "./part.lisp")\n'))
    found = api.sweep(read_source(file), "s").points
    same = {"flag": "t", "kind": ":b", "part-of": "1/3", "part:units": "16"}
    assert [p.values for p in found] == [{"sizes": v, **same} for v in ("(8 16)", "nil")]
    for point in found:
        chosen = api.load(read_source(file), sets=tuple(point.values.items())).experiment.knobs
        assert {name: chosen[name].text for name in point.values} == point.values


@pytest.mark.parametrize(
    ("sweep", "names", "told"),
    [
        (":grid ((rate (0.1 0.1)))", ["rate0.1"], "2 choices of sweep s are 1: rate 0.1 (2 times)"),
        (":grid ((rate (1e-3 0.001 0.1)))", ["rate0.001", "rate0.1"], "rate 0.001 (2 times)"),
        (":zip ((rate (1e-3 0.001)) (width (8 8)))", ["rate0.001-width8"], "width 8 (2 times)"),
        (":random ((width (choice 8 8))) :n 3", ["width8"], "3 choices of sweep s are 1"),
        (":grid ((share (1 1.0)))", ["share1"], "share 1.0 (2 times)"),
        (":grid ((width (8 8 9))) :where (> width 8)", ["width9"], None),
        (":variant small :grid ((rate (0.1 0.10)))", ["rate0.1"], "2 choices"),
        (":grid ((rate (0.1 0.2))) :seeds 2", ["rate0.1-seed7", "rate0.1-seed8"], None),
        (":grid ((any (1 1.0)))", ["any1", "any1.0"], None),
    ],
)
def test_equal_points_are_one_and_a_warning_says_so(
    sweep: str, names: list[str], told: str | None
) -> None:
    more = '(defknob share 0.5 "Share." :type (float 0 2)) (defknob any 1 "Any." :type t)'
    said = found(f"{more} (defsweep s {sweep})")
    assert [p.name for p in said.points][:2] == names
    message = said.repeated.message if said.repeated else ""
    assert told in message if told else not message
    text = FILE.format(sweep=f"{more} (defsweep s {sweep})")
    warned = [d.code for d in api.check(Source("x.lisp", text)).diagnostics]
    assert ("W-SWEEP-SAME" in warned) == bool(told)


def test_every_point_can_be_set(tmp_path: Path) -> None:
    text = FILE.format(sweep="(defsweep s :random ((rate (log-uniform 1e-7 1e-1))) :n 5)")
    for point in points("(defsweep s :random ((rate (log-uniform 1e-7 1e-1))) :n 5)"):
        loaded = api.load(Source("x.lisp", text), sets=tuple(point.values.items()))
        assert loaded.experiment.knobs["rate"].text == point.values["rate"]
