"""The examples: clean, the same on every device, and as good as they say."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from e2e_program import DATA, EXAMPLES, Folder, series, status
from example_files import NAMES, small

from sexpgpu_core import api
from sexpgpu_core.ir import Graph
from sexpgpu_core.ir.text import parse, write
from sexpgpu_core.passes.optimize import PASSES

REAL = DATA / "mnist_t10k-images-idx3-ubyte.gz"


@pytest.mark.parametrize("name", NAMES)
def test_an_example_checks_without_a_warning(ready: Folder, name: str) -> None:
    selection = small(name)
    for flags in ((), selection):
        done = ready.quick("check", f"{name}.lisp", *flags, "--deny", "warnings", "--json")
        assert done.exit == 0, done.diagnostics
        assert done.diagnostics == []


@pytest.mark.parametrize("name", NAMES)
def test_every_variant_checks_and_the_greatest_fits_a_card(ready: Folder, name: str) -> None:
    """Of 80 GB."""
    small(name)
    flags = ("--every-variant", "--deny", "warnings", "--json")
    done = ready.quick("check", f"{name}.lisp", *flags)
    assert done.exit == 0, done.diagnostics
    found = {f["selection"]["variant"]: f["summary"] for f in done.document["files"]}
    assert {None, "smoke", "gpu"} <= found.keys()
    assert all(of["memory"]["peak_bytes"] < 80e9 for of in found.values())


def test_a_loader_of_whole_arrays_is_said_to_read_them(ready: Folder) -> None:
    found = ready.quick("check", "gcn-cora.lisp", "--json").document["files"][0]["summary"]["batch"]
    shapes = {name: of["shape"] for name, of in found.items()}
    assert shapes["features"] == [24, 30]
    assert shapes["edges"] == [48, 2]


def test_a_warning_of_a_layer_stands_where_the_file_calls_it(ready: Folder) -> None:
    text = (EXAMPLES / "resnet-mnist.lisp").read_text("utf-8")
    ready.write("it.lisp", text.replace(";; allow", ";;"))
    found = ready.quick("check", "it.lisp", "--json").diagnostics
    assert {d["code"] for d in found} == {"W-BATCH-DEPENDENCE"}
    lines = [text.splitlines()[d["span"]["line"] - 1] for d in found]
    assert [("batch-norm" in line, "residual-block" in line) for line in lines] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_trains_alike_on_cpu_and_reference(ready: Folder, name: str) -> None:
    selection = (*small(name), "--steps", "4", "-q")
    for device in ("cpu", "reference"):
        done = ready("run", f"{name}.lisp", *selection, "--device", device, "--name", device)
        assert done.exit == 0, done.err
    ours, plain = (series(ready.made(device), "step") for device in ("cpu", "reference"))
    assert ours.keys() == plain.keys() != set()
    for key, metrics in ours.items():
        assert metrics == pytest.approx(plain[key], rel=2e-4, abs=1e-6)
    passes, plainly = (series(ready.made(device), "eval") for device in ("cpu", "reference"))
    assert passes.keys() == plainly.keys() != set()
    for key, metrics in passes.items():
        assert metrics == pytest.approx(plainly[key], rel=2e-3, abs=1e-6)


def test_digits_are_read_as_well_as_the_example_says(folder: Folder) -> None:
    pytest.importorskip("sklearn")
    done = folder("run", str(EXAMPLES / "digits.lisp"), "--name", "it", "-q")
    assert done.exit == 0, done.err
    told = status(folder.made("it"))
    assert told["targets"][0]["met"]
    assert told["metrics"]["val/accuracy"]["value"] >= 0.97


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the files of pictures are not here")
def test_mnist_is_read_as_well_as_the_example_says(folder: Folder) -> None:
    began = time.monotonic()
    flags = (
        "-s",
        f"folder={Path(DATA)}",
        "-s",
        "images=mnist*images*",
        "-s",
        "labels=mnist*labels*",
    )
    done = folder("run", str(EXAMPLES / "mnist.lisp"), *flags, "--name", "it", "-q")
    assert done.exit == 0, done.err
    assert time.monotonic() - began < 120
    assert status(folder.made("it"))["metrics"]["val/accuracy"]["value"] >= 0.97


def structure(graph: Graph) -> Any:
    """All that a graph is, with the class of each attribute."""
    nodes = []
    for n in graph.nodes:
        operands = [(v.node.id, v.result) for v in n.operands]
        nodes.append((n.id, n.operation, operands, repr(n.attributes), n.types, n.policy, n.copy))
    results = [(k, v.node.id, v.result) for k, v in graph.results.items()]
    return nodes, results, {k: structure(body) for k, body in graph.bodies.items()}


@pytest.mark.parametrize("name", NAMES)
def test_every_graph_of_an_example_reads_back_from_its_text(
    ready: Folder, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variant, *sets = small(name)[1::2]
    monkeypatch.chdir(ready.path)
    pairs = [tuple(s.split("=")) for s in sets]
    quoted = [(k, v if v.isdigit() else f'"{v}"') for k, v in pairs]
    loaded = api.load(ready.path / f"{name}.lisp", variant=variant, sets=quoted)
    graphs: dict[str, Graph] = {}
    compiled = api.compile(
        loaded,
        api.device("cpu", loaded.registry),
        lambda program, after, graph: graphs.update({f"{program} {after}": graph}),
    )
    graphs |= {f"{k} traced": s.traced.graph for k, s in compiled.stages.items()}
    graphs |= {f"{k} traced": p.whole.graph for k, p in compiled.passes.items() if p.whole}
    graphs |= {f"{k} before the passes": graph for k, graph in compiled.steps.items()}
    graphs |= {f"{unit.name} optimized": unit.graph for unit in compiled.job.units}
    assert {after.rpartition(" ")[2] for after in graphs} >= {"traced", *PASSES, "optimized"}
    assert any("eval" in program for program in graphs)
    for told, graph in graphs.items():
        text = write(graph)
        assert structure(parse(text)) == structure(graph), told
        assert write(parse(text)) == write(graph, origins=False), told
