"""Every kind of source has an answer with an example that reads."""

from __future__ import annotations

import pytest

from sexpgpu_core import api
from sexpgpu_core.data.kinds import SOURCES
from sexpgpu_core.manual.lookup import find, names
from sexpgpu_core.manual.source_words import EXAMPLES
from sexpgpu_core.spans import Source

KINDS = [*(row.kind for row in SOURCES), "mixture"]
UNREAD = {"E-DATA-MISSING", "E-MISSING", "W-DATA-UNREAD", "W-UNUSED", "E-STORE-LOST"}
"""What a check says of files that are not here, and of a run file that is a loader alone."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_found_with_an_example_that_reads(kind: str, tmp_path: object) -> None:
    registry = api.plugins()
    found = find(kind, registry)
    assert found is not None
    assert kind in set(names(registry))
    assert EXAMPLES[kind] in found.doc
    text = f"(defloader d {EXAMPLES[kind]} (stage :train) (batch 2))"
    said = api.check(Source(f"{tmp_path}/a.lisp", text))
    assert {d.code for d in said.diagnostics} <= UNREAD, [d.message for d in said.diagnostics]


def test_no_example_is_of_a_kind_that_is_not_there() -> None:
    assert set(EXAMPLES) == set(KINDS)
