"""The other verbs: what they answer and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_program import Api, Program

from sexpgpu_cli import main
from sexpgpu_cli.verbs.doctor import Check, table_of

EXAMPLES = Path(__file__).parents[2] / "examples"

STATUS: dict[str, Any] = {
    "version": 1,
    "document": "status",
    "run": "chars-a530c5",
    "state": "finished",
    "step": 2000,
    "steps": 2000,
    "elapsed": 54.2,
    "metrics": {"train/loss": {"value": 1.79, "step": 2000}},
    "best": {"val/loss": {"value": 1.8731, "step": 2000, "goal": "min"}},
    "targets": [],
    "checkpoint": {"step": 2000, "path": "checkpoints/step-00002000"},
    "error": None,
    "exit": 0,
}
COMMON: dict[str, Any] = {"v": 1, "run": "chars-a530c5", "attempt": 1, "elapsed": 1.0}


def event(kind: str, step: int, **keys: Any) -> dict[str, Any]:
    return {**COMMON, "event": kind, "step": step, **keys}


EVENTS = [
    event("open", 0, steps=2000),
    event("compile", 0, graph="train", duration_s=0.41, kernels=23, cached=19),
    event(
        "step",
        1000,
        metrics={"train/loss": 2.0},
        throughput={"step_s": 0.02, "per_s": {"tokens": 38400.0}},
    ),
    event("eval", 1000, metrics={"val/loss": 2.1}),
    event("something-new", 1000),
]


@pytest.fixture
def ran(program: Program, api: Api) -> Api:
    folder = Path("runs/chars-a530c5")
    folder.mkdir(parents=True)
    lines = [event("step", s, metrics={"train/loss": 4 - s / 500}) for s in range(0, 1001, 50)]
    (folder / "events.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"v": 1, "ev')
    api.result.status, api.result.folder, api.events = STATUS, folder, EVENTS
    return api


def test_run_answers_with_the_status_and_shows_lines_off_a_terminal(
    program: Program, ran: Api
) -> None:
    done = program("run", "chars.lisp")
    assert done.exit == 0
    lines = done.out.splitlines()
    assert lines[0] == "chars-a530c5: finished at step 2,000 of 2,000 after 0:54"
    assert "  best val/loss  1.8731 at step 2,000" in lines
    assert len(lines) <= 10
    assert done.err.splitlines()[:4] == [
        "chars-a530c5",
        "compiled train in 410.0 ms: 23 kernels, 19 from the cache",
        "step 1,000/2,000  train/loss 2.0000  20.0 ms  38,400 tokens/s  left 0:20",
        "step 1,000  val/loss 2.1000",
    ]


def test_run_draws_the_loss_at_the_end(program: Program, ran: Api) -> None:
    err = program("run", "chars.lisp").err
    assert "       4 |·" in err
    assert err.rstrip().endswith("· train/loss")
    assert "train/loss" not in program("run", "chars.lisp", "--no-curve", "-q").err


def test_run_json_is_the_status_document_alone(program: Program, ran: Api) -> None:
    assert program("run", "chars.lisp", "--json").document == STATUS


def test_run_hands_on_what_it_was_asked(program: Program, ran: Api, tmp_path: Path) -> None:
    program(
        *[
            "run",
            "a.lisp",
            "--device",
            "toy",
            "--threads",
            "2",
            "--name",
            "n",
            "--resume",
            "latest",
            "--runs",
            "r",
        ]
    )
    wanted = {"device": "toy", "threads": 2, "name": "n", "resume": "latest"}
    assert {k: ran.asked[k] for k in wanted} == wanted
    assert ran.asked["runs_root"] == tmp_path / "r"


def test_a_preempted_run_says_how_to_go_on_and_exits_75(program: Program, ran: Api) -> None:
    ran.result.status = {**STATUS, "state": "preempted", "exit": 75}
    ran.result.exit = 75
    done = program("run", "chars.lisp", "-s", "lr=(1 2)")
    assert done.exit == 75
    assert "sexpgpu run chars.lisp -s 'lr=(1 2)' --resume latest" in done.out


def test_ir_is_cut_at_whole_lines_unless_all_is_asked_for(program: Program, api: Api) -> None:
    done = program("ir", "x.lisp")
    assert len(done.out.encode()) < 2300
    last = done.out.splitlines()[-1]
    assert last.endswith("sexpgpu ir x.lisp --limit 0")
    assert len(program("ir", "x.lisp", "--limit", "0").out.splitlines()) == 400
    assert program("ir", "x.lisp", "-o", "x.ir").out == "x.ir\n"
    assert len(Path("x.ir").read_text().splitlines()) == 400


def test_eval_prints_a_value_a_line(program: Program, api: Api) -> None:
    assert program("eval", "x.lisp", "(f 1)").out == "3\nnil\n"
    document = program("eval", "x.lisp", "(f 1)", "--json").document
    assert document["values"][0] == {"text": "3", "type": "integer"}


def test_eval_expands_where_it_is_asked_to(program: Program, api: Api) -> None:
    program("eval", "x.lisp", "(f 1)", "--expand")
    assert api.asked["expand"] is True


def test_new_starts_a_file_and_never_overwrites(program: Program) -> None:
    Path("a.lisp").write_text(";; mine\n")
    done = program("new", "b.lisp", "--from", "a.lisp")
    assert (done.exit, Path("b.lisp").read_text()) == (0, ";; mine\n")
    assert done.out == "b.lisp\nnext: sexpgpu check b.lisp\n"
    again = program("new", "b.lisp", "--from", "a.lisp")
    assert again.exit == 2
    assert "nothing is overwritten" in again.err


def test_new_of_an_unknown_template_names_the_nearest(program: Program) -> None:
    assert "did you mean chars?" in program("new", "c.lisp", "--from", "cahrs").err


def test_a_new_file_is_one_of_lisp(program: Program) -> None:
    Path("a.lisp").write_text(";; mine\n")
    assert program("new", "net", "--from", "a.lisp").out.startswith("net.lisp\n")


def test_the_templates_are_the_examples(program: Program) -> None:
    document = program("new", "--list", "--json").document
    listed = {t["name"] for t in document["templates"]}
    assert listed == {file.stem for file in EXAMPLES.glob("*.lisp")}


def test_plugins_lists_every_distribution_and_what_it_adds(program: Program) -> None:
    document = program("plugins", "--refresh", "--json").document
    by_name = {d["distribution"]: d for d in document["distributions"]}
    assert {"sexpgpu-core", "sexpgpu-cli"} <= set(by_name)
    assert "check" in by_name["sexpgpu-cli"]["provides"]["verbs"]
    assert all(d["state"] == "ok" for d in by_name.values() if d["builtin"])


def test_doctor_says_what_is_here(program: Program) -> None:
    done = program("doctor", "--json")
    checks = {c["name"]: c for c in done.document["checks"]}
    assert done.exit == 0
    assert {"python", "cores", "numpy", "blas", "runs", "cache", "plugins"} <= set(checks)
    assert all({"name", "status", "detail", "fix"} <= set(c) for c in checks.values())
    assert list(Path().iterdir()) == [Path("cache")]


def test_doctor_fails_on_what_was_asked_alone(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sexpgpu_core.registry import Registry

    load = Registry.load

    def absent(self: Registry, hook: str, name: str, field: str = "load") -> Any:
        gone = (hook, field) == ("devices", "probe")
        return (lambda: {"present": False}) if gone else load(self, hook, name, field)

    monkeypatch.setattr(Registry, "load", absent)
    plain, asked = program("doctor", "--json"), program("doctor", "--device", "reference", "--json")
    assert (plain.exit, asked.exit) == (0, 4)
    found = {c["name"]: c["status"] for c in asked.document["checks"] if c["group"] == "devices"}
    assert found["reference"] == "failed"
    assert found["cpu"] == "skipped"


def test_what_doctor_says_begins_in_one_column() -> None:
    checks = [Check("a-device-of-some-name", "device", "ok", "is here"),
              Check("numpy", "numpy", "failed", "is not here", "install it")]  # fmt: skip
    first, second, fix = table_of(checks).split("\n")
    assert first.index("is here") == second.index("is not here") == fix.index("help:")


def test_explain_and_docs_give_the_same_page_of_a_code(program: Program) -> None:
    told = program("explain", "e-shape-matmul")
    assert told.out == program("docs", "E-SHAPE-MATMUL").out
    assert told.out.startswith("error[E-SHAPE-MATMUL]: ")
    document = program("explain", "E-SHAPE-MATMUL", "--json").document
    assert (document["document"], document["edit"]) == ("code", True)


def test_docs_lists_topics_and_prints_pages_in_parts(program: Program) -> None:
    assert "quickstart" in program("docs").out
    first = program("docs", "errors")
    assert len(first.out.encode()) < 8400
    assert "... more: sexpgpu docs errors --part 2" in first.out


@pytest.mark.parametrize(
    ("name", "usage", "example"),
    [
        ("car", "(car list)", "(car '(1 2 3))  ; 1"),
        ("loop", "(loop clause", "collect (list i x))"),
        ("defknob", "(defknob name default", "(defknob width 64"),
        ("matmul", "(matmul x y", "(matmul x w)"),
        ("quote", "(quote object)", "'(+ 1 2)  ; (+ 1 2)"),
    ],
)
def test_docs_of_a_word_is_its_call_what_it_is_and_an_example(
    program: Program, name: str, usage: str, example: str
) -> None:
    told = program("docs", name).out
    assert told.startswith(usage)
    assert example in told
    assert "more: sexpgpu docs " in told
    assert len(told.encode()) < 1024
    document = program("docs", name.upper(), "--json").document
    assert (document["document"], document["name"]) == ("word", name)


def test_docs_knows_what_modules_provide(program: Program) -> None:
    pytest.importorskip("sexpgpu_nn", reason="the words of nn are another distribution's")
    assert program("docs", "nn:linear").out.startswith("(nn:linear x out &key (bias t)")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("lenght", "length"), ("nn:liner", "nn:linear"), ("contrl", "control"), ("e-tpe", "e-type")],
)
def test_docs_of_what_is_none_names_the_nearest(program: Program, name: str, meant: str) -> None:
    if meant.startswith("nn:"):
        pytest.importorskip("sexpgpu_nn", reason="the words of nn are another distribution's")
    done = program("docs", name)
    assert done.exit == 2
    assert f"did you mean {meant}?" in done.err


def test_the_shell_completes_topics_words_and_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sexpgpu_nn", reason="the words of nn are another distribution's")
    monkeypatch.setenv("_SEXPGPU_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_CWORD", "2")
    for begun, whole in [("nn:lin", "nn:linear"), ("cont", "control"), ("E-SHAPE-MAT", "-MATMUL")]:
        monkeypatch.setenv("COMP_WORDS", f"sexpgpu docs {begun}")
        with pytest.raises(SystemExit):
            main.run([])
        assert whole in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(program: Program, shell: str) -> None:
    assert "_SEXPGPU_COMPLETE" in program("completion", shell).out


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("sexpgpu status ", ["one", "latest", "best"]),
        ("sexpgpu events o", ["one"]),
        ("sexpgpu sto", ["stop"]),
    ],
)
def test_names_of_runs_are_completed(
    program: Program,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    wanted: list[str],
) -> None:
    for name, inside in (("one", "manifest.json"), ("other", "x")):
        (Path("runs") / name).mkdir(parents=True)
        (Path("runs") / name / inside).write_text("{}")
    monkeypatch.setenv("_SEXPGPU_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    with pytest.raises(SystemExit):
        program()
    assert capsys.readouterr().out.split() == [f"plain,{name}" for name in wanted]


DIGITS = str(Path(__file__).parents[2] / "examples" / "digits.lisp")


@pytest.mark.parametrize(
    ("form", "type", "elements"),
    [
        ("(tensor '(1 2 3))", "#<tensor i32 (3)>", "(1 2 3)"),
        ("(softmax (tensor '(0.0 0.0)))", "#<tensor f32 (2)>", "(0.5 0.5)"),
        ("(list (ones '(2 2)) 5)", "(#<tensor f32 (2 2)> 5)", "(((1.0 1.0) (1.0 1.0)) 5)"),
        ("(cast 0.1 :bf16)", "#<tensor bf16 ()>", "0.100098"),
        ("(> (iota 2) 0)", "#<tensor bool (2)>", "(nil t)"),
        ("(shape (nn:linear (ones '(2 3)) 4))", "(2 4)", "(2 4)"),
        ("(+ 1 width)", "257", "257"),
    ],
)
def test_a_form_of_tensors_is_its_type_and_with_run_its_elements(
    program: Program, form: str, type: str, elements: str
) -> None:
    assert program("eval", DIGITS, form).out.strip() == type
    assert program("eval", DIGITS, form, "--run").out.strip() == elements


def test_eval_runs_a_model_with_the_parameters_that_it_begins_with(program: Program) -> None:
    form = "(classifier (ones '(2 64)))"
    told = program("eval", DIGITS, form, "--run", "--json").document["values"]
    other = program("eval", DIGITS, form, "--run", "--json", "--seed", "7").document["values"]
    assert told == program("eval", DIGITS, form, "--run", "--json").document["values"]
    assert told[0]["type"] == "tensor f32 (2 10)"
    assert told[0]["text"] != other[0]["text"]


def test_eval_cuts_what_is_long_and_prints_what_a_form_prints_apart(program: Program) -> None:
    assert program("eval", DIGITS, "(iota 9)", "--run", "--print-length", "2").out == "(0 1 ...)\n"
    whole = program("eval", DIGITS, "(iota 500)", "--run", "--print-length", "0", "--limit", "0")
    assert whole.out.endswith(" 499)\n")
    assert len(program("eval", DIGITS, "(iota 500)", "--run").out) < 500
    assert program("eval", DIGITS, "(list 1 2 3)", "--print-length", "1").out == "(1 ...)\n"
    done = program("eval", DIGITS, '(progn (princ "told") 1)')
    assert (done.out, done.err.strip()) == ("1\n", "told")
    assert program("eval", DIGITS, "1", "--run", "--expand").exit == 2
    assert "E-RUN-INDEX" in program("eval", DIGITS, "(gather (iota 2) (iota 4))", "--run").err
