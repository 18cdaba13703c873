"""Examples try their own promises on a made copy of their data; `nox -s deep` has all of them at
their sizes."""

from __future__ import annotations

import pytest
from e2e_program import TEXT, Folder
from example_files import small

SAMPLE = {
    "chars": set(),
    "dlrm": {"independence"},
    "unet-diffusion-mnist": {"chance", "evaluation", "independence"},  # few pictures
}
"""Tokens, made fields, pictures beside random numbers; the checks that do not apply to each."""


@pytest.mark.parametrize(("name", "without"), SAMPLE.items())
def test_an_example_keeps_its_promises(ready: Folder, name: str, without: set[str]) -> None:
    ready.write("letters.txt", TEXT * (1 + 40_000 // len(TEXT)))  # passes of two batches
    done = ready.quick("check", "--deep", "--json", f"{name}.lisp", *small(name))
    assert done.exit == 0, done.diagnostics
    (file,) = done.document["files"]
    rows = {row["name"]: row["verdict"] for row in file["deep"]["checks"]}
    assert {name for name, verdict in rows.items() if verdict != "holds"} == without
