"""Edits of a file: all changes of one or none, and none where another text stands by now."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexpgpu_cli import fixing
from sexpgpu_core.diagnostics import Change, Diagnostic, Edit, Problem, diagnostic
from sexpgpu_core.spans import Source, Span

SOURCE = Source("x.lisp", "(a b c)\n")


def told(*changes: tuple[int, int, str], of: Source = SOURCE, safe: bool = True) -> Diagnostic:
    made = tuple(Change(Span(of, start, end), new) for start, end, new in changes)
    return diagnostic("E-TYPE", "no", span=made[0].span, edit=Edit("write it", made, safe))


def fixed(*found: Diagnostic, unsafe: bool = False) -> str:
    """The text after what was found at first."""
    rounds = iter([found])
    return fixing.fixed(SOURCE, lambda _: next(rounds, ()), unsafe).source.text


def test_all_changes_of_an_edit_are_made() -> None:
    assert fixed(told((1, 2, "x"), (5, 6, "z"))) == "(x b z)\n"


def test_an_edit_that_meets_another_is_left_whole() -> None:
    first, second = told((3, 4, "y")), told((1, 2, "x"), (3, 4, "w"))
    assert fixed(first, second) == "(a y c)\n"
    assert fixed(second, first) == "(x w c)\n"


def test_an_edit_of_two_files_is_left_whole() -> None:
    found = told((1, 2, "x"))
    other = Change(Span(Source("y.lisp", "(a)"), 1, 2), "x")
    both = Edit("write it", (*found.edit.changes, other), True)  # type: ignore[union-attr]
    assert fixed(found._replace(edit=both)) == SOURCE.text


def test_an_edit_of_another_text_than_stands_there_is_left() -> None:
    assert fixed(told((1, 2, "x"), of=Source("x.lisp", "(q b c)\n"))) == SOURCE.text


def test_an_edit_that_is_not_safe_waits_to_be_asked_for() -> None:
    assert fixed(told((1, 2, "x"), safe=False)) == SOURCE.text
    assert fixed(told((1, 2, "x"), safe=False), unsafe=True) == "(x b c)\n"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_file_that_was_saved_since_it_was_read_is_not_written_over(
    tmp_path: Path, end: bytes
) -> None:
    path = tmp_path / "x.lisp"
    before, after = Source(str(path), "(a\n b)\n"), Source(str(path), "(a\n c)\n")
    path.write_bytes(before.text.encode().replace(b"\n", end))
    fixing.write(before, after)
    assert path.read_bytes() == after.text.encode().replace(b"\n", end)
    with pytest.raises(Problem) as raised:
        fixing.write(before, after)
    assert raised.value.diagnostic.code == "E-USAGE-FILE"
    assert "was changed while it was checked" in raised.value.diagnostic.message
    assert path.read_bytes() == after.text.encode().replace(b"\n", end)
