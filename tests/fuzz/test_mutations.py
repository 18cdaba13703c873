"""A sample of files with mistakes made at random; all of them: nox -s mutations."""

from __future__ import annotations

import mutations


def test_a_file_with_mistakes_ends_in_a_diagnostic_or_a_value() -> None:
    assert list(mutations.broken(300, 0, mutations.CASES)) == []
