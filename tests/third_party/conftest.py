"""A distribution that is not ours, built and installed as a user's would be."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sexpgpu_core import config, plugins
from sexpgpu_core.registry import Registry

HERE = Path(__file__).parent


def install(project: Path, site: Path) -> None:
    """Build a wheel of a project and unpack it, which is what installing one is."""
    code = f"import hatchling.build; hatchling.build.build_wheel({str(site)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=project, check=True, capture_output=True)
    (wheel,) = site.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    wheel.unlink()


@pytest.fixture(scope="session")
def toy_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site folder with sexpgpu-toy in it."""
    pytest.importorskip("hatchling")
    site = tmp_path_factory.mktemp("site")
    install(HERE / "sexpgpu_toy", site)
    return site


@pytest.fixture
def found(toy_site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The registry with the toy installed, its code in the catalogue."""
    from sexpgpu_core.diagnostics import add_codes

    monkeypatch.syspath_prepend(str(toy_site))
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    registry = plugins.installed(config.settings())
    add_codes(registry.codes())
    return registry
