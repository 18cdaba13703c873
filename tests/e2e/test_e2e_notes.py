"""Notes on runs that have ended, and documents of theirs that cannot be read."""

from __future__ import annotations

import pytest
from e2e_program import Folder, events, held, network, validate


def test_a_note_is_appended_to_a_run_that_has_ended(mine: Folder) -> None:
    done = mine.quick("annotate", "one", "the good one", "--json")
    held(done, 0)
    validate(done.document, "event")
    assert events(mine.made("one"))[-1] == done.document
    assert "the good one" in mine.quick("events", "one", "--kind", "annotation").out
    assert mine.quick("status", "one", "--json").document["events"] == done.document["seq"] + 1


def test_a_note_moves_no_cursor_of_who_reads_it(mine: Folder) -> None:
    held(mine.quick("annotate", "one", "two\nlines \x1b[31m"), 0)
    shown = mine.quick("events", "one", "--kind", "annotation").out
    assert "two\\nlines \\x1b[31m by cli" in shown
    assert events(mine.made("one"))[-1]["text"] == "two\nlines \x1b[31m"


def test_the_files_own_words_are_a_note_of_each_run_that_they_are_of(folder: Folder) -> None:
    sweep = '(defsweep widths "Does width pay?" :grid ((width (8 16))) :variant small)'
    folder.write("x.lisp", network(run=":steps 2", head=sweep))
    small = "variant small: Less."
    wanted = {
        "plain": ([], []),
        "chosen": (["--variant", "small"], [small]),
        "point": (["--point", "widths/width8"], [small, "sweep widths: Does width pay?"]),
    }
    for name, (words, notes) in wanted.items():
        held(folder.quick("run", "x.lisp", *words, "--name", name, "-q"), 0)
        found = [e for e in events(folder.made(name)) if e["event"] == "annotation"]
        assert [(e["text"], e["by"], e["seq"]) for e in found] == [
            (text, "file", at) for at, text in enumerate(notes, 1)
        ], name
        for event in found:
            validate(event, "event")
    assert "Less. by file" in folder.quick("events", "chosen", "--kind", "annotation").out
    held(folder.quick("run", "x.lisp", "--variant", "small", "--resume", "chosen", "-q"), 0)
    found = [e for e in events(folder.made("chosen")) if e["event"] == "annotation"]
    assert len(found) == 1  # a later attempt adds none
    proved = folder.quick("checkpoint", "verify", "chosen")
    held(proved, 0)


@pytest.mark.parametrize("file", ["status.json", "manifest.json"])
def test_a_document_that_cannot_be_read_is_told_by_its_code(mine: Folder, file: str) -> None:
    (mine.made("one") / file).write_text('{"version": 1, "st')
    for verb in ("status", "events", "stop"):
        done = mine.quick(verb, "one", "--json")
        held(done, 2)
        assert [d["code"] for d in done.diagnostics] == ["E-USAGE-BROKEN"]
    listed = mine.quick("runs", "--json")
    held(listed, 0)
    validate(listed.document)
    assert "E-USAGE-BROKEN" in listed.err
    assert "other" in [run["run"] for run in listed.document["runs"]]


def test_lines_that_do_not_parse_are_told_and_passed(mine: Folder) -> None:
    path = mine.made("one") / "events.jsonl"
    whole = events(mine.made("one"))
    path.write_text(path.read_text().replace('{"v":1,"event":"eval"', '{"v":1,"eve', 1))
    done = mine.quick("events", "one", "--json", "--limit", "0")
    held(done, 0)
    assert len(done.out.splitlines()) == len(whole) - 1
    assert "warning[W-RUN-LINE]" in done.err
    with path.open("a") as file:
        file.write('{"v": 2, "event": "step", "step": 3, "attempt": 1, "seq": 99}\n')
    later = mine.quick("events", "one")
    held(later, 2)
    assert "error[E-USAGE-BROKEN]" in later.err
