"""The repository's shape: small files, standard names, one version, nothing of one machine."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = sorted(p.parent for p in ROOT.glob("sexpgpu_*/pyproject.toml"))
MODULES = sorted(f for p in PACKAGES for f in (p / p.name).rglob("*.py"))
LINES = 400
COLUMNS = 100
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager", "stuff"}
CHECKED = {
    *("spans", "diagnostics", "reader", "evaluator", "ir", "experiment", "staging", "autodiff"),
    *("step", "passes", "kernels", "plan", "data", "device", "entries", "config", "registry"),
    *("plugins", "compile", "api"),
}
"""What `check` imports."""
HEAVY = {"numpy", "numba", "llvmlite", "ml_dtypes", "safetensors", "boto3", "click", "rich"}
LATE = HEAVY | {"pluggy", "dataclasses", "inspect", "importlib.metadata"}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a checkout")
    return [ROOT / line for line in done.stdout.splitlines() if (ROOT / line).is_file()]


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_file_is_small_and_opens_by_saying_what_it_is(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= LINES
    assert not [i for i, line in enumerate(lines, 1) if len(line) > COLUMNS]
    if lines:
        doc = ast.get_docstring(ast.parse("\n".join(lines)))
        assert doc, "no docstring"


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_names_say_what_a_thing_is(path: Path) -> None:
    assert not VAGUE & set(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("package", PACKAGES, ids=name)
def test_a_distribution_folder_is_no_package(package: Path) -> None:
    assert not (package / "__init__.py").exists()
    for needed in ("README.md", f"{package.name}/__init__.py", f"{package.name}/py.typed"):
        assert (package / needed).exists()


def test_all_versions_are_one_and_members_are_pinned() -> None:
    texts = [(p / "pyproject.toml").read_text() for p in PACKAGES]
    texts.append((ROOT / "pyproject.toml").read_text())
    versions = {v for t in texts for v in re.findall(r'^version = "(.*)"', t, re.M)}
    pins = {
        pin
        for text in texts
        for line in text.splitlines()
        if not line.startswith("name =")
        for pin in re.findall(r'"sexpgpu-\w+(?:\[\w+\])?([^"]*)"', line)
    }
    core = (ROOT / "sexpgpu_core/sexpgpu_core/__init__.py").read_text()
    (version,) = versions
    assert pins == {f"=={version}"}
    assert f'__version__ = "{version}"' in core


@pytest.mark.parametrize("package", PACKAGES, ids=name)
def test_distributions_import_core_and_never_each_other(package: Path) -> None:
    allowed = {package.name, "sexpgpu_core"}
    for path in (package / package.name).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for imported in _imports(node):
                top = imported.split(".")[0]
                assert not top.startswith("sexpgpu_") or top in allowed, f"{path}: {imported}"


def _imports(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return [node.module or ""]
    return []


def on_the_path_of_check(path: Path) -> bool:
    core = ROOT / "sexpgpu_core" / "sexpgpu_core"
    if core not in path.parents or "reference" in path.parts:  # what an operation means, in NumPy
        return False
    return path.relative_to(core).with_suffix("").parts[0] in CHECKED


def at_import(tree: ast.Module) -> list[str]:
    """What a module imports when it is imported itself, but for TYPE_CHECKING."""
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Try):
            found += [i for inner in node.body for i in _imports(inner)]
        found += _imports(node)
    return found


@pytest.mark.parametrize("path", [p for p in MODULES if on_the_path_of_check(p)], ids=name)
def test_what_check_reads_imports_nothing_heavy_when_it_is_imported(path: Path) -> None:
    imported = at_import(ast.parse(path.read_text(encoding="utf-8")))
    assert not [i for i in imported if i.split(".")[0] in HEAVY or i == "importlib.metadata"]


@pytest.mark.parametrize("path", [p for p in MODULES if p.name in ("plugin.py",)], ids=name)
def test_a_plug_in_module_imports_nothing_that_does_the_work(path: Path) -> None:
    imported = at_import(ast.parse(path.read_text(encoding="utf-8")))
    assert not [i for i in imported if i.split(".")[0] in LATE - {"pluggy"}]


def test_no_tracked_file_names_this_machine_or_where_packages_come_from() -> None:
    hosts = ["pypi" + ".org", "pythonhosted" + ".org", "/work" + "/", "/root" + "/", "/home" + "/"]
    wrong = []
    for path in tracked():
        if path.suffix in (".npz", ".gz", ".png") or path.is_symlink():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        wrong += [f"{name(path)}: {host}" for host in hosts if host in text]
    assert not wrong


def test_test_files_have_names_of_their_own() -> None:
    names = [p.name for p in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names))


def test_decisions_are_numbered_once_and_open_with_their_number() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [page.name[:4] for page in pages]
    assert numbers == [f"{n:04d}" for n in range(1, len(pages) + 1)]
    for page in pages:
        assert page.read_text(encoding="utf-8").startswith(f"# {page.name[:4]}: ")


def test_print_is_for_the_program_only() -> None:
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
        assert "print" not in [f.id for f in calls if isinstance(f, ast.Name)], name(path)
