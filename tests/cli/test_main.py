"""What every verb keeps: one document on every exit, codes, places, quiet pipes, no tracebacks."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_program import Api, Program

from sexpgpu_cli import flags, main
from sexpgpu_cli.invocation import wants_color
from sexpgpu_core.diagnostics import problem

SAFE = ("-P",) if sys.version_info >= (3, 11) else ()

VERBS = [
    *(
        "check",
        "completion",
        "diff",
        "docs",
        "doctor",
        "eval",
        "explain",
        "fmt",
        "ir",
        "new",
        "plugins",
    ),
    *("annotate", "events", "export-events", "run", "runs", "status", "stop"),
]


def test_help_groups_the_verbs_and_imports_none(program: Program) -> None:
    done = program("--help")
    assert done.exit == 0
    assert [line.split()[0] for line in done.out.splitlines() if line.startswith("  ")] == [
        *("check", "diff", "eval", "fmt", "ir", "new", "variants"),
        *("compile", "predict", "run", "sample"),
        *("stop", "sweep"),
        *("annotate", "checkpoint", "diagnostics", "events", "export-events", "runs", "status"),
        *("devices", "doctor", "plugins"),
        *("completion", "docs", "explain"),
    ]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_the_common_flags(program: Program, verb: str) -> None:
    done = program(verb, "--help")
    assert done.exit == 0
    for flag in ("--json", "--quiet", "--limit", "--runs", "--config", "--color", "--deny"):
        assert flag in done.out


def test_no_verb_prints_the_help(program: Program) -> None:
    assert program().out == program("--help").out


@pytest.mark.parametrize(
    ("argv", "code", "hint"),
    [
        (("chek", "x.lisp"), "E-USAGE-VERB", "did you mean check?"),
        (("run", "x.lisp", "--varient", "a"), "E-USAGE-FLAG", "did you mean --variant?"),
        (("run", "x.lisp", "--zzzzzz"), "E-USAGE-FLAG", "sexpgpu run --help lists its flags"),
        (("eval", "x.lisp"), "E-USAGE-MISSING", "sexpgpu eval FILE FORM [FLAGS]"),
        (("check",), "E-USAGE-MISSING", "sexpgpu check FILE... [FLAGS]"),
        (("ir", "x.lisp", "--phase", "x"), "E-USAGE-VALUE", "sexpgpu ir FILE [FLAGS]"),
        (("run", "x.lisp", "--steps", "0"), "E-USAGE-VALUE", "sexpgpu run FILE [FLAGS]"),
        (("check", "x.lisp", "-s", "lr"), "E-USAGE-VALUE", "--set lr=VALUE"),
        (("explain", "E-TYP"), "E-USAGE-VALUE", "did you mean E-TYPE?"),
        (("docs", "quikstart"), "E-USAGE-VALUE", "did you mean quickstart?"),
        (("doctor", "--device", "cpuu"), "E-DEVICE-UNKNOWN", None),
    ],
)
def test_wrong_usage_names_the_nearest_in_text_and_in_json(
    program: Program, argv: tuple[str, ...], code: str, hint: str | None
) -> None:
    told = program(*argv)
    document = program(*argv, "--json").document
    exit = 4 if code.startswith("E-DEVICE") else 2
    assert (told.exit, document["exit"], told.out) == (exit, exit, "")
    assert f"error[{code}]" in told.err
    assert "Traceback" not in told.err
    assert (document["document"], document["verb"]) == ("error", argv[0])
    assert document["diagnostics"][0]["code"] == code
    if hint is not None:
        assert document["diagnostics"][0]["hint"] == hint


def test_a_missing_file_names_the_nearest(program: Program) -> None:
    Path("chars.lisp").write_text("")
    done = program("check", "cars.lisp")
    assert done.exit == 2
    assert "did you mean chars.lisp?" in done.err


def test_bad_configuration_is_usage(program: Program) -> None:
    Path("sexpgpu.toml").write_text('[path]\nruns = "x"\n')
    done = program("doctor", "--json")
    assert done.exit == 2
    assert done.document["diagnostics"][0]["hint"] == "did you mean paths?"


def test_a_surprise_is_exit_70_with_a_report_and_no_traceback(
    program: Program, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def boom(*_: Any, **__: Any) -> None:
        raise RuntimeError("surprise")

    monkeypatch.setattr(api, "evaluate", boom)
    told, document = program("eval", "x", "1"), program("eval", "x", "1", "--json").document
    assert told.exit == document["exit"] == 70
    assert "Traceback" not in told.err
    assert "RuntimeError: surprise" in Path(document["report"]).read_text()
    monkeypatch.setenv("SEXPGPU_DEBUG", "1")
    assert "Traceback" in program("eval", "x", "1").err


@pytest.mark.parametrize(
    ("code", "exit"),
    [("E-TYPE", 1), ("E-DEVICE-ABSENT", 1), ("E-RUN-NONFINITE", 1), ("E-STORE-DENIED", 2)],
)
def test_the_exit_follows_from_the_code_as_far_as_the_verb_has_it(
    program: Program, api: Api, monkeypatch: pytest.MonkeyPatch, code: str, exit: int
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise problem(code, "no")

    monkeypatch.setattr(api, "evaluate", fail)
    assert program("eval", "x", "1").exit == exit


def test_interrupted_is_130(program: Program, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "evaluate", stop)
    assert program("eval", "x", "1").exit == 130


@pytest.mark.parametrize(
    "words", [["docs", "E-TYPE"], ["--help"], ["--version"], [], ["run", "--help"]], ids=str
)
def test_a_reader_that_goes_away_is_no_error(words: list[str]) -> None:
    code = f"from sexpgpu_cli.main import main; main({words})"
    process = subprocess.Popen(
        [sys.executable, "-c", f"import time; time.sleep(0.2); {code}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait() == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_reader_that_goes_away_while_a_verb_writes_is_no_error(
    program: Program, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any, **__: Any) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(api, "evaluate", gone)
    done = program("eval", "x", "1")
    assert (done.exit, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize(
    ("words", "exit", "kind"),
    [
        (["--json"], 2, "error"),
        (["--json", "--help"], 0, "help"),
        (["-h", "--json"], 0, "help"),
        (["--version", "--json"], 0, "version"),
        (["--json", "nix"], 2, "error"),
        (["--json", "check", "--help"], 0, "help"),
    ],
    ids=str,
)
def test_json_without_a_verb_is_one_document_too(
    program: Program, words: list[str], exit: int, kind: str
) -> None:
    done = program(*words)
    assert (done.exit, done.document["document"]) == (exit, kind)


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        ("--config x", ""),
        ("--config=x", ""),
        ("--limit 3", ""),
        ("--config x.toml check x.lisp", "check"),
        ("--set a=1 run x.lisp", "run"),
        ("check --limit 3", "check"),
    ],
)
def test_the_value_of_a_flag_is_no_verb(program: Program, words: str, verb: str) -> None:
    done = program(*words.split(), "--json")
    assert (done.exit, done.document["verb"]) == (2, verb)


def test_a_flag_of_verbs_that_stands_before_the_verb_is_told_where_it_stands(
    program: Program,
) -> None:
    for flag in ("--runs", "-q", "--limit"):
        assert f"flags stand behind the verb: sexpgpu VERB {flag}" in program(flag, "1").err


def test_flags_of_all_verbs_that_have_values_are_known_before_the_verb_is() -> None:
    made = flags.verb("x", select=True)(lambda invocation: None)
    valued = {o for p in made.params if not getattr(p, "is_flag", False) for o in p.opts}
    assert valued == flags.VALUED


def test_colour_follows_flag_then_no_color_then_force_color(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with open(os.devnull) as stream:
        assert not wants_color("auto", stream)
        assert wants_color("always", stream)
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert wants_color("auto", stream)
        monkeypatch.setenv("NO_COLOR", "1")
        assert not wants_color("auto", stream)


def test_flags_after_two_dashes_are_arguments() -> None:
    assert not main.asks_json(["eval", "x", "--", "--json"])
    assert main.flag(["check", "--config=a.toml"], "--config") == "a.toml"


def test_a_configuration_that_is_named_is_that_of_its_call_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEXPGPU_CONFIG", raising=False)
    (tmp_path / "small.toml").write_text("[limits]\nsteps = 100\n", encoding="utf-8")
    (tmp_path / "x.lisp").write_text("(defun f () (loop repeat 1000))\n", encoding="utf-8")
    call = ["eval", "x.lisp", "(f)"]
    assert main.run([*call, "--config", "small.toml"]) == 1
    assert "SEXPGPU_CONFIG" not in os.environ
    assert main.run(call) == 0


DURING = """
import os, signal, sys
from importlib.abc import MetaPathFinder

class Sent(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.{number})

sys.meta_path.insert(0, Sent())
from sexpgpu_cli.main import main
main({argv!r})
"""


@pytest.mark.parametrize("module", ["sexpgpu_cli.answer", "click", "sexpgpu_core.plugins"])
@pytest.mark.parametrize(
    ("number", "argv", "code"),
    [
        ("SIGTERM", ["run", "x.lisp"], 75),
        ("SIGUSR1", ["sweep", "x.lisp", "s", "--json"], 75),
        ("SIGINT", ["run", "x.lisp"], 130),
        ("SIGTERM", ["check", "x.lisp"], -15),
    ],
)
def test_a_signal_while_modules_are_read_preempts_what_trains(
    module: str, number: str, argv: list[str], code: int, tmp_path: Path
) -> None:
    text = DURING.format(module=module, number=number, argv=argv)
    words = [sys.executable, *SAFE, "-c", text]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code == 75 and "--json" not in argv:
        told = f"{number}: ended before the run had a folder; nothing of it is kept\n"
        assert done.stderr == told
