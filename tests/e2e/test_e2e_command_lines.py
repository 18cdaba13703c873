"""Wrong command lines: each is told by a code and by a hint that says what would be right, nothing
is passed over in silence, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_program import TEXT, Folder, held, network

FILE = network(run=":steps 10 :seed 3 :log-every 5")

HELD = FILE.replace("(defmodel", '(load-params (run-checkpoint "one" :at 7))\n(defmodel', 1)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, kernel_cache: Path) -> Folder:
    """A folder with a run `one`, its mirror and the file."""
    folder = Folder(tmp_path_factory.mktemp("wrong"), kernel_cache)
    folder.write("letters.txt", TEXT)
    folder.write("x.lisp", FILE)
    folder.write("held.lisp", HELD)
    held(folder.quick("run", "x.lisp", "--name", "one", "--store", "mirror", "-q"), 0)
    return folder


RUN = ("run", "x.lisp")
WRONG = [
    ((*RUN, "--name", ""), 2, "E-USAGE-VALUE", "--name is empty"),
    ((*RUN, "--name", "a", "--name", "b"), 2, "E-USAGE-VALUE", "--name SLUG once"),
    (("status", "latest@3"), 2, "E-USAGE-RUN", "a run is meant: latest"),
    ((*RUN, "--name", "My/Run"), 2, "E-USAGE-VALUE", "--name my-run"),
    ((*RUN, "--name", ".."), 2, "E-USAGE-VALUE", "leave it out"),
    ((*RUN, "--store", ""), 2, "E-USAGE-VALUE", "--store is empty"),
    ((*RUN, "--store", "ftp://x/y"), 4, "E-STORE-UNKNOWN", "known: file s3"),
    ((*RUN, "--dry-run", "--store", "m"), 2, "E-USAGE-VALUE", "leave out --dry-run or --store"),
    ((*RUN, "--dry-run", "--sink", "csv:path=q"), 2, "E-USAGE-VALUE", "--dry-run or --sink"),
    ((*RUN, "--dry-run", "--if-exists", "reuse"), 2, "E-USAGE-VALUE", "--dry-run or --if-exists"),
    ((*RUN, "--dry-run", "--detach"), 2, "E-USAGE-VALUE", "--dry-run or --detach"),
    ((*RUN, "--resume", "auto", "--from", "one"), 2, "E-USAGE-VALUE", "--resume or --from"),
    ((*RUN, "--resume-changed"), 2, "E-USAGE-VALUE", "--resume RUN --resume-changed"),
    ((*RUN, "--resume", "one@x"), 2, "E-USAGE-VALUE", "latest or best"),
    ((*RUN, "--resume", "one@7"), 3, "E-CHECKPOINT-NONE", "There are 10"),
    ((*RUN, "--resume", "7"), 3, "E-CHECKPOINT-NONE", "There are 10"),
    ((*RUN, "--from", "nosuch"), 2, "E-USAGE-RUN", "Runs: one"),
    ((*RUN, "--from", "on@3"), 3, "E-CHECKPOINT-NONE", "There are 10"),
    ((*RUN, "--deadline", "0"), 2, "E-USAGE-VALUE", "x>0"),
    ((*RUN, "--sink", "csv"), 2, "E-USAGE-VALUE", "csv:path="),
    ((*RUN, "--sink", "cvs:path=x"), 2, "E-USAGE-VALUE", "did you mean csv?"),
    (("run", "nosuch.lisp"), 2, "E-USAGE-FILE", "sexpgpu new FILE"),
    (("run", "."), 2, "E-USAGE-FILE", "is a directory"),
    (("check", "x.lisp", "--deny", "W-KNOB-UNUSD"), 2, "E-USAGE-VALUE", "W-KNOB-UNUSED"),
    (("check", "x.lisp", "--allow", "nix"), 2, "E-USAGE-VALUE", "docs errors"),
    (("check", "x.lisp", "--config", "no.toml"), 2, "E-USAGE-CONFIG", "nearest sexpgpu.toml"),
    (("eval", "x.lisp", ""), 2, "E-USAGE-VALUE", "FORM is empty"),
    (("eval", "x.lisp", "1", "--run", "--expand"), 2, "E-USAGE-VALUE", "nothing to --run"),
    (("explain", "x.lisp", "--section", "sizes"), 2, "E-USAGE-VALUE", "'scopes'"),
    (("explain", "x.lisp", "--path", "netwrk"), 2, "E-USAGE-VALUE", "did you mean network?"),
    (("sweep", "x.lisp", "widths"), 1, "E-SWEEP-UNKNOWN", "(defsweep NAME ...)"),
    (("stop", "nosuch"), 2, "E-USAGE-RUN", "Runs: one"),
    (("stop", "s3://b/p/one"), 2, "E-USAGE-VALUE", "on the machine that runs it"),
    (("annotate", "one", ""), 2, "E-USAGE-VALUE", "TEXT is empty"),
    (("annotate", "s3://b/p/one", "x"), 2, "E-USAGE-VALUE", "on the machine that runs it"),
    (("diagnostics", "one", "--add", "nix"), 2, "E-USAGE-VALUE", "there are"),
    (("diagnostics", "one", "--add", "grad/norm"), 2, "E-USAGE-VALUE", "run --diagnostics"),
    (("status", "one", "--timeout", "3"), 2, "E-USAGE-VALUE", "--until done --timeout"),
    (("status", "one", "--until", "stepp=3"), 2, "E-USAGE-VALUE", "--until step=500"),
    (("status", "one", "--until", "val/los<1"), 2, "E-USAGE-VALUE", "did you mean val/loss?"),
    (("status", "best:val/los"), 2, "E-USAGE-RUN", "did you mean best:val/loss?"),
    (("status", "one@10"), 2, "E-USAGE-RUN", "a run is meant: one"),
    (("status", "s3://"), 2, "E-USAGE-VALUE", "s3://BUCKET/PREFIX/SLUG"),
    (("events", "one", "--metric", "val/los"), 2, "E-USAGE-VALUE", "did you mean val/loss?"),
    (("events", "one", "--kind", "stp"), 2, "E-USAGE-VALUE", "'step'"),
    (("runs", "--since", "yesterday"), 2, "E-USAGE-VALUE", "--since 12h"),
    (("runs", "--sort", "val/los"), 2, "E-USAGE-VALUE", "did you mean val/loss?"),
    (("runs", "compare", "one"), 2, "E-USAGE-MISSING", "runs compare RUN RUN"),
    (("runs", "compare", "one", "runs/one"), 2, "E-USAGE-VALUE", "named before"),
    (("runs", "comparr", "one"), 2, "E-USAGE-VERB", "did you mean runs compare?"),
    (("checkpoint", "list", "one@10"), 2, "E-USAGE-RUN", "a run is meant: one"),
    (("checkpoint", "export", "one"), 2, "E-USAGE-MISSING", "RUN[@STEP] -o FILE"),
    (("checkpoint", "prune", "one"), 2, "E-USAGE-VALUE", "--keep 3 --dry-run"),
    (("checkpoint", "show", "mirror/one@7"), 3, "E-CHECKPOINT-NONE", "no checkpoint 7"),
    (("annotate", "mirror/one", "x"), 2, "E-USAGE-VALUE", "ask on the machine that runs it"),
    (("diff", "one@7", "x.lisp"), 2, "E-CHECKPOINT-NONE", "There are 10"),
    (("diff", "one", "mirror/one@11"), 2, "E-CHECKPOINT-NONE", "no checkpoint 11"),
    (("explain", "x.lisp", "--device", "tpu"), 2, "E-DEVICE-UNKNOWN", "mean cpu?"),
    (("ir", "held.lisp"), 1, "E-CHECKPOINT-NONE", "There are 10"),
    (("compile", "x.lisp"), 2, "E-USAGE-MISSING", "--for TARGET"),
    (("variants", "x.lisp", "-s", "width"), 2, "E-USAGE-VALUE", "--set width=VALUE"),
]


@pytest.mark.parametrize(("line", "exit", "code", "said"), WRONG, ids=lambda v: str(v)[:60])
def test_a_wrong_command_line_is_told_with_what_would_be_right(
    ran: Folder, line: tuple[str, ...], exit: int, code: str, said: str
) -> None:
    before = sorted(ran.path.rglob("*"))
    done = ran.quick(*line, "--json")
    held(done, exit)
    first = done.diagnostics[0]
    assert first["code"] == code
    assert said in f"{first['message']} {first['hint']}"
    assert sorted(ran.path.rglob("*")) == before


def test_an_empty_prompt_is_a_prompt_and_an_option_that_is_left_out_is_not_empty(
    ran: Folder,
) -> None:
    done = ran.quick("sample", "x.lisp", "--prompt", "", "--json")
    assert "is empty" not in done.out
    held(ran.quick("explain", "x.lisp"), 0)
