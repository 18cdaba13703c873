"""Verbs beside training: what a newcomer types in an empty folder."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from e2e_program import Folder, events, held, network, status, validate

from sexpgpu_core.ir.text import parse, same, write
from sexpgpu_cpu.device import CpuDevice


@pytest.fixture
def sound(folder: Folder) -> Folder:
    folder.write("x.lisp", network())
    return folder


def test_the_same_again_is_another_folder_and_says_so(sound: Folder) -> None:
    first, again = (sound.quick("run", "x.lisp") for _ in range(2))
    assert (first.exit, again.exit) == (0, 0)
    names = sorted(path.name for path in (sound.path / "runs").iterdir())
    assert names[1] == names[0] + "-2"
    assert "W-RUN-EXISTS" not in first.err
    assert "warning[W-RUN-EXISTS]" in again.err
    assert f"{names[0]} is this experiment and has finished: " in again.err
    loss = status(sound.made(names[0]))["metrics"]["val/loss"]["value"]
    assert f"val/loss {loss:.4f}" in again.err
    warned = [e for e in events(sound.made(names[1])) if e["event"] == "warning"]
    assert [e["diagnostic"]["code"] for e in warned] == ["W-RUN-EXISTS", "W-SPLIT-LEAK"]
    assert warned[0]["diagnostic"]["hint"].startswith("--if-exists reuse gives its result")


def test_a_name_is_the_folder_and_is_never_overwritten(sound: Folder) -> None:
    for _ in range(2):
        assert sound.quick("run", "x.lisp", "--name", "mine", "-q").exit == 0
    assert sorted(path.name for path in (sound.path / "runs").iterdir()) == ["mine", "mine-2"]


def test_runs_are_put_where_it_is_said(sound: Folder) -> None:
    done = sound.quick("run", "x.lisp", "--name", "it", "--runs", "elsewhere", "--json")
    assert done.exit == 0
    assert (sound.path / "elsewhere" / "it" / "status.json").exists()


def test_the_answer_is_on_stdout_and_progress_on_stderr(sound: Folder) -> None:
    done = sound("run", "x.lisp", "--name", "it")
    assert done.out.startswith("it: finished at step 20 of 20")
    assert "train/loss" in done.out
    assert str(sound.made("it")) in done.out
    assert "step 10/20" in done.err
    assert "\x1b" not in done.out + done.err
    quiet = sound.quick("run", "x.lisp", "--name", "it", "-q")
    assert quiet.err == ""
    told = sound.quick("run", "x.lisp", "--name", "it", "--json")
    assert told.document["state"] == "finished"
    assert "step 10/20" in told.err


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("(+ 1 width)", "33"),
        ("(values 1 :a)", "1\n:a"),
        ('(list 1/2 2.5d0 "s" \'x)', '(1/2 2.5 "s" x)'),
        ("(mapcar (lambda (n) (* n n)) '(1 2 3))", "(1 4 9)"),
    ],
)
def test_forms_are_evaluated_in_the_environment_of_a_file(
    sound: Folder, form: str, text: str
) -> None:
    done = sound.quick("eval", "x.lisp", form)
    assert (done.exit, done.out.strip().lower()) == (0, text.lower())


def test_a_batch_is_shown_and_computed_with(sound: Folder) -> None:
    ask = "(loader-batch letters :train 2)"
    assert sound.quick("eval", "x.lisp", ask).out == "(:tokens #<tensor i32 (8 9)>)\n"
    done = sound.quick("eval", "x.lisp", "--run", f"(reduce-max (getf {ask} :tokens))")
    assert (done.exit, int(done.out)) == (0, ord("z"))


def test_a_wrong_form_to_eval_is_told(sound: Folder) -> None:
    for form, code in (("(+ 1", "E-READ-EOF"), ("(nix)", "E-NAME-FUNCTION"), ('(+ 1 "a")', "E-")):
        done = sound.quick("eval", "x.lisp", form)
        assert done.exit == 1, form
        assert f"error[{code}" in done.err


@pytest.mark.parametrize("graph", ["train", "val"])
@pytest.mark.parametrize("phase", ["traced", "differentiated", "optimized"])
def test_the_graph_of_every_phase_parses_back(sound: Folder, graph: str, phase: str) -> None:
    done = sound.quick("ir", "x.lisp", "--graph", graph, "--phase", phase, "--limit", "0", "--json")
    assert done.exit == 0, done.out
    text = done.document["text"]
    read = parse(text)
    assert len(read.nodes) > 5
    assert same(parse(write(read)), read)


def test_the_lowered_graph_is_text_of_kernels_and_calls(sound: Folder) -> None:
    done = sound.quick("ir", "x.lisp", "--phase", "lowered", "--limit", "0")
    assert done.exit == 0, done.err
    assert "matmul(" in done.out
    assert "for j <" in done.out
    assert "parameter:network/" in done.out


def test_a_graph_is_written_to_a_file(sound: Folder) -> None:
    done = sound.quick("ir", "x.lisp", "-o", "graph.ir")
    assert done.exit == 0
    assert parse((sound.path / "graph.ir").read_text()).nodes


def test_every_template_makes_a_file_that_checks(folder: Folder) -> None:
    listed = folder.quick("new", "--list").out
    names = [line.split()[0] for line in listed.splitlines()]
    assert {"chars", "digits", "mnist"} <= set(names)
    for name in names:
        made = folder.quick("new", f"my-{name}.lisp", "--from", name)
        assert made.exit == 0
        assert f"my-{name}.lisp" in made.out
        if name == "digits":
            pytest.importorskip("sklearn")
        done = folder.quick("check", f"my-{name}.lisp", "--json")
        codes = {d["code"] for d in done.diagnostics}
        given = "mnist" in name or name in ("gcn-cora", "lstm-names")  # files that a user brings
        assert codes <= ({"E-DATA-MISSING"} if given else set()), name


def test_a_file_from_a_run_is_the_experiment_of_the_run(sound: Folder) -> None:
    name = "x.lisp"
    words = ("-s", "width=8", "--seed", "7", "--steps", "3")
    held(sound.quick("run", name, *words, "--name", "of-a-run", "-q"), 0)
    done = sound.quick("new", "again.lisp", "--from", "of-a-run", "--json")
    held(done, 0)
    told = [sound.quick("check", *w, "--json").document for w in (("again.lisp",), (name, *words))]
    ids = [d["files"][0]["summary"]["experiment_id"] for d in told]
    manifest = json.loads((sound.made("of-a-run") / "manifest.json").read_text())
    assert ids == [manifest["experiment_id"]] * 2
    held(sound.quick("new", "less.lisp", "--from", name, "--variant", "small"), 0)
    assert "width 8" in (sound.path / "less.lisp").read_text()
    near = sound.quick("new", "other.lisp", "--from", "digts")
    held(near, 2)
    assert "digits" in near.err


@pytest.mark.parametrize("phase", ["traced", "optimized", "lowered", "differentiated"])
def test_the_graph_of_an_output_is_shown_too(folder: Folder, phase: str) -> None:
    text = "(defoutput scores (&key tokens) (network (letter tokens)))"
    file = network().replace("(defrun", text + "\n(defrun")
    folder.write("x.lisp", file)
    done = folder.quick("ir", "x.lisp", "--graph", "scores", "--phase", phase, "--limit", "0")
    if phase == "differentiated":
        held(done, 2)
        assert "output scores is not differentiated" in done.err
        return
    held(done, 0)
    assert "output:scores" in done.out or phase == "lowered"
    if phase != "lowered":
        assert parse(done.out).results


def test_new_does_not_overwrite(sound: Folder) -> None:
    before = (sound.path / "x.lisp").read_text()
    done = sound.quick("new", "x.lisp")
    assert done.exit == 2
    assert "error[E-USAGE-VALUE]" in done.err or "error[E-USAGE-FILE]" in done.err
    assert (sound.path / "x.lisp").read_text() == before


@pytest.mark.parametrize("verb", ["doctor", "plugins"])
def test_the_machine_is_told_as_text_and_as_json(folder: Folder, verb: str) -> None:
    done = folder.quick(verb)
    assert done.exit == 0, done.out
    assert "sexpgpu" in done.out.lower()
    told = folder.quick(verb, "--json")
    validate(told.document, verb)


@pytest.mark.parametrize("code", ["E-SHAPE-MATMUL", "W-RUN-EXISTS", "E-PARAM-UNREACHED"])
def test_codes_are_explained(folder: Folder, code: str) -> None:
    done = folder.quick("explain", code)
    assert done.exit == 0
    assert code in done.out
    assert "help:" in done.out
    validate(folder.quick("explain", code, "--json").document, "code")


def test_every_page_of_the_documentation_is_there_offline(folder: Folder) -> None:
    topics = [line.split()[0] for line in folder.quick("docs").out.splitlines()]
    assert {"quickstart", "run", "run-file", "errors"} <= set(topics)
    for topic in topics:
        done = folder.quick("docs", topic)
        assert done.exit == 0
        assert done.out.startswith("# ")


def test_help_of_every_verb_fits_and_says_what_it_does(folder: Folder) -> None:
    told = folder.quick("--help")
    assert told.exit == 0
    for verb in ("check", "run", "ir", "eval", "new", "doctor", "plugins", "explain", "docs"):
        assert f"  {verb} " in told.out
        page = folder.quick(verb, "--help")
        assert page.exit == 0
        assert f"sexpgpu {verb}" in page.out


def test_standard_input_is_checked_too(sound: Folder) -> None:
    text = network(rate="nix")
    done = sound("check", "-", "--stdin-name", "editor.lisp", "--json", stdin=text)
    assert done.exit == 1
    (found,) = done.diagnostics
    assert (found["code"], found["file"]) == ("E-NAME-UNBOUND", "editor.lisp")


def test_what_a_file_prints_is_not_the_answer(folder: Folder) -> None:
    folder.write("x.lisp", network(head='(print "hello")'))
    done = folder.quick("check", "x.lisp", "--json")
    assert done.exit == 0
    assert "hello" in json.loads(done.out)["files"][0]["output"]


def test_a_loop_that_prints_ends_and_shows_the_head_of_it(folder: Folder) -> None:
    folder.write("x.lisp", '(dotimes (i 2000) (print "hello"))')
    done = folder.quick("check", "x.lisp")
    assert done.exit == 1  # the contract's names are missing
    assert len(done.err) < 2200
    assert "more characters" in done.err


def test_variables_of_the_environment_are_known_or_told(sound: Folder) -> None:
    assert sound("check", "x.lisp", SEXPGPU_CHECK="1").exit == 0
    done = sound("check", "x.lisp", SEXPGPU_CASH="x")
    assert done.exit == 2
    assert "did you mean SEXPGPU_CACHE?" in done.err


WRITTEN = """(let* ((h (nn:linear (one-hot x 27 :dtype :f32) 32))
         (m (exp h)))
    (nn:linear (+ (/ m (sum m :axis -1 :keep t))
                  (* h (rsqrt (+ 1e-6 (mean (square h) :axis -1 :keep t)))))
               27))"""


def test_explain_says_what_passes_did_and_which_patterns_were_found_or_why_not(
    folder: Folder,
) -> None:
    folder.write("x.lisp", network(model=WRITTEN))
    done = folder.quick("explain", "x.lisp", "--passes", "--json")
    validate(done.document, "explain")
    patterns = [p for p in done.document["patterns"] if p["program"] == "step/train"]
    assert [(p["name"], p["found"]) for p in patterns] == [("softmax", False), ("rms-norm", True)]
    assert "overflows" in patterns[0]["reason"]
    assert "rms-norm in step/train" in folder.quick("explain", "x.lisp").out
    assert done.document["interpreted"] == []
    slow = folder.quick("explain", "x.lisp", "--device", "reference", "--json").document
    assert "matmul" in slow["interpreted"]


@pytest.mark.parametrize("name", ["patterns", "join", "precision", "hoist", "expand", "dead"])
def test_the_graph_after_each_pass_reads_back(sound: Folder, name: str) -> None:
    text = sound.quick("ir", "x.lisp", "--pass", name, "--limit", "0").out
    read = parse(text)
    assert read.nodes
    assert same(parse(write(read)), read)


def test_a_pass_that_there_is_not_names_the_nearest(sound: Folder) -> None:
    done = sound.quick("ir", "x.lisp", "--pass", "patern")
    assert done.exit == 2
    assert "patterns" in done.err


def test_lines_of_a_scope_are_lines_of_the_graph(sound: Folder) -> None:
    whole = sound.quick("ir", "x.lisp", "--limit", "0").out.splitlines()
    part = sound.quick("ir", "x.lisp", "--scope", "*/linear-2", "--limit", "0").out.splitlines()
    assert 0 < len(part) < len(whole)
    assert set(part) <= set(whole)
    assert all("linear-2" in line for line in part)


def test_a_quick_doctor_leaves_out_what_lies_below_the_devices(sound: Folder) -> None:
    whole, quick = (sound.quick("doctor", "--json", *more) for more in ((), ("--quick",)))
    held(quick, 0)
    validate(quick.document)
    names = [{check["name"] for check in done.document["checks"]} for done in (whole, quick)]
    assert names[1] < names[0]
    assert "blas" in names[0] - names[1]
    (blas,) = [check for check in whole.document["checks"] if check["name"] == "blas"]
    key = CpuDevice().numerics()  # what a run takes, not what NumPy has
    parts = (key["blas"], key["blas-version"], key["blas-core"])
    assert blas["detail"] == " ".join(filter(None, parts))
    assert {"python", "cpu", "runs"} <= names[1]


@pytest.mark.parametrize("words", [("eval", "-", "(twice 4)"), ("ir", "-"), ("check", "-")])
def test_standard_input_lies_where_it_is_said_to(sound: Folder, words: tuple[str, ...]) -> None:
    """A module and the data are found beside the name that it is given."""
    (sound.path / "in").mkdir()
    sound.write("in/letters.txt", (sound.path / "letters.txt").read_text())
    sound.write("in/double.lisp", "(provide twice)\n(defun twice (x) (* 2 x))\n")
    text = '(require "./double.lisp" :import (twice))\n' + network()
    named = (*words, "--stdin-name", "in/x.lisp")
    command = [sys.executable, "-m", "sexpgpu_cli", *named, "--json"]
    given = {"cwd": sound.path, "env": sound.environment(), "input": text, "check": False}
    done = subprocess.run(command, capture_output=True, text=True, **given)
    assert done.returncode == 0, done.stdout
    command[-1:] = ["--set", "width=x", "--json"]
    wrong = subprocess.run(command, capture_output=True, text=True, **given)
    assert wrong.returncode == 1


@pytest.mark.parametrize(
    ("until", "exit"), [("knobs", 0), ("data", 0), ("tensors", 1), ("device", 1)]
)
def test_a_check_goes_as_far_as_it_is_asked_to(folder: Folder, until: str, exit: int) -> None:
    folder.write("x.lisp", network(loss="(matmul (network inputs) targets)"))
    done = folder.quick("check", "x.lisp", "--until", until, "--json")
    held(done, exit)
    validate(done.document)
    file = done.document["files"][0]
    assert file["complete"] == (exit == 0)
    assert file["summary"] is None
    if exit == 0:
        assert file["reached"] == until
        text = folder.quick("check", "x.lisp", "--until", until).out
        assert f"looked no further than {until}" in text


@pytest.mark.parametrize(
    ("words", "said"), [(("tensor",), "did you mean tensors?"), (("data", "--deep"), "excludes")]
)
def test_a_phase_that_there_is_not_is_told(
    sound: Folder, words: tuple[str, ...], said: str
) -> None:
    done = sound.quick("check", "x.lisp", "--until", *words)
    held(done, 2)
    assert said in done.err
