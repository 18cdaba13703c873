"""Rows to tables: one owner a name, laws of the cache, and what a bad plug-in does to the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from sexpgpu_core import config, entries, hookspecs, plugins, registry
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.plugins import Point
from sexpgpu_core.registry import Distribution


def module(**names: object) -> types.ModuleType:
    made = types.ModuleType("third")
    made.__dict__.update({"SEXPGPU_API": hookspecs.API, **names})
    return made


def hook(name: str, *rows: object) -> object:
    def implementation() -> list[object]:
        return list(rows)

    implementation.__name__ = name
    return hookspecs.hookimpl(implementation)


def loaded(name: str, made: types.ModuleType) -> Distribution:
    return plugins.load(Point(name, "1.0", "third"), lambda _: made)


def store(scheme: str) -> entries.StoreEntry:
    return entries.StoreEntry(scheme=scheme, doc="d", load="os:getcwd")


def stores(owner: str, *schemes: str) -> Distribution:
    return loaded(owner, module(sexpgpu_stores=hook("sexpgpu_stores", *map(store, schemes))))


def source(kind: str) -> entries.SourceEntry:
    options = (entries.Option(name="count", type="(integer 1)", default="8"),)
    return entries.SourceEntry(
        kind=kind, shape="table", doc="", options=options, header="os:getcwd", load="os:getcwd"
    )


def test_rows_are_the_same_after_the_cache() -> None:
    rows = hook("sexpgpu_sources", source("a"))
    first = [loaded("sexpgpu-a", module(sexpgpu_sources=rows)), stores("sexpgpu-b", "x")]
    again = registry.restore(json.loads(json.dumps(registry.dump(first))))
    assert registry.merge(again).get("sources", "a") == source("a")
    assert registry.merge(again).get("stores", "x") == store("x")


@pytest.mark.parametrize("name", registry.HOOKS)
def test_every_hook_of_the_specs_has_a_table_and_takes_nothing(name: str) -> None:
    import inspect

    spec = getattr(hookspecs, f"sexpgpu_{name}")
    assert not inspect.signature(spec).parameters
    assert registry.HOOKS[name].row.__name__ in str(inspect.signature(spec).return_annotation)


def test_the_specs_have_no_hook_without_a_table() -> None:
    specs = {n.removeprefix("sexpgpu_") for n in dir(hookspecs) if n.startswith("sexpgpu_")}
    assert specs == set(registry.HOOKS)


def test_a_broken_plugin_is_recorded_and_the_rest_work() -> None:
    def boom(_: str) -> types.ModuleType:
        raise ImportError("no module named cudnn")

    bad = plugins.load(Point("sexpgpu-bad", "1", "bad"), boom)
    found = registry.merge([bad, stores("sexpgpu-b", "x")])
    assert [(d.code, d.message) for d in found.faults] == [
        ("E-PLUGIN-BROKEN", "sexpgpu-bad: ImportError: no module named cudnn")
    ]
    assert found.names("stores") == ["x"]


def test_a_plugin_that_exits_does_not_end_the_program() -> None:
    def leave(_: str) -> types.ModuleType:
        sys.exit(3)

    assert plugins.load(Point("sexpgpu-bad", "1", "bad"), leave).code == "E-PLUGIN-BROKEN"


def test_a_misspelt_hook_is_not_silence() -> None:
    found = loaded("sexpgpu-x", module(sexpgpu_device=hook("sexpgpu_device")))
    assert found.code == "E-PLUGIN-HOOK"
    assert "did you mean sexpgpu_devices?" in found.message


def test_a_hook_that_asks_for_an_argument_is_refused() -> None:
    @hookspecs.hookimpl
    def sexpgpu_devices(registry: object) -> list[object]:
        return []

    found = loaded("sexpgpu-x", module(sexpgpu_devices=sexpgpu_devices))
    assert found.code == "E-PLUGIN-HOOK"


def test_another_api_is_refused() -> None:
    assert loaded("sexpgpu-x", module(SEXPGPU_API=0)).code == "E-PLUGIN-API"
    assert loaded("sexpgpu-x", module(SEXPGPU_API=0)).state == "incompatible"


@pytest.mark.parametrize(
    "row", [store("x"), ("a",), entries.DeviceEntry("a", "cpu", "", "l", "p", {"f32"})]
)
def test_a_row_of_the_wrong_kind_or_with_more_than_text_is_refused(row: object) -> None:
    found = loaded("sexpgpu-x", module(sexpgpu_devices=hook("sexpgpu_devices", row)))
    assert found.code == "E-PLUGIN-FACT"


def test_a_third_party_operation_needs_its_prefix() -> None:
    row = entries.OperationEntry(
        name="gelu2", signature="(x)", doc="", differentiable=True, load="m:a", reference="m:a"
    )
    rows = module(sexpgpu_operations=hook("sexpgpu_operations", row))
    found = registry.merge([loaded("sexpgpu-y", rows)])
    assert [d.code for d in found.faults] == ["E-PLUGIN-FACT"]
    assert found.names("operations") == []


def test_of_two_third_parties_with_one_name_neither_has_it_and_both_are_named() -> None:
    found = registry.merge([stores("sexpgpu-a", "x"), stores("sexpgpu-b", "x", "y")])
    assert found.clashes == [registry.Clash("stores", "x", ("sexpgpu-a", "sexpgpu-b"), None)]
    assert found.names("stores") == ["y"]
    with pytest.raises(Problem, match=r"E-PLUGIN-CLASH.*sexpgpu-a and sexpgpu-b"):
        found.find("stores", "x")


@pytest.mark.parametrize("winner", ["sexpgpu-a", "sexpgpu-b"])
def test_prefer_says_who_has_a_name(winner: str) -> None:
    both = [stores("sexpgpu-a", "x"), stores("sexpgpu-b", "x")]
    found = registry.merge(both, prefer={"stores.x": winner})
    assert found.owner("stores", "x") == winner
    assert not found.faults
    assert found.clashes[0].winner == winner


def test_a_name_of_cores_cannot_be_taken() -> None:
    both = [stores("sexpgpu-a", "file"), stores("sexpgpu-core", "file")]
    found = registry.merge(both, prefer={"stores.file": "sexpgpu-a"})
    assert found.owner("stores", "file") == "sexpgpu-core"
    assert [d.code for d in found.faults] == ["E-PLUGIN-CLASH"]


def test_an_unknown_name_says_the_nearest() -> None:
    with pytest.raises(Problem) as raised:
        registry.merge([stores("sexpgpu-a", "bucket")]).find("stores", "buket")
    assert raised.value.diagnostic.hint == "did you mean bucket?"


def test_a_reference_that_does_not_resolve_names_its_distribution() -> None:
    row = entries.StoreEntry(scheme="x", doc="", load="no_such_module_here:Store")
    rows = module(sexpgpu_stores=hook("sexpgpu_stores", row))
    with pytest.raises(Problem, match="E-PLUGIN-BROKEN: sexpgpu-a: store x"):
        registry.merge([loaded("sexpgpu-a", rows)]).load("stores", "x")


def install(site: Path, name: str, body: str) -> None:
    package = name.replace("-", "_")
    folder = site / f"{package}-1.0.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "entry_points.txt").write_text(f"[sexpgpu]\n{name} = {package}\n")
    (site / f"{package}.py").write_text(body)


STORE = """
from sexpgpu_core import entries as e
from sexpgpu_core.hookspecs import hookimpl
SEXPGPU_API = 1
@hookimpl
def sexpgpu_stores():
    yield e.StoreEntry(scheme="filed", doc="", load="os:getcwd")
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "sexpgpu_filed", raising=False)
    return folder


def here(tmp_path: Path, **environment: str) -> config.Settings:
    return config.settings(tmp_path, environment={"SEXPGPU_CACHE": str(tmp_path), **environment})


def test_an_installed_plugin_is_found_then_read_from_the_cache(site: Path, tmp_path: Path) -> None:
    install(site, "sexpgpu-filed", STORE)
    first = plugins.installed(here(tmp_path))
    again = plugins.installed(here(tmp_path))
    assert (first.cached, again.cached) == (False, True)
    assert again.get("stores", "filed") == first.get("stores", "filed") is not None


def test_a_changed_plugin_module_is_read_again(site: Path, tmp_path: Path) -> None:
    install(site, "sexpgpu-filed", STORE)
    plugins.installed(here(tmp_path))
    os.utime(site / "sexpgpu_filed.py", ns=(1, 1))
    assert not plugins.installed(here(tmp_path)).cached


def test_a_plugin_that_breaks_later_still_names_what_it_had(site: Path, tmp_path: Path) -> None:
    install(site, "sexpgpu-filed", STORE)
    plugins.installed(here(tmp_path))
    (site / "sexpgpu_filed.py").write_text("import no_such_thing_at_all")
    sys.modules.pop("sexpgpu_filed", None)
    found = plugins.installed(here(tmp_path), refresh=True)
    with pytest.raises(Problem, match="store filed is from sexpgpu-filed, which does not load"):
        found.find("stores", "filed")


@pytest.mark.parametrize(
    ("variable", "names"), [("off", []), ("sexpgpu-filed", ["filed"]), ("sexpgpu-nn", [])]
)
def test_the_variable_switches_third_parties(
    site: Path, tmp_path: Path, variable: str, names: list[str]
) -> None:
    install(site, "sexpgpu-filed", STORE)
    found = plugins.installed(here(tmp_path, SEXPGPU_PLUGINS=variable))
    assert [n for n in found.names("stores") if n == "filed"] == names
    assert [d.state for d in found.distributions if d.name == "sexpgpu-core"] == ["ok"]


def test_a_damaged_cache_is_made_anew(site: Path, tmp_path: Path) -> None:
    install(site, "sexpgpu-filed", STORE)
    plugins.installed(here(tmp_path))
    for file in tmp_path.glob("plugins-*.json"):
        file.write_text('{"key": 1, "distributions": [[1]]}')
    assert plugins.installed(here(tmp_path)).get("stores", "filed") is not None


def test_a_cached_registry_imports_neither_pluggy_nor_a_plugin(tmp_path: Path) -> None:
    plugins.installed(here(tmp_path))
    code = (
        "import sys; from sexpgpu_core import config, plugins;"
        "found = plugins.installed(config.settings());"
        "print(found.cached, [m for m in sys.modules if m.endswith('.plugin')"
        " or m in ('pluggy', 'numpy', 'importlib.metadata', 'click', 'tomllib')])"
    )
    environment = {**os.environ, "SEXPGPU_CACHE": str(tmp_path / "own")}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout == "True []\n", done.stderr


OURS = [p.name for p in plugins.entry_points(plugins.site_folders()) if p.name in registry.BUILTIN]


@pytest.mark.parametrize("name", [name.removeprefix("sexpgpu-") for name in OURS])
def test_our_own_plugins_load_and_import_nothing_heavy(name: str) -> None:
    code = (
        f"import sys, sexpgpu_{name}.plugin as p; from sexpgpu_core import plugins;"
        f"d = plugins.load(plugins.Point('sexpgpu-{name}', '0', p.__name__)); assert not d.code, d;"
        "print([m for m in ('numpy', 'numba', 'boto3', 'click', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_every_reference_and_file_of_our_rows_is_there() -> None:
    found = plugins.installed(config.settings(), refresh=True)
    for hook_name in registry.HOOKS:
        for name in found.names(hook_name):
            row = found.get(hook_name, name)
            assert all(registry.resolve(r) for r in registry.references(row)), (hook_name, name)
            if "package" in row._fields:
                assert found.text(hook_name, name)[1]


def test_what_needs_more_than_is_installed_says_what_to_install() -> None:
    row = entries.SinkEntry("cloud", "Lines.", (), "no_such:Sink", ("sexpgpu-x[cloud]",))
    made = loaded("sexpgpu-x", module(sexpgpu_sinks=hook("sexpgpu_sinks", row)))
    with pytest.raises(Problem) as raised:
        registry.merge([made]).load("sinks", "cloud")
    assert raised.value.diagnostic.code == "E-DEVICE-ABSENT"
    assert raised.value.diagnostic.hint == "pip install 'sexpgpu-x[cloud]'"


def test_a_third_party_that_is_not_installed_cannot_be_the_only_one(tmp_path: Path) -> None:
    with pytest.raises(Problem) as raised:
        plugins.installed(here(tmp_path, SEXPGPU_PLUGINS="sexpgpu-mn"))
    assert raised.value.diagnostic.code == "E-USAGE-CONFIG"
    assert raised.value.diagnostic.hint == "did you mean sexpgpu-nn?"
