"""Each thing that a third party's distribution adds, used with the real core."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from toy_program import FILE, program, whole

from sexpgpu_core import registry as tables
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.registry import Registry

np = pytest.importorskip("numpy")

NIBBLES = """
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader text
  (source (text-files "a.txt" :tokenizer :toy-nibbles))
  (windows 9)
  (stage :train :split (0 0.8))
  (stage :val :split (0.8 1))
  (batch 2))
(defun prepare (&key tokens)
  (batch :inputs (slice tokens :axis 1 :end -1) :targets (slice tokens :axis 1 :start 1)))
(defmodel net (x)
  (let ((vocab (loader-info text :vocab))) (nn:linear (nn:embedding x vocab 8) vocab)))
(defun objective (&key inputs targets)
  (metric "loss" (nn:cross-entropy (net inputs) targets)))
(defun optimizer () (groups (group :rest (optim:sgd :lr 1e-2))))
(defoutput logits (&key inputs) (net inputs))
(defrun :steps 3 :seed 1)
"""


def test_every_row_is_found_under_its_distribution(found: Registry) -> None:
    owned = {
        hook: [n for n in found.names(hook) if found.owner(hook, n) == "sexpgpu-toy"]
        for hook in tables.HOOKS
    }
    assert {hook: names for hook, names in owned.items() if names} == {
        "devices": ["toy"],
        "operations": ["toy/softsign"],
        "modules": ["toy"],
        "sources": ["toy-ramp"],
        "tokenizers": ["toy-nibbles"],
        "diagnostics": ["toy/peak"],
        "stores": ["toymem"],
        "sinks": ["toy-lines"],
        "executors": ["toy-slots"],
        "verbs": ["toy"],
        "codes": ["E-TOY-RAMP"],
        "docs": ["toy"],
    }


def test_every_reference_resolves(found: Registry) -> None:
    for hook in tables.HOOKS:
        for name in found.names(hook):
            if found.owner(hook, name) == "sexpgpu-toy":
                assert all(tables.resolve(r) for r in tables.references(found.get(hook, name)))


def test_its_rows_header_and_type_rule_need_no_plug_in_and_no_numpy(found: Registry) -> None:
    code = """
import sys
from sexpgpu_core import config, plugins
from sexpgpu_core.ir.types import Type
found = plugins.installed(config.settings())
header = found.load("sources", "toy-ramp", "header")({"count": 5, "width": 2})
(result,) = found.load("operations", "toy/softsign").infer((Type("f32", (2,)),), {})
assert header["count"] == 5 and result.shape == (2,)
heavy = ("numpy", "click", "pluggy", "sexpgpu_toy.plugin", "sexpgpu_toy.device")
print(found.cached, [m for m in heavy if m in sys.modules])
"""
    path = os.pathsep.join(p for p in sys.path if p)
    for _ in range(2):  # the first one makes the cache of rows
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
    assert done.stdout == "True []\n", done.stderr


def test_its_source_reads_what_its_header_says(found: Registry) -> None:
    options = {"count": 9, "width": 3}
    header = found.load("sources", "toy-ramp", "header")(options)
    reader = found.load("sources", "toy-ramp")(options)
    dtype, shape = header["fields"]["x"]
    out = {"x": np.zeros((2, *shape), np.int32)}
    reader.read([4, 0], out)
    assert (len(reader), dtype) == (header["count"], "i32")
    assert out["x"].tolist() == [[4, 5, 6], [0, 1, 2]]


def test_its_code_is_a_diagnostic_with_its_own_page(found: Registry) -> None:
    with pytest.raises(Problem, match="E-TOY-RAMP: ramp overflows") as raised:
        found.load("sources", "toy-ramp", "header")({"count": 3_000_000_000, "width": 8})
    assert raised.value.diagnostic.phase == "data"
    page = json.loads(program("explain", "E-TOY-RAMP", "--json").stdout)
    assert page["distribution"] == "sexpgpu-toy"
    assert page["right"] == "(source (toy-ramp :count 100))"


def test_its_store_gives_back_what_was_put(found: Registry, tmp_path: Path) -> None:
    store = found.load("stores", "toymem")("toymem://bucket/run")
    (tmp_path / "a").write_bytes(b"weights")
    store.put("step-1/a", str(tmp_path / "a"))
    store.put_last("step-1/checkpoint.json", b"{}")
    assert store.list("step-1/") == [("step-1/a", 7), ("step-1/checkpoint.json", 2)]
    store.get("step-1/a", str(tmp_path / "b"))
    assert (tmp_path / "b").read_bytes() == b"weights"
    store.delete("step-1/checkpoint.json")
    assert store.list() == [("step-1/a", 7)]


def test_its_sink_writes_a_line_a_step_and_ignores_other_kinds(
    found: Registry, tmp_path: Path
) -> None:
    sink = found.load("sinks", "toy-lines")({"path": str(tmp_path / "out")})
    sink.event({"event": "open", "step": 0})
    sink.event({"event": "step", "step": 10, "metrics": {"train/loss": 4.0}})
    sink.close()
    assert (tmp_path / "out").read_text() == "10 {'train/loss': 4.0}\n"


@whole
def test_its_sink_is_fed_by_a_run_and_afterwards_by_the_verb(found: Registry) -> None:
    Path("ramp.lisp").write_text(FILE.replace(":seed 1", ":seed 1 :log-every 1"))
    done = program("run", "ramp.lisp", "--name", "it", "-q", "--sink", "toy-lines:path=live")
    assert done.returncode == 0, done.stderr
    lines = Path("live").read_text().splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["1", "2", "3"]
    assert "train/loss" in lines[0]
    done = program("export-events", "it", "--to", "toy-lines:path=later")
    assert done.returncode == 0, done.stderr
    assert Path("later").read_text() == Path("live").read_text()
    wrong = program("run", "ramp.lisp", "--sink", "toy-lnes:path=x")
    assert wrong.returncode == 2
    assert "toy-lines" in wrong.stderr


def test_its_verb_is_listed_and_answers_in_text_and_json(found: Registry, tmp_path: Path) -> None:
    lines = [{"event": "open"}, {"event": "step"}, {"event": "step"}]
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert re.search(
        r"^  toy +Print how many steps a run logged\.$", program("--help").stdout, re.M
    )
    assert program("toy", ".").stdout == "2 steps\n"
    assert json.loads(program("toy", ".", "--json").stdout)["steps"] == 2


def test_a_wrong_flag_of_its_verb_is_a_diagnostic_too(found: Registry) -> None:
    done = program("toy", ".", "--jsno")
    assert done.returncode == 2
    assert "did you mean --json?" in done.stderr


def test_its_page_is_in_the_documentation(found: Registry) -> None:
    assert program("docs", "toy").stdout.startswith("# The toy plug-in")


def test_its_module_is_a_file_that_provides_what_its_row_says(found: Registry) -> None:
    path, text = found.text("modules", "toy")
    assert path.endswith("lisp/toy.lisp")
    assert f"(provide {' '.join(found.get('modules', 'toy').exports)})" in text


def evaluated(graph: Any, operations: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Named results of a graph, by each operation's reference."""
    values: dict[int, tuple[Any, ...]] = {}
    for node in graph.nodes:
        if node.operation == "input":
            values[node.id] = (inputs[node.get("name")],)
            continue
        given = tuple(values[v.node.id][v.result] for v in node.operands)
        operation = operations[node.operation]
        values[node.id] = operation.reference(given, dict(node.attributes), node.types)
    return {name: values[v.node.id][v.result] for name, v in graph.results.items()}


def test_its_operation_its_expansion_and_its_gradient_agree(found: Registry) -> None:
    from sexpgpu_core.ir.builder import Builder
    from sexpgpu_core.ir.ops import OPERATIONS

    softsign = found.load("operations", "toy/softsign")
    operations = {**OPERATIONS, softsign.name: softsign}
    b = Builder(operations)
    x, g = b.input("x", "batch", "f64", (5,)), b.input("g", "batch", "f64", (5,))
    y = b(softsign.name, x)
    (expanded,) = softsign.expand(b, y.node)
    (slope,) = softsign.gradient(b, y.node, (g,))
    b.graph.results.update(y=y, expanded=expanded, slope=slope)
    at, ones, h = np.array([-2.0, -0.5, 0.25, 1.0, 3.0]), np.ones(5), 1e-6
    got = evaluated(b.graph, operations, {"x": at, "g": ones})
    more = evaluated(b.graph, operations, {"x": at + h, "g": ones})
    less = evaluated(b.graph, operations, {"x": at - h, "g": ones})
    np.testing.assert_allclose(got["y"], got["expanded"], rtol=1e-12)
    np.testing.assert_allclose(got["slope"], (more["y"] - less["y"]) / (2 * h), rtol=1e-6)


def test_its_type_rule_refuses_integers(found: Registry) -> None:
    from sexpgpu_core.ir.types import Type

    with pytest.raises(Problem, match="E-DTYPE-ARGUMENT"):
        found.load("operations", "toy/softsign").infer((Type("i32", (2,)),), {})


def test_its_device_is_probed_by_doctor(found: Registry) -> None:
    document = json.loads(program("doctor", "--device", "toy", "--json").stdout)
    (check,) = [c for c in document["checks"] if c["name"] == "toy"]
    assert (check["status"], check["detail"]) == ("ok", "in this process")


@whole
def test_its_number_is_sampled_of_each_gradient_of_each_group_and_of_all(found: Registry) -> None:
    select = ':diagnostics (:every 1 :select ("toy/**" "**/toy/peak"))'
    Path("ramp.lisp").write_text(FILE.replace(":seed 1", f":seed 1 {select}"))
    assert program("run", "ramp.lisp", "--name", "it", "-q").returncode == 0
    lines = Path("runs/it/events.jsonl").read_text().splitlines()
    (first, *_) = [e for e in map(json.loads, lines) if e["event"] == "diagnostic"]
    w, b = (first["values"][f"toy/peak/net/linear/{name}"] for name in "wb")
    assert w > 0
    assert first["values"]["group/1/toy/peak"] == first["values"]["toy/peak"] == max(w, b)


@whole
def test_a_file_that_requires_it_checks(found: Registry) -> None:
    Path("ramp.lisp").write_text(FILE)
    done = program("check", "ramp.lisp", "--json")
    assert done.returncode == 0, done.stdout


@whole
@pytest.mark.parametrize("device", ["toy", "reference"])
def test_a_file_trains_on_its_device_with_its_operation_and_source(
    found: Registry, device: str
) -> None:
    Path("ramp.lisp").write_text(FILE)
    done = program("run", "ramp.lisp", "--device", device, "--json")
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["step"] == 3


@whole
def test_its_code_is_raised_at_check(found: Registry) -> None:
    Path("ramp.lisp").write_text(FILE.replace(":count 64", ":count 3000000000"))
    done = program("check", "ramp.lisp", "--json")
    assert done.returncode == 1
    codes = [d["code"] for d in json.loads(done.stdout)["files"][0]["diagnostics"]]
    assert codes == ["E-TOY-RAMP"]


@whole
def test_its_tokenizer_is_trained_with_and_its_version_is_in_the_experiment(
    found: Registry,
) -> None:
    from sexpgpu_core import api

    Path("a.txt").write_text("nibbles of é, " * 40)
    Path("n.lisp").write_text(NIBBLES)
    done = program("run", "n.lisp", "--device", "reference", "--name", "it", "--json")
    assert done.returncode == 0, done.stdout
    loader = api.load(Path("n.lisp")).loaders["text"]
    assert loader.header()["tokens"] == 2 * Path("a.txt").stat().st_size
    assert loader.header()["tokenizer"] == ("toy-nibbles", "sexpgpu-toy 0.3.0")
    batch = loader.batch("train", 0)["tokens"]
    reader = loader.reader()
    assert batch.max() < loader.vocab == 16
    assert reader.decode(reader.encode("é")) == "é"


def test_a_check_with_its_tokenizer_imports_it_once_and_no_more(found: Registry) -> None:
    Path("a.txt").write_text("nibbles of é, " * 40)
    Path("n.lisp").write_text(NIBBLES)
    assert program("check", "n.lisp").returncode == 0
    code = (
        "import sys; from sexpgpu_core import api; from pathlib import Path; "
        "api.load(Path('n.lisp')).loaders['text'].header(); "
        "print([m for m in ('numpy', 'sexpgpu_toy.nibbles') if m in sys.modules])"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[]\n", done.stderr


def test_its_tokenizers_misspelt_name_is_told_with_the_nearest(found: Registry) -> None:
    Path("a.txt").write_text("abc " * 99)
    Path("n.lisp").write_text(NIBBLES.replace(":toy-nibbles", ":toy-nibles"))
    (told,) = json.loads(program("check", "n.lisp", "--json").stdout)["files"][0]["diagnostics"]
    assert told["code"] == "E-OPTION-VALUE"
    assert "did you mean :toy-nibbles? installed: :bytes :chars :hf :toy-nibbles" in json.dumps(
        told
    )


def test_a_precision_that_its_device_does_not_compute_in_is_told(
    found: Registry, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("abcdefgh" * 40)
    for where, precision, fine in (
        (":steps 3", "f64", True),
        (":steps 3", "bf16", False),
        (":split (0 0.8)", "bf16", False),
    ):
        path = tmp_path / "x.lisp"
        text = NIBBLES.replace(where, f"{where} :precision :{precision}")
        path.write_text(text.replace(":toy-nibbles", ":bytes"))
        for verb in ("check", "run"):
            done = program(verb, str(path), "--device", "toy", "--json")
            assert (done.returncode == 0) == fine, done.stdout
            if not fine:
                assert "E-DEVICE-OPERATION" in done.stdout
                assert "toy computes in f32 f64 i32 bool, not in bf16" in done.stdout


def test_a_broken_and_a_misspelt_plug_in_are_reported_and_stop_nothing(
    found: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "bad"
    misspelt = "from sexpgpu_core.hookspecs import hookimpl\nSEXPGPU_API = 1\n"
    misspelt += "@hookimpl\ndef sexpgpu_device():\n    return []\n"
    for name, body in (("broken", "import no_such_module"), ("misspelt", misspelt)):
        folder = site / f"sexpgpu_{name}-1.0.dist-info"
        folder.mkdir(parents=True)
        points = f"[sexpgpu]\nsexpgpu-{name} = sexpgpu_{name}\n"
        (folder / "entry_points.txt").write_text(points)
        (site / f"sexpgpu_{name}.py").write_text(body)
    monkeypatch.syspath_prepend(str(site))
    done = program("plugins", "--json")
    document = json.loads(done.stdout)
    states = {d["distribution"]: d for d in document["distributions"]}
    assert done.returncode == 0
    assert states["sexpgpu-broken"]["error"]["code"] == "E-PLUGIN-BROKEN"
    assert states["sexpgpu-misspelt"]["error"]["code"] == "E-PLUGIN-HOOK"
    assert "did you mean sexpgpu_devices?" in states["sexpgpu-misspelt"]["error"]["message"]
    assert states["sexpgpu-toy"]["state"] == "ok"
    text = program("doctor")
    assert text.returncode == 0
    assert text.stdout.count("warning  plugins") == 2
    assert program("plugins", "--verify").returncode == 1
