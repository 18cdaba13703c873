"""What is wrong is told with its code, place and help, as text and JSON; never a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from e2e_program import Folder, held, network, validate


class Wrong(NamedTuple):
    """A change of the sound file, and what must be told: code, the text marked, words of help."""

    code: str
    marked: str
    help: str
    old: str = ""
    new: str = ""
    parts: dict[str, str] = {}


LAYERS = "(nn:layers (one-hot x 27 :dtype :f32) (list width 27))"
MATMUL = "(progn (defparam w ({}) :init (normal 0.02)) (matmul (one-hot x 27 :dtype :f32) w))"
WRONG = {
    "unbalanced": Wrong("E-READ-EOF", "(", "missing at the end of line", "{L})", "{L}"),
    "unknown-function": Wrong(
        "E-NAME-FUNCTION", "mettric", "metric", '(metric "loss"', '(mettric "loss"'
    ),
    "unknown-export": Wrong(
        "E-IMPORT-NAME", "nn:cross-entropi", "cross-entropy", "nn:cross-entropy", "nn:cross-entropi"
    ),
    "unbound": Wrong("E-NAME-UNBOUND", "widht", "width", "(list width 27)", "(list widht 27)"),
    "keyword": Wrong("E-CALL-KEYWORD", ":lrr", ":lr", ":lr 1e-2", ":lrr 1e-2"),
    "option": Wrong("E-OPTION", ":seeed", ":seed", ":seed 1", ":seeed 1"),
    "inner-sizes": Wrong("E-SHAPE-MATMUL", "matmul", "", parts={"model": "{26 5}"}),
    "rank": Wrong("E-SHAPE", "matmul", "", parts={"model": "{}"}),
    "dtypes": Wrong("E-DTYPE-MIX", "(+ ", "(cast", LAYERS, f"(+ (cast x :f16) {LAYERS})"),
    "variant": Wrong("E-KNOB-UNKNOWN", ":widht", "width", ":width 8", ":widht 8"),
    "contract": Wrong(
        "E-MISSING", "defrun", "(defun optimizer ()", "(defun optimizer", "(defun opt"
    ),
    "data": Wrong("E-DATA-MISSING", "nix.txt", "relative", '"letters.txt"', '"nix.txt"'),
    "data-near": Wrong(
        "E-DATA-MISSING", "leters.txt", "letters.txt", '"letters.txt"', '"leters.txt"'
    ),
    "data-small": Wrong("E-DATA-SMALL", "text-files", "", "(batch 8))", "(batch 8000))"),
    "unreached": Wrong(
        "E-PARAM-UNREACHED",
        "defparam",
        "use it",
        LAYERS,
        f"(progn (defparam unused (3) :init 0) {LAYERS})",
    ),
}


def file_of(wrong: Wrong) -> str:
    """The sound file with one mistake."""
    if wrong.parts:
        return network(model=MATMUL.format(wrong.parts["model"].strip("{}")))
    old, new = (text.replace("{L}", LAYERS) for text in (wrong.old, wrong.new))
    text = network(model=LAYERS)
    assert old in text
    return text.replace(old, new, 1)


def errors(folder: Folder) -> list[dict[str, Any]]:
    listed = folder.quick("check", "x.lisp", "--json").diagnostics
    return [d for d in listed if d["severity"] == "error"]


def marked(text: str, diagnostic: dict[str, Any]) -> str:
    span = diagnostic["span"]
    return text[span["offset"] : span["end_offset"]]


def test_the_file_without_a_mistake_has_none(folder: Folder) -> None:
    folder.write("x.lisp", network())
    done = folder.quick("check", "x.lisp", "--deny", "warnings")
    held(done, 0)
    assert "no errors" in done.out


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_told_with_code_place_and_help(folder: Folder, name: str) -> None:
    wrong, text = WRONG[name], file_of(WRONG[name])
    folder.write("x.lisp", text)
    done = folder.quick("check", "x.lisp")
    held(done, 1)
    assert f"error[{wrong.code}" in done.out
    assert "--> x.lisp:" in done.out
    assert "help: " in done.out
    assert wrong.help in done.out
    told = folder.quick("check", "x.lisp", "--json")
    held(told, 1)
    validate(told.document, "check")
    (found,) = [d for d in told.diagnostics if d["severity"] == "error"]
    assert found["code"].startswith(wrong.code)
    assert found["file"] == "x.lisp"
    assert wrong.marked in marked(text, found)
    assert found["hint"]


def test_a_process_of_its_own_tells_the_same(folder: Folder) -> None:
    folder.write("x.lisp", file_of(WRONG["keyword"]))
    alone, here = folder("check", "x.lisp"), folder.quick("check", "x.lisp")
    assert alone == here


@pytest.mark.parametrize(
    "name", ["unbalanced", "keyword", "rank", "data", "unreached", "data-small"]
)
def test_a_run_of_it_tells_the_same_and_makes_no_folder(folder: Folder, name: str) -> None:
    folder.write("x.lisp", file_of(WRONG[name]))
    done = folder.quick("run", "x.lisp", "--json")
    held(done, 1)
    validate(done.document, "error")
    assert done.document["diagnostics"][0]["code"].startswith(WRONG[name].code)
    assert not (folder.path / "runs").exists()
    told = folder.quick("run", "x.lisp", "-q")
    held(told, 1)
    assert f"error[{WRONG[name].code}" in told.err
    assert not told.out


def test_an_edit_that_is_offered_takes_the_mistake_away(folder: Folder) -> None:
    for name, wrong in WRONG.items():
        text = file_of(wrong)
        folder.write("x.lisp", text)
        found = next(d for d in errors(folder) if d["code"].startswith(wrong.code))
        if found["edit"] is None:
            continue
        for change in sorted(found["edit"]["changes"], key=lambda c: -c["span"]["offset"]):
            span = change["span"]
            assert text[span["offset"] : span["end_offset"]] == change["old"]
            text = text[: span["offset"]] + change["new"] + text[span["end_offset"] :]
        folder.write("x.lisp", text)
        left = [d["code"] for d in folder.quick("check", "x.lisp", "--json").diagnostics]
        assert found["code"] not in left, name


def test_mistakes_of_unlike_forms_are_told_together_in_order(folder: Folder) -> None:
    text = network(run=":steps 20 :seeed 1", rate="(rat 1)")
    folder.write("x.lisp", text.replace('(metric "loss"', '(mettric "loss"'))
    done = folder.quick("check", "x.lisp", "--json")
    held(done, 1)
    assert [d["code"] for d in done.diagnostics] == [
        "E-NAME-FUNCTION",
        "E-NAME-FUNCTION",
        "E-OPTION",
    ]


@pytest.mark.parametrize(
    ("flags", "code", "help"),
    [
        (("-s", "widht=3"), "E-KNOB-UNKNOWN", "width"),
        (("-s", "width=no"), "E-KNOB-VALUE", "(integer 1)"),
        (("-s", "width=0"), "E-KNOB-VALUE", "(integer 1)"),
        (("-s", "width=(1"), "E-KNOB-VALUE", "width"),
        (("-s", "width=3", "-s", "width=4"), "E-KNOB-TWICE", ""),
        (("--variant", "smal"), "E-VARIANT-UNKNOWN", "small"),
    ],
)
def test_a_wrong_selection_is_told(
    folder: Folder, flags: tuple[str, ...], code: str, help: str
) -> None:
    folder.write("x.lisp", network())
    for verb in ("check", "run"):
        done = folder.quick(verb, "x.lisp", *flags)
        held(done, 1)
        assert f"error[{code}]" in done.out + done.err
        assert help in done.out + done.err
        told = folder.quick(verb, "x.lisp", *flags, "--json")
        held(told, 1)
        validate(told.document)
        assert told.diagnostics[0]["code"] == code


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "E-MISSING"),
        (b";;; nothing\n", "E-MISSING"),
        (b'(print "\xff")', "E-READ-ENCODING"),
        (b"\x00\x01\x02", "E-"),
        (b")", "E-READ"),
        (b'"never closed', "E-READ-EOF"),
        (b"(((((((", "E-READ-EOF"),
        (b"(defun f () #+sbcl 1", "E-READ"),
        (b"(" * 20_000, "E-"),
        (b"'" * 20_000, "E-"),
    ],
)
def test_a_file_that_is_none_is_told(folder: Folder, content: bytes, code: str) -> None:
    folder.write("x.lisp", content)
    done = folder.quick("check", "x.lisp", "--json")
    held(done, 1)
    validate(done.document, "check")
    assert done.diagnostics[0]["code"].startswith(code)
    held(folder.quick("run", "x.lisp"), 1)


def test_an_empty_file_is_told_all_that_it_lacks(folder: Folder) -> None:
    folder.write("x.lisp", "")
    lacks = [d["message"] for d in errors(folder)]
    assert [text.split()[0] for text in lacks] == [
        "defloader",
        "a",
        "objective",
        "optimizer",
        "defrun",
    ]


@pytest.mark.parametrize(
    ("argv", "code", "help"),
    [
        (("chekc", "x.lisp"), "E-USAGE-VERB", "check"),
        (("check", "x.lisp", "--jsn"), "E-USAGE-FLAG", "--json"),
        (("check", "folder"), "E-USAGE-FILE", "directory"),
        (("run", "folder"), "E-USAGE-FILE", "directory"),
        (("check", "y.lisp"), "E-USAGE-FILE", "x.lisp"),
        (("run", "y.lisp"), "E-USAGE-FILE", "x.lisp"),
        (("run",), "E-USAGE-MISSING", "FILE"),
        (("run", "x.lisp", "--threads", "0"), "E-USAGE-VALUE", "threads"),
        (("run", "x.lisp", "--steps", "many"), "E-USAGE-VALUE", "steps"),
        (("run", "x.lisp", "-s", "width"), "E-USAGE-VALUE", "KNOB=VALUE"),
    ],
)
def test_wrong_usage_is_exit_2(folder: Folder, argv: tuple[str, ...], code: str, help: str) -> None:
    folder.write("x.lisp", network())
    (folder.path / "folder").mkdir()
    done = folder.quick(*argv)
    held(done, 2)
    assert not done.out
    assert f"error[{code}]" in done.err
    assert help in done.err
    told = folder.quick(*argv, "--json")
    held(told, 2)
    validate(told.document, "error")
    assert told.diagnostics[0]["code"] == code


def test_an_unknown_device_is_exit_4(folder: Folder) -> None:
    folder.write("x.lisp", network())
    done = folder("run", "x.lisp", "--device", "cpuu")
    held(done, 4)
    assert "error[E-DEVICE-UNKNOWN]" in done.err
    assert "did you mean cpu?" in done.err


def test_places_in_modules_are_those_of_the_call_in_the_file(folder: Folder) -> None:
    text = network(model="(nn:layers (one-hot x 27) (list width 27))")
    folder.write("x.lisp", text)
    (found,) = errors(folder)
    assert found["code"] == "E-DTYPE-MIX"
    assert marked(text, found).startswith("(nn:layers")
    assert Path(found["related"][0]["file"]).name == "linear.lisp"
