"""The pages: what is made from data is current, links lead somewhere, commands exist."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sexpgpu_cli import plugin
from sexpgpu_core import hookspecs
from sexpgpu_core.diagnostics import catalogue
from sexpgpu_core.registry import HOOKS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("decisions/*.md"))]


def test_what_is_made_from_data_is_current(tmp_path: Path) -> None:
    command = [sys.executable, str(DOCS / "generate.py"), "--check"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + "run nox -s docs"


def test_every_page_is_a_topic_and_every_topic_a_page() -> None:
    assert {topic for topic, _ in plugin.PAGES} == {page.stem for page in DOCS.glob("*.md")}
    for topic, title in plugin.PAGES:
        assert (DOCS / f"{topic}.md").read_text().splitlines()[0] == f"# {title}"


def test_the_hook_table_names_every_live_hook() -> None:
    text = (DOCS / "plugins.md").read_text()
    assert re.findall(r"^\| `sexpgpu_(\w+)`", text, re.M) == list(HOOKS)
    for hook, about in HOOKS.items():
        assert hasattr(hookspecs, f"sexpgpu_{hook}")
        assert f"`{about.row.__name__}` | {' '.join(about.row._fields)} |" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_codes_that_a_page_names_are_in_the_catalogue(page: Path) -> None:
    named = set(re.findall(r"`([EW]-[A-Z]+-?[A-Z-]*[A-Z])`", page.read_text()))
    assert {code for code in named if not code.startswith("E-TOY-")} <= set(catalogue())


def test_the_readme_has_the_two_commands_and_they_are_sessions() -> None:
    text = (ROOT / "README.md").read_text()
    assert "python -m pip install nox && python -m nox -s quickstart" in text
    sessions = set(re.findall(r"nox -s ([a-z_ ]+)", text))
    defined = (ROOT / "noxfile.py").read_text()
    for name in " ".join(sessions).split():
        assert f"def {name}(" in defined, name


@pytest.mark.skipif(
    importlib.util.find_spec("sexpgpu_core.api") is None, reason="waits for sexpgpu_core.api"
)
def test_the_readmes_file_checks(tmp_path: Path) -> None:
    (lisp,) = re.findall(r"```lisp\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    (tmp_path / "digits.lisp").write_text(lisp)
    command = [sys.executable, "-m", "sexpgpu_cli", "check", "digits.lisp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
