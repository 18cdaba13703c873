"""docs --search, --for-agent, --llms, --full; devices."""

from __future__ import annotations

import re

import pytest
from cli_program import Program

from sexpgpu_cli.plugin import PAGES

TOKENS = 1000
"""Most of the page for agents; four characters are about a token."""


def test_the_page_for_agents_is_short_and_names_no_flag_that_is_not_there(
    program: Program,
) -> None:
    text = program("docs", "--for-agent").out
    assert len(text) <= 4 * TOKENS
    verbs = set(re.findall(r"sexpgpu (\w+)", text))
    assert verbs >= {"new", "check", "run", "status", "events"}
    flags = set(re.findall(r"(?<![\w`-])--[a-z-]+", text)) | set(re.findall(r"`(--[a-z-]+)", text))
    helped = {f for verb in (*verbs, "docs") for f in program(verb, "--help").out.split()}
    known = {flag.strip(",/") for flag in helped}
    assert flags <= known, flags - known


def test_the_index_and_the_whole_name_every_page(program: Program) -> None:
    index, whole = program("docs", "--llms").out, program("docs", "--full").out
    for topic, title in PAGES:
        assert f"]({topic}.md): " in index
        assert f"# {title}\n" in whole
    assert program("docs", "--llms", "--json").document["text"] == index


def test_words_are_found_in_pages_words_and_codes(program: Program) -> None:
    done = program("docs", "--search", "label smoothing", "--json")
    names = [one["name"] for one in done.document["matches"]]
    assert any("cross-entropy" in name for name in names)
    assert program("docs", "--search", "softmax").out.splitlines()[0].split()[0] == "softmax"
    assert "E-SHAPE-MATMUL" in program("docs", "--search", "E-SHAPE-MATMUL").out
    none = program("docs", "--search", "xyzzy plugh", "--json")
    assert none.exit == 2
    assert [d["code"] for d in none.document["diagnostics"]] == ["E-USAGE-VALUE"]


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_devices_are_listed(program: Program, name: str) -> None:
    pytest.importorskip("sexpgpu_cpu", reason="the devices are another distribution's")
    done = program("devices", "--json")
    assert done.exit == 0
    assert name in [check["name"] for check in done.document["checks"]]
    assert f" {name} " in program("devices").out
