"""A sample of layouts; all of them: nox -s layouts."""

from __future__ import annotations

import layouts
import mutations


def test_a_layout_is_stable_and_reads_as_its_text() -> None:
    texts = mutations.sources(mutations.CASES)
    assert list(layouts.broken([*texts[:20], *texts[::40]])) == []


def test_a_text_that_does_not_read_has_none() -> None:
    assert layouts.wrong("(a") is not None
